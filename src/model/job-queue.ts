import type { TextRole } from '../search/embedder.ts';

/** Texts somebody asked to have embedded together, as far as it has come. */
export interface Job {
  readonly number: number;
  readonly role: TextRole;
  /** Which part of documents' vectors is wanted; undefined for all of them. */
  readonly part: number | undefined;
  /** Numbers of one vector. */
  readonly dimensions: number;
  readonly texts: readonly string[];
  /** The vectors so far, one after another. */
  readonly vectors: Float32Array;
  /** How many texts have theirs. */
  done: number;
}

export type Request = Pick<Job, 'number' | 'role' | 'texts' | 'dimensions'> & {
  readonly part?: number | undefined;
};

/**
 * What is to be embedded, one text at a time: questions before documents, first parts of documents before later ones,
 * else in the order they came. So a question waits for one text at most, however many documents there are, and a new
 * catalog for no other's later parts.
 */
export class JobQueue {
  /** By how long they may wait. */
  readonly #lines: Job[][] = [];

  add({ number, role, part, texts, dimensions }: Request): void {
    const vectors = new Float32Array(texts.length * dimensions);
    const line = role === 'question' ? 0 : 1 + (part ?? 0);
    while (this.#lines.length <= line) this.#lines.push([]);
    this.#lines[line]!.push({ number, role, part, texts, dimensions, vectors, done: 0 });
  }

  /** The job whose next text has its turn. */
  next(): Job | undefined {
    return this.#lines.find((jobs) => jobs.length > 0)?.[0];
  }

  /** Takes a job out: it is done, failed, or nobody wants it any more. */
  remove(number: number): void {
    for (const jobs of this.#lines) {
      const at = jobs.findIndex((job) => job.number === number);
      if (at >= 0) jobs.splice(at, 1);
    }
  }
}
