import { messageOf, ProxyError } from '../base/errors.ts';
import { openDeadline, pause } from '../base/deadline.ts';
import type { Observer } from '../base/observer.ts';
import type { Embedder } from '../search/embedder.ts';
import type { DocumentsToEmbed, DocumentToEmbed, Meaning } from '../search/meaning-port.ts';

export interface ToolVectorsParts {
  /** Opens the model; asked once, when the first documents want vectors. A rejection is final: words rank alone. */
  readonly open: () => Promise<Embedder>;
  /**
   * Hears one note when the model cannot be opened or something of it is missing, one for each time it begins to fail,
   * and when all documents that wanted a part of their vectors have it.
   */
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
 * theirs within a deadline. Where vectors have parts, each part has such a line of its own, so that nobody's first
 * part waits for another's later ones; which text comes first is for the embedder to know. Whatever goes wrong with the model, nobody waits for it and nobody gets an error: the
 * ranking goes by words meanwhile.
 *
 * Holds no text longer than it is being embedded, and no question at all.
 */
export class ToolVectors implements Meaning {
  readonly #parts: ToolVectorsParts;
  readonly #closing = new AbortController();
  #opening: Promise<Embedder> | undefined;
  /** Present once it is open. */
  #embedder: Embedder | undefined;
  #isMissing = false;
  /** Those that want vectors while the model is being opened. */
  readonly #wanted = new Set<DocumentsToEmbed>();
  #starting: Promise<void> | undefined;
  /** One for each part of the vectors, once the model is open. */
  #lines: readonly Line[] = [];

  constructor(parts: ToolVectorsParts) {
    this.#parts = parts;
  }

  want(documents: DocumentsToEmbed): void {
    if (this.#isMissing || this.#closing.signal.aborted) return;
    if (this.#lines.length === 0) {
      this.#wanted.add(documents);
      this.#starting ??= this.#start();
    } else for (const line of this.#lines) line.want(documents);
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

  /**
   * Opens the model now; rejects when that cannot be done, or when something of it is missing. For those who do not
   * want to run without it.
   */
  async opened(): Promise<void> {
    const { shortfall } = await this.#open();
    if (shortfall !== undefined) throw new ProxyError('model_missing', shortfall);
  }

  /**
   * Of all documents asked for and not yet forgotten: how many there are, how many have the first part of their
   * vector, and how many all of it.
   */
  get progress(): { readonly all: number; readonly embedded: number; readonly whole: number } {
    let [all, embedded, whole] = [0, 0, 0];
    for (const { counts } of new Set([...this.#wanted, ...this.#lines.flatMap((line) => [...line.queue])])) {
      all += counts.all;
      embedded += counts.embedded[0] ?? 0;
      whole += counts.embedded[Math.max(0, this.#lines.length - 1)] ?? 0;
    }
    return { all, embedded, whole };
  }

  /** Resolves when every document that was asked for has its vector or will get none, or after `ms`. */
  async settled(ms: number): Promise<void> {
    if (this.#starting !== undefined) await Promise.race([this.#done(), pause(ms)]);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the program is closing'));
    // Closing the model rejects what it is at; one that is stuck holds up nothing.
    const closed = this.#opening?.then(
      (embedder) => embedder.close(),
      () => undefined,
    );
    await Promise.race([Promise.all([closed, this.#done()]), pause(LONGEST_CLOSING_MS)]);
  }

  async #done(): Promise<void> {
    await this.#starting;
    await Promise.all(this.#lines.map((line) => line.done()));
  }

  async #open(): Promise<Embedder> {
    this.#opening ??= this.#parts.open();
    this.#embedder = await this.#opening;
    return this.#embedder;
  }

  async #start(): Promise<void> {
    let embedder: Embedder;
    try {
      embedder = await this.#open();
    } catch (error) {
      this.#isMissing = true;
      this.#wanted.clear();
      this.#note(`search goes by words alone: ${messageOf(error)}`);
      return;
    }
    if (embedder.shortfall !== undefined)
      this.#note(`search goes by a part of its model: ${embedder.shortfall}`);
    const parts = partsOf(embedder);
    this.#lines = parts.map((part) => {
      const isLast = part.number === parts.length - 1;
      return new Line(part, isLast, this.#parts.observer, this.#closing.signal);
    });
    for (const documents of this.#wanted) this.want(documents);
    this.#wanted.clear();
  }

  #note(message: string): void {
    this.#parts.observer({ kind: 'note', message });
  }
}

/** One part of documents' vectors, or the whole of them where they have no parts. */
interface VectorPart {
  readonly number: number;
  readonly dimensions: number;
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}

function partsOf(embedder: Embedder): readonly VectorPart[] {
  const { parts, dimensions } = embedder;
  if (parts === undefined)
    return [{ number: 0, dimensions, embed: (texts, signal) => embedder.embed(texts, 'document', signal) }];
  return parts.dimensions.map((numbers, number) => ({
    number,
    dimensions: numbers,
    embed: (texts, signal) => parts.embed(texts, number, signal),
  }));
}

/** The views whose documents are to get one part of their vectors. */
class Line {
  readonly queue = new Set<DocumentsToEmbed>();
  /** Until there is nothing left to do. */
  #running: Promise<void> | undefined;
  readonly #part: VectorPart;
  readonly #isLast: boolean;
  readonly #observer: Observer;
  readonly #closing: AbortSignal;
  #failures = 0;
  /** Since it began to run. */
  #embedded = 0;

  constructor(part: VectorPart, isLast: boolean, observer: Observer, closing: AbortSignal) {
    this.#part = part;
    this.#isLast = isLast;
    this.#observer = observer;
    this.#closing = closing;
  }

  want(documents: DocumentsToEmbed): void {
    this.queue.add(documents);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async done(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const began = performance.now();
    this.#embedded = 0;
    for (;;) {
      const [documents] = this.queue;
      if (documents === undefined) this.#tell(performance.now() - began);
      if (documents === undefined || this.#closing.aborted) return;
      const batch = documents.next(AT_ONCE, this.#part.number);
      if (batch.length === 0) this.queue.delete(documents);
      else if (!(await this.#embed(batch))) await this.#waitAfterFailure();
    }
  }

  #tell(ms: number): void {
    if (this.#embedded > 0)
      this.#observer({ kind: 'vectors', tools: this.#embedded, isWhole: this.#isLast, ms });
  }

  /** Whether any of them got a vector, so that going on makes sense. */
  async #embed(batch: readonly DocumentToEmbed[]): Promise<boolean> {
    const texts = batch.map(({ text }) => text);
    try {
      const vectors = await this.#part.embed(texts, this.#closing);
      if (!areWhole(vectors, texts.length, this.#part))
        throw new Error('it gave other vectors than it was asked for');
      batch.forEach(({ keep }, i) => keep(vectors[i]!));
      this.#failures = 0;
      this.#embedded += batch.length;
      return true;
    } catch (error) {
      if (this.#closing.aborted) return false;
      if (batch.length > 1) {
        // One text may be the trouble: halves, until it stands alone.
        const middle = batch.length >> 1;
        const isFirstWell = await this.#embed(batch.slice(0, middle));
        return isFirstWell && (await this.#embed(batch.slice(middle)));
      }
      if (await this.#works()) {
        // This text cannot be embedded: it is like nothing, and holds nobody up.
        batch[0]!.keep(new Float32Array(this.#part.dimensions));
        return true;
      }
      if (this.#failures++ === 0)
        this.#observer({ kind: 'note', message: `the embedding model failed: ${messageOf(error)}` });
      return false;
    }
  }

  async #works(): Promise<boolean> {
    try {
      return (await this.#part.embed([PROBE], this.#closing)).length === 1;
    } catch {
      return false;
    }
  }

  async #waitAfterFailure(): Promise<void> {
    const ms = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.max(0, this.#failures - 1));
    await pause(ms, this.#closing);
  }
}

function areWhole(
  vectors: readonly Float32Array[],
  count: number,
  { dimensions }: { readonly dimensions: number },
): boolean {
  return vectors.length === count && vectors.every(({ length }) => length === dimensions);
}
