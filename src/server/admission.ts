/** Why a request is not served now. */
export interface Shed {
  /** 503: the process has too much to do; 429: this caller has. */
  readonly status: 503 | 429;
  readonly message: string;
  readonly retryAfterS: number;
}

/** What has to be called once, when the request is over. */
export type Leave = () => void;

export interface AdmissionLimits {
  readonly maxRequests: number;
  readonly maxCallerRequests: number;
}

/** A request of a few milliseconds is over by then; one of minutes is worth asking for again. */
const RETRY_AFTER_S = 1;

/**
 * How much is served at the same time, in all and for one caller, so that one who asks for everything at once leaves
 * room for the others. A caller is known by the `Authorization` header, kept only while a request of theirs runs.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #byCaller = new Map<string, number>();
  #running = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  /** Callers with a request under way. */
  get callers(): number {
    return this.#byCaller.size;
  }

  enter(authorization: string | undefined): Leave | Shed {
    const { maxRequests, maxCallerRequests } = this.#limits;
    const caller = authorization ?? '';
    if (this.#running >= maxRequests) {
      return shed(503, `this server has ${maxRequests} requests under way (limit maxRequests)`);
    }
    const theirs = this.#byCaller.get(caller) ?? 0;
    if (theirs >= maxCallerRequests) {
      return shed(429, `this caller has ${maxCallerRequests} requests under way (limit maxCallerRequests)`);
    }
    this.#running++;
    this.#byCaller.set(caller, theirs + 1);
    return () => {
      this.#running--;
      const left = (this.#byCaller.get(caller) ?? 1) - 1;
      if (left === 0) this.#byCaller.delete(caller);
      else this.#byCaller.set(caller, left);
    };
  }
}

function shed(status: 503 | 429, why: string): Shed {
  const message = `Busy: ${why}; nothing was done. Try again in ${RETRY_AFTER_S} s`;
  return { status, message, retryAfterS: RETRY_AFTER_S };
}
