import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { assert, constantFrom, array, oneof, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from './json-fields.ts';
import { readTokenizerSpec } from './read-spec.ts';
import { openJsonTokenizer } from './tokenizer.ts';
import type { JsonTokenizer } from './tokenizer.ts';
import { readVocabulary } from './vocabulary.ts';

const fixtures = join(import.meta.dirname, '../../../test/fixtures/model2vec');
const parse = (path: string): unknown => JSON.parse(readFileSync(join(fixtures, path), 'utf8'));
const texts = parse('texts.json') as readonly string[];
const names = ['potion', 'nested', 'bert', 'cased'] as const;

function open(json: unknown): JsonTokenizer {
  const spec = readTokenizerSpec(json);
  return openJsonTokenizer(spec, readVocabulary(json, spec));
}

describe('token ids', () => {
  it.each(names)('are those of the reference library (%s)', (name) => {
    const tokenizer = open(parse(`tokenizers/${name}.json`));
    const expected = parse(`tokenizers/${name}.ids.json`) as readonly string[];
    expect(expected.length).toBe(texts.length);
    const wrong = texts.flatMap((text, i) => {
      const ids = tokenizer.encode(text).join(' ');
      return ids === expected[i] ? [] : [{ text, ids, expected: expected[i] }];
    });
    expect(wrong).toEqual([]);
  });

  it('are those of the JavaScript library too, on generated texts', () => {
    for (const name of ['bert', 'potion'] as const) {
      // Its charsmap and its rules for rare characters are approximations: hence texts both read the same way.
      const json = withoutCharsmap(parse(`tokenizers/${name}.json`));
      const ours = open(json);
      const theirs = new Tokenizer(json, {});
      const alphabets = [
        'abcdefghij klmnopqrstuvwxyz',
        "HELLO, World! It's (fine)?",
        'ąčęėįšųūž',
        'дела на сегодня',
        'καιρός σήμερα',
        'שלום',
        'مرحبا',
        'मौसम',
        '今天天气',
        'カタカナ',
        '오늘 날씨',
        '123 45.6',
      ];
      const part = oneof(
        ...alphabets.map((letters) => string({ unit: constantFrom(...Array.from(letters)), maxLength: 12 })),
      );
      assert(
        property(array(part, { maxLength: 8 }), (parts) => {
          const text = parts.join(' ');
          expect(ours.encode(text)).toEqual(theirs.encode(text, { add_special_tokens: false }).ids);
        }),
        { numRuns: 1_500 },
      );
    }
  });

  it('never stop on any text, however broken', () => {
    const tokenizers = names.map((name) => open(parse(`tokenizers/${name}.json`)));
    assert(
      property(string({ unit: 'binary', maxLength: 60 }), string({ maxLength: 5 }), (text, more) => {
        for (const tokenizer of tokenizers) {
          for (const id of tokenizer.encode(`${text}\ud800${more}\udc00`))
            expect(id).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 300 },
    );
  });
});

function withoutCharsmap(json: unknown): object {
  const { normalizer, ...rest } = json as { normalizer: { normalizers?: { type: string }[] } };
  const { normalizers } = normalizer;
  if (normalizers === undefined) return { ...rest, normalizer };
  return {
    ...rest,
    normalizer: { ...normalizer, normalizers: normalizers.filter(({ type }) => type !== 'Precompiled') },
  };
}

describe('a tokenizer this program would read otherwise', () => {
  const unigram = {
    type: 'Unigram',
    unk_id: 0,
    vocab: [
      ['[UNK]', 0],
      ['a', -1],
    ],
  };
  const reason = (json: object): string => {
    try {
      open({ model: unigram, ...json });
    } catch (error) {
      if (error instanceof Fault) return error.message;
      throw error;
    }
    return 'none';
  };

  it('is refused by name', () => {
    expect(reason({})).toBe('none');
    expect(reason({ model: { type: 'BPE', vocab: {}, merges: [] } })).toContain('its model is "BPE"');
    expect(reason({ normalizer: { type: 'Nmt' } })).toBe('its normalizer "Nmt" is not supported');
    expect(reason({ pre_tokenizer: { type: 'ByteLevel' } })).toContain('"ByteLevel" is not supported');
    for (const Regex of [
      '(a+)+$',
      String.raw`\bx`,
      'a|b',
      '(?i)a',
      'a*+',
      'a*b*c*d*',
      '[a&&b]',
      String.raw`\h`,
    ]) {
      expect(reason({ normalizer: { type: 'Replace', pattern: { Regex }, content: '' } })).toContain(
        'not supported',
      );
    }
    for (const Regex of [String.raw`\s+`, ' {2,}', '[^a-z]', String.raw`\p{P}`, String.raw`[\\s]`]) {
      expect(reason({ normalizer: { type: 'Replace', pattern: { Regex }, content: '' } })).toBe('none');
    }
    const first = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: true };
    expect(
      reason({ pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, first] } }),
    ).toContain('first of several parts');
  });

  it('is refused when its parts do not fit each other', () => {
    const vocab = unigram.vocab;
    expect(reason({ model: { ...unigram, unk_id: 2 } })).toBe('its unk_id is 2, but there are 2 pieces');
    expect(reason({ model: { ...unigram, unk_id: -1 } })).toContain('not the number of a piece');
    expect(reason({ model: { ...unigram, vocab: [] } })).toBe('its vocabulary is empty');
    expect(reason({ model: { ...unigram, vocab: [...vocab, ['b', '1']] } })).toContain(
      'piece 2 of its vocabulary',
    );
    expect(reason({ model: { ...unigram, vocab: 'all' } })).toContain('not a list of pieces');
    expect(reason({ model: { type: 'WordPiece', vocab: { a: 1e9 } } })).toContain(
      '"a" of its vocabulary has no id',
    );
    expect(reason({ added_tokens: [{ content: 'x' }] })).toContain('has no id');
    expect(reason({ normalizer: { type: 'Precompiled', precompiled_charsmap: 'AAAA' } })).toContain(
      'charsmap',
    );
    let nested: object = { type: 'NFC' };
    for (let i = 0; i < 1_000; i++) nested = { type: 'Sequence', normalizers: [nested] };
    expect(reason({ normalizer: nested })).toContain('nested too deep');
  });
});
