import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openPackedEncoder } from '../packed/packed-encoder.ts';
import { halfFloat } from '../weights.ts';
import { EnglishEncoder } from './english-encoder.ts';

/** Made by scripts/fixtures/english-encoder.py of the models that are shipped. */
interface Fixture {
  /** SHA-256 of the second encoder's file, and of the first's. */
  readonly model: string;
  readonly first: string;
  readonly texts: readonly string[];
  /** For each text the CRC-32 of its rows, by Hugging Face's tokenizers; base64 of u32. */
  readonly ids: string;
  /** 384 16-bit floats of the reference encoder, of the text of this number. */
  readonly vectors: readonly { readonly text: number; readonly vector: string }[];
  /** For these texts the vectors by the package's own 32-bit weights, 384 8-bit numbers each, of some length. */
  readonly full: { readonly texts: readonly number[]; readonly vectors: string };
  /** What the reference says of questions by way of the first encoder. */
  readonly questions: readonly {
    readonly text: string;
    readonly english: boolean;
    readonly reach: string;
    readonly entry?: string;
  }[];
}

const models = join(import.meta.dirname, '../../../packages/model');
const second = join(models, 'english.safetensors');
const first = join(models, 'encoder.safetensors');
const fixture = JSON.parse(
  gunzipSync(readFileSync(join(import.meta.dirname, 'english-encoder.fixture.json.gz'))).toString(),
) as Fixture;

// The weights are large; a checkout without them has nothing to compare.
describe.skipIf(!existsSync(second))('the second encoder that is shipped', () => {
  it('is the one the fixture was made of, and made for the first', () => {
    const digest = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');
    expect([digest(second), digest(first)]).toEqual([fixture.model, fixture.first]);
  });

  it('cuts texts in 40 scripts as Hugging Face’s tokenizers do', () => {
    const encoder = new EnglishEncoder(second);
    const { words, beginRow, endRow, documentPieces } = encoder.file;
    const expected = new Uint32Array(bytesOf(fixture.ids).buffer);
    expect(fixture.texts.length).toBeGreaterThan(2_000);
    expect(expected.length).toBe(fixture.texts.length);
    const different = fixture.texts.filter((text, i) => {
      const rows = Int32Array.of(beginRow, ...words.rowsOf(text, documentPieces), endRow);
      return crc32(new Uint8Array(rows.buffer)) !== expected[i];
    });
    expect(different).toEqual([]);
    encoder.close();
  });

  it('gives the vectors of the reference encoder', () => {
    const encoder = new EnglishEncoder(second);
    for (const { text, vector } of fixture.vectors) {
      const found = encoder.encodeText(fixture.texts[text]!, encoder.file.documentPieces);
      expect(cosine(found, halfFloats(vector))).toBeGreaterThan(0.9999);
    }
    encoder.close();
  });

  it(
    'comes close to the package’s own vectors, at the precision that is shipped',
    { timeout: 240_000 },
    () => {
      const encoder = new EnglishEncoder(second);
      const full = new Int8Array(bytesOf(fixture.full.vectors).buffer);
      const cosines = fixture.full.texts.map((text, i) => {
        const found = encoder.encodeText(fixture.texts[text]!, encoder.file.documentPieces);
        return cosine(found, full.subarray(i * 384, (i + 1) * 384));
      });
      expect(cosines.length).toBe(1_000);
      expect(cosines.reduce((a, b) => a + b) / cosines.length).toBeGreaterThan(0.99);
      expect(Math.min(...cosines)).toBeGreaterThan(0.93);
      encoder.close();
    },
  );

  it('is reached from the first encoder as the reference is, by its vector and by its rows', () => {
    const encoder = new EnglishEncoder(second);
    const base = openPackedEncoder(first);
    expect(fixture.questions.some(({ english }) => english)).toBe(true);
    expect(fixture.questions.some(({ english }) => !english)).toBe(true);
    for (const { text, english, reach, entry } of fixture.questions) {
      expect([text, encoder.isEnglish(text)]).toEqual([text, english]);
      const { vector, rows } = base.read(text, 'question');
      expect(cosine(encoder.reach(vector), halfFloats(reach))).toBeGreaterThan(0.9999);
      expect(entry === undefined).toBe(encoder.file.entry === undefined);
      if (entry === undefined) continue;
      const found = encoder.encodeRows(rows(encoder.file.questionPieces));
      expect(cosine(found, halfFloats(entry))).toBeGreaterThan(0.9999);
    }
    base.close();
    encoder.close();
  });
});

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

function halfFloats(base64: string): Float32Array {
  return Float32Array.from(new Uint16Array(bytesOf(base64).buffer), halfFloat);
}

function cosine(a: Float32Array, b: Float32Array | Int8Array): number {
  let product = 0;
  for (let i = 0; i < a.length; i++) product += a[i]! * b[i]!;
  return product / (Math.hypot(...a) * Math.hypot(...b));
}
