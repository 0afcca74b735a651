import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rawHttp } from '../support/clients.ts';
import { startHttpProgram } from '../support/proxy.ts';
import { startSseStub } from '../support/sse-upstream.ts';
import { startStub, stubTool, textResult, type StubScript, type StubTool } from '../support/stub-upstream.ts';
import { sleep, until } from '../support/wait.ts';

/**
 * The gateway promises that no caller's credential lives in the process, its files or its environment while none is
 * being served. Looked at from outside: a heap snapshot (V8 collects garbage before it writes one) and every file.
 * Outside this promise: memory that was freed and not yet overwritten.
 */
const MARK = 'at-rest-77e1';
const credential = (n: number): string => `Bearer ${MARK}-caller-${n}`;

const bell = (name: string): StubTool => stubTool(name, { readOnly: true, answer: () => textResult('ding') });
const fail = stubTool('fail', { readOnly: true, answer: () => ({ kind: 'http', status: 500 }) });

const admit: StubScript['admit'] = (authorization) =>
  authorization?.endsWith('-3') === true ? { kind: 'http', status: 401 } : true;

describe('the gateway', () => {
  it.skipIf(process.platform === 'win32')(
    'keeps no credential when nobody is being served',
    async () => {
      const newer = await startStub({ tools: [bell('ring_bell'), fail], ttlMs: 1_000, admit });
      const older = await startStub({ era: 'legacy', session: true, tools: [bell('ring_old_bell')], admit });
      const oldest = await startSseStub({
        tools: [bell('ring_oldest_bell')],
        admit: (authorization) => admit(authorization) === true,
      });
      const running = await startHttpProgram(['--upstream', newer.url], {
        config: {
          mcpServers: {
            older: { url: older.url, auth: 'forward' },
            oldest: { url: oldest.url, auth: 'forward' },
          },
        },
        env: { NODE_OPTIONS: '--heapsnapshot-signal=SIGUSR2' },
      });
      for (let n = 1; n <= 3; n++) {
        for (const era of ['modern', 'legacy'] as const) {
          const client = rawHttp(running.url, { era, headers: { authorization: credential(n) } });
          await client.request(era === 'modern' ? 'server/discover' : 'initialize', {
            protocolVersion: '2025-11-25',
            capabilities: {},
            clientInfo: { name: 'x', version: '1' },
          });
          await client.call('search_tools', '{"query":"bell"}');
          await client.call('call_read_tool', '{"name":"ring_bell"}');
          await client.call(
            'call_read_tools',
            '{"calls":[{"name":"ring_old_bell"},{"name":"ring_oldest_bell"},{"name":"fail"}]}',
          );
          await client.call('call_write_tool', '{"name":"nothing"}');
        }
      }
      const calls = [
        newer.callsOf('ring_bell'),
        older.callsOf('ring_old_bell'),
        oldest.callsOf('ring_oldest_bell'),
      ];
      expect(calls.map(({ length }) => length)).toEqual([4, 4, 4]);

      // A listing that fails behind, while the old one still serves.
      newer.script.intercept = ({ method }) =>
        method === 'tools/list' ? { kind: 'http', status: 503 } : undefined;
      const listings = newer.requestsOf('tools/list').length;
      const first = rawHttp(running.url, { era: 'modern', headers: { authorization: credential(1) } });
      await until('the listing was tried again', async () => {
        await first.call('search_tools', '{"query":"bell"}');
        return newer.requestsOf('tools/list').length > listings;
      });
      newer.script.intercept = () => undefined;
      const refused = rawHttp(running.url, { era: 'modern', headers: { authorization: credential(3) } });
      expect((await refused.call('search_tools', '{"query":"bell"}')).status).toBe(401);
      // Others come after them, so that nothing of theirs is merely the latest.
      const anonymous = rawHttp(running.url, { era: 'modern' });
      for (let n = 0; n < 5; n++) {
        await anonymous.call(
          'call_read_tools',
          '{"calls":[{"name":"ring_bell"},{"name":"ring_old_bell"},{"name":"ring_oldest_bell"}]}',
        );
      }

      const snapshot = await takeSnapshot(running.child.pid ?? 0, running.home);
      // The snapshot is one that would show it: our own words are in it.
      expect(snapshot).toContain('search_tools');
      const found = snapshot.match(new RegExp(`[^"\\\\]{0,40}${MARK}[^"\\\\]{0,40}`, 'g'));
      expect([...new Set(found)]).toEqual([]);

      for (const file of filesUnder(running.home)) {
        if (!file.endsWith('.heapsnapshot')) expect(readFileSync(file, 'utf8'), file).not.toContain(MARK);
      }
      const environ = `/proc/${running.child.pid}/environ`;
      if (existsSync(environ)) expect(readFileSync(environ, 'utf8')).not.toContain(MARK);
      expect(running.stderr()).not.toContain(MARK);
      // A snapshot takes long on a busy machine.
    },
    90_000,
  );
});

async function takeSnapshot(pid: number, dir: string): Promise<string> {
  process.kill(pid, 'SIGUSR2');
  const name = await until(
    'the snapshot is there',
    () => readdirSync(dir).find((file) => file.endsWith('.heapsnapshot')),
    30_000,
  );
  const file = join(dir, name);
  let size = 0;
  await until(
    'the snapshot is written',
    async () => {
      const before = size;
      size = statSync(file).size;
      await sleep(200);
      return size > 0 && size === before;
    },
    30_000,
  );
  const snapshot = readFileSync(file, 'utf8');
  expect(snapshot.trimEnd().endsWith('}'), 'the snapshot is whole').toBe(true);
  return snapshot;
}

function filesUnder(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    return entry.isDirectory() ? filesUnder(path) : [path];
  });
}
