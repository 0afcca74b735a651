import { EnglishFile, BASE_WIDTH, WIDTH } from './english-file.ts';
import type { Body } from './body.ts';
import { isEnglish } from './is-english.ts';
import { plainBody } from './plain-body.ts';
import { simdBody } from './simd-body.ts';

export interface EnglishOptions {
  /** Computes in plain JavaScript, as it does where there is no WebAssembly SIMD; for comparing. */
  readonly isPlain?: boolean;
}

/**
 * The second encoder, all-MiniLM-L6-v2: what an English text means, and, from the first encoder's vector or rows, where
 * among these meanings a text in any language lies. A vector depends on what it is made of and on the file alone.
 */
export class EnglishEncoder {
  readonly file: EnglishFile;
  readonly #body: Body;
  readonly #begin = new Float32Array(WIDTH);
  readonly #end = new Float32Array(WIDTH);

  /** Throws `model_missing` or `model_invalid`. */
  constructor(path: string, { isPlain = false }: EnglishOptions = {}) {
    this.file = new EnglishFile(path);
    try {
      const maxRows = Math.max(this.file.documentPieces, this.file.questionPieces) + 2;
      this.#body = (isPlain ? undefined : simdBody(this.file, maxRows)) ?? plainBody(this.file, maxRows);
      this.file.readRow(this.file.beginRow, this.#begin);
      this.file.readRow(this.file.endRow, this.#end);
    } catch (error) {
      this.file.close();
      throw error;
    }
  }

  /** The vector, of length 1, of a text's first pieces, at most `limit` and what the file allows. */
  encodeText(text: string, limit: number): Float32Array {
    const numbers = this.file.words.rowsOf(text, limit);
    const rows = new Float32Array(numbers.length * WIDTH);
    numbers.forEach((row, i) => this.file.readRow(row, rows.subarray(i * WIDTH, (i + 1) * WIDTH)));
    return this.#body.encode(this.#framed(rows), 'words');
  }

  /** Whether a question that is not in other letters than Latin ones is English. */
  isEnglish(question: string): boolean {
    const { words, english, questionPieces } = this.file;
    return isEnglish(english, words.rowsOf(question, questionPieces), question);
  }

  /**
   * The vector, of length 1, of a text of which the first encoder has these rows, `BASE_WIDTH` numbers each, without
   * begin and end; as many are read as a question may have pieces. The file has to have an `entry`.
   */
  encodeRows(rows: Float32Array): Float32Array {
    const read = rows.subarray(0, this.file.questionPieces * BASE_WIDTH);
    const entered = read.length === 0 ? read : this.#body.enter(read);
    return this.#body.encode(this.#framed(entered), 'entry');
  }

  /** The first encoder's vector as one of this encoder's, of length 1. The file has to have a `reach`. */
  reach(vector: Float32Array): Float32Array {
    return this.#body.reach(vector);
  }

  close(): void {
    this.file.close();
  }

  #framed(rows: Float32Array): Float32Array {
    const framed = new Float32Array(rows.length + 2 * WIDTH);
    framed.set(this.#begin);
    framed.set(rows, WIDTH);
    framed.set(this.#end, WIDTH + rows.length);
    return framed;
  }
}
