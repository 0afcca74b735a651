/*
 * One search of registries from question to answer: reading, filtering, merging, looking up. The steps share what
 * is kept of a listing and its deadline, and are read in their order.
 */
import { setMaxListeners } from 'node:events';
import { openDeadline } from '../base/deadline.ts';
import { ProxyError } from '../base/errors.ts';
import type { ErrorCodeName } from '../base/errors.ts';
import { openGuardedFetch } from '../net/guarded-fetch.ts';
import { nextStep } from './next-step.ts';
import { entryOf } from './entry.ts';
import { ListingCache } from './listing-cache.ts';
import type { Kept } from './listing-cache.ts';
import type { ListedServer } from './listed-server.ts';
import { hasTag, hasWords, isDerivedTag, ranked, tagOf, wordsOf } from './match.ts';
import { merged } from './merge.ts';
import { packageAddresses } from './packages/addresses.ts';
import { detectPackages } from './packages/detect.ts';
import { createPackageLookup } from './packages/lookup.ts';
import { sourceOf } from './protocol.ts';
import { isNotThere, reachOf, readingError } from './reading.ts';
import { Registries } from './registries.ts';
import type { Registry } from './registries.ts';
import type { ServerEntry } from './server-entry.ts';
import type {
  RegistryListing,
  SearchSinks,
  ServerAnswer,
  ServerFinder,
  ServerFinderOptions,
  ServerQuery,
} from './server-finder.ts';
import { MAX_ID, cleaned } from './text.ts';

export const DEFAULT_LIMIT = 10;
export const MAX_LIMIT = 50;

/** Most pages of one listing that are read: with a hundred a page, two thousand servers. */
const MAX_PAGES = 20;
/** Most registries read at once, whoever asks: `all` of two callers. A gateway is no means to flood others by. */
const MAX_READING = 32;
const NO_DETAILS = 'its details could not be read';
/** Details of this many servers are asked for at once. */
const DETAILS_AT_ONCE = 5;

/** A server of a listing, and what was decided of it. */
interface Found {
  readonly listed: ListedServer;
  readonly entry: ServerEntry;
  readonly registry: Registry;
}

/** What was read of one registry. */
interface Reading {
  readonly found: readonly Found[];
  readonly size: number;
  /** Nothing went wrong on the way, so it may serve again. */
  readonly isWorthKeeping: boolean;
  /** All of the listing was read. */
  readonly isWhole: boolean;
  readonly warnings: readonly string[];
}

/** Finds servers in registries. One per process: it holds the caches. */
export function createServerFinder(options: ServerFinderOptions): ServerFinder {
  const { limits, env } = options;
  const now = options.now ?? Date.now;
  const registries = new Registries(options.registries, options.known);
  const fetch = options.fetch ?? openGuardedFetch({ env });
  const addresses = options.packages ?? packageAddresses(options);
  const lookup = createPackageLookup({ fetch, addresses, now });
  const cache = new ListingCache<Reading>(
    now,
    (error) =>
      error instanceof ProxyError &&
      (error.code === 'registry_unavailable' || error.code === 'registry_invalid'),
  );
  const details = new ListingCache<Reading>(now, () => false);
  let reading = 0;

  const keyOf = (registry: Registry): string | undefined =>
    registry.apiKeyEnv === undefined ? undefined : env[registry.apiKeyEnv] || undefined;

  function mustBeOn(): void {
    if (options.registrySearch) return;
    throw new ProxyError(
      'registry_disabled',
      'Searching registries is switched off in the configuration (registrySearch).',
    );
  }

  /** Throws when this registry cannot be asked at all. */
  function mustBeSearchable(registry: Registry): void {
    if (registry.serversUrl === undefined) {
      const page = registry.homepage === undefined ? '' : `; browse it at ${registry.homepage}`;
      throw new ProxyError(
        'registry_has_no_servers',
        `Registry '${registry.name}' has no servers endpoint${page}.`,
      );
    }
    if (!registry.enabled) {
      throw new ProxyError(
        'registry_disabled',
        `Registry '${registry.id}' is switched off in the configuration ("enabled": false).`,
      );
    }
    if (registry.requiresKey && keyOf(registry) === undefined) {
      const variable = registry.apiKeyEnv ?? '';
      throw new ProxyError(
        'registry_key_missing',
        `Registry '${registry.id}' needs a key: set the environment variable ${variable}.`,
      );
    }
  }

  const tooLong = (registry: Registry, limit: 'registryAttemptMs' | 'registrySearchMs'): ProxyError =>
    new ProxyError(
      'registry_unavailable',
      `Registry '${registry.id}' took longer than ${limits[limit] / 1_000} s (${limit}).`,
    );

  async function read(
    registry: Registry,
    query: Settled,
    signal: AbortSignal,
    progress: (pages: number) => void,
    onRequest: SearchSinks['onRequest'],
  ): Promise<Reading> {
    if (reading >= MAX_READING) {
      throw new ProxyError(
        'registry_unavailable',
        `Registry '${registry.id}' was not asked: ${MAX_READING} searches are running already; try again in a moment.`,
      );
    }
    reading++;
    try {
      return await told(registry, () => readNow(registry, query, signal, progress, onRequest));
    } finally {
      reading--;
    }
  }

  /** Reads, and tells how it went. */
  async function told(registry: Registry, work: () => Promise<Reading>): Promise<Reading> {
    const began = performance.now();
    const tell = (code?: ErrorCodeName): void =>
      options.observer?.({
        kind: 'registry',
        registry: registry.id,
        ...(code === undefined ? {} : { code }),
        ms: performance.now() - began,
      });
    try {
      const read = await work();
      tell();
      return read;
    } catch (thrown) {
      tell(thrown instanceof ProxyError ? thrown.code : 'cancelled');
      throw thrown;
    }
  }

  async function readNow(
    registry: Registry,
    query: Settled,
    signal: AbortSignal,
    progress: (pages: number) => void,
    onRequest: SearchSinks['onRequest'],
  ): Promise<Reading> {
    const source = sourceOf(registry.protocol);
    const deadline = openDeadline(signal, limits.registrySearchMs);
    const reach = reachOf(
      registry,
      {
        fetch,
        limits,
        key: keyOf(registry),
        env,
        onRequest: onRequest === undefined ? undefined : (url) => onRequest(`GET ${url.href}`),
      },
      deadline.signal,
    );
    const found: Found[] = [];
    const warnings: string[] = [];
    let unreadable = 0;
    let pages = 0;
    let matching = 0;
    let isWhole = true;
    let isWorthKeeping = true;
    try {
      for await (const page of source.pages(query, reach)) {
        pages++;
        unreadable += page.unreadable;
        for (const listed of page.servers) {
          const entry = entryOf(listed, registry);
          found.push({ listed, entry, registry });
          if (hasWords(entry, query.words) && hasTag(entry, query.tag)) matching++;
        }
        progress(pages);
        // A registry that searched for us has the best first; the others are read whole, to be ordered here.
        if (source.searches !== undefined && matching >= query.limit) {
          isWhole = false;
          break;
        }
        if (pages >= MAX_PAGES) {
          isWhole = false;
          warnings.push(`Of ${registry.name} only the first ${found.length} servers were read.`);
          break;
        }
      }
    } catch (thrown) {
      if (signal.aborted) throw signal.reason;
      const error = deadline.expired()
        ? tooLong(registry, 'registrySearchMs')
        : readingError(registry, thrown);
      // Pages that were read are worth more than the error of the one that was not.
      if (error === undefined || pages === 0) throw error ?? thrown;
      isWhole = false;
      isWorthKeeping = false;
      warnings.push(`Incomplete: ${error.message} What was read before is shown (${found.length} servers).`);
    } finally {
      deadline.dispose();
    }
    if (unreadable > 0) {
      if (found.length === 0 && pages === 1) {
        throw new ProxyError(
          'registry_invalid',
          `Registry '${registry.id}' answered in a format this version does not know: none of its ${unreadable} entries has a name.`,
        );
      }
      warnings.push(
        `${unreadable} ${unreadable === 1 ? 'entry' : 'entries'} of ${registry.name} could not be read.`,
      );
    }
    return { found, size: found.length, isWorthKeeping, isWhole, warnings };
  }

  function kept(registry: Registry, query: Settled, sinks: SearchSinks): Promise<Kept<Reading>> {
    mustBeSearchable(registry);
    // A listing that is read whole serves every question.
    const asks =
      sourceOf(registry.protocol).searches === undefined ? [] : [query.words, query.tag ?? '', query.limit];
    return cache.get(
      JSON.stringify([registry.id, ...asks]),
      (signal, progress) => read(registry, query, signal, progress, sinks.onRequest),
      sinks.signal,
      (pages) =>
        sinks.onProgress?.(`${registry.name}: ${pages} ${pages === 1 ? 'page' : 'pages'} read`, pages),
    );
  }

  /** One server by id, from its registry's own details; undefined when it knows none of that id. */
  async function detailsOf(registry: Registry, id: string, sinks: SearchSinks): Promise<Found | undefined> {
    const { value } = await details.get(
      JSON.stringify([registry.id, id]),
      (signal): Promise<Reading> =>
        told(registry, async () => {
          const deadline = openDeadline(signal, limits.registryAttemptMs);
          try {
            const reach = reachOf(registry, { fetch, limits, key: keyOf(registry), env }, deadline.signal);
            const listed = await sourceOf(registry.protocol).details?.(id, reach);
            const found =
              listed === undefined ? [] : [{ registry, listed, entry: entryOf(listed, registry) }];
            return { found, size: 1, isWorthKeeping: true, isWhole: true, warnings: [] };
          } catch (thrown) {
            if (signal.aborted) throw signal.reason;
            if (isNotThere(thrown)) {
              return { found: [], size: 1, isWorthKeeping: false, isWhole: true, warnings: [] };
            }
            throw deadline.expired()
              ? tooLong(registry, 'registryAttemptMs')
              : (readingError(registry, thrown) ?? thrown);
          } finally {
            deadline.dispose();
          }
        }),
      sinks.signal,
    );
    return value.found[0];
  }

  /** Fills in what a listing leaves out: the endpoint of a server that has nothing to be reached or run by. */
  async function withDetails(found: Found, sinks: SearchSinks): Promise<Found> {
    const { registry, entry, listed } = found;
    const isBare = listed.remotes.length === 0 && listed.packages.length === 0;
    if (sourceOf(registry.protocol).needsDetails !== true || !isBare) return found;
    const without = { ...found, entry: { ...entry, notes: [...(entry.notes ?? []), NO_DETAILS] } };
    try {
      const more = (await detailsOf(registry, entry.id, sinks))?.listed;
      if (more === undefined) return without;
      const whole = { ...more, ...present(listed), remotes: more.remotes, packages: more.packages };
      return { registry, listed: whole, entry: entryOf(whole, registry) };
    } catch (thrown) {
      if (sinks.signal?.aborted || !(thrown instanceof ProxyError)) throw thrown;
      return without;
    }
  }

  async function withPackages(found: Found, sinks: SearchSinks): Promise<Found> {
    if (!options.checkServerRepo) return found;
    const packages = await detectPackages(found.listed, lookup, sinks.signal);
    if (packages.npm === null && packages.pypi === null) return found;
    const entry = entryOf(found.listed, found.registry, packages);
    // What was noted on the way (merged, no details) is kept.
    const notes = [
      ...new Set([
        ...(entry.notes ?? []),
        ...(found.entry.notes ?? []).filter((note) => note.startsWith('also') || note === NO_DETAILS),
      ]),
    ];
    return { ...found, entry: notes.length === 0 ? entry : { ...entry, notes } };
  }

  async function answer(
    readings: readonly { readonly registry: Registry; readonly reading: Kept<Reading> }[],
    query: Settled,
    more: readonly string[],
    sinks: SearchSinks,
  ): Promise<ServerAnswer> {
    const all = readings.flatMap(({ reading }) => reading.value.found);
    const matching = all.filter(({ entry }) => hasWords(entry, query.words) && hasTag(entry, query.tag));
    const ordered = ranked(readings.length > 1 ? merged(matching) : matching, query.words);
    const detailed = await inTurns(ordered.slice(0, query.limit), DETAILS_AT_ONCE, (found) =>
      withDetails(found, sinks),
    );
    const shown = await Promise.all(detailed.map((found) => withPackages(found, sinks)));
    const servers = shown.map(({ entry }) => entry);
    const sources = readings.map(({ reading }) => reading.source);
    const [only] = servers;
    return {
      servers,
      matched: ordered.length,
      returned: servers.length,
      truncated: ordered.length > servers.length || readings.some(({ reading }) => !reading.value.isWhole),
      source: sources.includes('stale')
        ? 'stale'
        : sources.includes('live') || sources.length === 0
          ? 'live'
          : 'cache',
      asOf: new Date(Math.min(now(), ...readings.map(({ reading }) => reading.asOf))).toISOString(),
      warnings: [
        ...more,
        ...readings.flatMap(({ registry, reading }) => warningsOf(registry, reading, query)),
      ],
      ...(only === undefined || ordered.length !== 1 ? {} : nextStep(only)),
    };
  }

  return {
    registries: registries.all.map((registry) => listingOf(registry, keyOf(registry) !== undefined)),
    choice: registries.choice,
    async search(asked, given = {}) {
      const { sinks, dispose } = ownSinks(given);
      try {
        return await search(asked, sinks);
      } finally {
        dispose();
      }
    },
    async find(registryName, id, given = {}) {
      const { sinks, dispose } = ownSinks(given);
      try {
        return await find(registryName, id, sinks);
      } finally {
        dispose();
      }
    },
    async listsPrivate(url, given = {}) {
      const { sinks, dispose } = ownSinks(given);
      try {
        return await listsPrivate(url, sinks);
      } finally {
        dispose();
      }
    },
    close: () => fetch.close(),
  };

  async function listsPrivate(url: string, sinks: SearchSinks): Promise<boolean> {
    if (!options.registrySearch || !URL.canParse(url)) return false;
    const wanted = new URL(url).href;
    const query = { words: [], tag: undefined, limit: Infinity };
    const asked = registries.searchable.filter(({ allowPrivate }) => allowPrivate);
    const lists = await Promise.all(
      asked.map(async (registry) => {
        try {
          const { value } = await kept(registry, query, sinks);
          return value.found.some(({ entry }) => entry.url !== null && new URL(entry.url).href === wanted);
        } catch (thrown) {
          if (sinks.signal?.aborted || !(thrown instanceof ProxyError)) throw thrown;
          // A registry that cannot be read vouches for nothing.
          return false;
        }
      }),
    );
    return lists.includes(true);
  }

  async function find(registryName: string, id: string, sinks: SearchSinks): Promise<ServerEntry> {
    mustBeOn();
    const registry = registries.find(registryName);
    mustBeSearchable(registry);
    const source = sourceOf(registry.protocol);
    if (source.details !== undefined) {
      const found = await detailsOf(registry, id, sinks);
      if (found !== undefined) return (await withPackages(found, sinks)).entry;
    } else {
      // The whole listing, or its first two thousand: without a word, nothing ends it early.
      const query = { words: [], tag: undefined, limit: Infinity };
      const { value } = await kept(registry, query, sinks);
      const found = value.found.find(({ entry }) => entry.id === id);
      if (found !== undefined) return (await withPackages(found, sinks)).entry;
    }
    throw new ProxyError(
      'server_not_found',
      `Registry '${registry.id}' lists no server with the id '${cleaned(id, MAX_ID)}'.`,
    );
  }

  async function search(asked: ServerQuery, sinks: SearchSinks): Promise<ServerAnswer> {
    mustBeOn();
    const { query, warnings } = settled(asked);
    const wanted = (asked.registry ?? '').trim();
    if (wanted === '') {
      throw new ProxyError(
        'registry_not_found',
        `Name a registry to search, or "all": ${registries.choice}.`,
      );
    }
    if (wanted.toLowerCase() !== 'all') {
      const registry = registries.find(wanted);
      const reading = await kept(registry, query, sinks);
      return answer([{ registry, reading }], query, warnings, sinks);
    }
    const readings: { readonly registry: Registry; readonly reading: Kept<Reading> }[] = [];
    const failures: ProxyError[] = [];
    const outcomes = await Promise.all(
      registries.searchable.map(async (registry): Promise<Kept<Reading> | ProxyError> => {
        try {
          return await kept(registry, query, sinks);
        } catch (thrown) {
          if (sinks.signal?.aborted || !(thrown instanceof ProxyError)) throw thrown;
          return thrown;
        }
      }),
    );
    // In the table's order, not in that of arrival: which of two listings of one server stays must not be chance.
    for (const [index, registry] of registries.searchable.entries()) {
      const outcome = outcomes[index];
      if (outcome instanceof ProxyError) failures.push(outcome);
      else if (outcome !== undefined) readings.push({ registry, reading: outcome });
    }
    if (readings.length === 0) {
      throw new ProxyError(
        'registry_unavailable',
        `No registry could be searched. ${failures.map(({ message }) => message).join(' ')}`,
      );
    }
    const notSearched = failures.map(({ message }) => `Not searched: ${message}`);
    return answer(readings, query, [...warnings, ...notSearched], sinks);
  }
}

/** The caller's signal as one of our own, which many listen to: a dozen registries, fifty servers' packages. */
function ownSinks(given: SearchSinks): { readonly sinks: SearchSinks; readonly dispose: () => void } {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const onAbort = (): void => controller.abort(given.signal?.reason);
  if (given.signal?.aborted) onAbort();
  given.signal?.addEventListener('abort', onAbort, { once: true });
  return {
    sinks: { ...given, signal: controller.signal },
    dispose: () => given.signal?.removeEventListener('abort', onAbort),
  };
}

interface Settled {
  readonly words: readonly string[];
  readonly tag: string | undefined;
  readonly limit: number;
}

/** Numbers outside the bounds are moved inside, and that is said. */
function settled(asked: ServerQuery): { readonly query: Settled; readonly warnings: readonly string[] } {
  const wanted = asked.limit ?? DEFAULT_LIMIT;
  const whole = Number.isFinite(wanted) ? Math.trunc(wanted) : DEFAULT_LIMIT;
  const limit = whole < 1 ? DEFAULT_LIMIT : Math.min(whole, MAX_LIMIT);
  const warnings =
    limit === wanted ? [] : [`limit ${wanted} is outside 1 to ${MAX_LIMIT}; ${limit} was used.`];
  return { query: { words: wordsOf(asked.search), tag: tagOf(asked.tag), limit }, warnings };
}

function warningsOf(registry: Registry, reading: Kept<Reading>, query: Settled): readonly string[] {
  const source = sourceOf(registry.protocol);
  const warnings = [...reading.value.warnings];
  if (reading.source === 'stale') {
    const why = reading.trouble instanceof Error ? ` ${reading.trouble.message}` : '';
    warnings.push(
      `${registry.name} cannot be read now; what it said at ${new Date(reading.asOf).toISOString()} is shown.${why}`,
    );
  }
  if (query.tag !== undefined && !source.hasTags && !isDerivedTag(query.tag)) {
    warnings.push(
      `${registry.name} gives its servers no tags; only remote, local, npm, pypi, oci and official can be asked for.`,
    );
  }
  if (query.words.length > 0 && source.searches === 'names') {
    warnings.push(
      `${registry.name} searches names only: a server with these words in its description alone may be missing.`,
    );
  }
  return warnings;
}

/** What a listing said goes before what the details say. */
function present(listed: ListedServer): Partial<ListedServer> {
  return Object.fromEntries(Object.entries(listed).filter(([, value]) => value !== undefined));
}

async function inTurns<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<T>,
): Promise<readonly T[]> {
  const done: T[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    done.push(...(await Promise.all(items.slice(at, at + atOnce).map(work))));
  }
  return done;
}

function listingOf(registry: Registry, hasKey: boolean): RegistryListing {
  const source = sourceOf(registry.protocol);
  const isSearchable = registry.serversUrl !== undefined;
  return {
    id: registry.id,
    name: registry.name,
    description: registry.description,
    url: registry.homepage ?? null,
    protocol: isSearchable ? registry.protocol : null,
    tags: registry.tags,
    aliases: registry.aliases,
    origin: registry.origin,
    enabled: registry.enabled,
    searchable: isSearchable && registry.enabled,
    server_search: isSearchable ? (source.searches ?? null) : null,
    server_tags: isSearchable && source.hasTags,
    key_required: registry.requiresKey,
    key_variable: registry.apiKeyEnv ?? null,
    key_present: hasKey,
    insecure: registry.serversUrl?.startsWith('http:') ?? false,
    addable: isSearchable && source.isAddable,
    unconfirmed: isSearchable && source.isUnconfirmed === true,
  };
}
