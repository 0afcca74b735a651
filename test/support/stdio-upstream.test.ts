import { describe, expect, it } from 'vitest';
import { CLIENTS, spawnRawStdio, textOf } from './clients.ts';
import { isAlive, scriptStdio, type StdioScript } from './stdio-upstream.ts';
import { until } from './wait.ts';

const script: StdioScript = {
  era: 'both',
  instructions: 'Mind the step.',
  tools: [
    { definition: { name: 'repeat', inputSchema: { type: 'object' } } },
    { definition: { name: 'environment', inputSchema: { type: 'object' } }, does: { kind: 'environment' } },
    {
      definition: { name: 'exact', inputSchema: { type: 'object' } },
      does: { kind: 'raw', raw: '{"content":[],"n":1e400}' },
    },
    { definition: { name: 'crash', inputSchema: { type: 'object' } }, does: { kind: 'crash' } },
  ],
};

describe('the stdio upstream', () => {
  for (const client of CLIENTS) {
    it(`serves the ${client.label} client`, async () => {
      const child = scriptStdio({ ...script, splitWrites: true });
      const connected = await client.connect({ kind: 'stdio', ...child, env: { LIGHT: 'on' } });
      expect(connected.instructions()).toBe('Mind the step.');
      expect((await connected.listTools()).map((tool) => tool.name)).toContain('repeat');
      const echoed = JSON.parse(textOf(await connected.callTool('repeat', { words: 'ąžuolas' }))) as {
        params: { arguments: unknown };
      };
      expect(echoed.params.arguments).toEqual({ words: 'ąžuolas' });
      expect(JSON.parse(textOf(await connected.callTool('environment')))).toMatchObject({ LIGHT: 'on' });
      await connected.close();
      await child.allGone();
    });
  }

  it('gives raw text, makes noise, pages, announces changes and crashes as told', async () => {
    const child = scriptStdio({ ...script, noise: true, pageSize: 3 });
    const raw = spawnRawStdio({ kind: 'stdio', ...child }, 'legacy');
    await raw.initialize();
    expect(raw.lines.some((line) => line.startsWith('npm warn'))).toBe(true);
    expect(await raw.call('exact', '{"a":12345678901234567890}')).toContain(
      '"result":{"content":[],"n":1e400}',
    );
    expect(child.callsOf('exact')[0]).toContain('"arguments":{"a":12345678901234567890}');
    expect(await raw.request('tools/list')).toContain('"nextCursor":"3"');
    child.change({ tools: [] });
    expect(await raw.request('tools/list')).toContain('"tools":[]');
    child.sendListChanged();
    await until('it announces', () => raw.lines.some((line) => line.includes('list_changed')));
    child.change({ tools: script.tools });
    raw.write('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"crash","arguments":{}}}');
    await child.allGone();
  });

  it('outlives SIGTERM when told, and has a child of its own', async () => {
    const child = scriptStdio({ ...script, ignoreSigterm: true, grandchild: true });
    const raw = spawnRawStdio({ kind: 'stdio', ...child }, 'legacy');
    await raw.initialize();
    const [pid] = child.pids();
    if (pid === undefined) throw new Error('no child');
    expect(child.pids()).toHaveLength(2);
    process.kill(pid, 'SIGTERM');
    await until('it has noted the signal', () => child.log().some((entry) => entry.at === 'sigterm'));
    expect(isAlive(pid)).toBe(true);
  });
});
