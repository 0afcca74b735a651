import { lookup } from 'node:dns';
import { messageOf, ProxyError } from '../../base/errors.ts';
import { USER_AGENT } from '../../base/product.ts';
import { isAddress, mistakeInAddress } from '../../net/address.ts';
import { forbiddenIn, guardedLookup } from '../../net/guarded-lookup.ts';
import { openHttpClient } from '../../net/http-client.ts';
import type { HttpClient, HttpReply } from '../../net/http-client.ts';
import type { Environment } from '../../net/proxy-environment.ts';
import { openPublicHttpClient } from '../../net/public-http-client.ts';
import { reachOfUrl } from '../../net/reach.ts';

/**
 * Asks for a model's file, wherever that leads. A hub answers with a redirect to the host that holds its files, so
 * unlike elsewhere a redirect may leave the host. Nothing secret is ever sent. Each step is over https, unless it
 * stays on this machine; a public address never leads to a private one, and no address to a cloud's metadata.
 */
export interface Reacher {
  /** Throws `model_forbidden`, or what the connection failed with. */
  get(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<HttpReply>;
  close(): Promise<void>;
}

/** Redirects that are followed; the hub needs one or two. */
const MAX_REDIRECTS = 5;
const DIAL_TIMEOUT_MS = 15_000;

/** `start` is what the operator named: only if that is a private address may others be. */
export async function openReacher(start: string, env: Environment): Promise<Reacher> {
  const mayBePrivate = (await reachOfUrl(start)).kind === 'private';
  const options = { env, maxMessageBytes: 1, dialTimeoutMs: DIAL_TIMEOUT_MS };
  const rules = { allowPrivate: mayBePrivate };
  const client: HttpClient = mayBePrivate
    ? await openHttpClient({ ...options, lookup: guardedLookup(lookup, rules) })
    : await openPublicHttpClient(options);

  return {
    async get(start_, headers, signal) {
      let url = start_;
      for (let redirects = 0; ; redirects++) {
        requireAllowed(url, rules);
        const reply = await send(client, url, headers, signal);
        if (reply.status < 300 || reply.status > 399 || reply.status === 304) return reply;
        const location = reply.header('location');
        reply.cancel();
        if (location === undefined || !URL.canParse(location, url) || redirects === MAX_REDIRECTS) {
          throw new ProxyError(
            'model_unavailable',
            `${hostOf(url)} answered ${reply.status} without leading anywhere.`,
          );
        }
        url = new URL(location, url).href;
      }
    },
    close: () => client.close(),
  };
}

async function send(
  client: HttpClient,
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HttpReply> {
  try {
    return await client.send({
      method: 'GET',
      url,
      headers: { 'user-agent': USER_AGENT, ...headers },
      signal,
    });
  } catch (error) {
    const forbidden = forbiddenIn(error);
    if (forbidden === undefined) throw error;
    throw new ProxyError('model_forbidden', `${hostOf(url)} leads to a forbidden address: ${forbidden}.`, {
      cause: error,
    });
  }
}

function requireAllowed(url: string, rules: { readonly allowPrivate: boolean }): void {
  const { protocol, hostname, username, password } = new URL(url);
  const refuse = (why: string): never => {
    throw new ProxyError('model_forbidden', `The model's address at ${hostOf(url)} ${why}.`);
  };
  if (username !== '' || password !== '') refuse('holds credentials');
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname) && rules.allowPrivate)) {
    refuse(`is not https (${protocol})`);
  }
  const mistake = isAddress(hostname) ? mistakeInAddress(hostname, rules) : undefined;
  if (mistake !== undefined) refuse(`is forbidden: ${mistake}`);
}

function isLoopback(hostname: string): boolean {
  return /^(localhost|.*\.localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostname);
}

/** The part of an address that is fit to be printed: what follows may carry a signature. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address that is none';
}

/** What a connection failed with, in words. */
export function reasonOf(error: unknown): string {
  return messageOf(error).replace(/\.$/, '');
}
