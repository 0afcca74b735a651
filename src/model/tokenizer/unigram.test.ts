import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UNKNOWN_PIECE, UnigramSegmenter, unigramVocabulary } from './unigram.ts';

function segmenterOf(pieces: Readonly<Record<string, number>>, precision: 'single' | 'double' = 'double') {
  const names = Object.keys(pieces);
  const scores = Float64Array.from(Object.values(pieces));
  return { names, segmenter: new UnigramSegmenter(unigramVocabulary(names, scores), { precision }) };
}

/** The parts of a text, unknown ones in brackets. */
function parts(pieces: Readonly<Record<string, number>>, text: string, precision?: 'single' | 'double') {
  const { names, segmenter } = segmenterOf(pieces, precision);
  const bytes = Buffer.from(text);
  const found = segmenter.segment(bytes);
  return Array.from(found.pieces, (piece, i) => {
    const surface = bytes.toString('utf8', i === 0 ? 0 : found.ends[i - 1], found.ends[i]);
    if (piece === UNKNOWN_PIECE) return `[${surface}]`;
    expect(surface).toBe(names[piece]);
    return surface;
  });
}

describe('Unigram segmentation', () => {
  it('takes the most probable pieces, not the longest', () => {
    expect(parts({ a: -1, b: -1, c: -1, ab: -5, bc: -1.5, abc: -9 }, 'abc')).toEqual(['a', 'bc']);
  });

  it('takes what no piece covers as one unknown, however long', () => {
    expect(parts({ a: -1, b: -1 }, 'aėšžb☃')).toEqual(['a', '[ėšž]', 'b', '[☃]']);
    expect(parts({ a: -1 }, '')).toEqual([]);
  });

  it('keeps the path found first when two are equal', () => {
    // By start of the last part: "ab" then "c" is written before "a" then "bc".
    expect(parts({ ab: -1, c: -1, a: -1, bc: -1 }, 'abc')).toEqual(['a', 'bc']);
    expect(parts({ a: -2, b: -2, ab: -4 }, 'ab')).toEqual(['ab']);
  });

  it('has an unknown character cost 10 more than the rarest piece', () => {
    const { segmenter } = segmenterOf({ a: -1, b: -3 });
    expect(segmenter.segment(Buffer.from('aé')).score).toBe(-1 - 13);
    const set = new UnigramSegmenter(unigramVocabulary(['a'], Float64Array.of(-1)), {
      precision: 'double',
      unknownScore: -2,
    });
    expect(set.segment(Buffer.from('aé')).score).toBe(-3);
  });

  it('adds in single precision when asked to, which may choose other pieces', () => {
    // In single precision 2^24 and 1 add up to 2^24, so the second path is no better than the first.
    const pieces = { ab: -16_777_217, a: -16_777_216, b: -0.5 };
    expect(parts(pieces, 'ab', 'double')).toEqual(['a', 'b']);
    const single = new UnigramSegmenter(
      unigramVocabulary(['x', 'y', 'z'], Float32Array.of(-0.1, -0.2, -0.3)),
      { precision: 'single' },
    ).segment(Buffer.from('xyz')).score;
    expect(single).toBe(Math.fround(Math.fround(Math.fround(-0.1) + Math.fround(-0.2)) + Math.fround(-0.3)));
  });

  it('counts the later of two pieces that are the same', () => {
    const vocabulary = unigramVocabulary(['a', 'b', 'a'], Float64Array.of(-1, -2, -3));
    const found = new UnigramSegmenter(vocabulary, { precision: 'double' }).segment(Buffer.from('ab'));
    expect([...found.pieces]).toEqual([2, 1]);
    expect(found.score).toBe(-5);
  });

  it('refuses pieces that are empty, and lengths that do not fit', () => {
    const bytes = Buffer.from('ab');
    const scores = Float64Array.of(-1, -1);
    const of = (lengths: number[]) => () =>
      new UnigramSegmenter({ bytes, lengths, scores }, { precision: 'double' });
    expect(of([2, 0])).toThrow(RangeError);
    expect(of([2, 1])).toThrow(RangeError);
  });

  it('does as its slow twin does', () => {
    const letters = fc.constantFrom('a', 'b', 'ą', '中', '😀');
    const word = fc.array(letters, { minLength: 1, maxLength: 4 }).map((list) => list.join(''));
    const vocabulary = fc.dictionary(
      word,
      fc.integer({ min: -40, max: 0 }).map((n) => n / 4),
      { minKeys: 1, maxKeys: 25 },
    );
    const text = fc.array(letters, { maxLength: 20 }).map((list) => list.join(''));
    fc.assert(
      fc.property(
        vocabulary,
        text,
        fc.constantFrom('single' as const, 'double' as const),
        (pieces, text, precision) => {
          expect(parts(pieces, text, precision)).toEqual(slowParts(pieces, text));
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

/** By characters and strings; quarter steps add up exactly in either precision. */
function slowParts(pieces: Readonly<Record<string, number>>, text: string): string[] {
  const characters = Array.from(text);
  const unknown = Math.min(0, ...Object.values(pieces)) - 10;
  const best: { score: number; parts: string[] }[] = [{ score: 0, parts: [] }];
  for (let start = 0; start < characters.length; start++) {
    const before = best[start]!;
    const offer = (end: number, part: string, score: number): void => {
      const there = best[end];
      if (there === undefined || before.score + score > there.score) {
        best[end] = { score: before.score + score, parts: [...before.parts, part] };
      }
    };
    for (let end = start + 1; end <= characters.length; end++) {
      const part = characters.slice(start, end).join('');
      if (Object.hasOwn(pieces, part)) offer(end, part, pieces[part]!);
    }
    if (!Object.hasOwn(pieces, characters[start]!)) offer(start + 1, `[${characters[start]}]`, unknown);
  }
  const parts: string[] = [];
  for (const part of best[characters.length]!.parts) {
    const last = parts.at(-1);
    if (part.startsWith('[') && last?.startsWith('['))
      parts[parts.length - 1] = last.slice(0, -1) + part.slice(1);
    else parts.push(part);
  }
  return parts;
}
