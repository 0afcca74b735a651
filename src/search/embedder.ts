/**
 * Turns text into vectors of one space: texts of like meaning lie close, in whatever language.
 *
 * The room `search` only knows this port; what stands behind it (files, a model) belongs to another room and
 * may answer late, so a question's vector comes in through `SearchOptions.vector`.
 */
export interface Embedder {
  /** Equal ids mean comparable vectors; vectors of different ids must not be mixed. */
  readonly id: string;
  readonly dimensions: number;
  /** One vector of length 1 for each text, in order. */
  embed(texts: readonly string[]): Promise<readonly Float32Array[]>;
}
