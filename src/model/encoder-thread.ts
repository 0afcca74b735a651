import { Worker } from 'node:worker_threads';
import { systemClock, type Clock } from '../base/clock.ts';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { DocumentParts, Embedder, TextRole } from '../search/embedder.ts';
import type { FromThread, SentError, ThreadData, ToThread } from './encoder-messages.ts';

export interface EncoderThreadOptions {
  readonly clock?: Clock;
  /** The thread's program; for tests. */
  readonly program?: URL;
}

/** A thread that ended without being told to is started again, with the next texts, this many times in `WINDOW_MS`. */
const MOST_RESTARTS = 3;
const WINDOW_MS = 600_000;

/** Memory of JavaScript values a thread may take, in MB: a text that makes it grow without end costs the thread alone. */
const MAX_HEAP_MB = 512;

/** How long closing waits for the thread to write what it has, in milliseconds. */
const CLOSE_MS = 2_000;

/**
 * The built program: a thread is started by Node alone, which reads no TypeScript. So under the tests, where this file
 * runs as a source, it is the one of the last build.
 */
const PROGRAM = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/model/encoder-worker.js' : './encoder-worker.js',
  import.meta.url,
);

/**
 * Opens an encoder on a thread of its own. Rejects with what the encoder says when it cannot be opened. The thread
 * does not keep the process alive, except while somebody waits for it.
 */
export async function openEncoderThread(
  data: ThreadData,
  { clock = systemClock, program = PROGRAM }: EncoderThreadOptions = {},
): Promise<Embedder> {
  const first = await startThread(data, program);
  return new EncoderThread(first, () => startThread(data, program), clock);
}

class EncoderThread implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly parts: DocumentParts | undefined;
  readonly shortfall: string | undefined;
  readonly #start: () => Promise<Thread>;
  readonly #clock: Clock;
  /** Undefined from when it ended until somebody asks again. */
  #thread: Promise<Thread> | undefined;
  /** When threads ended unasked. */
  #ends: readonly number[] = [];
  #isClosed = false;

  constructor(first: Thread, start: () => Promise<Thread>, clock: Clock) {
    this.id = first.id;
    this.dimensions = first.dimensions;
    this.parts = this.#partsOf(first);
    this.shortfall = first.shortfall;
    this.#start = start;
    this.#clock = clock;
    this.#thread = Promise.resolve(first);
    this.#watch(first);
  }

  async embed(
    texts: readonly string[],
    role: TextRole,
    signal?: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    return this.#embed({ texts, role }, this.dimensions, signal);
  }

  async #embed(
    request: EmbedRequest,
    dimensions: number,
    signal: AbortSignal | undefined,
  ): Promise<readonly Float32Array[]> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw stopped('it was closed');
    const thread = await (this.#thread ?? this.#startAgain());
    signal?.throwIfAborted();
    const all = await thread.embed(request, signal);
    return request.texts.map((_, i) => all.subarray(i * dimensions, (i + 1) * dimensions));
  }

  #partsOf({ parts: dimensions }: Thread): DocumentParts | undefined {
    if (dimensions === undefined) return undefined;
    return {
      dimensions,
      embed: (texts, part, signal) => {
        const numbers = dimensions[part];
        if (numbers === undefined)
          throw new RangeError(`Vectors have ${dimensions.length} parts, none is ${part}`);
        return this.#embed({ texts, role: 'document', part }, numbers, signal);
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = await this.#thread?.catch(() => undefined);
    await thread?.close();
  }

  /** When the thread ends unasked, the next texts start another. */
  #watch(thread: Thread): void {
    void thread.ended.then(() => {
      if (!this.#isClosed) this.#ended();
    });
  }

  #ended(): void {
    this.#ends = [...this.#recentEnds(), this.#clock.now()];
    this.#thread = undefined;
  }

  #recentEnds(): readonly number[] {
    return this.#ends.filter((at) => this.#clock.now() - at < WINDOW_MS);
  }

  #startAgain(): Promise<Thread> {
    const starting = this.#restart();
    this.#thread = starting;
    starting.catch(() => {
      this.#thread = undefined;
    });
    return starting;
  }

  async #restart(): Promise<Thread> {
    const ends = this.#recentEnds().length;
    if (ends > MOST_RESTARTS) throw stopped(`it ended ${ends} times within ${WINDOW_MS / 60_000} minutes`);
    let thread: Thread;
    try {
      thread = await this.#start();
      if (thread.id !== this.id) {
        await thread.close();
        throw stopped('its files are not those it started with');
      }
    } catch (error) {
      this.#ended();
      throw error;
    }
    this.#watch(thread);
    return thread;
  }
}

type EmbedRequest = Pick<Extract<ToThread, { kind: 'embed' }>, 'texts' | 'role' | 'part'>;

/** A running thread whose encoder is open. */
interface Thread extends Omit<Extract<FromThread, { kind: 'open' }>, 'kind'> {
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** All vectors, one after another. */
  embed(request: EmbedRequest, signal?: AbortSignal): Promise<Float32Array>;
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (vectors: Float32Array) => void;
  readonly reject: (reason: unknown) => void;
}

function startThread(data: ThreadData, program: URL): Promise<Thread> {
  const worker = new Worker(program, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    // What it prints would be taken for the protocol's.
    stdout: true,
    // Those of this process may be about its own program.
    execArgv: [],
  });
  const waiting = new Map<number, Waiting>();
  let jobs = 0;
  let failure: unknown;
  let hasEnded = false;

  return new Promise((resolve, reject) => {
    const ended = new Promise<void>((resolveEnded) => {
      worker.once('exit', () => {
        hasEnded = true;
        const error = stopped(failure === undefined ? 'its thread ended' : messageOf(failure), failure);
        reject(error);
        for (const one of waiting.values()) one.reject(error);
        waiting.clear();
        resolveEnded();
      });
    });
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('message', (message: FromThread) => {
      switch (message.kind) {
        case 'open': {
          const { kind: _, ...open } = message;
          worker.unref();
          resolve({ ...open, ended, embed, close: () => close(ended) });
          break;
        }
        case 'unopened':
          reject(errorOf(message.error));
          break;
        case 'done':
          take(message.job)?.resolve(message.vectors);
          break;
        case 'failed':
          take(message.job)?.reject(errorOf(message.error));
          break;
      }
    });
  });

  function embed(request: EmbedRequest, signal?: AbortSignal): Promise<Float32Array> {
    const job = ++jobs;
    return new Promise<Float32Array>((resolve, reject) => {
      if (hasEnded) throw stopped('its thread ended');
      const abort = (): void => {
        take(job);
        post({ kind: 'cancel', job });
        reject(signal?.reason);
      };
      const settled =
        <T>(settle: (value: T) => void) =>
        (value: T): void => {
          signal?.removeEventListener('abort', abort);
          settle(value);
        };
      signal?.addEventListener('abort', abort, { once: true });
      waiting.set(job, { resolve: settled(resolve), reject: settled(reject) });
      worker.ref();
      post({ kind: 'embed', job, ...request });
    });
  }

  function take(job: number): Waiting | undefined {
    const one = waiting.get(job);
    waiting.delete(job);
    if (waiting.size === 0) worker.unref();
    return one;
  }

  function post(message: ToThread): void {
    worker.postMessage(message);
  }

  async function close(ended: Promise<void>): Promise<void> {
    for (const one of waiting.values()) one.reject(stopped('it was closed'));
    waiting.clear();
    worker.ref();
    post({ kind: 'close' });
    const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
    await ended;
    clearTimeout(timer);
  }
}

function errorOf({ code, message }: SentError): Error {
  return code === undefined ? stopped(message) : new ProxyError(code, message);
}

function stopped(why: string, cause?: unknown): ProxyError {
  return new ProxyError('model_stopped', `The embedding model gives no vectors: ${why}.`, { cause });
}
