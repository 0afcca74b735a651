import type { TextRole } from '../search/embedder.ts';

/** Texts somebody asked to have embedded together, as far as it has come. */
export interface Job {
  readonly number: number;
  readonly role: TextRole;
  readonly texts: readonly string[];
  /** The vectors so far, one after another. */
  readonly vectors: Float32Array;
  /** How many texts have theirs. */
  done: number;
}

/**
 * What is to be embedded, one text at a time: questions before documents, in the order they came. So a question waits
 * for one text at most, however many documents there are.
 */
export class JobQueue {
  readonly #questions: Job[] = [];
  readonly #documents: Job[] = [];
  readonly #dimensions: number;

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
  }

  add(number: number, role: TextRole, texts: readonly string[]): void {
    const vectors = new Float32Array(texts.length * this.#dimensions);
    this.#of(role).push({ number, role, texts, vectors, done: 0 });
  }

  /** The job whose next text has its turn. */
  next(): Job | undefined {
    return this.#questions[0] ?? this.#documents[0];
  }

  /** Takes a job out: it is done, failed, or nobody wants it any more. */
  remove(number: number): void {
    for (const jobs of [this.#questions, this.#documents]) {
      const at = jobs.findIndex((job) => job.number === number);
      if (at >= 0) jobs.splice(at, 1);
    }
  }

  #of(role: TextRole): Job[] {
    return role === 'question' ? this.#questions : this.#documents;
  }
}
