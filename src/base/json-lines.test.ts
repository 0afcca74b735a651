import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineSplitter } from './json-lines.ts';

function split(chunks: readonly Buffer[], maxBytes = 1_000): { lines: string[]; tooLong: number[] } {
  const lines: string[] = [];
  const tooLong: number[] = [];
  const splitter = createLineSplitter({
    maxBytes,
    onLine: (l) => lines.push(l),
    onTooLong: (b) => tooLong.push(b),
  });
  for (const chunk of chunks) splitter.push(chunk);
  return { lines, tooLong };
}

describe('line splitter', () => {
  it('gives the same lines however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: 'grapheme', minLength: 1 }).map((s) => s.replaceAll(/[\r\n\uFEFF]/g, 'x')),
        ),
        fc.integer({ min: 1, max: 5 }),
        (lines, step) => {
          const bytes = Buffer.from(lines.map((l) => `${l}\n`).join(''));
          const chunks: Buffer[] = [];
          for (let at = 0; at < bytes.length; at += step) chunks.push(bytes.subarray(at, at + step));
          expect(split(chunks, 100_000).lines).toEqual(lines.map((l) => Buffer.from(l).toString()));
        },
      ),
    );
  });

  it('accepts CRLF, a byte order mark and empty lines', () => {
    expect(split([Buffer.from('\uFEFF{"a":1}\r\n\r\n\n{"b":2}\r\n')]).lines).toEqual(['{"a":1}', '{"b":2}']);
  });

  it('drops one overlong line, says how long it was, and keeps the next', () => {
    const { lines, tooLong } = split(
      [Buffer.from('x'.repeat(30)), Buffer.from('y'.repeat(30) + '\nshort\n')],
      40,
    );
    expect(lines).toEqual(['short']);
    expect(tooLong).toEqual([60]);
  });

  it('says once, before its end, that a line is four times too long', () => {
    const told: number[] = [];
    const splitter = createLineSplitter({
      maxBytes: 10,
      onLine: () => undefined,
      onTooLong: () => undefined,
      onEndless: (bytes) => told.push(bytes),
    });
    splitter.push(Buffer.from('x'.repeat(40)));
    expect(told).toEqual([]);
    splitter.push(Buffer.from('x'));
    splitter.push(Buffer.from('x'.repeat(100)));
    expect(told).toEqual([41]);
  });
});
