/** So many pieces of work at once, the rest in the order they came; who waits too long is turned away. */
export class Turns {
  readonly #most: number;
  readonly #waitMs: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** `most` at once, waiting at most `waitMs` milliseconds for a turn. */
  constructor(most: number, waitMs: number) {
    this.#most = most;
    this.#waitMs = waitMs;
  }

  /** Whether whoever comes now has to wait. */
  get isFull(): boolean {
    return this.#running >= this.#most;
  }

  /** Nothing runs and nobody waits. */
  get isIdle(): boolean {
    return this.#running === 0 && this.#waiting.size === 0;
  }

  /** Does the work when its turn comes; when that takes too long, it is not done and `turnedAway` is thrown. */
  async run<T>(work: () => Promise<T>, turnedAway: () => Error): Promise<T> {
    if (this.isFull) await this.#wait(turnedAway);
    else this.#running++;
    try {
      return await work();
    } finally {
      this.#pass();
    }
  }

  #wait(turnedAway: () => Error): Promise<void> {
    return new Promise((resolve, reject) => {
      const onTurn = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(onTurn);
        reject(turnedAway());
      }, this.#waitMs);
      timer.unref();
      this.#waiting.add(onTurn);
    });
  }

  /** Whoever waits longest takes over; otherwise there is one running less. */
  #pass(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
