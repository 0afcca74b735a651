/** A wait that ends when `parent` aborts or its time is over; `dispose` must be called when the wait is over. */
export interface Deadline {
  /** The same as a signal, for whom needs one; made on first use. */
  readonly signal: AbortSignal;
  /** Whether it has ended, by its parent or by its time. */
  readonly aborted: boolean;
  /** Why it ended: the parent's reason, or an error that says how long was waited. */
  readonly reason: unknown;
  /** True once the time ran out (and not because the parent aborted). */
  expired(): boolean;
  /** Starts the time again, unless `hardMs` from the beginning would pass. */
  extend(): void;
  /** The one to call when it ends, at once when it has ended; a later one takes its place, undefined takes it away. */
  onAbort(listener: (() => void) | undefined): void;
  dispose(): void;
}

/**
 * Opens a deadline. `hardMs` bounds all extensions together. One listener on the parent and one timer; both are
 * gone after `dispose` (`AbortSignal.any` keeps its dependants alive on Node 20, nodejs/node#55351).
 */
export function openDeadline(parent: AbortSignal | undefined, ms: number, hardMs: number = ms): Deadline {
  return new OpenDeadline(parent, ms, hardMs);
}

/** A call has one of these, and most end without anybody having asked for the signal, the dearest part to make. */
class OpenDeadline implements Deadline {
  readonly #parent: AbortSignal | undefined;
  readonly #onParent: (() => void) | undefined;
  readonly #ms: number;
  readonly #end: number;
  readonly #expire = (): void => {
    this.#isExpired = true;
    this.#abort(new Error(`no answer within ${this.#ms} ms`));
  };
  #timer: NodeJS.Timeout;
  #isExpired = false;
  #isAborted = false;
  #reason: unknown;
  #listener: (() => void) | undefined;
  #controller: AbortController | undefined;

  constructor(parent: AbortSignal | undefined, ms: number, hardMs: number) {
    this.#parent = parent;
    this.#ms = ms;
    this.#end = performance.now() + hardMs;
    this.#timer = setTimeout(this.#expire, ms);
    if (parent === undefined) return;
    this.#onParent = () => this.#abort(parent.reason);
    if (parent.aborted) this.#abort(parent.reason);
    else parent.addEventListener('abort', this.#onParent, { once: true });
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#isAborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  expired(): boolean {
    return this.#isExpired;
  }

  extend(): void {
    if (this.#isAborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#expire, Math.max(0, Math.min(this.#ms, this.#end - performance.now())));
  }

  onAbort(listener: (() => void) | undefined): void {
    this.#listener = listener;
    if (this.#isAborted) listener?.();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#listener = undefined;
    if (this.#onParent !== undefined) this.#parent?.removeEventListener('abort', this.#onParent);
  }

  #abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#listener?.();
  }
}

/** Waits `ms`, or less when `signal` aborts; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref?.();
    signal?.addEventListener('abort', done, { once: true });
  });
}
