/** The second encoder without its table: what makes vectors of rows, and leads from the first encoder into its space. */
export interface Body {
  /** Which of the two this is. */
  readonly kind: 'simd' | 'plain';
  /**
   * The vector, of length 1, of a text's rows, `WIDTH` numbers each, begin and end among them; at most `maxRows`.
   * `from` says whether they are this encoder's own or have entered, which may have norms of its own.
   */
  encode(rows: Float32Array, from: 'words' | 'entry'): Float32Array;
  /** The first encoder's rows, `BASE_WIDTH` numbers each, as rows of this one; at most `maxRows`. */
  enter(rows: Float32Array): Float32Array;
  /** The first encoder's vector as one of this encoder's, of length 1. */
  reach(vector: Float32Array): Float32Array;
}

/** Brought to length 1; zeros stay. Throws for what is no numbers, which weights that are numbers can lead to. */
export function unit(numbers: Float32Array): Float32Array {
  let square = 0;
  for (const number of numbers) square += number * number;
  if (!Number.isFinite(square)) throw new Error('the weights of the second encoder lead beyond all numbers');
  const factor = square > 0 ? 1 / Math.sqrt(square) : 0;
  return numbers.map((number) => number * factor);
}

/** What the file does not have cannot be asked for. */
export function missing(what: string): Error {
  return new Error(`this second encoder has no ${what}`);
}
