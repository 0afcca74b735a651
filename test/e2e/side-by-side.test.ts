import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import { rawStdio, type RawStdioClient } from '../support/clients.ts';
import { harbourChild } from '../support/harbour.ts';
import { startProgram, toolsAreThere, type RunningProgram } from '../support/proxy.ts';
import { isAlive, scriptStdio, type StdioTool, type StdioUpstream } from '../support/stdio-upstream.ts';
import { stubTool } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

/**
 * Two programs over one configuration file, as when two clients of one person each start their own. What they do
 * not share is the promise: whatever way one ends, the other keeps its servers, its calls and its configuration.
 */

const slowRead: StdioTool = {
  definition: stubTool('read_slow_gauge', { description: 'Reads a slow gauge.', readOnly: true }).definition,
  does: { kind: 'process', delayMs: 1_500 },
};
const whichProcess: StdioTool = {
  definition: stubTool('read_quick_gauge', { description: 'Reads a quick gauge.', readOnly: true })
    .definition,
  does: { kind: 'process' },
};

type Running = RunningProgram & { readonly client: RawStdioClient; readonly pids: readonly number[] };

/** Starts a program and gives it with the processes it started. */
async function startBeside(
  file: string,
  upstreams: readonly StdioUpstream[],
  total: number,
): Promise<Running> {
  const earlier = new Set(upstreams.flatMap((upstream) => upstream.pids()));
  const running = await startProgram(['--stdio', '--config', file]);
  const { stdin, stdout } = running.child;
  if (stdin === null || stdout === null) throw new Error('the program was started without pipes');
  const client = rawStdio(stdin, stdout, 'legacy');
  await client.initialize();
  await toolsAreThere({ ...running, client }, total);
  const pids = upstreams.flatMap((upstream) => upstream.pids()).filter((pid) => !earlier.has(pid));
  return { ...running, client, pids };
}

function writeShared(servers: Readonly<Record<string, StdioUpstream>>): {
  file: string;
  write: typeof write;
} {
  const folder = mkdtempSync(join(tmpdir(), 'side-by-side-'));
  whenDone(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'config.json');
  const write = (changed: typeof servers): void => {
    const entries = Object.entries(changed).map(([name, { command, args }]) => [name, { command, args }]);
    writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
  };
  write(servers);
  return { file, write };
}

const ascending = (a: number, b: number): number => a - b;

const readGauge = (running: Running, name: string): Promise<string> =>
  running.client.call('call_read_tool', JSON.stringify({ name, arguments: {} }));

describe('two programs over one configuration, one of them killed', () => {
  it('leave the other its servers and its running call, and the dead one leaves none', async () => {
    const gauges = scriptStdio({ tools: [slowRead, whichProcess] });
    // Starts a process of its own, as a package runner does.
    const harbour = scriptStdio({ tools: harbourChild });
    const { file } = writeShared({ gauges, harbour });
    const [dying, living] = [
      await startBeside(file, [gauges, harbour], 6),
      await startBeside(file, [gauges, harbour], 6),
    ];
    expect(dying.pids).toHaveLength(2);
    expect(living.pids).toHaveLength(2);

    // Both are in the middle of a call.
    void readGauge(dying, 'gauges__read_slow_gauge').catch(() => undefined);
    const running = readGauge(living, 'gauges__read_slow_gauge');
    await until('both calls have reached a server', () => gauges.linesOf('tools/call').length === 2);
    dying.child.kill('SIGKILL');
    expect(await dying.exited).toBe('SIGKILL');

    // The dead one could do nothing any more: its servers see their stdin closed and end.
    await until('the servers of the killed program have ended', () => !dying.pids.some(isAlive));
    const answer = await running;
    expect(answer).not.toContain('"isError":true');
    expect(living.pids.some((pid) => answer.includes(`\\"pid\\":${pid},`))).toBe(true);
    expect(living.pids.every(isAlive)).toBe(true);
    expect(await readGauge(living, 'gauges__read_quick_gauge')).not.toContain('"isError":true');
    expect(await readGauge(living, 'harbour__list_ships')).toContain('Petrel, Heron');
    // The very servers it had from the start, and no others.
    expect([...gauges.pids(), ...harbour.pids()].filter(isAlive).toSorted(ascending)).toEqual(
      living.pids.toSorted(ascending),
    );
    expect([...gauges.pids(), ...harbour.pids()]).toHaveLength(4);
  });

  it('leave the file free: the other takes its changes, and a third starts', async () => {
    const gauges = scriptStdio({ tools: [whichProcess] });
    const harbour = scriptStdio({ tools: harbourChild });
    const { file, write } = writeShared({ gauges });
    const [dying, living] = [await startBeside(file, [gauges], 1), await startBeside(file, [gauges], 1)];
    dying.child.kill('SIGKILL');
    await dying.exited;

    write({ gauges, harbour });

    await toolsAreThere(living, 5);
    const third = await startBeside(file, [gauges, harbour], 5);
    expect(await readGauge(third, 'harbour__list_ships')).toContain('Petrel, Heron');
    expect(await readGauge(living, 'harbour__list_ships')).toContain('Petrel, Heron');
  });

  it('end politely as well without touching each other', async () => {
    const gauges = scriptStdio({ tools: [whichProcess], ignoreStdinEnd: true });
    const { file } = writeShared({ gauges });
    const [ending, living] = [await startBeside(file, [gauges], 1), await startBeside(file, [gauges], 1)];

    ending.child.stdin?.end();

    expect(await ending.exited).toBe(0);
    expect(ending.pids.some(isAlive)).toBe(false);
    expect(living.pids.every(isAlive)).toBe(true);
    expect(await readGauge(living, 'read_quick_gauge')).toContain(`\\"pid\\":${living.pids[0]},`);
  });
});
