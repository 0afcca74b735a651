import type { Limits } from '../base/limits.ts';
import { referencedIn, resolveReferences } from '../upstream/references.ts';
import type { Environment } from '../upstream/references.ts';
import type { HttpParts } from '../upstream/http-target.ts';
import { RemoteUpstream } from '../upstream/remote-upstream.ts';
import { SseUpstream } from '../upstream/sse-upstream.ts';
import { StdioUpstream } from '../upstream/stdio-upstream.ts';
import type { Upstream, UpstreamEvents } from '../upstream/upstream.ts';
import type { UpstreamRecord } from './record.ts';

export interface OpenUpstreamParts {
  readonly http: HttpParts['http'];
  /** The same for addresses of the public internet alone. */
  readonly publicHttp: HttpParts['http'];
  readonly limits: Limits;
  readonly env: Environment;
}

/** A lazy child that nobody calls any more is stopped after this long: about how long a conversation pauses. */
const LAZY_IDLE_STOP_MS = 300_000;

/**
 * The upstream a record describes, its references resolved; nothing is connected yet. Throws a `ProxyError` when a
 * referenced variable is missing.
 */
export function openUpstream(
  record: UpstreamRecord,
  parts: OpenUpstreamParts,
  events: UpstreamEvents,
): Upstream {
  const { limits } = parts;
  const resolve = (text: string, part: string): string =>
    resolveReferences(text, parts.env, { upstream: record.name, part });
  const resolveAll = (values: Readonly<Record<string, string>>, part: string): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, resolve(value, `${part} ${key}`)]));
  const { transport } = record;
  if (transport.kind === 'stdio') {
    const { start = 'eager', idleStopMs = start === 'lazy' ? LAZY_IDLE_STOP_MS : 0 } = transport;
    const env = resolveAll(transport.env, 'env');
    const referenced = [transport.command, ...transport.args].flatMap((text) =>
      referencedIn(text, parts.env),
    );
    const spec = {
      command: resolve(transport.command, 'command'),
      args: transport.args.map((arg) => resolve(arg, 'args')),
      env,
      ...(transport.cwd === undefined ? {} : { cwd: resolve(transport.cwd, 'cwd') }),
      secrets: [...Object.values(env), ...referenced],
    };
    return new StdioUpstream(record.name, spec, { life: { start, idleStopMs }, limits, events });
  }
  const target = { url: resolve(transport.url, 'url'), headers: resolveAll(transport.headers, 'header') };
  const how = { http: record.publicOnly === true ? parts.publicHttp : parts.http, limits, events };
  return transport.type === 'sse'
    ? new SseUpstream(record.name, target, how)
    : new RemoteUpstream(record.name, target, how);
}
