import { LRUCache } from 'lru-cache';
import { FetchRefusal } from '../../net/guarded-fetch.ts';
import type { GuardedFetch } from '../../net/guarded-fetch.ts';
import { isObject, objectIn, rawText } from '../loose.ts';
import { pypiName } from '../package-name.ts';
import type { PackageAddresses } from './addresses.ts';

/** What a package registry says of one package. */
export interface FoundPackage {
  readonly name: string;
  readonly version: string | undefined;
  readonly description: string | undefined;
  /** Every link of it that could be a repository. */
  readonly links: readonly string[];
  /** The MCP server it says it is: npm's `mcpName`, `mcp-name:` in a Python README. */
  readonly mcpName: string | undefined;
}

export type Looked =
  | { readonly kind: 'found'; readonly found: FoundPackage }
  | { readonly kind: 'missing' }
  /** Nobody knows: the registry could not be asked. Never kept. */
  | { readonly kind: 'unknown' };

export interface PackageLookup {
  look(type: 'npm' | 'pypi', name: string, version: string | undefined, signal: AbortSignal): Promise<Looked>;
}

const FOUND_MS = 6 * 3_600_000;
const MISSING_MS = 30 * 60_000;
const LOOK_MS = 5_000;
/** A packument of one version is some kilobytes; a Python project's document may list thousands of files. */
const MAX_BYTES = 16_777_216;

/**
 * Asks npm's registry and the Python index about packages. What was found is kept six hours, that there is none half
 * an hour; trouble on the way is kept not at all. The addresses are the user's own configuration, so they may be
 * private; the names are checked before they come here.
 */
export function createPackageLookup(parts: {
  readonly fetch: GuardedFetch;
  readonly addresses: PackageAddresses;
  /** Milliseconds that only grow. */
  readonly now: () => number;
}): PackageLookup {
  const kept = new LRUCache<string, Looked>({
    max: 2_000,
    ttl: FOUND_MS,
    perf: { now: parts.now },
    ttlResolution: 0,
  });
  const asking = new Map<string, Promise<Looked>>();
  const rules = { allowInsecure: true, allowPrivate: true };

  async function json(
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const reply = await parts.fetch.get({
      url,
      rules,
      headers,
      attemptMs: LOOK_MS,
      tries: 1,
      maxBytes: MAX_BYTES,
      signal,
    });
    if (reply.status === 404) return undefined;
    if (reply.status !== 200) throw new FetchRefusal('status', `answered ${reply.status}`);
    return JSON.parse(reply.text);
  }

  async function npm(name: string, version: string | undefined, signal: AbortSignal): Promise<Looked> {
    const scope = name.startsWith('@') ? name.slice(0, name.indexOf('/')) : undefined;
    const base = await parts.addresses.npm(scope);
    const url = new URL(`${name.replace('/', '%2F')}/${version ?? 'latest'}`, base);
    const document = await json(url.href, {}, signal);
    if (!isObject(document)) return { kind: 'missing' };
    const repository = document['repository'];
    const link = typeof repository === 'string' ? repository : rawText(objectIn(repository), 'url');
    return {
      kind: 'found',
      found: {
        name,
        version: rawText(document, 'version'),
        description: rawText(document, 'description'),
        links: [link, rawText(document, 'homepage')].filter((each) => each !== undefined),
        mcpName: rawText(document, 'mcpName'),
      },
    };
  }

  async function pypi(name: string, version: string | undefined, signal: AbortSignal): Promise<Looked> {
    const index = await parts.addresses.pypi();
    if (index === undefined) return { kind: 'unknown' };
    const headers = index.authorization === undefined ? {} : { authorization: index.authorization };
    const path = [pypiName(name), ...(version === undefined ? [] : [version]), 'json'].map(
      encodeURIComponent,
    );
    const document = await json(`${index.url}/pypi/${path.join('/')}`, headers, signal);
    if (!isObject(document)) return { kind: 'missing' };
    const info = objectIn(document['info']);
    const links = Object.values(objectIn(info['project_urls'])).filter((each) => typeof each === 'string');
    const home = rawText(info, 'homePage');
    return {
      kind: 'found',
      found: {
        name: rawText(info, 'name') ?? name,
        version: rawText(info, 'version'),
        description: rawText(info, 'summary'),
        links: home === undefined ? links : [...links, home],
        mcpName: /mcp-name:\s*([\w./-]+)/i.exec(rawText(info, 'description') ?? '')?.[1],
      },
    };
  }

  async function ask(
    type: 'npm' | 'pypi',
    name: string,
    version: string | undefined,
    signal: AbortSignal,
  ): Promise<Looked> {
    try {
      return await (type === 'npm' ? npm : pypi)(name, version, signal);
    } catch {
      // Detection only adds to an answer: whatever went wrong, the answer stands without it.
      return { kind: 'unknown' };
    }
  }

  return {
    async look(type, name, version, signal) {
      const key = `${type}:${name}@${version ?? ''}`;
      const before = kept.get(key);
      if (before !== undefined) return before;
      let running = asking.get(key);
      if (running === undefined) {
        running = ask(type, name, version, signal).then((looked) => {
          asking.delete(key);
          if (looked.kind === 'found') kept.set(key, looked, { ttl: FOUND_MS });
          if (looked.kind === 'missing') kept.set(key, looked, { ttl: MISSING_MS });
          return looked;
        });
        asking.set(key, running);
      }
      return running;
    },
  };
}
