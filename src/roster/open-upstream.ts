import type { Limits } from '../base/limits.ts';
import { HttpUpstream } from '../upstream/http-upstream.ts';
import { resolveReferences } from '../upstream/references.ts';
import type { Environment } from '../upstream/references.ts';
import { StdioUpstream } from '../upstream/stdio-upstream.ts';
import type { Upstream, UpstreamEvents } from '../upstream/upstream.ts';
import type { UpstreamRecord } from './record.ts';

export interface OpenUpstreamParts {
  readonly http: ConstructorParameters<typeof HttpUpstream>[2]['http'];
  readonly limits: Limits;
  readonly env: Environment;
}

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
    const spec = {
      command: resolve(transport.command, 'command'),
      args: transport.args.map((arg) => resolve(arg, 'args')),
      env: resolveAll(transport.env, 'env'),
      ...(transport.cwd === undefined ? {} : { cwd: resolve(transport.cwd, 'cwd') }),
    };
    return new StdioUpstream(record.name, spec, { limits, events });
  }
  const target = { url: resolve(transport.url, 'url'), headers: resolveAll(transport.headers, 'header') };
  return new HttpUpstream(record.name, target, { http: parts.http, limits, events });
}
