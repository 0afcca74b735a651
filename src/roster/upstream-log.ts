import type { HouseEvent, Observer } from '../base/observer.ts';

/** One thing that happened at an upstream, in words; the newest last. */
export interface UpstreamLine {
  /** ISO 8601. */
  readonly at: string;
  readonly text: string;
}

/** Most lines kept of one upstream. */
const MAX_LINES = 50;
const MAX_TEXT = 500;

/** Remembers what lately happened at each upstream: starts, ends, listings. Nothing of any call. */
export class UpstreamLog {
  readonly #lines = new Map<string, UpstreamLine[]>();
  readonly #now: () => number;

  /** `now`: wall clock in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The observer, listening in. */
  around(observer: Observer): Observer {
    return (event) => {
      this.#keep(event);
      observer(event);
    };
  }

  lines(upstream: string): readonly UpstreamLine[] {
    return this.#lines.get(upstream) ?? [];
  }

  #keep(event: HouseEvent): void {
    if (event.kind !== 'upstream' && event.kind !== 'listing' && event.kind !== 'listing_failed') return;
    const text = textOf(event)
      .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
      .slice(0, MAX_TEXT);
    const lines = this.#lines.get(event.upstream) ?? [];
    lines.push({ at: new Date(this.#now()).toISOString(), text });
    this.#lines.set(event.upstream, lines.slice(-MAX_LINES));
  }
}

function textOf(event: Extract<HouseEvent, { kind: 'upstream' | 'listing' | 'listing_failed' }>): string {
  switch (event.kind) {
    case 'upstream':
      return event.reason === undefined ? event.state : `${event.state}: ${event.reason}`;
    case 'listing': {
      const left = event.dropped.length === 0 ? '' : `; left out: ${event.dropped.slice(0, 5).join(', ')}`;
      return `listed ${event.tools} tools in ${Math.round(event.ms)} ms${left}`;
    }
    case 'listing_failed':
      return `listing failed (${event.code}): ${event.reason}`;
  }
}
