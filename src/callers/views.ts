import { LRUCache } from 'lru-cache';
import { BusyError, UpstreamAuthError } from '../base/errors.ts';
import type { ProxyError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Limits } from '../base/limits.ts';
import { pause } from '../base/deadline.ts';
import type { Observer } from '../base/observer.ts';
import { buildCatalog } from '../catalog/catalog.ts';
import type { Catalog, CatalogTool } from '../catalog/catalog.ts';
import { matchesPattern } from '../catalog/pattern.ts';
import type { Tool } from '../catalog/tool.ts';
import type { Roster, RosterEntry } from '../roster/roster.ts';
import { canMean } from '../search/fusion.ts';
import type { DocumentsToEmbed, DocumentToEmbed, Meaning } from '../search/meaning-port.ts';
import { meaningText } from '../search/meaning-text.ts';
import { withNeighbours } from '../search/neighbours.ts';
import type { DocumentPool, ToolIndex } from '../search/tool-index.ts';
import { listTools } from '../upstream/list-tools.ts';
import { ANONYMOUS } from './caller.ts';
import type { Caller, CallerKey } from './caller.ts';
import { LISTINGS_SHARE } from './listings.ts';
import type { Listings, ListingState, StartingState } from './listings.ts';
import type { FoundTools, Unavailable, View } from './view.ts';

export interface ViewsParts {
  readonly roster: Roster;
  readonly listings: Listings;
  readonly callerKey: CallerKey;
  /** Opened with the first view, because analyzing words costs start-up time that a handshake must not pay. */
  readonly pool: () => Promise<DocumentPool>;
  /** What gives tools and questions their vectors; without it words rank alone. */
  readonly meaning?: Meaning;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly writeTools: readonly string[];
  readonly reservedNames: ReadonlySet<string>;
}

/** Scope of an upstream's own credential. */
const OWN = 'own';

/** How often a listing that was forgotten meanwhile is asked for again. */
const MAX_ROUNDS = 5;

interface Asked {
  readonly entry: RosterEntry;
  readonly scope: string;
  /** Under which the listing is kept. */
  readonly key: string;
  readonly state: ListingState;
}

/** Upstreams that are listed within this time get into one view. */
const GATHER_MS = 300;

/** Measured with Node 20: a composition of 1,000 tools takes 0.2 MB beside the tools themselves. */
const COMPOSITION_BYTES = 4_000;
const COMPOSITION_BYTES_PER_TOOL = 220;

/** Of what views may take, the share of those whose listing is gone, and how long they are kept at the longest. */
const FORMER_SHARE = 0.25;
const FORMER_MS = 600_000;

/**
 * Composes what each caller may use: the upstreams' own listings, and those taken with the caller's credential.
 * What one caller's credential listed is kept under a key only that credential gives, and nothing of it is ever
 * looked at for another caller. Callers whose listings are the same, tool by tool, share what is made of them.
 */
export class Views {
  readonly #parts: ViewsParts;
  /** By what it was made of. */
  readonly #compositions: LRUCache<string, Composition>;
  /**
   * Those of which a listing is gone, kept for a while: the next one is mostly the same tools, whose documents and
   * vectors are then still there.
   */
  readonly #former: LRUCache<string, Composition>;
  /** The keys of compositions by the ids of their listings. */
  readonly #keysOf = new Map<number, Set<string>>();
  /** A number for each upstream's place in the roster, new when the roster changed it. */
  readonly #entryIds = new WeakMap<RosterEntry, number>();
  #lastEntryId = 0;
  /** Patterns of `writeTools` not yet seen to match any tool of anybody, nor reported. */
  readonly #unmatched: Set<string>;

  /** Nothing that is waited for will come any more. */
  #isClosed = false;

  constructor(parts: ViewsParts) {
    this.#parts = parts;
    this.#unmatched = new Set(parts.writeTools);
    const bytes = parts.limits.maxListingBytes * (1 - LISTINGS_SHARE);
    const maxSize = Math.max(1, Math.floor(bytes * (1 - FORMER_SHARE)));
    this.#compositions = new LRUCache({
      maxSize,
      // One that is larger than all there may be is kept alone.
      sizeCalculation: (composition) => Math.min(bytesOf(composition), maxSize),
      dispose: (composition, key, reason) => {
        // Deleted means moved to the former ones.
        if (reason === 'delete') return;
        this.#forgetKey(key, composition);
        composition.retire();
      },
    });
    this.#former = new LRUCache({
      maxSize: Math.max(1, Math.floor(bytes * FORMER_SHARE)),
      ttl: FORMER_MS,
      perf: parts.clock,
      dispose: (composition) => composition.retire(),
    });
    parts.listings.onGone((id, freedBytes) => this.#onGone(id, freedBytes));
    parts.roster.onToolsChanged((upstream) => parts.listings.changed(upstream));
  }

  /** Lists every upstream that has a credential of its own, but for those that start when needed. Never waits. */
  warm(): void {
    for (const entry of this.#parts.roster.entries)
      if (entry.record.auth === 'own' && !isLazy(entry)) this.#ask(entry, ANONYMOUS);
    if (this.#parts.meaning !== undefined) void this.#prepare();
  }

  /**
   * Makes the view that everybody has, as its upstreams come, so that tools get their vectors before anybody asks.
   * Where callers' own credentials say what they may use, or an upstream sleeps until it is needed, there is nothing
   * to make yet.
   */
  async #prepare(): Promise<void> {
    const { entries } = this.#parts.roster;
    if (entries.some((entry) => entry.record.auth !== 'own' || isLazy(entry))) return;
    for (;;) {
      const asked = this.#askAll(ANONYMOUS);
      if (asked.some(({ state }) => state.kind === 'ready')) await this.#compose(asked);
      const starting = startingOf(asked).map(({ settled }) => settled);
      if (starting.length === 0 || this.#isClosed) return;
      await Promise.race(starting);
      // Upstreams mostly come together: one view for all that do.
      await Promise.race([Promise.all(starting), pause(GATHER_MS)]);
    }
  }

  /** Resolves when no own upstream is starting any more, or after `ms`. */
  async settled(ms: number): Promise<void> {
    const end = this.#parts.clock.now() + ms;
    for (;;) {
      const asked = this.#parts.roster.entries.map((entry) => this.#ask(entry, ANONYMOUS));
      const starting = asked.flatMap(({ state }) => (state.kind === 'starting' ? [state.settled] : []));
      const left = end - this.#parts.clock.now();
      if (starting.length === 0 || left <= 0 || this.#isClosed) return;
      await Promise.race([Promise.all(starting), pause(left)]);
    }
  }

  /**
   * The caller's view, made of what is there. Waits for upstreams still starting only until `startWaitMs` after they
   * began, `emptyWaitMs` while none is ready, or, for a forwarded caller with nothing to use yet, until their first
   * listing is in. When there is nothing to use, throws an `UpstreamAuthError` if the caller's credential was refused,
   * a `BusyError` if there was no turn for their listing.
   */
  async view(caller: Caller, signal?: AbortSignal): Promise<View> {
    const asked = await this.#settle(caller, signal);
    throwIfRefused(asked, (error) => error instanceof UpstreamAuthError || error instanceof BusyError);
    return this.#compose(asked);
  }

  /** What upstreams told this caller to read first, as far as it is known now; waits at most `waitMs` for more. */
  async instructions(caller: Caller, waitMs: number): Promise<View['instructions']> {
    let asked = this.#askAwake(caller);
    const starting = startingOf(asked).map((state) => state.settled);
    if (starting.length > 0 && waitMs > 0) {
      await Promise.race([Promise.all(starting), pause(waitMs)]);
      asked = asked.map(withOutcome);
    }
    throwIfRefused(asked, (error) => error instanceof UpstreamAuthError);
    return instructionsOf(asked);
  }

  /** An upstream refused the caller's credential on a call: what it listed for them is not theirs any more. */
  drop(entry: RosterEntry, caller: Caller): void {
    if (entry.record.auth === 'forward') this.#parts.listings.drop(this.#keyOf(entry, caller).key);
  }

  /** An upstream refused a call as if it had no such tool, or another one: what it lists is looked at again. */
  doubt(entry: RosterEntry, caller: Caller): void {
    this.#parts.listings.doubt(this.#keyOf(entry, caller).key);
  }

  /**
   * What one upstream with a credential of its own lists, waited for until it is in, has failed, or `signal` aborts;
   * the others are not asked. Undefined when it is not among the enabled ones.
   */
  async listed(name: string, signal: AbortSignal): Promise<ListingState | undefined> {
    // What was asked for may be forgotten while it is waited for, but not again and again: then we are closing.
    for (let round = 1; ; round++) {
      const entry = this.#parts.roster.entries.find(({ record }) => record.name === name);
      if (entry === undefined || entry.record.auth !== 'own') return undefined;
      const { state } = this.#ask(entry, ANONYMOUS);
      if (state.kind !== 'starting' || signal.aborted || round > MAX_ROUNDS) return state;
      await Promise.race([state.settled, aborted(signal)]);
      if (state.outcome !== undefined) return state.outcome;
    }
  }

  /** The same without waiting, and without starting what nobody has needed yet. */
  peek(entry: RosterEntry): ListingState | undefined {
    if (entry.upstream === undefined) return { kind: 'failed', error: entry.failure };
    if (entry.record.auth !== 'own' || !this.#parts.listings.has(this.#keyOf(entry, ANONYMOUS).key))
      return undefined;
    return this.#ask(entry, ANONYMOUS).state;
  }

  /** These upstreams are not what they were; what they listed is taken again when it is next wanted. */
  forget(upstreams: readonly string[]): void {
    for (const upstream of upstreams) this.#parts.listings.forget(upstream);
    this.warm();
  }

  close(): void {
    this.#isClosed = true;
    this.#parts.listings.close();
    for (const composition of this.#compositions.values()) composition.retire();
    this.#compositions.clear();
    this.#former.clear();
    this.#keysOf.clear();
  }

  async #settle(caller: Caller, signal: AbortSignal | undefined): Promise<readonly Asked[]> {
    const { clock, limits } = this.#parts;
    // One listener, however often it waits.
    let gone: Promise<void> | undefined;
    let asked = this.#askAll(caller);
    for (;;) {
      const starting = startingOf(asked);
      if (starting.length === 0 || signal?.aborted || this.#isClosed) return asked;
      const isAnyReady = asked.some(({ state }) => state.kind === 'ready');
      const isForward = asked.some(
        ({ entry, state }) => entry.record.auth === 'forward' && state.kind === 'starting',
      );
      if (isForward && !isAnyReady) {
        gone ??= aborted(signal);
        await Promise.race([Promise.any(starting.map((state) => state.settled)), gone]);
      } else {
        const waitMs = isAnyReady ? limits.startWaitMs : limits.emptyWaitMs;
        const left = Math.max(...starting.map((state) => state.since + waitMs - clock.now()));
        if (left <= 0) return asked;
        // One that settles may be the first that is ready, after which less waiting is due.
        await Promise.race([...starting.map((state) => state.settled), pause(left, signal)]);
      }
      // What came is taken from here: among very many callers it may have been dropped to make room already.
      asked = asked.map(withOutcome);
      if (this.#isForgotten(asked)) asked = this.#askAll(caller);
    }
  }

  /** Whether something waited for will not come, because its upstream or its credential is not what it was. */
  #isForgotten(asked: readonly Asked[]): boolean {
    const { entries } = this.#parts.roster;
    return (
      asked.length !== entries.length ||
      asked.some(
        ({ entry, key, state }, n) =>
          entry !== entries[n] || (state.kind === 'starting' && !this.#parts.listings.has(key)),
      )
    );
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
      take: async ({ credential }) =>
        this.#parts.roster.admit(
          entry.record,
          await listTools(
            upstream,
            { scope, ...(credential === undefined ? {} : { credential }) },
            this.#parts.limits,
          ),
        ),
    });
    return { entry, scope, key, state };
  }

  #keyOf(entry: RosterEntry, caller: Caller): { scope: string; key: string } {
    if (entry.record.auth === 'own') return { scope: OWN, key: `${OWN}:${entry.record.name}` };
    const key = this.#parts.callerKey(entry.record.name, caller);
    return { scope: key, key };
  }

  async #compose(asked: readonly Asked[]): Promise<View> {
    const key = asked.map(({ entry, state }) => this.#partOfKey(entry, state)).join(' ');
    // Almost every request finds everything as the one before it did.
    let composition = this.#compositions.get(key);
    if (composition === undefined) {
      const pool = await this.#parts.pool();
      composition = this.#compositions.get(key);
      if (composition === undefined) {
        composition = this.#build(asked, pool);
        this.#keep(key, composition);
        this.#parts.meaning?.want(composition.documents);
      }
    }
    const whole = composition;
    const { meaning } = this.#parts;
    return {
      catalog: whole.catalog,
      dropped: whole.dropped,
      get index() {
        return whole.index;
      },
      search: (query, limit, vector) => whole.search(query, limit, vector),
      questionVectors: async (questions, signal) =>
        meaning !== undefined && canMean(whole.index.documents)
          ? meaning.questionVectors(questions, signal)
          : [],
      unavailable: asked.flatMap((one) =>
        unavailableOf(one, this.#parts.roster.waiting(one.entry.record.name)),
      ),
      instructions: instructionsOf(asked),
      route({ upstream }) {
        const route = asked.find(({ entry }) => entry.record.name === upstream);
        if (route === undefined) throw new Error('the tool is not of this view');
        return { entry: route.entry, scope: route.scope };
      },
    };
  }

  #keep(key: string, composition: Composition): void {
    this.#compositions.set(key, composition);
    for (const id of composition.listings) {
      const keys = this.#keysOf.get(id) ?? new Set();
      this.#keysOf.set(id, keys.add(key));
    }
  }

  #forgetKey(key: string, { listings }: Composition): void {
    for (const id of listings) {
      const keys = this.#keysOf.get(id);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysOf.delete(id);
    }
  }

  /** Nobody has this listing any more: what was made of it answers nobody, and alone keeps the definitions. */
  #onGone(id: number, freedBytes: number): void {
    this.#former.purgeStale();
    for (const key of this.#keysOf.get(id) ?? []) {
      const composition = this.#compositions.peek(key);
      if (composition === undefined) continue;
      this.#compositions.delete(key);
      this.#forgetKey(key, composition);
      const size = Math.min(bytesOf(composition) + freedBytes, this.#former.maxSize);
      this.#former.set(key, composition, { size });
    }
  }

  /** What of an upstream a composition depends on: who it is, and what it listed. */
  #partOfKey(entry: RosterEntry, state: ListingState): string {
    let id = this.#entryIds.get(entry);
    if (id === undefined) this.#entryIds.set(entry, (id = ++this.#lastEntryId));
    return state.kind === 'ready' ? `${id}:${state.id}` : `${id}`;
  }

  #build(asked: readonly Asked[], pool: DocumentPool): Composition {
    const { writeTools, reservedNames } = this.#parts;
    const parts = asked.flatMap(({ entry, state }) => {
      if (state.kind !== 'ready') return [];
      const { name: upstream, trusted } = entry.record;
      return [{ upstream, slug: entry.slug, trusted, tools: state.listing.tools }];
    });
    const catalog = buildCatalog(parts, { prefixed: asked.length > 1, writeTools, reservedNames });
    this.#reportUnmatched(catalog, parts.length === asked.length);
    const dropped = asked.flatMap(({ entry, state }) =>
      (state.kind === 'ready' ? state.listing.dropped : []).map((tool) => ({
        upstream: entry.record.name,
        ...tool,
      })),
    );
    const listings = asked.flatMap(({ state }) => (state.kind === 'ready' ? [state.id] : []));
    return new Composition(catalog, dropped, listings, pool);
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

/** What a set of listings makes, whoever has them. */
class Composition {
  readonly catalog: Catalog;
  readonly dropped: View['dropped'];
  /** The ids of the listings it was made of. */
  readonly listings: readonly number[];
  readonly #described: readonly Tool[];
  readonly #pool: DocumentPool;
  #index: ToolIndex | undefined;
  #isRetired = false;

  constructor(catalog: Catalog, dropped: View['dropped'], listings: readonly number[], pool: DocumentPool) {
    this.catalog = catalog;
    this.dropped = dropped;
    this.listings = listings;
    this.#described = catalog.tools.map(({ tool }) => tool);
    this.#pool = pool;
  }

  /** Open until the end of this turn of the event loop at least, whatever became of the composition meanwhile. */
  get index(): ToolIndex {
    if (this.#index === undefined) {
      this.#index = this.#open();
      if (this.#isRetired) this.retire();
    }
    return this.#index;
  }

  search(query: string, limit: number, vector: Float32Array | undefined): FoundTools {
    const { index, catalog } = this;
    const { matches, basis } = index.search(query, { limit, ...(vector === undefined ? {} : { vector }) });
    const filled = withNeighbours(index, this.#described, matches, limit);
    return { tools: filled.flatMap(({ position }) => catalog.tools[position] ?? []), basis };
  }

  /** Its documents without a vector; once it is retired there are none, and whoever comes back makes another. */
  get documents(): DocumentsToEmbed {
    const current = (): ToolIndex | undefined => (this.#isRetired ? undefined : this.index);
    return {
      get counts() {
        return current()?.documents ?? { all: 0, embedded: [] };
      },
      next: (limit, part) =>
        (current()?.unembedded(part) ?? []).slice(0, limit).map((position) => this.#toEmbed(position, part)),
    };
  }

  #toEmbed(position: number, part: number): DocumentToEmbed {
    return {
      text: meaningTextOf(this.catalog.tools[position]!),
      keep: (vector) => {
        if (!this.#isRetired) this.index.setVector(position, vector, part);
      },
    };
  }

  /** Its documents go back to the pool; whoever still holds it gets the same answers, more slowly. */
  retire(): void {
    this.#isRetired = true;
    setImmediate(() => {
      this.#index?.close();
      this.#index = undefined;
    });
  }

  #open(): ToolIndex {
    return this.#pool.openView(
      this.catalog.tools.map(({ exposedName, upstream, tool }) => ({
        exposedName,
        name: tool.name,
        upstream,
        ...(tool.title === undefined ? {} : { title: tool.title }),
        description: tool.description,
        inputSchema: tool.inputSchema,
        digest: tool.digest,
      })),
    );
  }
}

/** What an embedder reads of a tool in a catalog. */
export function meaningTextOf({ exposedName, upstream, tool }: CatalogTool): string {
  return meaningText({ name: tool.name, exposedName, upstream, description: tool.description });
}

function bytesOf({ catalog }: Composition): number {
  return COMPOSITION_BYTES + catalog.tools.length * COMPOSITION_BYTES_PER_TOOL;
}

function isLazy({ record: { transport } }: RosterEntry): boolean {
  return transport.kind === 'stdio' && transport.start === 'lazy';
}

function startingOf(asked: readonly Asked[]): readonly StartingState[] {
  return asked.flatMap(({ state }) => (state.kind === 'starting' ? [state] : []));
}

function unavailableOf({ entry, state }: Asked, waiting: string | undefined): readonly Unavailable[] {
  const { name } = entry.record;
  switch (state.kind) {
    case 'ready':
      return waiting === undefined ? [] : [{ name, state: 'waiting', reason: waiting }];
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

/** What came of a listing that was waited for, in the place of "starting". */
function withOutcome(asked: Asked): Asked {
  const { state } = asked;
  return state.kind === 'starting' && state.outcome !== undefined
    ? { ...asked, state: state.outcome }
    : asked;
}

/** A caller whom nothing lets in hears so, instead of being told that there are no tools. */
function throwIfRefused(asked: readonly Asked[], isRefusal: (error: ProxyError) => boolean): void {
  if (asked.some(({ state }) => state.kind === 'ready')) return;
  for (const { entry, state } of asked) {
    if (entry.record.auth === 'forward' && state.kind === 'failed' && isRefusal(state.error))
      throw state.error;
  }
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
}
