import { copyFileSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  ENGLISH_PIECES,
  writeEnglishModel,
  type EnglishModelOptions,
} from '../../../test/support/english-model.ts';
import { writeSafetensors } from '../../../test/support/packed-model.ts';
import { numbersFrom } from '../../search/measure.ts';
import { openKernel, type KernelMemory } from '../kernel-memory.ts';
import { EnglishEncoder } from './english-encoder.ts';
import { ENGLISH_KERNEL } from './kernel-bytes.ts';
import { gelu } from './plain-body.ts';

const folder = mkdtempSync(join(tmpdir(), 'english-'));
const model = join(folder, 'english.safetensors');
writeEnglishModel(model, { baseDigest: 'a digest' });

/** One to 24 rows: every remainder that positions can leave. */
const TEXTS = ['', ...Array.from({ length: 24 }, (_, i) => 'the open list, unissueable? '.slice(0, i + 1))];

function largestDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((most, number, i) => Math.max(most, Math.abs(number - b[i]!)), 0);
}

describe('the second encoder', () => {
  const encoder = new EnglishEncoder(model);
  const plain = new EnglishEncoder(model, { isPlain: true });
  const random = numbersFrom(5);
  const baseRows = (count: number): Float32Array =>
    Float32Array.from({ length: count * 512 }, () => random() - 0.5);

  it('gives vectors of length 1, in 384 numbers, of any text', () => {
    for (const text of [...TEXTS, '☃☃☃', 'x'.repeat(10_000), '\ud800', 'list '.repeat(10_000)]) {
      const vector = encoder.encodeText(text, 24);
      expect(vector).toHaveLength(384);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    }
  });

  it('computes in plain JavaScript what it computes in WebAssembly, to 1e-3', () => {
    for (const text of TEXTS) {
      expect(largestDifference(plain.encodeText(text, 24), encoder.encodeText(text, 24))).toBeLessThan(1e-3);
    }
    for (let count = 0; count <= 9; count++) {
      const rows = baseRows(count);
      expect(largestDifference(plain.encodeRows(rows), encoder.encodeRows(rows))).toBeLessThan(1e-3);
    }
    const vector = baseRows(1);
    expect(largestDifference(plain.reach(vector), encoder.reach(vector))).toBeLessThan(1e-3);
    // What is compared differs: the comparison above says something.
    const [one, other] = [encoder.encodeText('open', 24), encoder.encodeText('list', 24)];
    expect(largestDifference(one, other)).toBeGreaterThan(0.01);
    expect(
      largestDifference(encoder.encodeRows(baseRows(4)), encoder.encodeRows(baseRows(4))),
    ).toBeGreaterThan(0.01);
  });

  it('gives the same vector to the last bit, whatever was embedded before', () => {
    const rows = baseRows(6);
    const texts = TEXTS.map((text) => encoder.encodeText(text, 24));
    const entered = encoder.encodeRows(rows);
    for (const [i, text] of [...TEXTS.entries()].toReversed()) {
      expect(encoder.encodeText(text, 24)).toEqual(texts[i]);
      expect(encoder.encodeRows(rows)).toEqual(entered);
    }
  });

  it('minds where a piece stands, and reads no more pieces than it is told or the file allows', () => {
    expect(encoder.encodeText('open list', 24)).not.toEqual(encoder.encodeText('list open', 24));
    const long = 'a '.repeat(8);
    expect(encoder.encodeText(`${long} list`, 8)).toEqual(encoder.encodeText(`${long} open`, 8));
    expect(encoder.encodeText(`${long} list`, 9)).not.toEqual(encoder.encodeText(`${long} open`, 9));
    const rows = baseRows(30);
    expect(encoder.encodeRows(rows)).toEqual(encoder.encodeRows(rows.subarray(0, 20 * 512)));
    expect(encoder.encodeRows(rows)).not.toEqual(encoder.encodeRows(rows.subarray(0, 19 * 512)));
  });

  it('takes rows that enter through norms of their own, where the file has them', () => {
    const path = join(folder, 'common.safetensors');
    writeEnglishModel(path, {
      baseDigest: 'a digest',
      without: ['entry.body.layer0.output_norm.gain', 'entry.body.layer0.output_norm.bias'],
    });
    const common = new EnglishEncoder(path);
    const rows = baseRows(5);
    expect(largestDifference(common.encodeRows(rows), encoder.encodeRows(rows))).toBeGreaterThan(0.01);
    expect(common.encodeText('open', 24)).toEqual(encoder.encodeText('open', 24));
    common.close();
  });

  it('has neither way in from the first encoder when the file has none', () => {
    const path = join(folder, 'alone.safetensors');
    writeEnglishModel(path);
    const alone = new EnglishEncoder(path);
    expect(() => alone.reach(baseRows(1))).toThrow('has no reach');
    expect(() => alone.encodeRows(baseRows(2))).toThrow('has no entry');
    alone.close();
  });

  it('gives no vector when its weights lead beyond all numbers', () => {
    const path = join(folder, 'endless.safetensors');
    const huge = new Float32Array(1_152).fill(3e38);
    writeEnglishModel(path, { tensors: { 'layer0.qkv.scale': ['F32', [1_152], huge] } });
    for (const isPlain of [false, true]) {
      const endless = new EnglishEncoder(path, { isPlain });
      expect(() => endless.encodeText('open', 24)).toThrow('beyond all numbers');
      endless.close();
    }
  });

  it('fails, and recovers, when its rows cannot be read for a while', () => {
    const path = join(folder, 'shrinking.safetensors');
    copyFileSync(model, path);
    const whole = readFileSync(path);
    const shrinking = new EnglishEncoder(path);
    truncateSync(path, 500);
    expect(() => shrinking.encodeText('list', 24)).toThrow(
      expect.objectContaining({ code: 'model_invalid' }) as Error,
    );
    writeFileSync(path, whole);
    expect(shrinking.encodeText('list', 24)).toEqual(encoder.encodeText('list', 24));
    shrinking.close();
  });
});

describe('rows of a second encoder’s file', () => {
  it.each([3, 4])('are read as they are written, %i bits a number', (bits) => {
    const path = join(folder, 'rows.safetensors');
    const random = numbersFrom(bits);
    const rows = new Set(ENGLISH_PIECES).size + 3;
    const bytes = Uint8Array.from({ length: (rows * 384 * bits) / 8 }, () => random() * 256);
    const levels = Float32Array.from({ length: 2 ** bits }, () => random() - 0.5);
    // 16-bit floats 1, −0.5, the smallest, and 1.5.
    const scales = Uint16Array.from({ length: rows }, (_, i) => [0x3c00, 0xb800, 1, 0x3e00][i % 4]!);
    writeEnglishModel(path, {
      tensors: {
        rows: ['U8', [rows, (384 * bits) / 8], bytes],
        levels: ['F32', [levels.length], levels],
        row_scale: ['F16', [rows], scales],
      },
    });
    const { file } = new EnglishEncoder(path);
    const found = new Float32Array(384);
    for (let row = 0; row < rows; row++) {
      file.readRow(row, found);
      const scale = [1, -0.5, 2 ** -24, 1.5][row % 4]!;
      const expected = Float32Array.from({ length: 384 }, (_, i) => {
        let code = 0;
        for (let bit = 0; bit < bits; bit++) {
          const at = (row * 384 + i) * bits + bit;
          code |= ((bytes[at >> 3]! >> (at & 7)) & 1) << bit;
        }
        return levels[code]! * scale;
      });
      expect(found).toEqual(expected);
    }
    file.close();
  });
});

describe('the kernel', () => {
  const kernel = openKernel(ENGLISH_KERNEL) as KernelMemory & {
    gelu(numbers: number, count: number): void;
    attend(input: number, positions: number, heads: number, room: number, out: number): void;
  };
  kernel.memory.grow(3);
  const numbers = new Float32Array(kernel.memory.buffer);

  it('computes GELU to 1e-6', () => {
    const inputs = Float32Array.from({ length: 4_000 }, (_, i) => (i - 2_000) / 150);
    numbers.set(inputs, 64);
    kernel.gelu(256, inputs.length);
    const found = numbers.slice(64, 64 + inputs.length);
    // The integral of the normal distribution, summed finely enough for 1e-9.
    let integral = 0;
    const density = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    inputs.forEach((x, i) => {
      if (i > 0) {
        const step = (x - inputs[i - 1]!) / 8;
        for (let j = 0; j < 8; j++) {
          const from = inputs[i - 1]! + j * step;
          integral += (step / 6) * (density(from) + 4 * density(from + step / 2) + density(from + step));
        }
      }
      expect(Math.abs(found[i]! - x * integral)).toBeLessThan(1e-6);
      expect(Math.abs(gelu(x) - x * integral)).toBeLessThan(1e-6);
    });
  });

  it('gives all attention to what stands out, and shares it between equals', () => {
    // Five positions, one head: questions and keys of one number, values of another.
    const at = 64;
    numbers.fill(0, at);
    for (let i = 0; i < 5; i++) {
      numbers[at + i * 96] = 1;
      numbers[at + i * 96 + 32] = i === 3 ? 500 : -500;
      numbers[at + i * 96 + 64] = i;
    }
    const out = 8_192;
    kernel.attend(4 * at, 5, 1, 4 * 4_096, 4 * out);
    for (let i = 0; i < 5; i++) expect(numbers[out + i * 32]).toBeCloseTo(3, 5);
    for (let i = 0; i < 5; i++) numbers[at + i * 96 + 32] = 7;
    kernel.attend(4 * at, 5, 1, 4 * 4_096, 4 * out);
    for (let i = 0; i < 5; i++) expect(numbers[out + i * 32]).toBeCloseTo(2, 5);
  });
});

describe('a second encoder’s file that is not good', () => {
  const opening = (path: string) => () => new EnglishEncoder(path).close();

  it('is said to be missing when it is', () => {
    expect(opening(join(folder, 'none'))).toThrow(
      expect.objectContaining({ code: 'model_missing' }) as Error,
    );
  });

  const numbers = (length: number): Float32Array => new Float32Array(length);
  it.each<[string, EnglishModelOptions]>([
    ['its format is 2; this version reads 1', { metadata: { format: 2 } }],
    ['its dimensions are not 384', { metadata: { dimensions: 512 } }],
    ['its heads are not 12', { metadata: { heads: 6 } }],
    ['its layers is not a whole number from 1 to 12', { metadata: { layers: 1e6 } }],
    ['it has no tensor "layer1.qkv" (I8 [1152, 384])', { metadata: { layers: 2 } }],
    ['its epsilon is not a number', { metadata: { epsilon: null } }],
    ['its documentPieces is not a whole number from 1 to 126', { metadata: { documentPieces: 127 } }],
    ['its questionPieces is not', { metadata: { questionPieces: 0 } }],
    ['its unknownRow is not a whole number from 0 to', { metadata: { unknownRow: 1e6 } }],
    ['its beginRow is not', { metadata: { beginRow: -1 } }],
    ['its endRow is not', { metadata: { endRow: undefined } }],
    ['its weights is not a JSON object', { metadata: { weights: [] } }],
    ['its weights.other is not a JSON object', { metadata: { weights: { english: {} } } }],
    [
      'its weights.english.text is not from 0',
      { metadata: { weights: { english: { text: -1 }, other: {} } } },
    ],
    [
      'its weights.other.reach is 1, but it has no "reach"',
      { metadata: { weights: { english: {}, other: { reach: 1 } } } },
    ],
    ['its english.accent is not a number', { metadata: { english: { scale: 1, bias: 0 } } }],
    ['its baseDigest is not a text', { metadata: { baseDigest: 5 }, baseDigest: '' }],
    ['it has no tensor "evidence" (I8 [', { without: ['evidence'] }],
    ['it has no tensor "positions" (F16 [128, 384])', { without: ['positions'] }],
    ['it has no tensor "layer0.down.scale" (F32 [384])', { without: ['layer0.down.scale'] }],
    ['it has no tensor "entry.hidden" (I8 [768, 512])', { without: ['entry.hidden'], baseDigest: 'x' }],
    ['its tensor "levels" is F32 [4], not F32 [16]', { tensors: { levels: ['F32', [4], numbers(4)] } }],
    [
      'its tensor "levels" has values that are not numbers',
      { tensors: { levels: ['F32', [16], numbers(16).fill(Number.NaN)] } },
    ],
    [
      'its tensor "positions" has values that are not numbers',
      { tensors: { positions: ['F16', [128, 384], new Uint16Array(128 * 384).fill(0x7c00)] } },
    ],
    ['its tensor "rows" is U8 [2, 192]', { tensors: { rows: ['U8', [2, 192], new Uint8Array(384)] } }],
    ['the pieces and their lengths do not agree', { tensors: { pieces: ['U8', [3], new Uint8Array(3)] } }],
    [
      'its entry.deviation is not above 0',
      { tensors: { 'entry.deviation': ['F32', [1], numbers(1)] }, baseDigest: 'x' },
    ],
  ])('is refused, saying: %s', (message, options) => {
    const path = join(folder, 'refused.safetensors');
    writeEnglishModel(path, options);
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
    expect(opening(path)).toThrow('it is not a second encoder');
  });

  it('is refused when it is cut off anywhere', () => {
    const path = join(folder, 'cut.safetensors');
    const { length } = readFileSync(model);
    for (const size of [0, 100, 5_000, length >> 1, length - 1]) {
      copyFileSync(model, path);
      truncateSync(path, size);
      expect(opening(path)).toThrow(expect.objectContaining({ code: 'model_invalid' }) as Error);
    }
  });
});
