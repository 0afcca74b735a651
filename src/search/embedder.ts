/**
 * Turns text into vectors of one space: texts of like meaning lie close, in whatever language.
 *
 * The room `search` only knows this port; what stands behind it (files, a model, a thread) belongs to another room
 * and may answer late, so a question's vector comes in through `SearchOptions.vector`.
 */
export interface Embedder {
  /** Equal ids mean comparable vectors; vectors of different ids must not be mixed. */
  readonly id: string;
  readonly dimensions: number;
  /**
   * One vector of length 1 for each text, in order. A text of which nothing is known to the embedder may have the
   * zero vector, which is like nothing. Rejects when the vectors cannot be had (with the signal's reason when it was
   * aborted); the caller then goes by words alone.
   */
  embed(texts: readonly string[], role: TextRole, signal?: AbortSignal): Promise<readonly Float32Array[]>;
  /** Present when a document's vector consists of parts that can be had one by one. */
  readonly parts?: DocumentParts | undefined;
  /**
   * Present when something of it is missing without which it works, only less well: what, in a sentence for the
   * operator.
   */
  readonly shortfall?: string | undefined;
  /** Gives back what the embedder holds; what is still being embedded is rejected. */
  close(): Promise<void>;
}

/**
 * A document's vector in parts, the quickest first. A question's vector has all of them one after another, and so has
 * a document's from `embed`; the similarity of both is the sum of the parts' products.
 */
export interface DocumentParts {
  /** How many numbers each has; the embedder's `dimensions` in all. */
  readonly dimensions: readonly number[];
  /** One vector of this part (0 is the quickest) for each text of a document; else as the embedder's `embed`. */
  embed(texts: readonly string[], part: number, signal?: AbortSignal): Promise<readonly Float32Array[]>;
}

/** What a text is: somebody waits for a question, while documents are many, longer, and may come a little later. */
export type TextRole = 'question' | 'document';
