import type { HouseEvent } from '../base/observer.ts';

/** From nothing to everything: each level holds the ones before it. */
export const LOG_LEVELS = ['silent', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type EventLevel = Exclude<LogLevel, 'silent'>;

const RANK: Readonly<Record<LogLevel, number>> = { silent: 0, warn: 1, info: 2, debug: 3 };

export function isLogged(event: EventLevel, limit: LogLevel): boolean {
  return RANK[event] <= RANK[limit];
}

/** How much an event matters to whoever runs the proxy. */
export function levelOf(event: HouseEvent): EventLevel {
  switch (event.kind) {
    case 'listening':
    case 'draining':
    case 'unvalidated':
    case 'note':
    case 'request':
      return 'info';
    case 'upstream':
      if (event.state === 'failed' || event.state === 'exited') return 'warn';
      return event.state === 'ready' ? 'info' : 'debug';
    case 'listing':
      return event.dropped.length === 0 ? 'info' : 'warn';
    case 'call':
      return event.outcome === 'failed' ? 'warn' : 'info';
    case 'vectors':
      return event.isWhole ? 'info' : 'debug';
    case 'listing_failed':
    case 'shed':
    case 'bug':
      return 'warn';
    case 'http':
    case 'exchange':
    case 'search':
    case 'stale':
    case 'evicted':
    case 'registry':
      return 'debug';
  }
}
