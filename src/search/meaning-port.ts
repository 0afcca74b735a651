/**
 * What gives documents their vectors behind, and questions theirs at once. The room `search` only knows this port: it
 * has no clock and waits for nothing.
 */
export interface Meaning {
  /** A view is in use: those of its documents that have no vector yet get one, as soon as there is time. */
  want(documents: DocumentsToEmbed): void;
  /**
   * One vector for each question, in order. Empty when they cannot be had, or not in time; never rejects. Nothing of
   * the questions is kept.
   */
  questionVectors(questions: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]>;
}

/** The documents of one view, as far as they still have no vector. */
export interface DocumentsToEmbed {
  /** At most `limit` of them; none when all have theirs, or when nobody uses the view any more. */
  next(limit: number): readonly DocumentToEmbed[];
  /** How many documents the view has, and how many have a vector; all 0 when nobody uses it any more. */
  readonly counts: { readonly all: number; readonly embedded: number };
}

export interface DocumentToEmbed {
  /** What the embedder reads. */
  readonly text: string;
  /** Does nothing when nobody uses the view any more. */
  readonly keep: (vector: Float32Array) => void;
}
