import { ProxyError } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import { USER_AGENT } from '../base/product.ts';
import type { HttpClient } from '../net/http-client.ts';
import type { RequestContext, UpstreamEvents } from './upstream.ts';

/** Where an HTTP upstream is and what it is sent, references resolved. */
export interface HttpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the HTTP transports are made with. */
export interface HttpParts {
  readonly http: () => Promise<HttpClient>;
  readonly limits: Limits;
  readonly events: UpstreamEvents;
}

/** Everything of ours and of the caller that goes out: configured headers, or the caller's one header. */
export function headersFor(
  target: HttpTarget,
  context: Pick<RequestContext, 'credential'>,
): Record<string, string> {
  return {
    'user-agent': USER_AGENT,
    ...target.headers,
    ...(context.credential === undefined ? {} : { authorization: context.credential.reveal() }),
  };
}

/** Headers as name and value in turns, names in lower case; what is named in both is as the later has it. */
export function pairsOf(...all: readonly Readonly<Record<string, string>>[]): readonly string[] {
  const merged = new Map<string, string>();
  for (const headers of all)
    for (const [name, value] of Object.entries(headers)) merged.set(name.toLowerCase(), value);
  return [...merged].flat();
}

/** Whether the request is made with the upstream's own credential, whose connections may stay open. */
export function isOwnScope(context: RequestContext): boolean {
  return context.credential === undefined && context.scope === 'own';
}

export function redirectError(upstream: string, status: number): ProxyError {
  return new ProxyError(
    'upstream_redirect',
    `Upstream '${upstream}' answered with a redirect (HTTP ${status}). Redirects are not followed: configure the final URL.`,
    { upstream, outcome: 'failed' },
  );
}

/**
 * A server that broke down in the middle of it, or a gateway that lost the server behind it: what was asked may have
 * been carried out. All others refuse before they do anything.
 */
const OF_UNKNOWN_OUTCOME: ReadonlySet<number> = new Set([500, 502, 504]);

/** An HTTP status instead of an answer; `retryAfter` is its header. */
export function statusError(
  upstream: string,
  status: number,
  doing: string,
  retryAfter: string | undefined,
): ProxyError {
  const retryAfterS = secondsOf(retryAfter);
  const code = status === 429 ? 'upstream_rate_limited' : 'upstream_error';
  return new ProxyError(code, `Upstream '${upstream}' answered ${doing} with HTTP ${status}.`, {
    upstream,
    outcome: OF_UNKNOWN_OUTCOME.has(status) ? 'unknown' : 'failed',
    retryable: status === 429 || status >= 500,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  });
}

/** Longer waits are told as this; some servers name absurd ones. */
const MAX_RETRY_AFTER_S = 3_600;

/** `Retry-After` (RFC 9110 §10.2.3), seconds or a date, as whole seconds from now. */
function secondsOf(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined;
  const text = retryAfter.trim();
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((Date.parse(text) - Date.now()) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.min(MAX_RETRY_AFTER_S, Math.max(0, seconds));
}

export function closedError(upstream: string): ProxyError {
  return new ProxyError('upstream_closed', `Upstream '${upstream}' was closed.`, {
    upstream,
    outcome: 'not_sent',
  });
}

/** A peer that no longer knows sessions as soon as it has opened them. */
export function forgetfulError(upstream: string): ProxyError {
  return new ProxyError(
    'upstream_invalid',
    `Upstream '${upstream}' forgets its sessions as soon as it opens them.`,
    {
      upstream,
      outcome: 'not_sent',
    },
  );
}
