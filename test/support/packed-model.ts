import { writeFileSync } from 'node:fs';
import { numbersFrom } from '../../src/search/measure.ts';

/** A safetensors file of these tensors. */
export function writeSafetensors(
  path: string,
  tensors: Readonly<
    Record<string, readonly [dtype: string, shape: readonly number[], bytes: ArrayBufferView]>
  >,
  metadata: Readonly<Record<string, string>> = {},
): void {
  const header: Record<string, unknown> = { __metadata__: metadata };
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const [name, [dtype, shape, data]] of Object.entries(tensors)) {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    header[name] = { dtype, shape, data_offsets: [at, at + bytes.length] };
    parts.push(bytes);
    at += bytes.length;
  }
  writeFileSync(path, Buffer.concat([headerOf(JSON.stringify(header)), ...parts]));
}

/** The length of a header and the header. */
export function headerOf(json: string): Buffer {
  const text = Buffer.from(json);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text]);
}

/** A charsmap without any rule. */
export function emptyCharsmap(): Uint8Array {
  const bytes = new Uint8Array(4 + 1024 + 1);
  new DataView(bytes.buffer).setUint32(0, 1024, true);
  return bytes;
}

export interface ModelOptions {
  /** The added vocabulary's pieces with their scores; none is added when absent. */
  readonly added?: Readonly<Record<string, number>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly seed?: number;
}

/** Pieces of the base vocabulary: letters, and some words. */
export const BASE_PIECES: Readonly<Record<string, number>> = {
  ...Object.fromEntries(Array.from('abcdefghijklmnopqrstuvwxyz,.', (letter) => [letter, -9])),
  '\u2581': -5,
  '\u2581the': -4,
  '\u2581open': -7,
  '\u2581issue': -8,
  '\u2581list': -8,
  s: -6,
};

const HIDDEN = 32;

type Tensors = Record<string, readonly [dtype: string, shape: readonly number[], bytes: ArrayBufferView]>;

const bodies = new Map<number, Tensors>();

/** Three million weights, made once a seed. */
function bodyOf(seed: number): Tensors {
  const made = bodies.get(seed) ?? newBody(seed);
  bodies.set(seed, made);
  return made;
}

function newBody(seed: number): Tensors {
  const random = numbersFrom(seed);
  const normal = (): number => random() + random() + random() - 1.5;
  const tensors: Tensors = {};
  const floats = (count: number, value: () => number): Float32Array =>
    Float32Array.from({ length: count }, value);
  const linear = (name: string, outputs: number, inputs: number, hasBias: boolean): void => {
    const weights = new Int8Array(outputs * inputs);
    for (let i = 0; i < weights.length; i++) weights[i] = (random() - 0.5) * 250;
    tensors[name] = ['I8', [outputs, inputs], weights];
    const scale = (): number => (0.5 + random()) / (40 * inputs ** 0.5);
    tensors[`${name}.scale`] = ['F32', [outputs], floats(outputs, scale)];
    if (hasBias) tensors[`${name}.bias`] = ['F32', [outputs], floats(outputs, () => normal() * 0.1)];
  };
  const norm = (name: string, count: number): void => {
    tensors[`${name}.gain`] = ['F32', [count], floats(count, () => 1 + normal() * 0.2)];
    tensors[`${name}.bias`] = ['F32', [count], floats(count, () => normal() * 0.1)];
  };
  linear('projection', 768, 512, true);
  norm('projection_norm', 768);
  for (const width of [2, 3, 5]) {
    linear(`conv${width}a`, 256, width * 256, true);
    linear(`conv${width}b`, 256, width * 256, true);
  }
  norm('joint_norm', 1280);
  linear('pool', 512, 1280, true);
  linear('dense0', HIDDEN, 512, false);
  linear('skip1', HIDDEN, 512, false);
  linear('dense1', HIDDEN, HIDDEN, false);
  linear('dense2', 512, HIDDEN, false);
  linear('skip3', 512, HIDDEN, false);
  linear('dense3', 512, 512, false);
  return tensors;
}

/** A packed model of random weights, as wide as the real one, with a vocabulary of a few pieces. */
export function writePackedModel(path: string, { added, metadata = {}, seed = 1 }: ModelOptions = {}): void {
  const random = numbersFrom(seed + 1_000);
  const tensors: Tensors = {
    charsmap: ['U8', [emptyCharsmap().length], emptyCharsmap()],
    levels: ['F32', [8], Float32Array.of(-2.15, -1.34, -0.76, -0.25, 0.25, 0.76, 1.34, 2.15)],
    fine_levels: ['F32', [16], Float32Array.from({ length: 16 }, (_, i) => -2.4 + 0.32 * i)],
    ...bodyOf(seed),
  };
  const vocabulary = (name: string, pieces: Readonly<Record<string, number>>): Record<string, unknown> => {
    const sorted = Object.entries(pieces)
      .map(([piece, score]) => ({ bytes: Buffer.from(piece), score }))
      .sort((a, b) => Buffer.compare(a.bytes, b.bytes));
    const count = sorted.length;
    const joined = Buffer.concat(sorted.map(({ bytes }) => bytes));
    tensors[`${name}.pieces`] = ['U8', [joined.length], joined];
    tensors[`${name}.lengths`] = ['U8', [count], Uint8Array.from(sorted, ({ bytes }) => bytes.length)];
    tensors[`${name}.scores`] = ['F32', [count], Float32Array.from(sorted, ({ score }) => score)];
    tensors[`${name}.rows`] = [
      'U8',
      [count + 3, 192],
      Uint8Array.from({ length: (count + 3) * 192 }, () => random() * 256),
    ];
    // 16-bit floats from 0.0625 to 0.125.
    tensors[`${name}.row_scale`] = [
      'F16',
      [count + 3],
      Uint16Array.from({ length: count + 3 }, () => 0x2c00 + random() * 1023),
    ];
    // Every third row has a fourth bit.
    const fine = Uint32Array.from({ length: Math.ceil(count / 3) }, (_, i) => 3 * i);
    tensors[`${name}.fine_rows`] = ['U32', [fine.length], fine];
    const bits = Uint8Array.from({ length: fine.length * 64 }, () => random() * 256);
    tensors[`${name}.fine`] = ['U8', [fine.length, 64], bits];
    return {
      name,
      unknownRow: count,
      beginRow: count + 1,
      endRow: count + 2,
      lowercase: name !== 'base',
      languages: [],
    };
  };
  const vocabularies = [
    vocabulary('base', BASE_PIECES),
    ...(added === undefined ? [] : [vocabulary('added', added)]),
  ];
  const packed = {
    format: 1,
    dimensions: 512,
    epsilon: 1e-12,
    vocabularies,
    routing: { unknownCharacterScore: -25, textMargin: 2, wordMargin: null },
    documentPieces: 40,
    questionPieces: 128,
    sources: [],
    ...metadata,
  };
  writeSafetensors(path, tensors, { packed: JSON.stringify(packed) });
}
