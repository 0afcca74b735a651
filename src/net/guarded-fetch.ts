import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import { openDeadline, pause } from '../base/deadline.ts';
import { USER_AGENT } from '../base/product.ts';
import { isAddress, mistakeInAddress } from './address.ts';
import type { AddressRules } from './address.ts';
import { ForbiddenAddress, forbiddenIn, guardedLookup } from './guarded-lookup.ts';
import { reasonOf } from './http-client.ts';
import { proxySettings } from './proxy-environment.ts';
import type { Environment, ProxySettings } from './proxy-environment.ts';

/**
 * The outgoing path for addresses that others wrote or that point at public services: registries, package indexes.
 *
 * It promises: https only, unless the operator allowed plain http; no credentials in a URL; no connection to an
 * address of this machine, a private network or a cloud's metadata, judged after DNS on the very address that is
 * connected to; no redirect off the host; a bounded body, decoded; a deadline for each attempt and for all.
 * Where the operator's environment names a proxy, it is used, and may be private; the names that go through it are
 * looked up here first, and refused when that leads to a forbidden address.
 * Outside the promise: what a public server does with a request, and names that only the proxy can resolve.
 */

export interface FetchRules extends AddressRules {
  /** Plain http is allowed. */
  readonly allowInsecure: boolean;
}

export interface GuardedRequest {
  readonly url: string | URL;
  readonly rules: FetchRules;
  /** Sent to this host only; redirects never leave it. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Longest one attempt may take, its body included. */
  readonly attemptMs: number;
  /** Most attempts; what may succeed a little later is tried again. */
  readonly tries: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
}

export interface GuardedReply {
  readonly status: number;
  /** The whole decoded body. */
  readonly text: string;
  readonly contentType: string;
}

/** Why there was no usable reply. The message has no subject: the caller knows whom it asked. */
export class FetchRefusal extends Error {
  override readonly name = 'FetchRefusal';
  /**
   * `forbidden`: a rule forbids it and nothing was sent. `unreachable`: no answer, or none in time.
   * `status`: an error status. `too_large`: more bytes than allowed. `redirect`: it points off the host.
   */
  readonly reason: 'forbidden' | 'unreachable' | 'status' | 'too_large' | 'redirect';
  readonly status: number | undefined;

  constructor(
    reason: FetchRefusal['reason'],
    message: string,
    details: ErrorOptions & { status?: number } = {},
  ) {
    super(message, details);
    this.reason = reason;
    this.status = details.status;
  }
}

export interface GuardedFetch {
  /** Throws `FetchRefusal`, or the signal's reason when it was aborted. */
  get(request: GuardedRequest): Promise<GuardedReply>;
  close(): Promise<void>;
}

export interface GuardedFetchOptions {
  /** How names become addresses; the system's resolver when left out. */
  readonly lookup?: LookupFunction;
  /** Where proxies are looked up; none when left out. */
  readonly env?: Environment;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** First pause before another attempt; it doubles, with up to as much again at random. */
const BACKOFF_MS = 500;
/** The longest wait a server may ask of us before another attempt. */
const MAX_RETRY_AFTER_MS = 30_000;
const MAX_REDIRECTS = 3;

/** Why a URL may not be asked, or undefined when it may; what its name resolves to is judged when connecting. */
export function mistakeInGuardedUrl(url: string | URL, rules: FetchRules): string | undefined {
  if (!URL.canParse(String(url))) return 'is not a URL';
  const { protocol, username, password, hostname } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') return `is neither https nor http (${protocol})`;
  if (username !== '' || password !== '') return 'holds credentials';
  if (protocol === 'http:' && !rules.allowInsecure) return 'is plain http';
  return isAddress(hostname) ? said(mistakeInAddress(hostname, rules)) : undefined;
}

const said = (mistake: string | undefined): string | undefined =>
  mistake === undefined ? undefined : `leads to a forbidden address: ${mistake}`;

export function openGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const lookup: LookupFunction = options.lookup ?? systemLookup;
  const proxies = proxySettings(options.env ?? {});
  const agents = new Map<string, Promise<Dispatcher>>();

  /** Connections are shared only by requests under the same address rules. */
  function agentFor(rules: AddressRules, isProxied: boolean): Promise<Dispatcher> {
    const key = `${rules.allowPrivate} ${isProxied}`;
    let agent = agents.get(key);
    if (agent === undefined) {
      agent = openAgent(guardedLookup(lookup, rules), isProxied ? proxies : undefined);
      agents.set(key, agent);
    }
    return agent;
  }

  /** Refuses a name that leads to a forbidden address; one that only the proxy knows is let through to it. */
  async function checkName(hostname: string, rules: AddressRules): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      guardedLookup(lookup, rules)(hostname, { all: true }, (error) =>
        error instanceof ForbiddenAddress ? reject(error) : resolve(),
      );
    });
  }

  /** One attempt, following redirects that stay on the host. */
  async function attempt(request: GuardedRequest, signal: AbortSignal): Promise<GuardedReply | Retry> {
    const { request: send } = await import('undici');
    let url = new URL(request.url);
    for (let redirects = 0; ; redirects++) {
      // An address is never asked of another machine: what is private there is not what is private here.
      const isProxied = proxies !== undefined && !isAddress(url.hostname);
      if (isProxied) await checkName(url.hostname, request.rules);
      const dispatcher = await agentFor(request.rules, isProxied);
      const data = await send(url, {
        dispatcher,
        signal,
        headers: {
          accept: 'application/json',
          'accept-encoding': 'gzip, deflate',
          'user-agent': USER_AGENT,
          ...request.headers,
        },
      });
      if (data.statusCode >= 300 && data.statusCode < 400 && data.statusCode !== 304) {
        discard(data);
        const location = headerOf(data, 'location');
        if (location === undefined || redirects === MAX_REDIRECTS) {
          throw new FetchRefusal('redirect', `answered ${data.statusCode} without leading anywhere`);
        }
        url = redirected(url, location, request.rules);
        continue;
      }
      if (data.statusCode === 429 || data.statusCode >= 500) {
        discard(data);
        return { kind: 'retry', status: data.statusCode, waitMs: retryAfter(headerOf(data, 'retry-after')) };
      }
      const text = await bodyOf(data, request.maxBytes);
      return { status: data.statusCode, text, contentType: headerOf(data, 'content-type') ?? '' };
    }
  }

  return {
    async get(request) {
      const mistake = mistakeInGuardedUrl(request.url, request.rules);
      if (mistake !== undefined) throw new FetchRefusal('forbidden', mistake);
      for (let tried = 1; ; tried++) {
        const isLast = tried >= request.tries;
        const outcome = await once(request, attempt);
        if (outcome.kind === 'reply') return outcome.reply;
        const { waitMs, refusal } = outcome;
        const after = tried === 1 ? '' : ` after ${tried} tries`;
        if (isLast) throw withMore(refusal, after);
        if (waitMs !== undefined && waitMs > MAX_RETRY_AFTER_MS) {
          throw withMore(refusal, `${after} and asks to wait ${Math.ceil(waitMs / 1_000)} s`);
        }
        await pause(waitMs ?? BACKOFF_MS * 2 ** (tried - 1) * (1 + Math.random()), request.signal);
        if (request.signal?.aborted) throw request.signal.reason;
      }
    },
    async close() {
      await Promise.all([...agents.values()].map(async (agent) => (await agent).destroy()));
    },
  };
}

async function openAgent(lookup: LookupFunction, proxies: ProxySettings | undefined): Promise<Dispatcher> {
  const undici = await import('undici');
  const limits = { headersTimeout: 0, bodyTimeout: 0, connections: 8 };
  const tls = { timeout: CONNECT_TIMEOUT_MS };
  const connect = { ...tls, lookup };
  if (proxies === undefined) return new undici.Agent({ connect, ...limits });
  // `connect` is how hosts that need no proxy are reached; the proxy itself is the operator's own word.
  const proxied = { ...proxies, ...limits, connect, proxyTls: tls, requestTls: tls, proxyTunnel: false };
  return new undici.EnvHttpProxyAgent(proxied);
}

interface Retry {
  readonly kind: 'retry';
  readonly status: number;
  /** What the server asked us to wait, if it did. */
  readonly waitMs: number | undefined;
}

type Attempted =
  | { readonly kind: 'reply'; readonly reply: GuardedReply }
  | { readonly kind: 'again'; readonly refusal: FetchRefusal; readonly waitMs: number | undefined };

/** Runs one attempt under its deadline; throws what no further attempt would change. */
async function once(
  request: GuardedRequest,
  attempt: (request: GuardedRequest, signal: AbortSignal) => Promise<GuardedReply | Retry>,
): Promise<Attempted> {
  const deadline = openDeadline(request.signal, request.attemptMs);
  try {
    const reply = await attempt(request, deadline.signal);
    if (!('kind' in reply)) return { kind: 'reply', reply };
    const { status, waitMs } = reply;
    return {
      kind: 'again',
      waitMs,
      refusal: new FetchRefusal('status', `answered ${status}`, { status }),
    };
  } catch (thrown) {
    if (thrown instanceof FetchRefusal) throw thrown;
    if (request.signal?.aborted) throw request.signal.reason;
    const forbidden = forbiddenIn(thrown);
    if (forbidden !== undefined) {
      throw new FetchRefusal('forbidden', `leads to a forbidden address: ${forbidden}`, { cause: thrown });
    }
    const message = deadline.expired()
      ? `did not answer within ${request.attemptMs / 1_000} s`
      : `could not be reached (${reasonOf(thrown)})`;
    return {
      kind: 'again',
      waitMs: undefined,
      refusal: new FetchRefusal('unreachable', message, { cause: thrown }),
    };
  } finally {
    deadline.dispose();
  }
}

function withMore(refusal: FetchRefusal, more: string): FetchRefusal {
  if (more === '') return refusal;
  const { reason, message, status, cause } = refusal;
  return new FetchRefusal(reason, message + more, { cause, ...(status === undefined ? {} : { status }) });
}

/** Where a redirect leads, when that is the same host, not less safe, and allowed. */
function redirected(from: URL, location: string, rules: FetchRules): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  const stays =
    to !== undefined &&
    to.hostname === from.hostname &&
    to.port === from.port &&
    (to.protocol === from.protocol || to.protocol === 'https:');
  if (!stays || mistakeInGuardedUrl(to, rules) !== undefined) {
    throw new FetchRefusal('redirect', `redirects away from ${from.host}, which is not followed`);
  }
  return to;
}

/** `Retry-After` as a wait: seconds or a date. */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value.trim())) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

async function bodyOf(data: Dispatcher.ResponseData, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of await decoded(data)) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        throw new FetchRefusal('too_large', `sent more than ${Math.floor(maxBytes / 1_048_576)} MiB`);
      }
      chunks.push(chunk);
    }
  } finally {
    discard(data);
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}

/** The decoded body: counted after unpacking, so that a small packed body cannot become a large one unseen. */
async function decoded(data: Dispatcher.ResponseData): Promise<AsyncIterable<Uint8Array>> {
  const encoding = headerOf(data, 'content-encoding')?.trim().toLowerCase();
  if (encoding !== 'gzip' && encoding !== 'deflate') return data.body;
  const { createGunzip, createInflate } = await import('node:zlib');
  const unpack = encoding === 'gzip' ? createGunzip() : createInflate();
  data.body.on('error', (error) => unpack.destroy(error));
  return data.body.pipe(unpack);
}

function headerOf(data: Dispatcher.ResponseData, name: string): string | undefined {
  const value = data.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function discard(data: Dispatcher.ResponseData): void {
  // A destroyed body reports the abort as an error nobody waits for any more.
  data.body.on('error', () => undefined);
  data.body.destroy();
}
