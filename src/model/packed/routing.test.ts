import { describe, expect, it } from 'vitest';
import { emptyCharsmap } from '../../../test/support/packed-model.ts';
import { Charsmap } from '../tokenizer/charsmap.ts';
import { UnigramSegmenter, unigramVocabulary } from '../tokenizer/unigram.ts';
import type { PackedVocabulary } from './packed-file.ts';
import { rowsOf } from './routing.ts';

const UNKNOWN = 900;
const BEGIN = 901;
const END = 902;

function vocabulary(name: string, pieces: Readonly<Record<string, number>>, textMargin = 2) {
  const names = Object.keys(pieces);
  const scores = Float32Array.from(Object.values(pieces));
  const segmenter = new UnigramSegmenter(unigramVocabulary(names, scores), { precision: 'single' });
  const made: PackedVocabulary = {
    name,
    segmenter,
    scores,
    unknownRow: UNKNOWN,
    beginRow: BEGIN,
    endRow: END,
    firstRow: 0,
    textMargin,
  };
  return { names, made };
}

const letters = Object.fromEntries(Array.from('abcdefghijklmnopqrstuvwxyzA', (letter) => [letter, -6]));
const BASE = vocabulary('base', { '▁': -2, ...letters, '▁open': -6, '▁Open': -6 });
const LITHUANIAN = vocabulary('lt', { '▁': -2, ė: -5, '▁užduotį': -8, '▁sukurk': -8, '▁task': -30 });
const OTHER = vocabulary('other', { '▁': -2, '▁sukurk': -7, ė: -5 });

/** The vocabulary that won and the pieces, each with the place of its vocabulary when that is not the winner's. */
function read(text: string, { added = [LITHUANIAN], wordMargin, limit = 20 }: ReadOptions = {}) {
  const all = [BASE, ...added];
  const file = {
    charsmap: new Charsmap(emptyCharsmap()),
    vocabularies: [BASE.made, ...added.map(({ made }) => made)] as const,
    routing: { unknownCharacterScore: -25, wordMargin },
  };
  const { vocabulary, rows } = rowsOf(file, text, limit);
  const pieces = rows.map(([place, row]) => {
    const name = { [UNKNOWN]: '?', [BEGIN]: '<', [END]: '>' }[row] ?? all[place]!.names[row];
    return vocabulary === all[place]!.made.name ? name : `${place}:${name}`;
  });
  return { vocabulary, pieces: pieces.join(' ') };
}

interface ReadOptions {
  readonly added?: readonly (typeof BASE)[];
  readonly wordMargin?: number;
  readonly limit?: number;
}

describe('routing between vocabularies', () => {
  it('leaves a text to the base as it is written, unless another explains it better', () => {
    expect(read('Open')).toEqual({ vocabulary: 'base', pieces: '< ▁Open >' });
    expect(read('open A')).toEqual({ vocabulary: 'base', pieces: '< ▁open ▁ A >' });
    expect(read('OPEN').pieces).toBe('< ▁ ? >');
  });

  it('cuts a text another vocabulary explains better into its pieces, in lower case', () => {
    expect(read('Sukurk UŽDUOTĮ')).toEqual({ vocabulary: 'lt', pieces: '< ▁sukurk ▁užduotį >' });
  });

  it('wants the difference a word to be above the margin, not at it', () => {
    const pieces = { '▁': -2, '▁open': -4, '▁a': -6 };
    expect(read('open a', { added: [vocabulary('new', pieces)] }).vocabulary).toBe('base');
    // "open" is better by 2, "a" by 2: 2 a word.
    expect(read('open', { added: [vocabulary('new', pieces, 1.9)] }).vocabulary).toBe('new');
    expect(read('open a', { added: [vocabulary('new', pieces, 1.9)] }).vocabulary).toBe('new');
    expect(
      read('open open a', { added: [vocabulary('new', { ...pieces, '▁a': -14 }, 1.9)] }).vocabulary,
    ).toBe('base');
  });

  it('takes the best of several', () => {
    expect(read('sukurk', { added: [LITHUANIAN, OTHER] }).vocabulary).toBe('other');
    expect(read('sukurk užduotį', { added: [LITHUANIAN, OTHER] }).vocabulary).toBe('lt');
  });

  it('counts every character no piece covers, the space sign too', () => {
    // Base: two unknown characters; new: one fused unknown of three.
    const added = [vocabulary('new', { x: -1 }, -1_000)];
    expect(read('ėė', { added }).vocabulary).toBe('new');
    const strict = [vocabulary('new', { x: -1 }, -24.5 + -2)];
    // (−25 × 3) − (−2 − 50) = −23 a word.
    expect(read('ėė', { added: strict }).vocabulary).toBe('new');
    expect(read('ėė', { added: [vocabulary('new', { x: -1 }, -23)] }).vocabulary).toBe('base');
  });

  it('keeps the base’s pieces of words it explains better, where a margin says so', () => {
    expect(read('sukurk task')).toEqual({ vocabulary: 'lt', pieces: '< ▁sukurk ▁task >' });
    expect(read('sukurk task', { wordMargin: 2 })).toEqual({
      vocabulary: 'lt',
      pieces: '< ▁sukurk 0:▁ 0:t 0:a 0:s 0:k >',
    });
    expect(read('sukurk task', { wordMargin: 4 }).pieces).toBe('< ▁sukurk ▁task >');
  });

  it('keeps the first pieces of a long text, and never fails on an enormous one', () => {
    expect(read('open '.repeat(50), { limit: 3 }).pieces).toBe('< ▁open ▁open ▁open >');
    const start = performance.now();
    expect(read('😀'.repeat(5_000_000), { limit: 3 }).pieces).toBe('< ▁ ? >');
    expect(performance.now() - start).toBeLessThan(20_000);
  });

  it('has begin and end around nothing', () => {
    expect(read('')).toEqual({ vocabulary: 'base', pieces: '< >' });
    expect(read('  \n')).toMatchObject({ vocabulary: 'base' });
  });
});
