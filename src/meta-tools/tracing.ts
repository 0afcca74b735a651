import { membersOf, rawAt } from '../base/json-text.ts';
import type { TraceContext } from '../base/tracer.ts';

/** The trace a client's `_meta` (as JSON text) puts its request in; keys as MCP has them, without a prefix. */
export function traceContextOf(meta: string | undefined): TraceContext | undefined {
  if (meta === undefined || !meta.includes('"traceparent"')) return undefined;
  const traceparent = textAt(meta, 'traceparent');
  if (traceparent === undefined) return undefined;
  const tracestate = textAt(meta, 'tracestate');
  return { traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
}

/** The trace-id in a `traceparent` (W3C Trace Context §3.2.2.3), when it is one. */
export function traceIdOf(trace: TraceContext | undefined): string | undefined {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(trace?.traceparent ?? '')?.[1];
}

const TRACE_MEMBERS = new Set(['traceparent', 'tracestate', 'baggage']);

/** `_meta` of a request that belongs to our own span; everything else in it stays as it was written. */
export function withTrace(meta: string | undefined, trace: TraceContext): string {
  const members = [
    ...keptMembers(meta, TRACE_MEMBERS),
    `"traceparent":${JSON.stringify(trace.traceparent)}`,
    ...(trace.tracestate === undefined ? [] : [`"tracestate":${JSON.stringify(trace.tracestate)}`]),
  ];
  return `{${members.join(',')}}`;
}

const BAGGAGE = new Set(['baggage']);

/** `_meta` without W3C baggage, in which clients put what identifies their users; it is not for upstreams. */
export function withoutBaggage(meta: string | undefined): string | undefined {
  if (meta === undefined || !meta.includes('"baggage"')) return meta;
  return `{${keptMembers(meta, BAGGAGE).join(',')}}`;
}

function keptMembers(meta: string | undefined, without: ReadonlySet<string>): string[] {
  if (meta === undefined) return [];
  return [...membersOf(meta, 0)]
    .filter(([name]) => !without.has(name))
    .map(([name, { start, end }]) => `${JSON.stringify(name)}:${meta.slice(start, end)}`);
}

function textAt(meta: string, name: string): string | undefined {
  const raw = rawAt(meta, [name]);
  return raw?.startsWith('"') === true ? (JSON.parse(raw) as string) : undefined;
}
