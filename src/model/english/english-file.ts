import { SafetensorsFile, type Tensor } from '../safetensors.ts';
import {
  digestOf,
  finite,
  floats,
  halfFloat,
  halfFloats,
  readRecord,
  record,
  requireFormat,
  unusable,
  whole,
  type Norm,
} from '../weights.ts';
import type { EnglishTest } from './is-english.ts';
import { WordRows } from './word-rows.ts';

/**
 * The second encoder's file: all-MiniLM-L6-v2, its WordPiece vocabulary with a row of 384 numbers for each piece, three
 * or four bits a number, its body at 8 bits, and what leads from the first encoder into its space. training/README.md says how
 * it is made.
 */

/** Numbers of a row, of a position between the layers, and of a vector. */
export const WIDTH = 384;

/** Numbers between the two steps that end a layer. */
export const INNER = 1_536;

/** Heads of attention, of 32 numbers each. */
export const HEADS = 12;

/** Numbers of the first encoder's rows and vectors. */
export const BASE_WIDTH = 512;

/** Numbers between the two steps through which the first encoder's rows enter. */
export const ENTRY_INNER = 768;

/** A linear step whose weights, `outputs` rows of `inputs` 8-bit numbers, stay in the file until they are placed. */
export interface Step {
  readonly outputs: number;
  readonly inputs: number;
  readonly weights: Tensor;
  readonly scales: Float32Array;
  readonly biases: Float32Array;
}

export interface Layer {
  /** What every position asks, answers to and gives, of all heads one after another; the first divided by √32. */
  readonly qkv: Step;
  readonly out: Step;
  readonly attentionNorm: Norm;
  readonly up: Step;
  readonly down: Step;
  readonly outputNorm: Norm;
}

export interface Transformer {
  readonly epsilon: number;
  /** What is added to the row at each position, `WIDTH` numbers each. */
  readonly positions: Float32Array;
  readonly embeddingNorm: Norm;
  readonly layers: readonly Layer[];
}

/** How the first encoder's rows become rows of this one. */
export interface Entry {
  readonly mean: Float32Array;
  readonly deviation: number;
  readonly linear: Step;
  readonly hidden: Step;
  readonly out: Step;
  /** The same weights, with biases and norms of their own where the file has them. */
  readonly transformer: Transformer;
}

/** What each view of a question counts in its second part. */
export interface ViewWeights {
  /** The question's own words through this encoder. */
  readonly text: number;
  /** The first encoder's vector, mapped. */
  readonly reach: number;
  /** The first encoder's rows through this encoder. */
  readonly entry: number;
}

/** An opened file: the body's weights and the rows are read when they are asked for, all else is in memory. */
export class EnglishFile {
  /** SHA-256 of the whole file, in hexadecimal. */
  readonly digest: string;
  /** That of the first encoder's file `reach` and `entry` were made for; undefined when there is neither. */
  readonly baseDigest: string | undefined;
  readonly words: WordRows;
  /** Which questions are English. */
  readonly english: EnglishTest;
  readonly beginRow: number;
  readonly endRow: number;
  readonly documentPieces: number;
  readonly questionPieces: number;
  /** For questions in English, and for all others. */
  readonly weights: { readonly english: ViewWeights; readonly other: ViewWeights };
  readonly transformer: Transformer;
  readonly reach: Step | undefined;
  readonly entry: Entry | undefined;
  readonly #file: SafetensorsFile;
  readonly #codes: Tensor;
  readonly #scales: Uint16Array;
  readonly #levels: Float32Array;
  readonly #packed: Uint8Array;

  /** Throws `model_missing` or `model_invalid`, saying what is wrong with which file. */
  constructor(path: string) {
    const file = new SafetensorsFile(path);
    this.#file = file;
    try {
      const fields = readRecord(file, 'second', 'a second encoder');
      requireFormat(fields['format']);
      requireSize(fields, 'dimensions', WIDTH);
      requireSize(fields, 'heads', HEADS);
      this.documentPieces = whole(fields['documentPieces'], 'documentPieces', 1, POSITIONS - 2);
      this.questionPieces = whole(fields['questionPieces'], 'questionPieces', 1, POSITIONS - 2);

      const lengths = file.read(file.tensor('lengths', 'U8', [undefined]));
      const pieces = file.read(file.tensor('pieces', 'U8', [undefined]));
      const rows = lengths.length + 3;
      const rowOf = (name: string): number => whole(fields[name], name, 0, rows - 1);
      this.beginRow = rowOf('beginRow');
      this.endRow = rowOf('endRow');
      this.words = new WordRows(pieces, lengths, rowOf('unknownRow'));
      this.english = readTest(file, rows, fields['english']);
      this.#levels = floats(file, 'levels', file.tensors.get('levels')?.shape[0] === 8 ? 8 : 16);
      this.#packed = new Uint8Array((WIDTH * Math.log2(this.#levels.length)) / 8);
      this.#codes = file.tensor('rows', 'U8', [rows, this.#packed.length]);
      this.#scales = halfFloats(file, 'row_scale', rows);

      const layers = whole(fields['layers'], 'layers', 1, MAX_LAYERS);
      const epsilon = finite(fields['epsilon'], 'epsilon');
      this.transformer = readTransformer(file, layers, epsilon, '');
      this.reach = file.tensors.has('reach') ? readStep(file, 'reach', WIDTH, BASE_WIDTH) : undefined;
      this.entry = file.tensors.has('entry.linear') ? readEntry(file, layers, epsilon) : undefined;
      this.weights = readWeights(fields['weights'], this);
      const { baseDigest } = fields;
      if (this.reach === undefined && this.entry === undefined) this.baseDigest = undefined;
      else if (typeof baseDigest === 'string') this.baseDigest = baseDigest;
      else throw new Error('its baseDigest is not a text');
      this.digest = digestOf(path);
    } catch (error) {
      file.close();
      throw unusable(path, error);
    }
  }

  /** Reads the row of a piece into `target`, which has `WIDTH` numbers. */
  readRow(row: number, target: Float32Array): void {
    const packed = this.#packed;
    this.#file.readInto(packed, this.#codes, row * packed.length);
    const scale = halfFloat(this.#scales[row]!);
    const last = this.#levels.length - 1;
    const width = last === 7 ? 3 : 4;
    for (let i = 0, at = 0, bits = 0, left = 0; i < WIDTH; i++, bits >>= width, left -= width) {
      if (left < width) {
        bits |= packed[at++]! << left;
        left += 8;
      }
      target[i] = this.#levels[bits & last]! * scale;
    }
  }

  /** Reads a step's weights, row after row, into `target`, which has as many bytes. */
  readWeights({ weights }: Step, target: Uint8Array): void {
    this.#file.readInto(target, weights, 0);
  }

  close(): void {
    this.#file.close();
  }
}

/** Positions a text may have; memory grows with them, and all-MiniLM-L6-v2 was trained on as many. */
const POSITIONS = 128;
/** More would be another model, and slow. */
const MAX_LAYERS = 12;

function requireSize(fields: Readonly<Record<string, unknown>>, name: string, size: number): void {
  if (fields[name] !== size) throw new Error(`its ${name} are not ${size}`);
}

/** The body; where it has parts of its own under `prefix`, those, but weights are the same for all. */
function readTransformer(file: SafetensorsFile, count: number, epsilon: number, prefix: string): Transformer {
  const own = (name: string): string => (file.tensors.has(prefix + name) ? prefix + name : name);
  const norm = (name: string): Norm => ({
    gain: floats(file, own(`${name}.gain`), WIDTH),
    bias: floats(file, own(`${name}.bias`), WIDTH),
  });
  const step = (name: string, outputs: number, inputs: number): Step => ({
    ...readStep(file, name, outputs, inputs),
    biases: floats(file, own(`${name}.bias`), outputs),
  });
  return {
    epsilon,
    positions: Float32Array.from(halfFloats(file, own('positions'), POSITIONS, WIDTH), halfFloat),
    embeddingNorm: norm('embedding_norm'),
    layers: Array.from({ length: count }, (_, i) => ({
      qkv: step(`layer${i}.qkv`, 3 * WIDTH, WIDTH),
      out: step(`layer${i}.out`, WIDTH, WIDTH),
      attentionNorm: norm(`layer${i}.attention_norm`),
      up: step(`layer${i}.up`, INNER, WIDTH),
      down: step(`layer${i}.down`, WIDTH, INNER),
      outputNorm: norm(`layer${i}.output_norm`),
    })),
  };
}

function readEntry(file: SafetensorsFile, layers: number, epsilon: number): Entry {
  const [deviation] = floats(file, 'entry.deviation', 1);
  if (deviation === undefined || deviation <= 0) throw new Error('its entry.deviation is not above 0');
  return {
    mean: floats(file, 'entry.mean', BASE_WIDTH),
    deviation,
    linear: readStep(file, 'entry.linear', WIDTH, BASE_WIDTH),
    hidden: readStep(file, 'entry.hidden', ENTRY_INNER, BASE_WIDTH),
    out: readStep(file, 'entry.out', WIDTH, ENTRY_INNER),
    transformer: readTransformer(file, layers, epsilon, 'entry.body.'),
  };
}

function readStep(file: SafetensorsFile, name: string, outputs: number, inputs: number): Step {
  return {
    outputs,
    inputs,
    weights: file.tensor(name, 'I8', [outputs, inputs]),
    scales: floats(file, `${name}.scale`, outputs),
    biases: floats(file, `${name}.bias`, outputs),
  };
}

function readTest(file: SafetensorsFile, rows: number, value: unknown): EnglishTest {
  const fields = record(value, 'english');
  const number = (name: string): number => finite(fields[name], `english.${name}`);
  return {
    evidence: new Int8Array(file.read(file.tensor('evidence', 'I8', [rows])).buffer),
    scale: number('scale'),
    bias: number('bias'),
    accent: number('accent'),
  };
}

function readWeights(
  value: unknown,
  { reach, entry }: Pick<EnglishFile, 'reach' | 'entry'>,
): EnglishFile['weights'] {
  const fields = record(value, 'weights');
  const view = (name: 'english' | 'other'): ViewWeights => {
    const views = record(fields[name], `weights.${name}`);
    const weight = (view: keyof ViewWeights, isThere: boolean): number => {
      const called = `weights.${name}.${view}`;
      const found = views[view] === undefined ? 0 : finite(views[view], called);
      if (found < 0 || found > MAX_WEIGHT) throw new Error(`its ${called} is not from 0 to ${MAX_WEIGHT}`);
      if (found > 0 && !isThere) throw new Error(`its ${called} is ${found}, but it has no "${view}"`);
      return found;
    };
    return {
      text: weight('text', true),
      reach: weight('reach', reach !== undefined),
      entry: weight('entry', entry !== undefined),
    };
  };
  return { english: view('english'), other: view('other') };
}

const MAX_WEIGHT = 10;
