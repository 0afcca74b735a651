import type { HouseEvent, Observer } from '../base/observer.ts';
import { boundedStream } from './bounded-stream.ts';
import type { LineStream } from './bounded-stream.ts';
import { isLogged, levelOf } from './levels.ts';
import type { LogLevel } from './levels.ts';
import { plain, stackLines } from './plain.ts';
import { RepeatedTrouble } from './repeated-trouble.ts';

export interface LineObserverOptions {
  readonly level: LogLevel;
  /** Put before each line, such as the time of day; nothing when left out. */
  readonly stamp?: () => string;
}

/**
 * Writes the house's events as lines for people. Upstreams' texts cannot forge a line: control characters are
 * dropped and every text is capped. Only the events' own fields are written, and they have none for queries,
 * arguments, results, credentials, header or environment values.
 */
export function createLineObserver(stream: LineStream, options: LineObserverOptions): Observer {
  const repeated = new RepeatedTrouble();
  const stamp = (): string => (options.stamp === undefined ? '' : `${options.stamp()} `);
  const write = boundedStream(
    stream,
    (dropped) => `${stamp()}${dropped} lines were dropped because nobody read them\n`,
  );
  return (event) => {
    if (!isLogged(levelOf(event), options.level) || repeated.saysNothingNew(event)) return;
    write(`${stamp()}${sentenceOf(event)}${event.kind === 'bug' ? stackOf(event.stack) : ''}\n`);
  };
}

function stackOf(stack: string): string {
  return stackLines(stack)
    .map((line) => `\n  | ${line}`)
    .join('');
}

/** The event in one line. */
export function sentenceOf(event: HouseEvent): string {
  switch (event.kind) {
    case 'listening':
      return `listening on ${plain(event.address)}`;
    case 'draining':
      return `shutting down, ${counted(event.running, 'request')} still running`;
    case 'upstream':
      return `${plain(event.upstream)}: ${event.state}${event.reason === undefined ? '' : `: ${plain(event.reason)}`}`;
    case 'listing': {
      const count = event.dropped.length;
      const dropped =
        count === 0 ? '' : `; left out ${counted(count, 'tool')} that cannot be used: ${some(event.dropped)}`;
      return `${plain(event.upstream)}: ${counted(event.tools, 'tool')} ${took(event)}${dropped}`;
    }
    case 'listing_failed':
      return `${plain(event.upstream)}: listing failed (${event.code}): ${plain(event.reason)}`;
    case 'call': {
      const tool = event.tool === undefined ? '' : ` ${plain(event.tool)}`;
      return `${plain(event.metaTool)}${tool}: ${event.outcome.replace('_', ' ')}${inBrackets(event.code)} ${took(event)}`;
    }
    case 'request': {
      const error = event.errorCode === undefined ? '' : `: error ${event.errorCode}`;
      return `${event.method} over ${event.transport === 'http' ? 'HTTP' : 'stdio'}${error} ${took(event)}`;
    }
    case 'http':
      return `${plain(event.method)} ${event.route}: ${event.status} ${took(event)}`;
    case 'exchange':
      return `${plain(event.upstream)}: ${event.method}${inBrackets(event.code)} ${took(event)}`;
    case 'search':
      return `search by ${event.mode === 'hybrid' ? 'words and meaning' : 'words'}: ${counted(event.matches, 'match', 'matches')} ${took(event)}`;
    case 'stale':
      return `${plain(event.upstream)}: an older listing serves, a newer one could not be had`;
    case 'evicted':
      return `${plain(event.upstream)}: a caller's listing made room (${event.limit})`;
    case 'registry':
      return `registry ${plain(event.registry)}: read${inBrackets(event.code)} ${took(event)}`;
    case 'vectors':
      return `${counted(event.tools, 'tool')} ${event.isWhole ? 'read' : 'read quickly'} for search by meaning ${took(event)}`;
    case 'shed':
      return `turned a request away: ${event.limit} reached${event.upstream === undefined ? '' : ` at ${plain(event.upstream)}`}`;
    case 'unvalidated':
      return `${plain(event.tool)}: arguments were not checked: ${plain(event.reason)}`;
    case 'bug':
      return 'a bug, please report it:';
    case 'note':
      return plain(event.message);
  }
}

function took(event: { readonly ms: number }): string {
  return `in ${Math.round(event.ms)} ms`;
}

function inBrackets(code: string | undefined): string {
  return code === undefined ? '' : ` (${code})`;
}

/** At most five names; a listing can drop thousands. */
function some(names: readonly string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return plain(names.slice(0, 5).join(', ')) + more;
}

function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
