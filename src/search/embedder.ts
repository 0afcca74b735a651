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
  /** Gives back what the embedder holds; what is still being embedded is rejected. */
  close(): Promise<void>;
}

/** What a text is: somebody waits for a question, while documents are many, longer, and may come a little later. */
export type TextRole = 'question' | 'document';
