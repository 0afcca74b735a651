import { describe, expect, it } from 'vitest';
import type { HouseEvent } from '../base/observer.ts';
import { createJsonObserver } from './json-observer.ts';
import type { LogLevel } from './levels.ts';

async function linesOf(events: readonly HouseEvent[], level: LogLevel): Promise<Record<string, unknown>[]> {
  const lines: string[] = [];
  const observe = createJsonObserver({ write: (line) => lines.push(line) > 0 }, { level });
  for (const event of events) observe(event);
  const expected = events.length;
  const until = Date.now() + 5_000;
  while (lines.length < expected && Date.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 5));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const CALL: HouseEvent = {
  kind: 'call',
  metaTool: 'call_read_tool',
  tool: 'files__read',
  upstream: 'files',
  access: 'read',
  outcome: 'tool_error',
  ms: 4.256_78,
  caller: '0badcafe',
};

describe('lines for machines', () => {
  it('are one JSON object each, with the fields of the event and no others', async () => {
    const [line] = await linesOf([CALL], 'info');
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      msg: 'call_read_tool files__read: tool error in 4 ms',
      event: 'call',
      method: 'tools/call',
      tool: 'call_read_tool',
      target: 'files__read',
      upstream: 'files',
      kind: 'read',
      outcome: 'tool_error',
      error_type: 'tool_error',
      duration_ms: 4.257,
      caller: '0badcafe',
    });
  });

  it('keep the order of events that came before the logger was there', async () => {
    const events = Array.from({ length: 20 }, (_, index): HouseEvent => ({
      kind: 'note',
      message: `n${index}`,
    }));
    const lines = await linesOf(events, 'info');
    expect(lines.map(({ msg }) => msg)).toEqual(events.map((_, index) => `n${index}`));
  });

  it('leave out what is below their level', async () => {
    const lines: string[] = [];
    const observe = createJsonObserver({ write: (line) => lines.push(line) > 0 }, { level: 'warn' });
    observe({ kind: 'note', message: 'not worth a warning' });
    observe({ kind: 'shed', scope: 'process', limit: 'maxRequests' });
    while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('maxRequests');
  });

  it('cannot be forged by an upstream', async () => {
    const [line] = await linesOf(
      [
        {
          kind: 'listing_failed',
          upstream: 'x\n{"level":"info"}',
          code: 'upstream_error',
          reason: '\u001B[2Jgone',
        },
      ],
      'info',
    );
    expect(line?.['upstream']).toBe('x {"level":"info"}');
    expect(line?.['reason']).toBe('[2Jgone');
  });
});
