import type { Linear } from '../plain-steps.ts';
import { SafetensorsFile, type Tensor } from '../safetensors.ts';
import { Charsmap } from '../tokenizer/charsmap.ts';
import { UnigramSegmenter } from '../tokenizer/unigram.ts';
import {
  digestOf,
  finite,
  floats,
  halfFloat,
  halfFloats,
  readNorm,
  readRecord,
  record,
  requireFormat,
  unusable,
  whole,
  type Norm,
} from '../weights.ts';

/**
 * The packed model's file: one or more vocabularies with a row of 512 numbers for each piece, three bits a number
 * (four where the row is used often), and the weights of the body that makes one vector of a text's rows.
 * training/README.md says how it is made.
 */

/** Numbers of a row, and of a vector. */
export const ROW_LENGTH = 512;

/** Widths of the n-gram branches, in pieces, with the pieces a window begins to the left. */
export const BRANCHES = [
  { width: 2, left: 0 },
  { width: 3, left: 1 },
  { width: 5, left: 2 },
] as const;

/** Numbers a branch has for each piece. */
export const BRANCH_LENGTH = 256;

const ROW_BYTES = (ROW_LENGTH * 3) / 8;
/** Of a row with four bits a number: the fourth ones. */
const FINE_BYTES = ROW_LENGTH / 8;

export interface BodyWeights {
  readonly epsilon: number;
  readonly projection: Linear;
  readonly projectionNorm: Norm;
  /** First and second convolution of each branch, in the order of `BRANCHES`. */
  readonly convolutions: readonly (readonly [Linear, Linear])[];
  readonly jointNorm: Norm;
  readonly pool: Linear;
  readonly dense0: Linear;
  readonly skip1: Linear;
  readonly dense1: Linear;
  readonly dense2: Linear;
  readonly skip3: Linear;
  readonly dense3: Linear;
}

export interface PackedVocabulary {
  readonly name: string;
  readonly segmenter: UnigramSegmenter;
  /** Log-probability of each piece. */
  readonly scores: Float32Array;
  readonly unknownRow: number;
  readonly beginRow: number;
  readonly endRow: number;
  /** Rows of the vocabularies before this one: added to a row it makes a number of its own for every row. */
  readonly firstRow: number;
  /** How much better a word this vocabulary has to explain a text than the base does, for the text to be its. */
  readonly textMargin: number;
}

export interface Routing {
  readonly unknownCharacterScore: number;
  /** By how much the base has to explain a word better to keep it within a routed text; absent: it never does. */
  readonly wordMargin: number | undefined;
}

/** An opened file: what does not grow with the vocabulary is in memory, rows are read when they are asked for. */
export class PackedFile {
  /** SHA-256 of the whole file, in hexadecimal. */
  readonly digest: string;
  readonly charsmap: Charsmap;
  /** The base, then those added to it. */
  readonly vocabularies: readonly [PackedVocabulary, ...PackedVocabulary[]];
  readonly routing: Routing;
  readonly documentPieces: number;
  readonly questionPieces: number;
  readonly body: BodyWeights;
  readonly #file: SafetensorsFile;
  readonly #rows: readonly RowTable[];
  readonly #levels: Float32Array;
  readonly #fineLevels: Float32Array;
  readonly #packed = new Uint8Array(ROW_BYTES);
  readonly #fine = new Uint8Array(FINE_BYTES);

  /** Throws `model_missing` or `model_invalid`, saying what is wrong with which file. */
  constructor(path: string) {
    this.#file = new SafetensorsFile(path);
    try {
      const metadata = readMetadata(readRecord(this.#file, 'packed', 'a packed model'));
      this.#levels = floats(this.#file, 'levels', 8);
      const hasFine = this.#file.tensors.has('fine_levels');
      this.#fineLevels = hasFine ? floats(this.#file, 'fine_levels', 16) : new Float32Array(16);
      this.charsmap = new Charsmap(this.#file.read(this.#file.tensor('charsmap', 'U8', [undefined])));
      const opened = openVocabularies(this.#file, metadata);
      this.vocabularies = opened.vocabularies;
      this.#rows = opened.tables;
      this.routing = metadata.routing;
      this.documentPieces = metadata.documentPieces;
      this.questionPieces = metadata.questionPieces;
      this.body = readBody(this.#file, metadata.epsilon);
      this.digest = digestOf(path);
    } catch (error) {
      this.#file.close();
      throw unusable(path, error);
    }
  }

  /** Reads a row of one vocabulary (by its place in `vocabularies`) into `target`, which has `ROW_LENGTH` numbers. */
  readRow(vocabulary: number, row: number, target: Float32Array): void {
    const table = this.#rows[vocabulary]!;
    const packed = this.#packed;
    this.#file.readInto(packed, table.codes, row * ROW_BYTES);
    const scale = halfFloat(table.scales[row]!);
    const place = placeOf(row, table.fineRows);
    const isFine = place >= 0 && table.fine !== undefined;
    if (isFine) this.#file.readInto(this.#fine, table.fine, place * FINE_BYTES);
    for (let byte = 0, i = 0; byte < ROW_BYTES; byte += 3, i += 8) {
      let bits = packed[byte]! | (packed[byte + 1]! << 8) | (packed[byte + 2]! << 16);
      let more = this.#fine[i >> 3]!;
      for (let j = 0; j < 8; j++) {
        const level = isFine ? this.#fineLevels[2 * (bits & 7) + (more & 1)]! : this.#levels[bits & 7]!;
        target[i + j] = level * scale;
        bits >>= 3;
        more >>= 1;
      }
    }
  }

  close(): void {
    this.#file.close();
  }
}

/** Where the rows of one vocabulary lie, and the scale of each as a 16-bit float. */
interface RowTable {
  readonly codes: Tensor;
  readonly scales: Uint16Array;
  /** Numbers of the rows that have a fourth bit, ascending, and where these lie. */
  readonly fineRows: Uint32Array;
  readonly fine: Tensor | undefined;
}

interface Metadata {
  readonly epsilon: number;
  readonly vocabularies: readonly VocabularyEntry[];
  readonly routing: Routing;
  readonly documentPieces: number;
  readonly questionPieces: number;
}

interface VocabularyEntry {
  readonly name: string;
  readonly unknownRow: number;
  readonly beginRow: number;
  readonly endRow: number;
  readonly textMargin: number;
}

/** Most pieces a text may keep: memory and time grow with them. */
const MAX_PIECES = 512;
const MAX_VOCABULARIES = 16;

function readMetadata(fields: Readonly<Record<string, unknown>>): Metadata {
  requireFormat(fields['format']);
  if (fields['dimensions'] !== ROW_LENGTH) throw new Error(`its dimensions are not ${ROW_LENGTH}`);
  const routing = record(fields['routing'], 'routing');
  const wordMargin = routing['wordMargin'];
  const commonMargin = finite(routing['textMargin'], 'routing.textMargin');
  const list = fields['vocabularies'];
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_VOCABULARIES) {
    throw new Error(`its vocabularies are not a list of 1 to ${MAX_VOCABULARIES}`);
  }
  return {
    epsilon: finite(fields['epsilon'], 'epsilon'),
    vocabularies: list.map((one: unknown) => readEntry(one, commonMargin)),
    routing: {
      unknownCharacterScore: finite(routing['unknownCharacterScore'], 'routing.unknownCharacterScore'),
      wordMargin:
        wordMargin === undefined || wordMargin === null
          ? undefined
          : finite(wordMargin, 'routing.wordMargin'),
    },
    documentPieces: whole(fields['documentPieces'], 'documentPieces', 1, MAX_PIECES),
    questionPieces: whole(fields['questionPieces'], 'questionPieces', 1, MAX_PIECES),
  };
}

function readEntry(value: unknown, commonMargin: number): VocabularyEntry {
  const fields = record(value, 'vocabulary');
  const { name, unknownRow, beginRow, endRow, textMargin } = fields;
  if (typeof name !== 'string' || name === '') throw new Error('one of its vocabularies has no name');
  const rowOf = (row: unknown, what: string): number =>
    whole(row, `${what} of vocabulary "${name}"`, 0, 2 ** 24);
  return {
    name,
    unknownRow: rowOf(unknownRow, 'unknownRow'),
    beginRow: rowOf(beginRow, 'beginRow'),
    endRow: rowOf(endRow, 'endRow'),
    textMargin:
      textMargin === undefined ? commonMargin : finite(textMargin, `textMargin of vocabulary "${name}"`),
  };
}

function openVocabularies(
  file: SafetensorsFile,
  { vocabularies: entries }: Metadata,
): {
  readonly vocabularies: readonly [PackedVocabulary, ...PackedVocabulary[]];
  readonly tables: readonly RowTable[];
} {
  const vocabularies: PackedVocabulary[] = [];
  const tables: RowTable[] = [];
  let firstRow = 0;
  for (const { name, unknownRow, beginRow, endRow, textMargin } of entries) {
    const lengths = file.read(file.tensor(`${name}.lengths`, 'U8', [undefined]));
    const bytes = file.read(file.tensor(`${name}.pieces`, 'U8', [undefined]));
    const scores = floats(file, `${name}.scores`, lengths.length);
    const rows = lengths.length + 3;
    for (const row of [unknownRow, beginRow, endRow]) {
      if (row >= rows) throw new Error(`vocabulary "${name}" has no row ${row}`);
    }
    const codes = file.tensor(`${name}.rows`, 'U8', [rows, ROW_BYTES]);
    const scales = halfFloats(file, `${name}.row_scale`, rows);
    tables.push({ codes, scales, ...fineOf(file, name, rows) });
    const segmenter = new UnigramSegmenter({ bytes, lengths, scores }, { precision: 'single' });
    vocabularies.push({ name, segmenter, scores, unknownRow, beginRow, endRow, firstRow, textMargin });
    firstRow += rows;
  }
  const [base, ...added] = vocabularies;
  return { vocabularies: [base!, ...added], tables };
}

function fineOf(
  file: SafetensorsFile,
  name: string,
  rows: number,
): { readonly fineRows: Uint32Array; readonly fine: Tensor | undefined } {
  if (!file.tensors.has(`${name}.fine_rows`)) return { fineRows: new Uint32Array(), fine: undefined };
  file.tensor('fine_levels', 'F32', [16]);
  const fineRows = new Uint32Array(file.read(file.tensor(`${name}.fine_rows`, 'U32', [undefined])).buffer);
  if (fineRows.some((row, i) => row >= rows || (i > 0 && row <= fineRows[i - 1]!))) {
    throw new Error(`its tensor "${name}.fine_rows" does not name rows in order`);
  }
  return { fineRows, fine: file.tensor(`${name}.fine`, 'U8', [fineRows.length, FINE_BYTES]) };
}

/** Place of a row among ascending ones, or −1. */
function placeOf(row: number, rows: Uint32Array): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle]! < row) low = middle + 1;
    else high = middle;
  }
  return rows[low] === row ? low : -1;
}

function readBody(file: SafetensorsFile, epsilon: number): BodyWeights {
  const joint = ROW_LENGTH + BRANCHES.length * BRANCH_LENGTH;
  const linear = (name: string, outputs: number, inputs: number, hasBias: boolean): Linear => {
    const weights = file.read(file.tensor(name, 'I8', [outputs, inputs]));
    return {
      outputs,
      inputs,
      weights: new Int8Array(weights.buffer),
      scales: floats(file, `${name}.scale`, outputs),
      biases: hasBias ? floats(file, `${name}.bias`, outputs) : new Float32Array(outputs),
    };
  };
  const hidden = file.tensor('dense0', 'I8', [undefined, ROW_LENGTH]).shape[0]!;
  if (hidden === 0 || hidden % 16 !== 0 || hidden > 4096) {
    throw new Error(`its tensor "dense0" has ${hidden} rows, not a multiple of 16 up to 4096`);
  }
  return {
    epsilon,
    projection: linear('projection', BRANCHES.length * BRANCH_LENGTH, ROW_LENGTH, true),
    projectionNorm: readNorm(file, 'projection_norm', BRANCHES.length * BRANCH_LENGTH),
    convolutions: BRANCHES.map(({ width }) => [
      linear(`conv${width}a`, BRANCH_LENGTH, width * BRANCH_LENGTH, true),
      linear(`conv${width}b`, BRANCH_LENGTH, width * BRANCH_LENGTH, true),
    ]),
    jointNorm: readNorm(file, 'joint_norm', joint),
    pool: linear('pool', ROW_LENGTH, joint, true),
    dense0: linear('dense0', hidden, ROW_LENGTH, false),
    skip1: linear('skip1', hidden, ROW_LENGTH, false),
    dense1: linear('dense1', hidden, hidden, false),
    dense2: linear('dense2', ROW_LENGTH, hidden, false),
    skip3: linear('skip3', ROW_LENGTH, hidden, false),
    dense3: linear('dense3', ROW_LENGTH, ROW_LENGTH, false),
  };
}
