import { BusyError, ProxyError } from '../base/errors.ts';

export interface CallLanesLimits {
  readonly maxUpstreamCalls: number;
  readonly maxQueuedCalls: number;
  readonly callQueueMs: number;
}

interface Waiting {
  readonly go: () => void;
  /** Its place in the queue is another's now. */
  readonly makeRoom: () => void;
}

/** A queue that is full now is shorter in a moment, or its upstream is in trouble anyway. */
const RETRY_AFTER_S = 1;

/**
 * The calls under way at one upstream, and those waiting for their turn. Callers take turns, whatever each of them
 * asks for, so one who asks for a thousand things does not stand before one who asks for one; nor does the queue fill
 * up with theirs: when it is full, who has most in it makes room. A caller is known by
 * the credential, kept only while a call of theirs waits.
 */
export class CallLanes {
  readonly #upstream: string;
  readonly #limits: CallLanesLimits;
  /** By caller; the one whose turn comes next is first. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  #running = 0;
  #queued = 0;

  constructor(upstream: string, limits: CallLanesLimits) {
    this.#upstream = upstream;
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queued;
  }

  /**
   * Takes a place, which `leave` gives back: undefined when there is one, otherwise a promise that waits for it.
   * Throws, or rejects with, a `BusyError` that names the limit; rejects when `signal` aborts. Nothing was sent then.
   */
  enter(caller: string, signal: AbortSignal): Promise<void> | undefined {
    const { maxUpstreamCalls, maxQueuedCalls } = this.#limits;
    if (this.#running < maxUpstreamCalls) {
      this.#running++;
      return undefined;
    }
    if (this.#queued >= maxQueuedCalls && !this.#makeRoomFor(caller)) throw this.#full();
    return this.#wait(caller, signal);
  }

  /** Gives a place back: to whoever is next, if anybody waits. */
  leave(): void {
    const [turn] = this.#waiting;
    if (turn === undefined) {
      this.#running--;
      return;
    }
    const [caller, theirs] = turn;
    const [next] = theirs;
    if (next === undefined) throw new Error('a caller without a waiting call is not in the queue');
    this.#remove(caller, next);
    // The others come before this caller's next call.
    if (theirs.size > 0) {
      this.#waiting.delete(caller);
      this.#waiting.set(caller, theirs);
    }
    next.go();
  }

  /** The caller with most calls waiting gives up the newest of them, unless that is who asks. */
  #makeRoomFor(caller: string): boolean {
    const theirs = this.#waiting.get(caller)?.size ?? 0;
    let longest: Set<Waiting> = new Set();
    for (const waiting of this.#waiting.values()) if (waiting.size > longest.size) longest = waiting;
    if (longest.size <= theirs + 1) return false;
    [...longest].at(-1)?.makeRoom();
    return true;
  }

  #full(): BusyError {
    const { maxUpstreamCalls, maxQueuedCalls } = this.#limits;
    const waiting = `${maxQueuedCalls} waiting (limits maxUpstreamCalls, maxQueuedCalls)`;
    return this.#busy(`has ${maxUpstreamCalls} calls under way and ${waiting}`);
  }

  #wait(caller: string, signal: AbortSignal): Promise<void> {
    const { callQueueMs } = this.#limits;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
      };
      const giveUp = (error: Error): void => {
        settle();
        this.#remove(caller, waiting);
        reject(error);
      };
      const waiting: Waiting = {
        go: () => {
          settle();
          resolve();
        },
        makeRoom: () => giveUp(this.#full()),
      };
      const onAbort = (): void =>
        giveUp(
          new ProxyError('cancelled', `The call waited for its turn at upstream '${this.#upstream}'.`, {
            upstream: this.#upstream,
            outcome: 'not_sent',
          }),
        );
      const timer = setTimeout(
        () =>
          giveUp(
            this.#busy(
              `had no place for this call within ${callQueueMs} ms (limits maxUpstreamCalls, callQueueMs)`,
            ),
          ),
        callQueueMs,
      );
      const theirs = this.#waiting.get(caller) ?? new Set();
      this.#waiting.set(caller, theirs.add(waiting));
      this.#queued++;
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #remove(caller: string, waiting: Waiting): void {
    const theirs = this.#waiting.get(caller);
    if (theirs?.delete(waiting) !== true) return;
    this.#queued--;
    if (theirs.size === 0) this.#waiting.delete(caller);
  }

  #busy(what: string): BusyError {
    return new BusyError(`Upstream '${this.#upstream}' ${what}.`, RETRY_AFTER_S, this.#upstream);
  }
}
