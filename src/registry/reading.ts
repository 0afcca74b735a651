import { ProxyError } from '../base/errors.ts';
import { FetchRefusal } from '../net/guarded-fetch.ts';
import type { GuardedFetch } from '../net/guarded-fetch.ts';
import { UnrecognisedShape } from './loose.ts';
import { sourceOf } from './protocol.ts';
import type { Registry } from './registries.ts';
import type { RegistrySource, SourceReach } from './source.ts';

export interface ReadingLimits {
  /** Longest one request to a registry may take. */
  readonly registryAttemptMs: number;
  /** Longest a whole search of one registry may take. */
  readonly registrySearchMs: number;
  readonly maxRegistryBytes: number;
}

/** Attempts at one document; what is not there after these is not there now. */
const TRIES = 3;

/** Gives a source its way to its registry: JSON documents from the registry's own host, errors that name it. */
export function reachOf(
  registry: Registry,
  parts: {
    readonly fetch: GuardedFetch;
    readonly limits: ReadingLimits;
    readonly key: string | undefined;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly onRequest?: ((url: URL) => void) | undefined;
  },
  signal: AbortSignal,
): SourceReach {
  const serversUrl = registry.serversUrl ?? '';
  const { limits } = parts;
  return {
    serversUrl,
    async json(url) {
      if (url.host !== new URL(serversUrl).host) {
        throw new ProxyError(
          'registry_invalid',
          `Registry '${registry.id}' leads to another host, ${url.host}.`,
        );
      }
      parts.onRequest?.(url);
      const reply = await parts.fetch
        .get({
          url,
          rules: { allowInsecure: registry.allowInsecure, allowPrivate: registry.allowPrivate },
          headers: { ...keyHeaders(registry, parts.key), ...ownHeaders(registry, parts.env) },
          attemptMs: limits.registryAttemptMs,
          tries: TRIES,
          maxBytes: limits.maxRegistryBytes,
          signal,
        })
        .catch((thrown: unknown) => {
          throw thrown instanceof FetchRefusal ? refusedBy(registry, thrown) : thrown;
        });
      if (reply.status === 401 || reply.status === 403) throw keyRefused(registry, reply.status);
      if (reply.status !== 200) {
        throw new ProxyError('registry_unavailable', `Registry '${registry.id}' answered ${reply.status}.`, {
          retryable: false,
          cause: new FetchRefusal('status', `answered ${reply.status}`, { status: reply.status }),
        });
      }
      try {
        return JSON.parse(reply.text);
      } catch (cause) {
        const what =
          /html/i.test(reply.contentType) || reply.text.trimStart().startsWith('<')
            ? 'a web page'
            : 'something';
        throw new ProxyError(
          'registry_invalid',
          `Registry '${registry.id}' answered ${what} that is not JSON.`,
          { cause },
        );
      }
    },
  };
}

function keyHeaders(registry: Registry, key: string | undefined): Readonly<Record<string, string>> {
  if (key === undefined) return {};
  const { keyHeader }: RegistrySource = sourceOf(registry.protocol);
  return keyHeader === undefined ? { authorization: `Bearer ${key}` } : { [keyHeader]: key };
}

function ownHeaders(
  registry: Registry,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const { ownHeader }: RegistrySource = sourceOf(registry.protocol);
  const value = ownHeader === undefined ? undefined : env[ownHeader.variable] || undefined;
  return ownHeader === undefined || value === undefined ? {} : { [ownHeader.name]: value };
}

function refusedBy(registry: Registry, refusal: FetchRefusal): ProxyError {
  const sentence = `Registry '${registry.id}' ${refusal.message}`;
  switch (refusal.reason) {
    case 'forbidden':
      return new ProxyError(
        'registry_forbidden',
        `${sentence}.${whatWouldAllow(registry, refusal.message)}`,
        {
          cause: refusal,
        },
      );
    case 'unreachable':
    case 'status':
      return new ProxyError('registry_unavailable', `${sentence}.`, { cause: refusal });
    case 'redirect':
    case 'too_large':
      return new ProxyError('registry_invalid', `${sentence}.`, { cause: refusal });
  }
}

function whatWouldAllow(registry: Registry, message: string): string {
  const key = message.includes('plain http')
    ? 'allowInsecure'
    : message.includes('private address')
      ? 'allowPrivate'
      : undefined;
  if (key === undefined || (registry.origin === 'known' && key === 'allowPrivate')) return '';
  return ` If you mean it, set "${key}": true for it under "registries" in the configuration.`;
}

function keyRefused(registry: Registry, status: number): ProxyError {
  const hint =
    registry.apiKeyEnv === undefined
      ? 'give it one: "apiKeyEnv" names the variable that holds it.'
      : `check the one in ${registry.apiKeyEnv}.`;
  return new ProxyError(
    'registry_key_missing',
    `Registry '${registry.id}' answered ${status}: it wants a key; ${hint}`,
  );
}

/** Whether the registry answered that there is no such thing. */
export function isNotThere(thrown: unknown): boolean {
  return thrown instanceof ProxyError && thrown.cause instanceof FetchRefusal && thrown.cause.status === 404;
}

/** What went wrong while reading, as an error that names the registry; undefined for a bug. */
export function readingError(registry: Registry, thrown: unknown): ProxyError | undefined {
  if (thrown instanceof ProxyError) return thrown;
  if (!(thrown instanceof UnrecognisedShape)) return undefined;
  const message = `Registry '${registry.id}' answered in a format this version does not know: ${thrown.message}.`;
  return new ProxyError('registry_invalid', message, { cause: thrown });
}
