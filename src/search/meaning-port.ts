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

/** The documents of one view, as far as they still lack a vector, or a part of one. */
export interface DocumentsToEmbed {
  /**
   * At most `limit` of those that lack this part of their vector (0 is the quickest, and the whole of it where there
   * are no parts); none when all have it, or when nobody uses the view any more.
   */
  next(limit: number, part: number): readonly DocumentToEmbed[];
  /** Nothing but zeros when nobody uses the view any more. */
  readonly counts: DocumentCounts;
}

/** How many documents a view has, and how many of them have each part of their vector, the quickest first. */
export interface DocumentCounts {
  readonly all: number;
  /** Empty before the first vector came. */
  readonly embedded: readonly number[];
}

export interface DocumentToEmbed {
  /** What the embedder reads. */
  readonly text: string;
  /** Keeps the part that was asked for. Does nothing when nobody uses the view any more. */
  readonly keep: (vector: Float32Array) => void;
}
