import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rawHttp } from '../support/clients.ts';
import { freePort, startHttpProgram } from '../support/proxy.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { rpcError, startStub, stubTool, textResult } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

/** Where things stand that a running program must not have taken up: of one process, its command line and variables. */
function knownOf(pid: number): string {
  return ['cmdline', 'environ']
    .map((name) => `/proc/${pid}/${name}`)
    .map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : ''))
    .join('\n');
}

function filesUnder(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe('a caller’s token', () => {
  it(
    'of 1,000 mixed calls reaches the forwarded upstream and nothing else',
    { timeout: 120_000 },
    async () => {
      const token = 'canary-token-4f0a';
      const breaks = stubTool('look_broken', {
        readOnly: true,
        answer: ({ authorization }) => rpcError(-32_001, `broken for ${authorization}`),
      });
      const lost = stubTool('look_lost', {
        readOnly: true,
        answer: ({ authorization }) => ({ kind: 'http', status: 500, body: `lost: ${authorization}` }),
      });
      const gateway = await startStub({
        tools: [
          stubTool('look', { readOnly: true, answer: () => textResult('seen') }),
          stubTool('paint', { answer: () => textResult('painted') }),
          breaks,
          lost,
        ],
      });
      const own = await startStub({
        tools: [stubTool('peek', { readOnly: true, answer: () => textResult('p') })],
      });
      const child = scriptStdio({
        tools: [
          { definition: stubTool('hear', { readOnly: true }).definition, does: { kind: 'environment' } },
          { definition: stubTool('crash', { readOnly: true }).definition, does: { kind: 'crash' } },
        ],
      });
      const metricsPort = await freePort();
      const running = await startHttpProgram(
        `--upstream ${gateway.url} --log-level debug --log-format json --audit-log audit.jsonl --metrics-listen 127.0.0.1:${metricsPort}`.split(
          ' ',
        ),
        {
          config: {
            mcpServers: {
              own: { url: own.url, headers: { 'X-Own': 'ours' } },
              child: { command: child.command, args: child.args },
            },
          },
        },
      );
      const client = rawHttp(running.url, { era: 'modern', headers: { authorization: `Bearer ${token}` } });
      await until('all tools are there', async () =>
        (await client.call('search_tools', '{"query":"look"}')).body.includes('"total":7'),
      );
      const calls: readonly (readonly [string, string])[] = [
        ['search_tools', '{"query":"look","limit":25}'],
        ['describe_tool', '{"names":["look","peek","nothing"]}'],
        ['call_read_tool', '{"name":"look"}'],
        ['call_read_tool', '{"name":"look_broken"}'],
        ['call_read_tool', '{"name":"look_lost"}'],
        ['call_read_tool', '{"name":"own__peek"}'],
        ['call_read_tool', '{"name":"child__hear"}'],
        ['call_read_tools', '{"calls":[{"name":"look"},{"name":"own__peek"},{"name":"child__hear"}]}'],
        ['call_write_tool', '{"name":"paint","arguments":{}}'],
        ['call_read_tool', '{"name":"paint"}'],
      ];
      const answers: string[] = [];
      for (let round = 0; round < 10; round++) {
        for (const [tool, args] of calls)
          answers.push(
            ...(await Promise.all(Array.from({ length: 10 }, () => client.call(tool, args)))).map(
              (r) => r.body,
            ),
          );
        if (round % 4 === 3)
          answers.push((await client.call('call_read_tool', '{"name":"child__crash"}')).body);
      }
      expect(answers.filter((body) => body.includes('seen')).length).toBeGreaterThan(100);

      // The forwarded upstream is given it with each request, and says it back where it may: in its own errors.
      expect(gateway.requests.every(({ authorization }) => authorization === `Bearer ${token}`)).toBe(true);
      const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      const places: Readonly<Record<string, string>> = {
        'requests to the upstream of our own': JSON.stringify(own.requests),
        'what reached the child': JSON.stringify(child.log()),
        'what the children and we were started with': [running.child.pid ?? 0, ...child.pids()]
          .map(knownOf)
          .join('\n'),
        'what the child said of its environment': answers.filter((body) => body.includes('PATH')).join('\n'),
        'the log': running.stderr(),
        metrics,
        ...Object.fromEntries(filesUnder(running.home).map((file) => [file, readFileSync(file, 'utf8')])),
      };
      for (const [place, text] of Object.entries(places)) expect(text.includes(token), place).toBe(false);
      for (const place of [
        'requests to the upstream of our own',
        'what reached the child',
        'the log',
        'metrics',
      ])
        expect(places[place]?.length, place).toBeGreaterThan(100);
      expect(filesUnder(running.home).some((file) => file.endsWith('audit.jsonl'))).toBe(true);
    },
  );
});

describe('what clients make up', () => {
  it('is no series: 100,000 names leave fewer than 2,000', { timeout: 240_000 }, async () => {
    const stub = await startStub({ tools: [stubTool('look', { readOnly: true })] });
    const metricsPort = await freePort();
    const running = await startHttpProgram(
      ['--upstream', stub.url, '--log-level', 'silent', '--metrics-listen', `127.0.0.1:${metricsPort}`],
      {},
    );
    const batches = rawHttp(running.url, { era: 'legacy', version: '2025-03-26' });
    let made = 0;
    const name = (): string => `made_up_${made++}`;
    const SIZE = 500;
    for (let batch = 0; batch < 135; batch++) {
      const messages = Array.from({ length: SIZE }, (_, id) => {
        switch (id % 4) {
          case 0:
            return { method: `tools/${name()}`, params: {} };
          case 1:
            return { method: 'tools/call', params: { name: name(), arguments: {} } };
          case 2:
            return {
              method: 'tools/call',
              params: {
                name: 'call_read_tool',
                arguments: { name: name(), arguments: { [name()]: name() } },
              },
            };
          default:
            return { method: 'tools/call', params: { name: 'search_tools', arguments: { query: name() } } };
        }
      }).map((message, id) => ({ jsonrpc: '2.0', id, ...message }));
      const { status, body } = await batches.send('POST', JSON.stringify(messages), {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${name()}`,
        'x-made-up': name(),
      });
      expect([status, (JSON.parse(body) as unknown[]).length]).toEqual([200, SIZE]);
    }
    expect(made).toBeGreaterThan(100_000);
    for (let n = 0; n < 200; n++) await batches.send('GET', undefined, { 'x-path': name() });
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(series.length).toBeLessThan(2_000);
    expect(text).not.toContain('made_up');
    expect(text).toMatch(
      /^mcp_server_operation_duration_seconds_count\{method="tools\/call",tool="none".* \d{4,}$/m,
    );
  });
});
