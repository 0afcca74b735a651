import { Tokenizer } from '@huggingface/tokenizers';
import { array, assert, constantFrom, oneof, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ENGLISH_PIECES } from '../../../test/support/english-model.ts';
import { WordRows } from './word-rows.ts';

const pieces = [...new Set(ENGLISH_PIECES)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
const UNKNOWN = pieces.length;
const words = new WordRows(
  Buffer.concat(pieces.map((piece) => Buffer.from(piece))),
  Uint8Array.from(pieces, (piece) => Buffer.byteLength(piece)),
  UNKNOWN,
);

/** Pieces as they are written; `?` is none. */
function read(text: string, limit = 500): string {
  return words
    .rowsOf(text, limit)
    .map((row) => pieces[row] ?? '?')
    .join(' ');
}

describe('rows of a text', () => {
  it('are its longest pieces, in lower case and without accents', () => {
    expect(read('The LISTS')).toBe('the list ##s');
    expect(read('Únopenable issue')).toBe('un ##o ##p ##e ##n ##able issue');
    expect(read('open-list!')).toBe('open - list !');
    expect(read('a世b')).toBe('a 世 b');
    expect(read('ΟΣ Σ')).toBe('? σ');
    expect(read('op\u200ben\tlist\u0000s')).toBe('open list ##s');
    expect(read('')).toBe('');
  });

  it('are one unknown for a word that no pieces cover or that is longer than 100 characters', () => {
    expect(read('open ж listж a')).toBe('open ? ? a');
    expect(read(`${'a'.repeat(100)} ${'a'.repeat(101)}`)).toBe(`a${' ##a'.repeat(99)} ?`);
  });

  it('are text where it names what begins or ends one', () => {
    expect(read('[CLS] open')).toBe('[ cls ] open');
  });

  it('are as many as asked for, of a text however long', () => {
    expect(read('the open list', 2)).toBe('the open');
    expect(read('unable', 1)).toBe('un');
    expect(words.rowsOf('open '.repeat(1_000_000), 5)).toHaveLength(5);
    expect(words.rowsOf('open', 0)).toEqual([]);
  });

  it('are those of the library, on generated texts', () => {
    const vocab = Object.fromEntries([...pieces, '[UNK]'].map((piece, i) => [piece, i]));
    const theirs = new Tokenizer(
      {
        version: '1.0',
        added_tokens: [],
        normalizer: {
          type: 'BertNormalizer',
          clean_text: true,
          handle_chinese_chars: true,
          strip_accents: null,
          lowercase: true,
        },
        pre_tokenizer: { type: 'BertPreTokenizer' },
        post_processor: null,
        decoder: null,
        model: {
          type: 'WordPiece',
          unk_token: '[UNK]',
          continuing_subword_prefix: '##',
          max_input_chars_per_word: 100,
          vocab,
        },
      },
      {},
    );
    const alphabets = ['theoplisunbg', 'THE Open list', "issue's, [0]!", 'éüñçß', 'σΣс', '世界', 'x1.5-$'];
    const part = oneof(
      ...alphabets.map((letters) => string({ unit: constantFrom(...Array.from(letters)), maxLength: 10 })),
      constantFrom('the', 'open', 'lists', 'unlistable'),
    );
    assert(
      property(array(part, { maxLength: 8 }), (parts) => {
        const text = parts.join(' ');
        expect(words.rowsOf(text, 100)).toEqual(
          theirs.encode(text, { add_special_tokens: false }).ids.slice(0, 100),
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
