import { messageOf } from '../base/errors.ts';
import { openDeadline, pause } from '../base/deadline.ts';
import type { Observer } from '../base/observer.ts';
import type { Embedder } from '../search/embedder.ts';
import type { DocumentsToEmbed, DocumentToEmbed, Meaning } from '../search/meaning-port.ts';

export interface ToolVectorsParts {
  /** Opens the model; asked once, when the first documents want vectors. A rejection is final: words rank alone. */
  readonly open: () => Promise<Embedder>;
  /** Hears one note when the model cannot be opened, and one for each time it begins to fail. */
  readonly observer: Observer;
  /** Longest a question waits for its vector. */
  readonly questionWaitMs: number;
}

/** Documents handed over at once: few enough that a damaged answer costs little, enough to keep a worker busy. */
const AT_ONCE = 64;

/** Waiting before a model that fails is asked again: 1 s doubling to a minute. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

const LONGEST_CLOSING_MS = 2_000;

/** Any text a model that works can embed. */
const PROBE = 'tool';

/**
 * Gives the documents of views their vectors, one batch after the other and one view after the other, and questions
 * theirs within a deadline. Whatever goes wrong with the model, nobody waits for it and nobody gets an error: the
 * ranking goes by words meanwhile.
 *
 * Holds no text longer than it is being embedded, and no question at all.
 */
export class ToolVectors implements Meaning {
  readonly #parts: ToolVectorsParts;
  readonly #queue = new Set<DocumentsToEmbed>();
  readonly #closing = new AbortController();
  #opening: Promise<Embedder> | undefined;
  /** Present once it is open. */
  #embedder: Embedder | undefined;
  #isMissing = false;
  #failures = 0;
  #running: Promise<void> | undefined;

  constructor(parts: ToolVectorsParts) {
    this.#parts = parts;
  }

  want(documents: DocumentsToEmbed): void {
    if (this.#isMissing || this.#closing.signal.aborted) return;
    this.#queue.add(documents);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async questionVectors(
    questions: readonly string[],
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    const embedder = this.#embedder;
    if (embedder === undefined || this.#closing.signal.aborted) return [];
    const deadline = openDeadline(signal, this.#parts.questionWaitMs);
    try {
      const late = new Promise<readonly Float32Array[]>((resolve) => deadline.onAbort(() => resolve([])));
      const found = embedder.embed(questions, 'question', deadline.signal).then(
        (vectors) => (areWhole(vectors, questions.length, embedder) ? vectors : []),
        () => [],
      );
      return await Promise.race([found, late]);
    } finally {
      deadline.dispose();
    }
  }

  /** Opens the model now; rejects when that cannot be done. For those who do not want to run without it. */
  async opened(): Promise<void> {
    await this.#open();
  }

  /** Of all documents asked for and not yet forgotten: how many there are, and how many have their vector. */
  get progress(): { readonly all: number; readonly embedded: number } {
    let [all, embedded] = [0, 0];
    for (const { counts } of this.#queue) {
      all += counts.all;
      embedded += counts.embedded;
    }
    return { all, embedded };
  }

  /** Resolves when every document that was asked for has its vector or will get none, or after `ms`. */
  async settled(ms: number): Promise<void> {
    if (this.#running !== undefined) await Promise.race([this.#running, pause(ms)]);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the program is closing'));
    this.#queue.clear();
    // Closing the model rejects what it is at; one that is stuck holds up nothing.
    const closed = this.#opening?.then(
      (embedder) => embedder.close(),
      () => undefined,
    );
    await Promise.race([Promise.all([closed, this.#running]), pause(LONGEST_CLOSING_MS)]);
  }

  async #open(): Promise<Embedder> {
    this.#opening ??= this.#parts.open();
    this.#embedder = await this.#opening;
    return this.#embedder;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let embedder: Embedder;
    try {
      embedder = await this.#open();
    } catch (error) {
      this.#isMissing = true;
      this.#queue.clear();
      this.#note(`search goes by words alone: ${messageOf(error)}`);
      return;
    }
    for (;;) {
      const [documents] = this.#queue;
      if (documents === undefined || signal.aborted) return;
      const batch = documents.next(AT_ONCE);
      if (batch.length === 0) this.#queue.delete(documents);
      else if (!(await this.#embed(embedder, batch))) await this.#waitAfterFailure();
    }
  }

  /** Whether any of them got a vector, so that going on makes sense. */
  async #embed(embedder: Embedder, batch: readonly DocumentToEmbed[]): Promise<boolean> {
    const { signal } = this.#closing;
    const texts = batch.map(({ text }) => text);
    try {
      const vectors = await embedder.embed(texts, 'document', signal);
      if (!areWhole(vectors, texts.length, embedder))
        throw new Error('it gave other vectors than it was asked for');
      batch.forEach(({ keep }, i) => keep(vectors[i]!));
      this.#failures = 0;
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (batch.length > 1) {
        // One text may be the trouble: halves, until it stands alone.
        const middle = batch.length >> 1;
        const isFirstWell = await this.#embed(embedder, batch.slice(0, middle));
        return isFirstWell && (await this.#embed(embedder, batch.slice(middle)));
      }
      if (await this.#works(embedder)) {
        // This text cannot be embedded: it is like nothing, and holds nobody up.
        batch[0]!.keep(new Float32Array(embedder.dimensions));
        return true;
      }
      if (this.#failures++ === 0) this.#note(`the embedding model failed: ${messageOf(error)}`);
      return false;
    }
  }

  async #works(embedder: Embedder): Promise<boolean> {
    try {
      return (await embedder.embed([PROBE], 'document', this.#closing.signal)).length === 1;
    } catch {
      return false;
    }
  }

  async #waitAfterFailure(): Promise<void> {
    const ms = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, this.#failures - 1));
    await pause(ms, this.#closing.signal);
  }

  #note(message: string): void {
    this.#parts.observer({ kind: 'note', message });
  }
}

function areWhole(vectors: readonly Float32Array[], count: number, { dimensions }: Embedder): boolean {
  return vectors.length === count && vectors.every(({ length }) => length === dimensions);
}
