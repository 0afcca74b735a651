import type { HouseEvent } from '../base/observer.ts';

/** Knows what was last said to be wrong with each upstream: one that is tried again and again would say it again and again. */
export class RepeatedTrouble {
  readonly #said = new Map<string, string>();

  /** Whether the event only says again what is wrong with its upstream. */
  saysNothingNew(event: HouseEvent): boolean {
    if (event.kind !== 'upstream' && event.kind !== 'listing' && event.kind !== 'listing_failed')
      return false;
    if (event.kind === 'listing' || (event.kind === 'upstream' && event.state === 'ready')) {
      this.#said.delete(event.upstream);
      return false;
    }
    const { reason } = event;
    if (reason === undefined) return false;
    if (this.#said.get(event.upstream) === reason) return true;
    this.#said.set(event.upstream, reason);
    return false;
  }
}
