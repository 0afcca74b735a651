/** Most requests begun in one turn of the event loop, when they had to wait for it. */
const MOST_A_TURN = 16;

/** A connection counts for the turn it was taken in and the next: only then is it known whether another one waits. */
const TURNS_OF_A_NEWCOMER = 2;

/**
 * What is begun in which turn of the event loop. Node takes one new connection a turn (libuv since 1.45), and reads
 * whatever came on all the open ones in the same turn. On a busy machine turns are long, and those who connect would
 * wait unseen in the kernel, for as many turns as there are connections before them, while open connections are
 * served again and again: half a minute was seen. So while connections come, one waiting request is begun in a turn,
 * in the order they came; otherwise each is begun at once.
 */
export class LoopTurns {
  readonly #waiting = new Set<() => void>();
  #newcomers = 0;
  #crowdedFor = 0;
  #isScheduled = false;

  /** How many requests wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** A new connection was taken, so another one may wait behind it. */
  newcomer(): void {
    this.#newcomers++;
    this.#crowdedFor = TURNS_OF_A_NEWCOMER;
    this.#schedule();
  }

  /** Begins the work now, or in its turn. */
  begin(work: () => void): void {
    if (this.#crowdedFor === 0 && this.#waiting.size === 0) return work();
    this.#waiting.add(work);
    this.#schedule();
  }

  /**
   * Resolves once a whole turn brought no new connection, so that none waits in the kernel; all the same after
   * `mostNewcomers` of them, or after `mostMs`.
   */
  async quiet(mostNewcomers: number, mostMs: number): Promise<void> {
    const [end, last] = [performance.now() + mostMs, this.#newcomers + mostNewcomers];
    for (let turn = 0; turn < TURNS_OF_A_NEWCOMER || this.#crowdedFor > 0; turn++) {
      if (this.#newcomers > last || performance.now() > end) return;
      await nextTurn();
    }
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    if (this.#crowdedFor > 0) this.#crowdedFor--;
    let left = this.#crowdedFor > 0 ? 1 : MOST_A_TURN;
    for (const work of this.#waiting) {
      if (left-- === 0) break;
      this.#waiting.delete(work);
      work();
    }
    if (this.#waiting.size > 0 || this.#crowdedFor > 0) this.#schedule();
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
