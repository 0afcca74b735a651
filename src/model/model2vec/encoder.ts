import type { JsonTokenizer } from '../tokenizer-json/tokenizer.ts';
import type { RowTable } from './row-table.ts';

/** What a Model2Vec model is beside its tokenizer and its table. */
export interface Model2VecFacts {
  /** Whether vectors get length 1, as the model's configuration says. */
  readonly normalize: boolean;
  /** Most tokens of a text that count; undefined: all. */
  readonly maxLength: number | undefined;
  /** Whole part of the median length of its tokens, in code points. */
  readonly medianCharacters: number;
}

export interface Model2VecParts {
  readonly tokenizer: JsonTokenizer;
  readonly table: RowTable;
  /** The row of each token id; undefined: the id is the row. */
  readonly mapping: Int32Array | undefined;
  /** The weight of each token id; undefined: all weigh the same. */
  readonly weights: Float32Array | undefined;
  readonly facts: Model2VecFacts;
}

/** Longest text of a model that sets no limit, in code points. */
const MAX_CHARACTERS = 100_000;

/**
 * Turns a text into the mean of its tokens' rows, as `StaticModel.encode` of the Python package model2vec 0.10 does:
 * a long text is cut to `maxLength` times the median length of a token, then to `maxLength` tokens; unknown tokens
 * are left out; each row is multiplied by its token's weight. Order and prefixes mean nothing to such a model.
 */
export class Model2VecEncoder {
  readonly #parts: Model2VecParts;
  readonly #maxCharacters: number;

  constructor(parts: Model2VecParts) {
    this.#parts = parts;
    const { maxLength, medianCharacters } = parts.facts;
    this.#maxCharacters = maxLength === undefined ? MAX_CHARACTERS : maxLength * medianCharacters;
  }

  get dimensions(): number {
    return this.#parts.table.dimensions;
  }

  /**
   * The vector of a text, of length 1 when the model (or `isUnit`) says so; of a text without any known token the
   * zero vector. Throws a `Fault` or a `ProxyError` when the table's file is damaged.
   */
  encode(text: string, isUnit = this.#parts.facts.normalize): Float32Array {
    const { table, mapping, weights } = this.#parts;
    const ids = this.tokens(text);
    const sum = new Float64Array(table.dimensions);
    for (const id of ids)
      table.addRow(mapping === undefined ? id : (mapping[id] ?? 0), weights?.[id] ?? 1, sum);
    // What length 1 divides by makes the mean of the sum too.
    const divisor = isUnit ? Math.sqrt(sum.reduce((total, value) => total + value * value, 0)) : ids.length;
    return divisor === 0
      ? new Float32Array(table.dimensions)
      : Float32Array.from(sum, (value) => value / divisor);
  }

  /** The ids of the tokens that count. */
  tokens(text: string): number[] {
    const { tokenizer, facts } = this.#parts;
    const ids = tokenizer.encode(firstCharacters(text, this.#maxCharacters));
    return ids.slice(0, facts.maxLength).filter((id) => id !== tokenizer.unknownId);
  }
}

/** The first `count` code points. */
function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let i = 0; i < count && end < text.length; i++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}
