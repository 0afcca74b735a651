import { afterEach, describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../src/base/errors.ts';
import { killWhileReading } from '../../scripts/kills.mjs';
import { programTarget, startStdioProgram, toolsAreThere } from '../support/proxy.ts';
import { harbourChild } from '../support/harbour.ts';
import { isAlive, scriptStdio } from '../support/stdio-upstream.ts';
import { until } from '../support/wait.ts';

/**
 * Servers that are killed at random moments, also while they start. The full numbers (2,000 reads, 200 kills) take
 * longer than a test should: `npm run kills`.
 */
const isLinux = process.platform === 'linux';

afterEach(({ task }) => {
  // Which moments were hit is a matter of chance: the numbers help to understand a failure.
  if (task.result?.state === 'fail') console.error(figures);
});
let figures: Awaited<ReturnType<typeof killWhileReading>> | undefined;

describe.runIf(isLinux)('40 kills during 400 reads', () => {
  it(
    'leave every call answered or failed by name, no process, no descriptor',
    { timeout: 90_000 },
    async () => {
      const { args } = await programTarget({});
      figures = await killWhileReading({ reads: 400, kills: 40, seed: 20, proxy: args[0] ?? '' });

      expect(figures.wrong).toEqual([]);
      const failed = Object.values(figures.failed).reduce((sum, count) => sum + count, 0);
      expect(figures.answered + failed).toBe(400);
      expect(Object.keys(figures.failed).filter((code) => !(code in ERROR_CODES))).toEqual([]);
      expect(figures).toMatchObject({ kills: 40, survivors: 0, childrenAfter: 4, exit: 0 });
      expect(figures.descriptorsAfter).toBeLessThanOrEqual(figures.descriptorsBefore + 2);
    },
  );
});

describe('a server that was killed', () => {
  it('answers the next call, a write as well as a read', async () => {
    const harbour = scriptStdio({ tools: harbourChild });
    const running = await startStdioProgram('legacy', {
      mcpServers: { harbour: { command: harbour.command, args: harbour.args } },
    });
    await running.client.initialize();
    await toolsAreThere(running, 4);
    for (const [metaTool, name, args] of [
      ['call_read_tool', 'list_ships', {}],
      ['call_write_tool', 'book_berth', { ship: 'Heron', berth: 3 }],
      ['call_read_tool', 'read_tide_table', { port: 'Elmsea' }],
    ] as const) {
      const pid = harbour.pids().at(-1) ?? 0;
      process.kill(pid, 'SIGKILL');
      await until('the killed server is gone', () => !isAlive(pid));
      // The proxy hears of it a moment later; a call in that moment may fail by name, and a write is not sent twice.
      await until(
        'the program has taken notice',
        () => new Promise<boolean>((done) => setTimeout(done, 100, true)),
      );

      const reply = await running.client.call(metaTool, JSON.stringify({ name, arguments: args }));
      expect(reply).not.toContain('"isError":true');
    }
    expect(harbour.callsOf('book_berth')).toHaveLength(1);
  });

  it('fails the calls it was working on at once, with a sentence that says how it ended', async () => {
    const tools = harbourChild.map((tool) => ({ ...tool, does: { kind: 'hang' } as const }));
    const harbour = scriptStdio({ tools });
    const running = await startStdioProgram('legacy', {
      mcpServers: { harbour: { command: harbour.command, args: harbour.args } },
    });
    await running.client.initialize();
    await toolsAreThere(running, 4);
    const calls = [
      running.client.call('call_read_tool', '{"name":"list_ships","arguments":{}}'),
      running.client.call('call_write_tool', '{"name":"book_berth","arguments":{"ship":"Heron","berth":3}}'),
    ];
    await until('both calls have reached the server', () => harbour.linesOf('tools/call').length === 2);

    process.kill(harbour.pids().at(-1) ?? 0, 'SIGKILL');

    for (const reply of await Promise.all(calls)) {
      expect(reply).toContain('"isError":true');
      expect(reply).toContain("[upstream_exited] Upstream 'harbour' ended by SIGKILL");
    }
    expect(harbour.linesOf('tools/call')).toHaveLength(2);
  });
});
