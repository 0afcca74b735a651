/**
 * The encoder without its table: what makes one vector of the rows of a text. Rows are put into numbered slots first,
 * because part of the work depends on the row alone and is kept with it.
 */
export interface Body {
  /** Which of the two this is. */
  readonly kind: 'simd' | 'plain';
  /** Puts a row, `ROW_LENGTH` numbers, into a slot. */
  load(slot: number, row: Float32Array): void;
  /** The vector, of length 1, of a text whose rows are in these slots, in order; at most `maxRows`. */
  encode(slots: readonly number[]): Float32Array;
}

export interface BodySize {
  /** Most rows of one text. */
  readonly maxRows: number;
  /** How many rows are kept; at least `maxRows`. A row takes 5 KB. */
  readonly slots: number;
}

/** The hyperbolic tangents, brought to length 1. */
export function unitTanh(numbers: Float32Array, epsilon: number): Float32Array {
  const vector = Float32Array.from(numbers, Math.tanh);
  let square = 0;
  for (const number of vector) square += number * number;
  const factor = 1 / Math.sqrt(Math.max(square, epsilon));
  return vector.map((number) => number * factor);
}
