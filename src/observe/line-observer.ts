import type { HouseEvent, Observer } from '../base/observer.ts';

/** From nothing to everything: each level holds the ones before it. */
export type LineLevel = 'silent' | 'warn' | 'info' | 'debug';

export interface LineObserverOptions {
  readonly level: LineLevel;
  /** Put before each line, such as the time of day; nothing when left out. */
  readonly stamp?: () => string;
}

/** The part of a stream that lines are written to. */
export interface LineStream {
  write(text: string): boolean;
  readonly writableLength?: number;
}

const RANK: Readonly<Record<LineLevel, number>> = { silent: 0, warn: 1, info: 2, debug: 3 };

/** Longer texts of others (a reason, a tool's name) are cut: a line is for reading. */
const MAX_TEXT = 256;

/** Of lines nobody reads (a client that leaves our stderr alone) no more than this is held; the rest is dropped. */
const MAX_WAITING = 262_144;

/**
 * Writes the house's events as lines for people. Upstreams' texts cannot forge a line: control characters are
 * dropped and every text is capped. Only the events' own fields are written, and they have none for queries,
 * arguments, results, credentials, header or environment values.
 */
export function createLineObserver(stream: LineStream, options: LineObserverOptions): Observer {
  const limit = RANK[options.level];
  let dropped = 0;
  // What was last said to be wrong with an upstream: one that is tried again and again would say it again and again.
  const said = new Map<string, string>();
  return (event) => {
    const { level, text } = lineOf(event);
    if (RANK[level] > limit || isRepeated(event, said)) return;
    if ((stream.writableLength ?? 0) > MAX_WAITING) {
      dropped++;
      return;
    }
    const stamp = options.stamp === undefined ? '' : `${options.stamp()} `;
    if (dropped > 0) stream.write(`${stamp}${dropped} lines were dropped because nobody read them\n`);
    dropped = 0;
    stream.write(`${stamp}${text}\n`);
  };
}

/** Whether the event only says again what is wrong with its upstream; keeps `said` up to date. */
function isRepeated(event: HouseEvent, said: Map<string, string>): boolean {
  if (event.kind !== 'upstream' && event.kind !== 'listing' && event.kind !== 'listing_failed') return false;
  if (event.kind === 'listing' || (event.kind === 'upstream' && event.state === 'ready')) {
    said.delete(event.upstream);
    return false;
  }
  const { reason } = event;
  if (reason === undefined) return false;
  if (said.get(event.upstream) === reason) return true;
  said.set(event.upstream, reason);
  return false;
}

interface Line {
  readonly level: Exclude<LineLevel, 'silent'>;
  readonly text: string;
}

function lineOf(event: HouseEvent): Line {
  switch (event.kind) {
    case 'listening':
      return { level: 'info', text: `listening on ${plain(event.address)}` };
    case 'draining':
      return { level: 'info', text: `shutting down, ${counted(event.running, 'request')} still running` };
    case 'upstream':
      return upstreamLine(event);
    case 'listing': {
      const count = event.dropped.length;
      const dropped =
        count === 0 ? '' : `; left out ${counted(count, 'tool')} that cannot be used: ${some(event.dropped)}`;
      return {
        level: count === 0 ? 'info' : 'warn',
        text: `${plain(event.upstream)}: ${counted(event.tools, 'tool')} in ${Math.round(event.ms)} ms${dropped}`,
      };
    }
    case 'listing_failed':
      return {
        level: 'warn',
        text: `${plain(event.upstream)}: listing failed (${event.code}): ${plain(event.reason)}`,
      };
    case 'call': {
      const tool = event.tool === undefined ? '' : ` ${plain(event.tool)}`;
      const code = event.code === undefined ? '' : ` (${event.code})`;
      const outcome = event.outcome.replace('_', ' ');
      return {
        level: event.outcome === 'failed' ? 'warn' : 'info',
        text: `${plain(event.metaTool)}${tool}: ${outcome}${code} in ${Math.round(event.ms)} ms`,
      };
    }
    case 'unvalidated':
      return {
        level: 'info',
        text: `${plain(event.tool)}: arguments were not checked: ${plain(event.reason)}`,
      };
    case 'bug': {
      // A stack has many lines; each is marked, so that no text in it can pass for a line of its own.
      const lines = event.stack
        .split('\n')
        .slice(0, 20)
        .map((line) => `\n  | ${plain(line)}`);
      return { level: 'warn', text: `a bug, please report it:${lines.join('')}` };
    }
    case 'note':
      return { level: 'info', text: plain(event.message) };
  }
}

function upstreamLine(event: Extract<HouseEvent, { kind: 'upstream' }>): Line {
  const reason = event.reason === undefined ? '' : `: ${plain(event.reason)}`;
  const text = `${plain(event.upstream)}: ${event.state}${reason}`;
  switch (event.state) {
    case 'failed':
    case 'exited':
      return { level: 'warn', text };
    case 'ready':
      return { level: 'info', text };
    case 'starting':
    case 'stopped':
      return { level: 'debug', text };
  }
}

/** At most five names; a listing can drop thousands. */
function some(names: readonly string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return plain(names.slice(0, 5).join(', ')) + more;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** On one line, without anything a terminal would obey, not endless. */
function plain(text: string): string {
  // C0, C1, line and paragraph separators, and the marks that turn the direction of writing.
  const clean = text.replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT - 1)}…` : clean;
}
