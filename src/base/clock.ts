/** Where time comes from, so that tests can move it. */
export interface Clock {
  /** Milliseconds that only ever grow; differences are durations. */
  now(): number;
}

export const systemClock: Clock = { now: () => performance.now() };
