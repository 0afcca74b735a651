import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../src/observe/metrics.ts';
import { IDLE } from '../../src/observe/sample.ts';
import { rawHttp } from '../support/clients.ts';
import { freePort, startHttpProgram } from '../support/proxy.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { rpcError, startStub, stubTool, textResult } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

/** Prometheus' own checker: syntax, and how metrics should be named and described. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

const tools = [
  stubTool('read_tide', { readOnly: true, answer: () => textResult('low') }),
  stubTool('read_fog', { readOnly: true, answer: () => rpcError(-32_000, 'fog') }),
  stubTool('set_lamp', { properties: { on: { type: 'boolean' } }, required: ['on'] }),
];

/** What the program says at /metrics after a bit of everything. */
async function scraped(): Promise<string> {
  const stub = await startStub({ tools });
  const child = scriptStdio({
    tools: [
      { definition: stubTool('crash', { readOnly: true }).definition, does: { kind: 'crash', exitCode: 1 } },
    ],
  });
  const port = await freePort();
  const running = await startHttpProgram(['--metrics-listen', `127.0.0.1:${port}`], {
    config: {
      mcpServers: {
        harbour: { url: stub.url },
        // A name that has to be escaped where it stands as a label.
        'the "old" \\ mill': { command: child.command, args: child.args },
        gone: { command: '/nowhere/at-all' },
      },
      maxCallerRequests: 1,
    },
  });
  const client = rawHttp(running.url, { era: 'modern' });
  await until('tools are there', async () =>
    (await client.call('search_tools', '{"query":"tide"}')).body.includes('"total":4'),
  );
  await client.request('server/discover');
  await client.request('no/such/method');
  for (const name of ['read_tide', 'read_fog', 'crash', 'set_lamp', 'nothing'])
    await client.call('call_read_tool', `{"name":"${name}"}`);
  await client.call('call_write_tool', '{"name":"set_lamp","arguments":{"on":"yes"}}');
  await client.call('call_write_tool', '{"name":"set_lamp","arguments":{"on":true}}');
  await Promise.all(Array.from({ length: 8 }, () => client.call('call_read_tool', '{"name":"read_tide"}')));
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

describe('/metrics', () => {
  it('is what promtool takes without a word', async (test) => {
    const text = await scraped();
    // Every metric of ours is there, with what was seen.
    const described = createMetrics({ version: '', model: '', sample: () => IDLE }).described();
    for (const { name, type } of described) expect(text).toContain(`# TYPE ${name} ${type}`);
    for (const line of [
      'mcp_proxy_tool_calls_total{upstream="harbour",tool="harbour__read_tide",kind="read",outcome="ok"}',
      'mcp_proxy_upstream_up{upstream="the \\"old\\" \\\\ mill"}',
      'mcp_proxy_upstream_restarts_total{',
      'mcp_proxy_shed_total{',
      'mcp_proxy_validation_total{result="refused"}',
    ])
      expect(text).toContain(line);
    test.skip(!hasPromtool, 'promtool (of Prometheus) is not on this machine');
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
    expect(`${checked.stdout}${checked.stderr}`).toBe('');
    expect(checked.status).toBe(0);
  });
});
