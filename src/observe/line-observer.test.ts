import { describe, expect, it } from 'vitest';
import type { HouseEvent } from '../base/observer.ts';
import { createLineObserver } from './line-observer.ts';
import type { LogLevel } from './levels.ts';

function linesOf(events: readonly HouseEvent[], level: LogLevel = 'debug'): string[] {
  let text = '';
  const observe = createLineObserver({ write: (piece) => (text += piece) !== '' }, { level });
  for (const event of events) observe(event);
  return text.split('\n').slice(0, -1);
}

describe('lines for people', () => {
  it('say each event in one line', () => {
    expect(
      linesOf([
        { kind: 'listening', address: 'http://127.0.0.1:8080/mcp' },
        { kind: 'draining', running: 1 },
        { kind: 'upstream', upstream: 'files', state: 'starting' },
        { kind: 'upstream', upstream: 'files', state: 'exited', reason: 'exit code 1' },
        { kind: 'listing', upstream: 'files', tools: 12, dropped: [], causes: {}, ms: 31.4 },
        { kind: 'listing', upstream: 'files', tools: 1, dropped: ['', 'x y'], causes: { invalid: 2 }, ms: 3 },
        { kind: 'listing_failed', upstream: 'files', code: 'upstream_timeout', reason: 'no answer' },
        {
          kind: 'call',
          metaTool: 'call_read_tool',
          tool: 'read_file',
          upstream: 'files',
          outcome: 'ok',
          ms: 4.2,
        },
        { kind: 'call', metaTool: 'call_write_tool', outcome: 'failed', code: 'upstream_closed', ms: 4 },
        { kind: 'unvalidated', tool: 'odd', reason: 'the schema cannot be compiled' },
        { kind: 'vectors', tools: 527, isWhole: false, ms: 900 },
        { kind: 'vectors', tools: 1, isWhole: true, ms: 20.2 },
        { kind: 'note', message: 'writeTools: "x*" matches no tool' },
      ]),
    ).toEqual([
      'listening on http://127.0.0.1:8080/mcp',
      'shutting down, 1 request still running',
      'files: starting',
      'files: exited: exit code 1',
      'files: 12 tools in 31 ms',
      'files: 1 tool in 3 ms; left out 2 tools that cannot be used: , x y',
      'files: listing failed (upstream_timeout): no answer',
      'call_read_tool read_file: ok in 4 ms',
      'call_write_tool: failed (upstream_closed) in 4 ms',
      'odd: arguments were not checked: the schema cannot be compiled',
      '527 tools read quickly for search by meaning in 900 ms',
      '1 tool read for search by meaning in 20 ms',
      'writeTools: "x*" matches no tool',
    ]);
  });

  it('cannot be forged by an upstream, nor made endless', () => {
    const evil = `a\nlistening on http://evil\r\u001b[31mred\u2028next\u202eturned`;
    const lines = linesOf([
      { kind: 'upstream', upstream: evil, state: 'failed', reason: 'x'.repeat(1_000) },
      { kind: 'bug', stack: `Error: ${evil}\n    at somewhere` },
    ]);
    expect(lines[0]?.length).toBeLessThan(600);
    expect(lines.slice(1).every((line) => line.startsWith('  | ') || line.startsWith('a bug'))).toBe(true);
    expect(lines.join('\n')).not.toMatch(/(?!\n)[\p{Cc}\u2028\u202e]/u);
  });

  it('say less at a lower level', () => {
    const events: HouseEvent[] = [
      { kind: 'upstream', upstream: 'a', state: 'starting' },
      { kind: 'upstream', upstream: 'a', state: 'ready' },
      { kind: 'upstream', upstream: 'a', state: 'failed' },
    ];
    expect(linesOf(events, 'info')).toEqual(['a: ready', 'a: failed']);
    expect(linesOf(events, 'warn')).toEqual(['a: failed']);
    expect(linesOf(events, 'silent')).toEqual([]);
  });

  it('say what is wrong with an upstream once, until it is well again or something else is wrong', () => {
    const exited = { kind: 'upstream', upstream: 'a', state: 'exited', reason: 'exit code 3' } as const;
    const failed = {
      kind: 'listing_failed',
      upstream: 'a',
      code: 'upstream_exited',
      reason: 'exit code 3',
    } as const;
    const ready = { kind: 'upstream', upstream: 'a', state: 'ready' } as const;
    expect(
      linesOf([
        exited,
        failed,
        exited,
        { ...exited, upstream: 'b' },
        ready,
        exited,
        { ...exited, reason: 'other' },
      ]),
    ).toEqual([
      'a: exited: exit code 3',
      'b: exited: exit code 3',
      'a: ready',
      'a: exited: exit code 3',
      'a: exited: other',
    ]);
  });

  it('are dropped and counted while nobody reads them', () => {
    const written: string[] = [];
    const stream = { writableLength: 10_000_000, write: (text: string) => written.push(text) > 0 };
    const observe = createLineObserver(stream, { level: 'info' });
    observe({ kind: 'note', message: 'one' });
    observe({ kind: 'note', message: 'two' });
    stream.writableLength = 0;
    observe({ kind: 'note', message: 'three' });
    expect(written).toEqual(['2 lines were dropped because nobody read them\n', 'three\n']);
  });
});
