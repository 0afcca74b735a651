import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { rawHttp } from '../support/clients.ts';
import { startHttpProgram, startProgram, startStdioProgram, toolsAreThere } from '../support/proxy.ts';
import { startStub, stubTool, textResult, type StubUpstream } from '../support/stub-upstream.ts';
import { within } from '../support/wait.ts';

const TOKEN = 'canary-token-51c2';
const WITH_TOKEN = { MCPPROXY_UPSTREAM_TOKEN: TOKEN };

async function gateway(): Promise<StubUpstream> {
  return startStub({
    tools: [stubTool('look', { readOnly: true, answer: () => textResult('seen') })],
    admit: (authorization) => authorization === `Bearer ${TOKEN}` || { kind: 'http', status: 401 },
  });
}

async function ran(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | string; readonly said: string }> {
  const running = await startProgram(args, { env });
  running.child.stdin?.end();
  const code = await within(`${args.join(' ')} ends`, running.exited);
  return { code, said: `${running.stdout()}${running.stderr()}` };
}

describe('a token for the server of --upstream', () => {
  it('lets whoever tries a gateway by hand search and call, and is printed nowhere', async () => {
    const { url } = await gateway();
    const commands = [
      [['list-tools', '--upstream', url], /look/],
      [['search-tools', 'look', '--upstream', url, '--embedder', 'none'], /look/],
      [['describe-tool', 'look', '--upstream', url], /look/],
      [['call-tool', 'look', '{}', '--upstream', url], /seen/],
    ] as const;
    for (const [args, says] of commands) {
      const { code, said } = await ran(args, WITH_TOKEN);
      expect([args[0], code]).toEqual([args[0], 0]);
      expect(said).toMatch(says);
      expect(said).not.toContain(TOKEN);
    }
  });

  it('is named where the server wants one and there is none', async () => {
    const { url } = await gateway();
    const { code, said } = await ran(['list-tools', '--upstream', url], {});
    expect(code).toBe(1);
    expect(said).toContain('MCPPROXY_UPSTREAM_TOKEN');
  });

  it('is the one of a client over stdio', async () => {
    const { url } = await gateway();
    const running = await startStdioProgram(
      'legacy',
      {},
      {
        args: ['--upstream', url, '--log-level', 'debug'],
        env: WITH_TOKEN,
      },
    );
    await running.client.initialize();
    await toolsAreThere(running, 1);
    expect(await running.client.call('call_read_tool', '{"name":"look"}')).toContain('seen');
    const commandLine = `/proc/${running.child.pid}/cmdline`;
    if (existsSync(commandLine)) expect(readFileSync(commandLine, 'utf8')).not.toContain(TOKEN);
    expect(running.stderr()).not.toContain(TOKEN);
  });

  it('is lent to nobody over HTTP', async () => {
    const stub = await gateway();
    const running = await startHttpProgram(['--upstream', stub.url], { env: WITH_TOKEN });
    expect(running.stderr()).toMatch(/MCPPROXY_UPSTREAM_TOKEN.* is not used: over HTTP/);
    const stranger = rawHttp(running.url, { era: 'modern' });
    expect((await stranger.call('search_tools', '{"query":"look"}')).status).toBe(401);
    expect(stub.requests.every(({ authorization }) => authorization === undefined)).toBe(true);
  });
});
