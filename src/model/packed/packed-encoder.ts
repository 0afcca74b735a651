import type { TextRole } from '../../search/embedder.ts';
import type { Encoder } from '../encoder.ts';
import type { Body } from './body.ts';
import { PackedFile, ROW_LENGTH } from './packed-file.ts';
import { plainBody } from './plain-body.ts';
import { rowsOf } from './routing.ts';
import { simdBody } from './simd-body.ts';

/** Rows kept with what their part of the work gave, 5 KB each: the frequent ones of a large catalog. */
const KEPT_ROWS = 2_048;

export interface PackedOptions {
  /** Computes in plain JavaScript, as it does where there is no WebAssembly SIMD; for comparing. */
  readonly isPlain?: boolean;
  /** How many rows are kept; at least as many as a text may have. */
  readonly keptRows?: number;
}

/** What a text was read as, for those who go on with it. */
export interface ReadText {
  readonly vector: Float32Array;
  /** Whether the base's own vocabulary read it, not an added one. */
  readonly isBase: boolean;
  /** The rows of its first pieces, at most `limit`, `ROW_LENGTH` numbers each, without begin and end. */
  readonly rows: (limit: number) => Float32Array;
}

export interface PackedEncoder extends Encoder {
  /** SHA-256 of the file, in hexadecimal. */
  readonly digest: string;
  read(text: string, role: TextRole): ReadText;
}

/**
 * Opens a packed model's file. Throws `model_missing` or `model_invalid`. A text's vector depends on the text, its
 * role and the file alone.
 */
export function openPackedEncoder(path: string, options: PackedOptions = {}): PackedEncoder {
  const file = new PackedFile(path);
  const maxRows = Math.max(file.documentPieces, file.questionPieces) + 2;
  const keptRows = Math.max(maxRows, options.keptRows ?? KEPT_ROWS);
  const size = { maxRows, slots: keptRows };
  const body: Body =
    (options.isPlain === true ? undefined : simdBody(file.body, size)) ?? plainBody(file.body, size);
  const slots = new Slots(keptRows, (slot, vocabulary, row) => {
    file.readRow(vocabulary, row, read);
    body.load(slot, read);
  });
  const read = new Float32Array(ROW_LENGTH);

  function readText(text: string, role: TextRole): ReadText {
    const limit = role === 'question' ? file.questionPieces : file.documentPieces;
    const { vocabulary, rows } = rowsOf(file, text, limit);
    const vector = body.encode(
      rows.map(([vocabulary, row]) => slots.of(file.vocabularies[vocabulary]!.firstRow, vocabulary, row)),
    );
    return {
      vector,
      isBase: vocabulary === file.vocabularies[0].name,
      rows(limit) {
        const inner = rows.slice(1, -1).slice(0, limit);
        const numbers = new Float32Array(inner.length * ROW_LENGTH);
        inner.forEach(([vocabulary, row], i) => {
          file.readRow(vocabulary, row, numbers.subarray(i * ROW_LENGTH, (i + 1) * ROW_LENGTH));
        });
        return numbers;
      },
    };
  }

  return {
    id: packedId(file.digest),
    digest: file.digest,
    dimensions: ROW_LENGTH,
    encode: (text, role) => readText(text, role).vector,
    read: readText,
    close() {
      file.close();
    },
  };
}

/** The name of what a file of this digest makes. */
export function packedId(digest: string): string {
  return `packed-${digest.slice(0, 32)}`;
}

/** Gives every row a slot, filled when the row is new; the row unused for longest makes room. */
class Slots {
  /** From a row's number among those of all vocabularies to its slot, the one unused for longest first. */
  readonly #slots = new Map<number, number>();
  /** Slots of rows that could not be read. */
  readonly #spare: number[] = [];
  readonly #most: number;
  readonly #load: (slot: number, vocabulary: number, row: number) => void;

  constructor(most: number, load: (slot: number, vocabulary: number, row: number) => void) {
    this.#most = most;
    this.#load = load;
  }

  of(firstRow: number, vocabulary: number, row: number): number {
    const key = firstRow + row;
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = this.#free();
      try {
        this.#load(slot, vocabulary, row);
      } catch (error) {
        this.#spare.push(slot);
        throw error;
      }
    } else {
      this.#slots.delete(key);
    }
    this.#slots.set(key, slot);
    return slot;
  }

  #free(): number {
    const spare = this.#spare.pop();
    if (spare !== undefined) return spare;
    if (this.#slots.size < this.#most) return this.#slots.size;
    for (const [oldest, slot] of this.#slots) {
      this.#slots.delete(oldest);
      return slot;
    }
    throw new RangeError('there are no slots');
  }
}
