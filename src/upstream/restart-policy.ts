/** What to do about a child that is to be started. */
export type StartVerdict =
  | { readonly kind: 'start'; readonly waitMs: number }
  /** It ends again and again: not now, but in `forMs`. */
  | { readonly kind: 'refused'; readonly forMs: number };

/** Waits before the first, second … start after as many crashes in a row; the next call after one crash works at once. */
const WAITS_MS = [0, 1_000, 2_000, 4_000];

/** After more crashes in a row than there are waits: no start for this long, doubling. */
const FIRST_REFUSAL_MS = 10_000;
const LONGEST_REFUSAL_MS = 300_000;

/** A life that lasted this long, or in which a call was answered, was no part of a loop. */
const STEADY_MS = 60_000;

/** Waits vary by this share, so that what fell together does not rise together. */
const JITTER = 0.2;

/** Decides when a child that crashed may be started again. Times are of one growing clock. */
export class RestartPolicy {
  readonly #random: () => number;
  #inARow = 0;
  /** Earliest next start. */
  #notBefore = 0;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Crashes since the last steady life. */
  get inARow(): number {
    return this.#inARow;
  }

  /** The child ended by itself. */
  crashed(life: { readonly now: number; readonly livedMs: number; readonly answeredCall: boolean }): void {
    this.#inARow = life.livedMs >= STEADY_MS || life.answeredCall ? 1 : this.#inARow + 1;
    const refusal = FIRST_REFUSAL_MS * 2 ** (this.#inARow - WAITS_MS.length - 1);
    const waitMs = WAITS_MS[this.#inARow - 1] ?? Math.min(refusal, LONGEST_REFUSAL_MS);
    this.#notBefore = life.now + waitMs * (1 + JITTER * (this.#random() * 2 - 1));
  }

  verdict(now: number): StartVerdict {
    const left = Math.max(0, this.#notBefore - now);
    if (left > 0 && this.#inARow > WAITS_MS.length) return { kind: 'refused', forMs: left };
    return { kind: 'start', waitMs: left };
  }
}
