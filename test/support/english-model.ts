import { numbersFrom } from '../../src/search/measure.ts';
import { writeSafetensors } from './packed-model.ts';

export interface EnglishModelOptions {
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Parts that lead here from the first encoder, whose file has this SHA-256. */
  readonly baseDigest?: string;
  /** Tensors left out. */
  readonly without?: readonly string[];
  /** Tensors that are added or take the place of others. */
  readonly tensors?: Tensors;
  readonly seed?: number;
}

type Tensors = Readonly<
  Record<string, readonly [dtype: string, shape: readonly number[], bytes: ArrayBufferView]>
>;

/** Pieces of the vocabulary: letters, at the beginning of a word and inside, and some words. */
export const ENGLISH_PIECES: readonly string[] = [
  ...'abcdefghijklmnopqrstuvwxyz0123456789,.!?-[]$'.split(''),
  ...Array.from('abcdefghijklmnopqrstuvwxyz', (letter) => `##${letter}`),
  ...'the open list issue un ##s ##able ##ing 世 ß σ cls'.split(' '),
];

/** One layer of the second encoder; the real one has six. */
const LAYERS = 1;

const made = new Map<string, Record<string, Tensors[string]>>();

/** A second encoder of random weights, as wide as the real one, with a vocabulary of a few pieces. */
export function writeEnglishModel(path: string, options: EnglishModelOptions = {}): void {
  const { metadata = {}, baseDigest, without = [], seed = 1 } = options;
  const key = `${seed} ${baseDigest === undefined}`;
  const tensors = { ...(made.get(key) ?? newTensors(seed, baseDigest !== undefined)) };
  made.set(key, { ...tensors });
  const rows = tensors['lengths']![1][0]! + 3;
  Object.assign(tensors, options.tensors);
  for (const name of without) delete tensors[name];
  const weights =
    baseDigest === undefined
      ? { english: { text: 1 }, other: {} }
      : { english: { text: 1, reach: 0.5 }, other: { reach: 0.25, entry: 0.75 } };
  const second = {
    format: 1,
    dimensions: 384,
    layers: LAYERS,
    heads: 12,
    epsilon: 1e-12,
    unknownRow: rows - 3,
    beginRow: rows - 2,
    endRow: rows - 1,
    documentPieces: 24,
    questionPieces: 20,
    ...(baseDigest === undefined ? {} : { baseDigest }),
    weights,
    english: { scale: 0.05, bias: 0.1, accent: -3 },
    sources: [],
    ...metadata,
  };
  writeSafetensors(path, tensors, { second: JSON.stringify(second) });
}

/** Millions of numbers, made once. */
function newTensors(seed: number, hasEntry: boolean): Record<string, Tensors[string]> {
  const random = numbersFrom(seed);
  const normal = (): number => 2 * (random() + random() + random() - 1.5);
  const tensors: Record<string, Tensors[string]> = {};
  const floats = (name: string, shape: readonly number[], value: () => number): void => {
    const count = shape.reduce((a, b) => a * b, 1);
    tensors[name] = ['F32', shape, Float32Array.from({ length: count }, value)];
  };
  const linear = (name: string, outputs: number, inputs: number): void => {
    const weights = Int8Array.from({ length: outputs * inputs }, () => (random() - 0.5) * 250);
    tensors[name] = ['I8', [outputs, inputs], weights];
    floats(`${name}.scale`, [outputs], () => (0.5 + random()) / (60 * inputs ** 0.5));
    floats(`${name}.bias`, [outputs], () => normal() * 0.1);
  };
  const norm = (name: string): void => {
    floats(`${name}.gain`, [384], () => 1 + normal() * 0.2);
    floats(`${name}.bias`, [384], () => normal() * 0.1);
  };
  /** 16-bit floats of either sign, from 0.03 to 0.25 in size. */
  const half = (): number => 0x2800 + random() * 0xbff + (random() < 0.5 ? 0x8000 : 0);

  const pieces = [...new Set(ENGLISH_PIECES)]
    .map((piece) => Buffer.from(piece))
    .sort((a, b) => Buffer.compare(a, b));
  const rows = pieces.length + 3;
  const bytes = Buffer.concat(pieces);
  tensors['pieces'] = ['U8', [bytes.length], bytes];
  tensors['lengths'] = ['U8', [pieces.length], Uint8Array.from(pieces, ({ length }) => length)];
  tensors['rows'] = ['U8', [rows, 144], Uint8Array.from({ length: rows * 144 }, () => random() * 256)];
  tensors['row_scale'] = ['F16', [rows], Uint16Array.from({ length: rows }, () => half() & 0x7fff)];
  tensors['levels'] = ['F32', [8], Float32Array.from({ length: 8 }, (_, i) => -2.4 + 0.64 * i)];
  tensors['evidence'] = ['I8', [rows], Int8Array.from({ length: rows }, () => normal() * 30)];
  tensors['positions'] = ['F16', [128, 384], Uint16Array.from({ length: 128 * 384 }, half)];
  norm('embedding_norm');
  for (let layer = 0; layer < LAYERS; layer++) {
    linear(`layer${layer}.qkv`, 1_152, 384);
    linear(`layer${layer}.out`, 384, 384);
    linear(`layer${layer}.up`, 1_536, 384);
    linear(`layer${layer}.down`, 384, 1_536);
    norm(`layer${layer}.attention_norm`);
    norm(`layer${layer}.output_norm`);
  }
  if (hasEntry) {
    linear('reach', 384, 512);
    floats('entry.mean', [512], () => normal() * 0.1);
    floats('entry.deviation', [1], () => 0.5);
    linear('entry.linear', 384, 512);
    linear('entry.hidden', 768, 512);
    linear('entry.out', 384, 768);
    norm('entry.body.layer0.output_norm');
  }
  return tensors;
}
