import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { TextRole } from '../../search/embedder.ts';
import { UNKNOWN_PIECE } from '../tokenizer/unigram.ts';
import { openPackedEncoder } from './packed-encoder.ts';
import { PackedFile, type PackedVocabulary } from './packed-file.ts';
import { rowsOf } from './routing.ts';

/** Made by scripts/fixtures/packed-encoder.py of the model that is shipped. */
interface Fixture {
  /** SHA-256 of the model's file. */
  readonly model: string;
  readonly texts: readonly string[];
  /** For each text the CRC-32 of its rows, by the sentencepiece library, in every vocabulary; base64 of u32. */
  readonly ids: string;
  /** The CRC-32 of what Hugging Face's tokenizers normalises it to by the same charsmap. */
  readonly graphemes: string;
  readonly vectors: readonly {
    readonly text: string;
    readonly role: TextRole;
    readonly vocabulary: string;
    /** 512 16-bit floats of the reference encoder. */
    readonly vector: string;
  }[];
}

const model = join(import.meta.dirname, '../../../packages/model/encoder.safetensors');
const fixture = JSON.parse(
  gunzipSync(readFileSync(join(import.meta.dirname, 'packed-encoder.fixture.json.gz'))).toString(),
) as Fixture;

function sumsOf(text: string): Uint32Array {
  return new Uint32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer);
}

/** The first few texts for which the sums differ, to look at. */
function different(expected: Uint32Array, sumOf: (text: string) => number): readonly string[] {
  return fixture.texts.filter((text, i) => sumOf(text) !== expected[i]).slice(0, 5);
}

function rowsIn(file: PackedFile, { segmenter, unknownRow }: PackedVocabulary, text: string): Int32Array {
  const { pieces } = segmenter.segment(file.charsmap.normalizeLongest(text));
  return pieces.map((piece) => (piece === UNKNOWN_PIECE ? unknownRow : piece));
}

// The weights are large; a checkout without them has nothing to compare.
describe.skipIf(!existsSync(model))('the packed model that is shipped', () => {
  it('is the one the fixture was made of', () => {
    expect(createHash('sha256').update(readFileSync(model)).digest('hex')).toBe(fixture.model);
  });

  it('cuts 10,000 texts in 40 scripts as the sentencepiece library does, in every vocabulary', () => {
    const file = new PackedFile(model);
    expect(fixture.texts.length).toBe(10_000);
    const sumOf = (text: string): number =>
      file.vocabularies.reduce((sum, vocabulary) => {
        const rows = rowsIn(file, vocabulary, vocabulary.name === 'base' ? text : text.toLowerCase());
        return crc32(new Uint8Array(rows.buffer), sum);
      }, 0);
    expect(different(sumsOf(fixture.ids), sumOf)).toEqual([]);
    file.close();
  });

  it('has a charsmap that is read by graphemes as Hugging Face’s tokenizers do', () => {
    const file = new PackedFile(model);
    const sumOf = (text: string): number => crc32(file.charsmap.normalizeGraphemes(text));
    expect(different(sumsOf(fixture.graphemes), sumOf)).toEqual([]);
    file.close();
  });

  it('gives the vectors of the reference encoder', () => {
    const file = new PackedFile(model);
    const encoder = openPackedEncoder(model);
    for (const { text, role, vocabulary, vector } of fixture.vectors) {
      const limit = role === 'question' ? file.questionPieces : file.documentPieces;
      expect(rowsOf(file, text, limit).vocabulary).toBe(vocabulary);
      expect(cosine(encoder.encode(text, role), halfFloats(vector))).toBeGreaterThan(0.9999);
    }
    encoder.close();
    file.close();
  });
});

function halfFloats(text: string): Float32Array {
  const halves = new Uint16Array(new Uint8Array(Buffer.from(text, 'base64')).buffer);
  return Float32Array.from(halves, (half) => {
    const exponent = (half >> 10) & 31;
    const fraction = half & 0x3ff;
    const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
    return half & 0x8000 ? -size : size;
  });
}

function cosine(a: Float32Array, b: Float32Array): number {
  let product = 0;
  for (let i = 0; i < a.length; i++) product += a[i]! * b[i]!;
  return product / (Math.hypot(...a) * Math.hypot(...b));
}
