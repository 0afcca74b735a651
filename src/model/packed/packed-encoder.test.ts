import { copyFileSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writePackedModel, writeSafetensors } from '../../../test/support/packed-model.ts';
import type { TextRole } from '../../search/embedder.ts';
import { openPackedEncoder } from './packed-encoder.ts';

const folder = mkdtempSync(join(tmpdir(), 'packed-'));
const model = join(folder, 'encoder.safetensors');
writePackedModel(model, { added: { '▁ąžuolas': -8, '▁': -5, ė: -6 } });

const TEXTS: readonly (readonly [string, TextRole])[] = [
  ['', 'question'],
  ['a', 'question'],
  ['open the issue', 'question'],
  ['list the open issues, then open the list', 'document'],
  ['ąžuolas ė', 'question'],
  ['the open list of issues. '.repeat(30), 'document'],
  ['x y z '.repeat(100), 'question'],
  ['☃☃☃', 'document'],
];

function largestDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((most, number, i) => Math.max(most, Math.abs(number - b[i]!)), 0);
}

describe('the packed encoder', () => {
  const encoder = openPackedEncoder(model);

  it('gives vectors of length 1, in 512 numbers, of any text', () => {
    expect(encoder.dimensions).toBe(512);
    for (const [text, role] of TEXTS) {
      const vector = encoder.encode(text, role);
      expect(vector).toHaveLength(512);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    }
  });

  it('computes in plain JavaScript what it computes in WebAssembly, to 1e-3', () => {
    const plain = openPackedEncoder(model, { isPlain: true });
    for (const [text, role] of TEXTS) {
      expect(largestDifference(plain.encode(text, role), encoder.encode(text, role))).toBeLessThan(1e-3);
    }
    // The texts are told apart: the comparison above says something.
    const [first, second] = [
      encoder.encode('open the issue', 'question'),
      encoder.encode('list x', 'question'),
    ];
    expect(largestDifference(first, second)).toBeGreaterThan(0.01);
    plain.close();
  });

  it('gives the same vector to the last bit, whatever was embedded before and however few rows are kept', () => {
    const small = openPackedEncoder(model, { keptRows: 1 });
    const vectors = TEXTS.map(([text, role]) => small.encode(text, role));
    for (const [i, [text, role]] of [...TEXTS.entries()].toReversed()) {
      expect(encoder.encode(text, role)).toEqual(vectors[i]);
      expect(small.encode(text, role)).toEqual(vectors[i]);
    }
    small.close();
  });

  it('reads no more than 40 pieces of a document, and more of a question', () => {
    const long = 'a '.repeat(60);
    expect(encoder.encode(`${long} list`, 'document')).toEqual(encoder.encode(`${long} open`, 'document'));
    expect(encoder.encode(`${long} list`, 'question')).not.toEqual(
      encoder.encode(`${long} open`, 'question'),
    );
  });

  it('has an id that is the file’s', () => {
    const same = join(folder, 'same.safetensors');
    copyFileSync(model, same);
    const copy = openPackedEncoder(same);
    expect(copy.id).toBe(encoder.id);
    expect(copy.id).toMatch(/^packed-[0-9a-f]{32}$/);
    copy.close();
    const other = join(folder, 'other.safetensors');
    writePackedModel(other, { seed: 2 });
    const different = openPackedEncoder(other);
    expect(different.id).not.toBe(encoder.id);
    different.close();
  });
});

describe('a packed file that is not good', () => {
  const opening = (path: string) => () => openPackedEncoder(path).close();

  it('is said to be missing when it is', () => {
    expect(opening(join(folder, 'none'))).toThrow(
      expect.objectContaining({ code: 'model_missing' }) as Error,
    );
  });

  it.each<[Readonly<Record<string, unknown>>, string]>([
    [{ format: 2 }, 'its format is 2; this version reads 1'],
    [{ dimensions: 256 }, 'its dimensions are not 512'],
    [{ epsilon: 'small' }, 'its epsilon is not a number'],
    [{ vocabularies: [] }, 'its vocabularies are not a list of 1 to 16'],
    [{ vocabularies: [{}] }, 'one of its vocabularies has no name'],
    [
      { vocabularies: [{ name: 'lt', unknownRow: 0, beginRow: 1, endRow: 2 }] },
      'it has no tensor "lt.lengths" (U8 [any])',
    ],
    [
      { vocabularies: [{ name: 'base', unknownRow: -1, beginRow: 1, endRow: 2 }] },
      'unknownRow of vocabulary "base"',
    ],
    [
      { vocabularies: [{ name: 'base', unknownRow: 99, beginRow: 1, endRow: 2 }] },
      'vocabulary "base" has no row 99',
    ],
    [{ routing: null }, 'its routing is not a JSON object'],
    [{ documentPieces: 0 }, 'its documentPieces is not a whole number from 1 to 512'],
    [{ questionPieces: 1e9 }, 'its questionPieces is not'],
  ])('is refused for metadata %j', (metadata, message) => {
    const path = join(folder, 'metadata.safetensors');
    writePackedModel(path, { metadata });
    expect(opening(path)).toThrow(
      expect.objectContaining({
        code: 'model_invalid',
        message: expect.stringContaining(message) as string,
      }) as Error,
    );
  });

  it('is refused when it is another kind of model', () => {
    const path = join(folder, 'other-kind.safetensors');
    writeSafetensors(path, { embeddings: ['F32', [2, 2], new Float32Array(4)] });
    expect(opening(path)).toThrow('it is not a packed model');
  });

  it('is refused when it is cut off anywhere', () => {
    const path = join(folder, 'cut.safetensors');
    const whole = readFileSync(model);
    for (const size of [0, 100, 5_000, whole.length / 2, whole.length - 1]) {
      copyFileSync(model, path);
      truncateSync(path, size);
      expect(opening(path)).toThrow(expect.objectContaining({ code: 'model_invalid' }) as Error);
    }
  });

  it('is refused when weights are no numbers', () => {
    const path = join(folder, 'nan.safetensors');
    const bytes = readFileSync(model);
    // The levels are the second tensor, behind the charsmap.
    const header = Number(bytes.readBigUInt64LE(0));
    const { levels } = JSON.parse(bytes.toString('utf8', 8, 8 + header)) as {
      levels: { data_offsets: number[] };
    };
    bytes.writeFloatLE(Number.NaN, 8 + header + levels.data_offsets[0]!);
    writeFileSync(path, bytes);
    expect(opening(path)).toThrow('its tensor "levels" has values that are not numbers');
  });

  it('fails, and recovers, when its rows cannot be read for a while', () => {
    const path = join(folder, 'shrinking.safetensors');
    copyFileSync(model, path);
    const whole = readFileSync(path);
    const encoder = openPackedEncoder(path);
    const expected = encoder.encode('open', 'question');
    truncateSync(path, 5_000);
    expect(() => encoder.encode('list the', 'question')).toThrow(
      expect.objectContaining({ code: 'model_invalid' }) as Error,
    );
    // What was read before needs no file.
    expect(encoder.encode('open', 'question')).toEqual(expected);
    writeFileSync(path, whole);
    expect(Math.hypot(...encoder.encode('list the', 'question'))).toBeCloseTo(1, 5);
    encoder.close();
  });
});
