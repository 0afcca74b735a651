import type { Logger } from 'pino';
import type { HouseEvent, Observer } from '../base/observer.ts';
import { boundedStream } from './bounded-stream.ts';
import type { LineStream } from './bounded-stream.ts';
import { isLogged, levelOf } from './levels.ts';
import type { LogLevel } from './levels.ts';
import { sentenceOf } from './line-observer.ts';
import { plain, stackLines } from './plain.ts';
import { RepeatedTrouble } from './repeated-trouble.ts';

/** Events that come before the logger is loaded wait for it, this many at most. */
const MAX_EARLY = 256;

/**
 * The last net, not the plan: no field of these names is ever given to the logger. Should one be, it is left out.
 */
const REDACTED = [
  'authorization',
  'cookie',
  'headers',
  'env',
  'token',
  'secret',
  'password',
  'apiKey',
  '*.authorization',
  '*.token',
  '*.secret',
  '*.password',
  '*.apiKey',
];

/**
 * Writes the house's events as one JSON object a line, for machines: `time` (ISO 8601), `level`, `msg`, `event` and
 * the event's own fields. Times are in milliseconds, sizes in bytes. The logger is loaded with the first event, so
 * that nothing waits for it at start.
 */
export function createJsonObserver(stream: LineStream, options: { readonly level: LogLevel }): Observer {
  const repeated = new RepeatedTrouble();
  const early: HouseEvent[] = [];
  let logger: Logger | undefined;
  let isLoading = false;
  const load = async (): Promise<void> => {
    logger = await openLogger(stream);
    for (const event of early.splice(0)) write(logger, event);
  };
  return (event) => {
    if (!isLogged(levelOf(event), options.level) || repeated.saysNothingNew(event)) return;
    if (logger !== undefined) {
      write(logger, event);
      return;
    }
    if (early.length < MAX_EARLY) early.push(event);
    if (!isLoading) void load();
    isLoading = true;
  };
}

async function openLogger(stream: LineStream): Promise<Logger> {
  const { pino, stdTimeFunctions } = await import('pino');
  const write = boundedStream(
    stream,
    (dropped) =>
      `${JSON.stringify({ level: 'warn', msg: `${dropped} lines were dropped because nobody read them` })}\n`,
  );
  return pino(
    {
      base: null,
      level: 'debug',
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, remove: true },
    },
    { write },
  );
}

function write(logger: Logger, event: HouseEvent): void {
  logger[levelOf(event)](fieldsOf(event), sentenceOf(event));
}

type Field = string | number | boolean | readonly string[] | undefined;

/** The fields of a line: every one is named here, so that none comes in with an event unseen. */
function fieldsOf(event: HouseEvent): Readonly<Record<string, Field>> {
  const { kind } = event;
  switch (event.kind) {
    case 'listening':
      return { event: kind, address: plain(event.address) };
    case 'draining':
      return { event: kind, running: event.running };
    case 'upstream':
      return {
        event: kind,
        upstream: plain(event.upstream),
        state: event.state,
        reason: plainOf(event.reason),
      };
    case 'listing':
      return {
        event: kind,
        upstream: plain(event.upstream),
        tools: event.tools,
        dropped: event.dropped.length,
        duration_ms: rounded(event.ms),
      };
    case 'vectors':
      return { event: kind, tools: event.tools, whole: event.isWhole, duration_ms: rounded(event.ms) };
    case 'listing_failed':
      return {
        event: kind,
        upstream: plain(event.upstream),
        error_type: event.code,
        reason: plain(event.reason),
      };
    case 'call':
      return {
        event: kind,
        method: 'tools/call',
        protocol_version: plainOf(event.protocolVersion),
        tool: event.metaTool,
        target: plainOf(event.tool),
        upstream: plainOf(event.upstream),
        kind: event.access,
        outcome: event.outcome,
        error_type: event.code ?? (event.outcome === 'tool_error' ? 'tool_error' : undefined),
        duration_ms: rounded(event.ms),
        upstream_ms: event.upstreamMs === undefined ? undefined : rounded(event.upstreamMs),
        caller: event.caller,
        trace_id: event.traceId,
      };
    case 'request':
      return {
        event: kind,
        transport: event.transport,
        method: event.method,
        protocol_version: plainOf(event.protocolVersion),
        error_type: event.errorCode,
        status: event.status,
        duration_ms: rounded(event.ms),
        req_bytes: event.requestBytes,
        res_bytes: event.responseBytes,
      };
    case 'http':
      return {
        event: kind,
        method: plain(event.method),
        route: event.route,
        status: event.status,
        duration_ms: rounded(event.ms),
      };
    case 'exchange':
      return {
        event: kind,
        upstream: plain(event.upstream),
        method: event.method,
        transport: event.transport,
        error_type: event.code,
        duration_ms: rounded(event.ms),
      };
    case 'search':
      return {
        event: kind,
        mode: event.mode,
        queries: event.queries,
        matches: event.matches,
        duration_ms: rounded(event.ms),
      };
    case 'stale':
      return { event: kind, upstream: plain(event.upstream) };
    case 'evicted':
      return { event: kind, upstream: plain(event.upstream), limit: event.limit };
    case 'registry':
      return {
        event: kind,
        registry: plain(event.registry),
        error_type: event.code,
        duration_ms: rounded(event.ms),
      };
    case 'shed':
      return { event: kind, scope: event.scope, limit: event.limit, upstream: plainOf(event.upstream) };
    case 'unvalidated':
      return { event: kind, target: plain(event.tool), reason: plain(event.reason) };
    case 'bug':
      return { event: kind, stack: stackLines(event.stack) };
    case 'note':
      return { event: kind };
  }
}

function plainOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : plain(text);
}

/** To the microsecond: more digits are noise. */
function rounded(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
