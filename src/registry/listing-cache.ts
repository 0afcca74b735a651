import { LRUCache } from 'lru-cache';

const FRESH_MS = 60_000;
const STALE_MS = 24 * 3_600_000;
/** Most servers kept in all: some tens of megabytes at the most. */
const MAX_SERVERS = 20_000;

/** How a value was come by. */
export interface Kept<T> {
  readonly value: T;
  readonly source: 'live' | 'cache' | 'stale';
  readonly asOf: number;
  /** Why an old value is given, when it is. */
  readonly trouble?: unknown;
}

/**
 * Answers of registries: fresh for a minute, and for a day in place of an error. Several who ask for the same thing
 * at once share one asking, which ends early only when all of them have gone.
 */
export class ListingCache<T extends { readonly size: number; readonly isWorthKeeping: boolean }> {
  readonly #kept = new LRUCache<string, { value: T; at: number }>({
    maxSize: MAX_SERVERS,
    sizeCalculation: ({ value }) => Math.max(1, Math.min(value.size, MAX_SERVERS)),
  });
  readonly #asking = new Map<string, Asking<T>>();
  readonly #now: () => number;
  readonly #mayStandIn: (error: unknown) => boolean;

  /** `mayStandIn`: whether an old value is better than this error. */
  constructor(now: () => number, mayStandIn: (error: unknown) => boolean) {
    this.#now = now;
    this.#mayStandIn = mayStandIn;
  }

  async get(
    key: string,
    ask: (signal: AbortSignal, progress: (pages: number) => void) => Promise<T>,
    signal?: AbortSignal,
    progress?: (pages: number) => void,
  ): Promise<Kept<T>> {
    const before = this.#kept.get(key);
    const age = before === undefined ? Infinity : this.#now() - before.at;
    if (before !== undefined && age < FRESH_MS)
      return { value: before.value, source: 'cache', asOf: before.at };
    try {
      const value = await this.#share(key, ask, signal, progress);
      return { value, source: 'live', asOf: this.#now() };
    } catch (trouble) {
      if (signal?.aborted || before === undefined || age > STALE_MS || !this.#mayStandIn(trouble))
        throw trouble;
      return { value: before.value, source: 'stale', asOf: before.at, trouble };
    }
  }

  async #share(
    key: string,
    ask: (signal: AbortSignal, progress: (pages: number) => void) => Promise<T>,
    signal: AbortSignal | undefined,
    progress: ((pages: number) => void) | undefined,
  ): Promise<T> {
    const asking = this.#asking.get(key) ?? this.#begin(key, ask);
    asking.waiting++;
    if (progress !== undefined) asking.listeners.add(progress);
    let onAbort = (): void => undefined;
    const left = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(signal?.reason);
      if (signal?.aborted) onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([asking.answer, left]);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      if (progress !== undefined) asking.listeners.delete(progress);
      asking.waiting--;
      if (asking.waiting === 0) {
        // Whoever comes next starts anew.
        if (this.#asking.get(key) === asking) this.#asking.delete(key);
        asking.controller.abort(new Error('nobody waits for it any more'));
      }
    }
  }

  #begin(
    key: string,
    ask: (signal: AbortSignal, progress: (pages: number) => void) => Promise<T>,
  ): Asking<T> {
    const controller = new AbortController();
    const listeners = new Set<(pages: number) => void>();
    const answer = ask(controller.signal, (pages) => {
      for (const listener of listeners) listener(pages);
    })
      .then((value) => {
        if (value.isWorthKeeping) this.#kept.set(key, { value, at: this.#now() });
        return value;
      })
      .finally(() => {
        if (this.#asking.get(key) === asking) this.#asking.delete(key);
      });
    // When everybody has left, nobody hears of its end.
    answer.catch(() => undefined);
    const asking: Asking<T> = { answer, controller, listeners, waiting: 0 };
    this.#asking.set(key, asking);
    return asking;
  }
}

interface Asking<T> {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  readonly listeners: Set<(pages: number) => void>;
  waiting: number;
}
