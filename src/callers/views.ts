import { LRUCache } from 'lru-cache';
import { UpstreamAuthError } from '../base/errors.ts';
import type { ProxyError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Limits } from '../base/limits.ts';
import { pause } from '../base/deadline.ts';
import type { Observer } from '../base/observer.ts';
import { buildCatalog } from '../catalog/catalog.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { matchesPattern } from '../catalog/pattern.ts';
import type { Roster, RosterEntry } from '../roster/roster.ts';
import { withNeighbours } from '../search/neighbours.ts';
import type { DocumentPool } from '../search/tool-index.ts';
import { listTools } from '../upstream/list-tools.ts';
import type { Listing } from '../upstream/list-tools.ts';
import { ANONYMOUS } from './caller.ts';
import type { Caller, CallerKey } from './caller.ts';
import type { Listings, ListingState } from './listings.ts';
import type { Unavailable, View } from './view.ts';

export interface ViewsParts {
  readonly roster: Roster;
  readonly listings: Listings;
  readonly callerKey: CallerKey;
  /** Opened with the first view, because analyzing words costs start-up time that a handshake must not pay. */
  readonly pool: () => Promise<DocumentPool>;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly writeTools: readonly string[];
  readonly reservedNames: ReadonlySet<string>;
}

/** Scope of an upstream's own credential. */
const OWN = 'own';

interface Asked {
  readonly entry: RosterEntry;
  readonly scope: string;
  /** Under which the listing is kept. */
  readonly key: string;
  readonly state: ListingState;
}

/** What is known of each upstream: its listing, why there is none, or that it is still starting. */
type Facts = readonly (Listing | ProxyError | 'starting')[];

interface Composed {
  readonly facts: Facts;
  readonly entries: readonly RosterEntry[];
  readonly view: View;
}

/**
 * Composes what each caller may use: the upstreams' own listings, and those taken with the caller's credential.
 * What one caller's credential listed is kept under a key only that credential gives, and nothing of it is ever
 * looked at for another caller.
 */
export class Views {
  readonly #parts: ViewsParts;
  readonly #composed: LRUCache<string, Composed>;
  /** Patterns of `writeTools` not yet seen to match any tool of anybody, nor reported. */
  readonly #unmatched: Set<string>;

  constructor(parts: ViewsParts) {
    this.#parts = parts;
    this.#unmatched = new Set(parts.writeTools);
    this.#composed = new LRUCache({
      max: parts.limits.maxListings,
      // Whoever holds the old view searches it in this turn of the event loop or not at all.
      dispose: ({ view }) => setImmediate(() => view.index.close()),
    });
    parts.roster.onToolsChanged((upstream) => parts.listings.changed(upstream));
  }

  /** Lists every upstream that has a credential of its own, but for those that start when needed. Never waits. */
  warm(): void {
    for (const entry of this.#parts.roster.entries)
      if (entry.record.auth === 'own' && !isLazy(entry)) this.#ask(entry, ANONYMOUS);
  }

  /** Resolves when no own upstream is starting any more, or after `ms`. */
  async settled(ms: number): Promise<void> {
    const end = this.#parts.clock.now() + ms;
    for (;;) {
      const asked = this.#parts.roster.entries.map((entry) => this.#ask(entry, ANONYMOUS));
      const starting = asked.flatMap(({ state }) => (state.kind === 'starting' ? [state.settled] : []));
      const left = end - this.#parts.clock.now();
      if (starting.length === 0 || left <= 0) return;
      await Promise.race([Promise.all(starting), pause(left)]);
    }
  }

  /**
   * The caller's view, made of what is there. Waits for upstreams still starting only until `startWaitMs` after they
   * began, `emptyWaitMs` while none is ready, or, for a forwarded caller with nothing to use yet, until their first
   * listing is in. Throws an `UpstreamAuthError` when the caller's credential was refused and there is nothing else
   * to use.
   */
  async view(caller: Caller, signal?: AbortSignal): Promise<View> {
    const asked = await this.#settle(caller, signal);
    const isAnyReady = asked.some(({ state }) => state.kind === 'ready');
    for (const { entry, state } of asked) {
      if (isAnyReady || entry.record.auth !== 'forward') continue;
      if (state.kind === 'failed' && state.error instanceof UpstreamAuthError) throw state.error;
    }
    return this.#compose(caller, asked);
  }

  /** What upstreams told this caller to read first, as far as it is known now; waits at most `waitMs` for more. */
  async instructions(caller: Caller, waitMs: number): Promise<View['instructions']> {
    let asked = this.#askAwake(caller);
    const starting = startingOf(asked).map((state) => state.settled);
    if (starting.length > 0 && waitMs > 0) {
      await Promise.race([Promise.all(starting), pause(waitMs)]);
      asked = this.#askAwake(caller);
    }
    for (const { entry, state } of asked) {
      if (
        entry.record.auth === 'forward' &&
        state.kind === 'failed' &&
        state.error instanceof UpstreamAuthError
      ) {
        if (!asked.some((other) => other.state.kind === 'ready')) throw state.error;
      }
    }
    return instructionsOf(asked);
  }

  /** An upstream refused the caller's credential on a call: what it listed for them is not theirs any more. */
  drop(entry: RosterEntry, caller: Caller): void {
    if (entry.record.auth === 'forward') this.#parts.listings.drop(this.#keyOf(entry, caller).key);
  }

  /** These upstreams are not what they were; what they listed is taken again when it is next wanted. */
  forget(upstreams: readonly string[]): void {
    for (const upstream of upstreams) this.#parts.listings.forget(upstream);
    this.warm();
  }

  close(): void {
    this.#parts.listings.close();
    this.#composed.clear();
  }

  async #settle(caller: Caller, signal: AbortSignal | undefined): Promise<readonly Asked[]> {
    const { clock, limits } = this.#parts;
    // One listener, however often it waits.
    let gone: Promise<void> | undefined;
    for (;;) {
      const asked = this.#askAll(caller);
      const starting = startingOf(asked);
      if (starting.length === 0 || signal?.aborted) return asked;
      const isAnyReady = asked.some(({ state }) => state.kind === 'ready');
      const isForward = asked.some(
        ({ entry, state }) => entry.record.auth === 'forward' && state.kind === 'starting',
      );
      if (isForward && !isAnyReady) {
        gone ??= aborted(signal);
        await Promise.race([Promise.any(starting.map((state) => state.settled)), gone]);
        continue;
      }
      const waitMs = isAnyReady ? limits.startWaitMs : limits.emptyWaitMs;
      const left = Math.max(...starting.map((state) => state.since + waitMs - clock.now()));
      if (left <= 0) return asked;
      // One that settles may be the first that is ready, after which less waiting is due.
      await Promise.race([...starting.map((state) => state.settled), pause(left, signal)]);
    }
  }

  #askAll(caller: Caller): readonly Asked[] {
    return this.#parts.roster.entries.map((entry) => this.#ask(entry, caller));
  }

  /** All but those nobody has needed yet and that start only then: a handshake is no need. */
  #askAwake(caller: Caller): readonly Asked[] {
    return this.#parts.roster.entries
      .filter((entry) => !isLazy(entry) || this.#parts.listings.has(this.#keyOf(entry, caller).key))
      .map((entry) => this.#ask(entry, caller));
  }

  #ask(entry: RosterEntry, caller: Caller): Asked {
    const { scope, key } = this.#keyOf(entry, caller);
    const { upstream } = entry;
    if (upstream === undefined) return { entry, scope, key, state: { kind: 'failed', error: entry.failure } };
    const isOwn = entry.record.auth === 'own';
    const state = this.#parts.listings.get({
      key,
      upstream: entry.record.name,
      isOwn,
      caller: isOwn ? ANONYMOUS : caller,
      take: ({ credential }) =>
        listTools(
          upstream,
          { scope, ...(credential === undefined ? {} : { credential }) },
          this.#parts.limits,
        ),
    });
    return { entry, scope, key, state };
  }

  #keyOf(entry: RosterEntry, caller: Caller): { scope: string; key: string } {
    if (entry.record.auth === 'own') return { scope: OWN, key: `${OWN}:${entry.record.name}` };
    const key = this.#parts.callerKey(entry.record.name, caller);
    return { scope: key, key };
  }

  async #compose(caller: Caller, asked: readonly Asked[]): Promise<View> {
    const isShared = asked.every(({ entry }) => entry.record.auth === 'own');
    const key = isShared ? OWN : this.#parts.callerKey('', caller);
    // Almost every request finds everything as the one before it did.
    const known = this.#composed.get(key);
    if (known !== undefined && isCurrent(known, asked)) return known.view;
    const pool = await this.#parts.pool();
    const before = this.#composed.get(key);
    if (before !== undefined && isCurrent(before, asked)) return before.view;
    const composed = this.#build(asked, pool);
    if (asked.some(({ state }) => state.kind === 'ready')) this.#composed.set(key, composed);
    return composed.view;
  }

  #build(asked: readonly Asked[], pool: DocumentPool): Composed {
    const { writeTools, reservedNames } = this.#parts;
    const parts = asked.flatMap(({ entry, state }) => {
      if (state.kind !== 'ready') return [];
      const { name: upstream, trusted } = entry.record;
      return [{ upstream, slug: entry.slug, trusted, tools: state.listing.tools }];
    });
    const catalog = buildCatalog(parts, { prefixed: asked.length > 1, writeTools, reservedNames });
    this.#reportUnmatched(catalog, parts.length === asked.length);
    const index = pool.openView(
      catalog.tools.map(({ exposedName, upstream, tool }) => ({
        exposedName,
        name: tool.name,
        upstream,
        ...(tool.title === undefined ? {} : { title: tool.title }),
        description: tool.description,
        inputSchema: tool.inputSchema,
        digest: tool.digest,
      })),
    );
    const described = catalog.tools.map(({ tool }) => tool);
    const routes = new Map(asked.map(({ entry, scope }) => [entry.record.name, { entry, scope }]));
    const view: View = {
      catalog,
      index,
      search: (query, limit) =>
        withNeighbours(index, described, index.search(query, { limit }).matches, limit).flatMap(
          ({ position }) => catalog.tools[position] ?? [],
        ),
      unavailable: asked.flatMap((one) => unavailableOf(one)),
      instructions: instructionsOf(asked),
      dropped: asked.flatMap(({ entry, state }) =>
        (state.kind === 'ready' ? state.listing.dropped : []).map((tool) => ({
          upstream: entry.record.name,
          ...tool,
        })),
      ),
      route(tool) {
        const route = routes.get(tool.upstream);
        if (route === undefined) throw new Error('the tool is not of this view');
        return route;
      },
    };
    return { facts: factsOf(asked), entries: asked.map(({ entry }) => entry), view };
  }

  /** A pattern that protects nothing is a mistake somebody should hear of, once, when every upstream has listed. */
  #reportUnmatched(catalog: Catalog, isComplete: boolean): void {
    for (const pattern of this.#unmatched) {
      const matches = catalog.tools.some(
        ({ exposedName, tool }) => matchesPattern(pattern, tool.name) || matchesPattern(pattern, exposedName),
      );
      if (!matches && !isComplete) continue;
      this.#unmatched.delete(pattern);
      if (matches) continue;
      this.#parts.observer({ kind: 'note', message: `writeTools: no tool matches the pattern '${pattern}'` });
    }
  }
}

function isLazy({ record: { transport } }: RosterEntry): boolean {
  return transport.kind === 'stdio' && transport.start === 'lazy';
}

function startingOf(asked: readonly Asked[]): readonly Extract<ListingState, { kind: 'starting' }>[] {
  return asked.flatMap(({ state }) => (state.kind === 'starting' ? [state] : []));
}

function unavailableOf({ entry, state }: Asked): readonly Unavailable[] {
  const { name } = entry.record;
  switch (state.kind) {
    case 'ready':
      return [];
    case 'starting':
      return [{ name, state: 'starting', reason: 'still starting; search again in a few seconds' }];
    case 'failed':
      return [{ name, state: 'failed', reason: state.error.message, error: state.error }];
  }
}

function instructionsOf(asked: readonly Asked[]): View['instructions'] {
  return asked.flatMap(({ entry, state }) =>
    state.kind === 'ready' && state.listing.instructions !== undefined
      ? [{ upstream: entry.record.name, text: state.listing.instructions }]
      : [],
  );
}

function factsOf(asked: readonly Asked[]): Facts {
  return asked.map(({ state }) => {
    if (state.kind === 'ready') return state.listing;
    return state.kind === 'failed' ? state.error : 'starting';
  });
}

/** Whether a view was made of just these upstreams in just this state. */
function isCurrent({ facts, entries }: Composed, asked: readonly Asked[]): boolean {
  const now = factsOf(asked);
  return (
    now.length === facts.length &&
    now.every((fact, n) => fact === facts[n]) &&
    asked.every(({ entry }, n) => entry === entries[n])
  );
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
}
