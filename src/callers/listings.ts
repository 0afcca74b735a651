import { BusyError, keepable, messageOf, ProxyError, UpstreamAuthError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Limits } from '../base/limits.ts';
import type { DropCause, Observer } from '../base/observer.ts';
import type { Listing } from '../upstream/list-tools.ts';
import type { Caller } from './caller.ts';
import { ListingPool } from './listing-pool.ts';
import type { HeldListing } from './listing-pool.ts';
import { Turns } from './turns.ts';

/** One upstream's listing for one credential scope, wanted now. */
export interface ListingRequest {
  /** Unique for upstream and scope. */
  readonly key: string;
  readonly upstream: string;
  /** Whether it is the upstream's own listing, which is retried in the background until it comes. */
  readonly isOwn: boolean;
  /** Whose credential it is listed with; kept only while a listing is under way or waits for its turn. */
  readonly caller: Caller;
  readonly take: (caller: Caller) => Promise<Listing>;
}

export type SettledState =
  /** Equal ids mean equal listings. */
  | { readonly kind: 'ready'; readonly listing: Listing; readonly id: number }
  | { readonly kind: 'failed'; readonly error: ProxyError };

export type ListingState = SettledState | StartingState;

export interface StartingState {
  readonly kind: 'starting';
  readonly since: number;
  /** Resolves when this listing is in or has failed; never rejects. */
  readonly settled: Promise<void>;
  /** What became of it, for whoever waited for just this one; absent also when it was forgotten meanwhile. */
  readonly outcome: SettledState | undefined;
}

interface Running {
  readonly kind: 'starting';
  readonly since: number;
  settled: Promise<void>;
  outcome: SettledState | undefined;
}

interface Entry {
  readonly key: string;
  readonly upstream: string;
  readonly isOwn: boolean;
  held: HeldListing | undefined;
  /** When the listing was taken. */
  takenAt: number;
  /** When it is due again. */
  dueAt: number;
  failure: ProxyError | undefined;
  failedAt: number;
  failures: number;
  running: Running | undefined;
  /** For own listings: how to take it again when the upstream says it changed, or after a failure. */
  again: (() => void) | undefined;
  isChanged: boolean;
  /** Forgotten while a listing was under way, which must not bring it back. */
  isDropped: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** Waiting before a failed listing is tried again: 1 s doubling to a minute. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/** Change notices within this time are one change. */
const CHANGE_QUIET_MS = 150;

/** A first listing that failed for a caller is believed for this long, so that a bad credential costs one request. */
const FAILED_FORWARD_MS = 1_000;
/** Failures remembered like that at the same time; the oldest is forgotten first. */
const MOST_FAILED = 1_000;

/** Lifetimes vary by this share, so that many listings taken together do not come due together. */
const JITTER = 0.1;

/** An upstream that allows keeping its listing for less than this is listed no more often all the same. */
const SHORTEST_TTL_MS = 1_000;

/** A listing younger than this is not doubted: the upstream refused a call for some other reason. */
const DOUBT_AFTER_MS = 10_000;

/** How often listings nobody asks for any more are looked through. */
const SWEEP_MS = 60_000;

/** Of `maxListingBytes`, what the listings themselves may take; the rest is for what views make of them. */
export const LISTINGS_SHARE = 0.75;

/**
 * Listings, kept: served while young, taken again behind while they still serve, kept through network trouble for
 * `listingStaleMs`, dropped at once when the upstream refuses the credential. One listing of a key runs at a time,
 * whoever asks, and `maxListingsAtOnce` of callers' listings of an upstream.
 *
 * Callers' listings are bounded by count and by memory; the longest unused goes first, and who comes back is listed
 * anew. A credential whose listing never came leaves nothing behind but, for a second, that it failed; many of them
 * push out nobody else's. An upstream's own listing is never pushed out.
 */
export class Listings {
  readonly #own = new Map<string, Entry>();
  /** Callers' entries with a listing, the longest unused first; their first under way; their first failed. */
  readonly #kept = new Map<string, Entry>();
  readonly #pending = new Map<string, Entry>();
  readonly #failed = new Map<string, Entry>();
  readonly #pool = new ListingPool((id, freedBytes) => this.#onGone(id, freedBytes));
  readonly #turns = new Map<string, Turns>();
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #observer: Observer;
  #onGone: (id: number, freedBytes: number) => void = () => undefined;
  #isClosed = false;
  #isCrowded = false;
  #sweeper: NodeJS.Timeout | undefined;
  #forgetter: NodeJS.Timeout | undefined;

  constructor(parts: { readonly limits: Limits; readonly clock: Clock; readonly observer: Observer }) {
    this.#limits = parts.limits;
    this.#clock = parts.clock;
    this.#observer = parts.observer;
  }

  /**
   * The one to be told when nobody has the listing of an id any more, and how many bytes of tool definitions are now
   * kept only by whoever made something of it.
   */
  onGone(listener: (id: number, freedBytes: number) => void): void {
    this.#onGone = listener;
  }

  /** What is known now; starts a first listing, or one behind, when it is time. Never waits. */
  get(request: ListingRequest): ListingState {
    const entry = this.#find(request.key) ?? this.#add(request);
    const now = this.#clock.now();
    if (entry.held !== undefined && now - entry.takenAt > this.#limits.listingStaleMs) {
      this.#release(entry);
      if (entry.failure === undefined) entry.dueAt = now;
    }
    if (entry.running === undefined && now >= entry.dueAt) this.#start(entry, request);
    this.#place(entry);
    if (entry.held !== undefined) {
      if (entry.failure !== undefined) this.#observer({ kind: 'stale', upstream: entry.upstream });
      return readyState(entry.held);
    }
    if (entry.running !== undefined) return entry.running;
    if (entry.failure !== undefined) return { kind: 'failed', error: entry.failure };
    throw new Error('a listing is ready, running or failed');
  }

  /** Whether this listing was ever wanted; asking for it is what starts one. */
  has(key: string): boolean {
    return this.#find(key) !== undefined;
  }

  /** How much is kept: callers' listings, different listings and definitions among them, estimated memory. */
  get held(): {
    readonly callers: number;
    readonly listings: number;
    readonly tools: number;
    readonly bytes: number;
  } {
    return { callers: this.#kept.size, ...this.#pool.size, bytes: this.#pool.bytes };
  }

  /** The upstream refused this credential outside a listing: what was listed with it is no longer theirs. */
  drop(key: string): void {
    const entry = this.#find(key);
    if (entry !== undefined) this.#forget(entry);
  }

  /** An upstream is not what it was: whatever it listed, for whomever, is forgotten. */
  forget(upstream: string): void {
    for (const entry of this.#all()) if (entry.upstream === upstream) this.#forget(entry);
    this.#turns.delete(upstream);
  }

  /** An upstream says its tools changed: its own listing is taken again, once for many notices in a row. */
  changed(upstream: string): void {
    for (const entry of this.#own.values()) {
      if (entry.upstream !== upstream || entry.isChanged) continue;
      entry.isChanged = true;
      if (entry.running === undefined) this.#schedule(entry, CHANGE_QUIET_MS);
    }
  }

  /** An upstream refused a call as if its tools were other than listed: they are listed again when next wanted. */
  doubt(key: string): void {
    const entry = this.#find(key);
    if (entry?.held === undefined || entry.running !== undefined) return;
    if (this.#clock.now() - entry.takenAt < DOUBT_AFTER_MS) return;
    if (entry.isOwn) this.changed(entry.upstream);
    else entry.dueAt = this.#clock.now();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#sweeper);
    clearTimeout(this.#forgetter);
    for (const entry of this.#all()) this.#forget(entry);
  }

  #find(key: string): Entry | undefined {
    return this.#own.get(key) ?? this.#kept.get(key) ?? this.#pending.get(key) ?? this.#failed.get(key);
  }

  *#all(): Iterable<Entry> {
    yield* this.#own.values();
    yield* this.#kept.values();
    yield* this.#pending.values();
    yield* this.#failed.values();
  }

  #add({ key, upstream, isOwn }: ListingRequest): Entry {
    return {
      key,
      upstream,
      isOwn,
      held: undefined,
      takenAt: 0,
      dueAt: -Infinity,
      failure: undefined,
      failedAt: 0,
      failures: 0,
      running: undefined,
      again: undefined,
      isChanged: false,
      isDropped: false,
      timer: undefined,
    };
  }

  /** Puts the entry where its state belongs, as the one used last, and keeps the bounds. */
  #place(entry: Entry): void {
    if (entry.isDropped || this.#isClosed) return;
    const { key } = entry;
    if (entry.isOwn) {
      this.#own.set(key, entry);
      return;
    }
    const place =
      entry.held !== undefined ? this.#kept : entry.running !== undefined ? this.#pending : this.#failed;
    // What failed stays in the order it failed in.
    if (place === this.#failed && place.has(key)) return;
    for (const map of [this.#kept, this.#pending, this.#failed]) map.delete(key);
    place.set(key, entry);
    if (place === this.#kept) this.#sweepLater();
    if (place === this.#failed) {
      const [oldest] = place.values();
      if (place.size > MOST_FAILED && oldest !== undefined) this.#forget(oldest);
      this.#forgetFailedLater();
    }
  }

  #start(entry: Entry, request: ListingRequest): void {
    clearTimeout(entry.timer);
    const since = this.#clock.now();
    let take = (): Promise<Listing> => request.take(request.caller);
    if (entry.isOwn) {
      entry.again = () => {
        if (entry.running === undefined && !this.#isClosed) this.#start(entry, request);
      };
    } else {
      const turns = this.#turnsOf(entry.upstream);
      if (turns.isFull && entry.held !== undefined) {
        // The one there is serves on; its caller's next request may find a free place.
        entry.dueAt = since + FIRST_RETRY_MS;
        return;
      }
      const taken = take;
      take = () => turns.run(taken, () => this.#tooMany(entry.upstream));
    }
    entry.isChanged = false;
    const running: Running = { kind: 'starting', since, settled: Promise.resolve(), outcome: undefined };
    entry.running = running;
    // The credential goes into this one listing and is not kept with the entry.
    running.settled = take().then(
      (listing) => this.#onTaken(entry, running, listing),
      (thrown: unknown) => this.#onFailed(entry, running, thrown),
    );
  }

  #turnsOf(upstream: string): Turns {
    let turns = this.#turns.get(upstream);
    if (turns === undefined) {
      turns = new Turns(this.#limits.maxListingsAtOnce, this.#limits.listingQueueMs);
      this.#turns.set(upstream, turns);
    }
    return turns;
  }

  #tooMany(upstream: string): BusyError {
    const { maxListingsAtOnce, listingQueueMs } = this.#limits;
    return new BusyError(
      `Upstream '${upstream}' is being listed for ${maxListingsAtOnce} other callers (limit maxListingsAtOnce), and there was no turn within ${listingQueueMs} ms (limit listingQueueMs).`,
      1,
      upstream,
    );
  }

  #onTaken(entry: Entry, running: Running, listing: Listing): void {
    const now = this.#clock.now();
    entry.running = undefined;
    this.#observer({
      kind: 'listing',
      upstream: entry.upstream,
      tools: listing.tools.length,
      dropped: listing.dropped.map((tool) => `${tool.name}: ${tool.reason}`),
      causes: countsOf(listing.dropped),
      ms: now - running.since,
    });
    if (entry.isDropped || this.#isClosed) return;
    const before = entry.held;
    entry.held = this.#pool.hold(entry.upstream, listing);
    // After the new one is held, so that what both have stays.
    if (before !== undefined) this.#pool.release(before);
    const ttlMs = Math.max(SHORTEST_TTL_MS, Math.min(this.#limits.listingTtlMs, listing.ttlMs ?? Infinity));
    entry.takenAt = now;
    entry.dueAt = now + ttlMs * (1 - JITTER * Math.random());
    entry.failure = undefined;
    entry.failures = 0;
    running.outcome = readyState(entry.held);
    this.#place(entry);
    this.#keepBounds(entry);
    // An own listing stays fresh by itself; a caller's is taken again when they come back, with what they present.
    if (entry.isChanged) this.#schedule(entry, CHANGE_QUIET_MS);
    else if (entry.isOwn) this.#schedule(entry, entry.dueAt - now);
  }

  #onFailed(entry: Entry, running: Running, thrown: unknown): void {
    const now = this.#clock.now();
    const error =
      thrown instanceof ProxyError
        ? thrown
        : new ProxyError(
            'upstream_invalid',
            `Upstream '${entry.upstream}' could not be listed: ${messageOf(thrown)}`,
            { upstream: entry.upstream, cause: thrown },
          );
    entry.running = undefined;
    entry.failure = keepable(error);
    entry.failedAt = now;
    entry.failures++;
    this.#observer({
      kind: 'listing_failed',
      upstream: entry.upstream,
      code: error.code,
      reason: error.message,
    });
    if (entry.isDropped || this.#isClosed) return;
    if (error instanceof UpstreamAuthError) this.#release(entry);
    const backoff = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (entry.failures - 1));
    const isFirst = !entry.isOwn && entry.held === undefined;
    const retryMs = isFirst ? FAILED_FORWARD_MS : backoff * (1 - JITTER * Math.random());
    entry.dueAt = now + retryMs;
    running.outcome = { kind: 'failed', error };
    this.#place(entry);
    if (entry.isOwn) this.#schedule(entry, retryMs);
  }

  #release(entry: Entry): void {
    if (entry.held !== undefined) this.#pool.release(entry.held);
    entry.held = undefined;
  }

  #forget(entry: Entry): void {
    clearTimeout(entry.timer);
    entry.isDropped = true;
    for (const map of [this.#own, this.#kept, this.#pending, this.#failed]) {
      if (map.get(entry.key) === entry) map.delete(entry.key);
    }
    this.#release(entry);
  }

  /** Makes room by callers' listings that were not used for longest, all but the one just taken. */
  #keepBounds(taken: Entry): void {
    const { maxListings, maxListingBytes } = this.#limits;
    const mostBytes = maxListingBytes * LISTINGS_SHARE;
    for (const entry of this.#kept.values()) {
      const isFull = this.#kept.size > maxListings;
      if (!isFull && this.#pool.bytes <= mostBytes) return;
      if (entry === taken) continue;
      this.#observer({
        kind: 'evicted',
        upstream: entry.upstream,
        limit: isFull ? 'maxListings' : 'maxListingBytes',
      });
      if (!this.#isCrowded) {
        this.#isCrowded = true;
        const limit = isFull ? `maxListings is ${maxListings}` : `maxListingBytes is ${maxListingBytes}`;
        this.#observer({
          kind: 'note',
          message: `Not every caller's listing fits (${limit}); who was away longest is listed again on coming back.`,
        });
      }
      this.#forget(entry);
    }
  }

  #schedule(entry: Entry, ms: number): void {
    if (this.#isClosed || entry.isDropped) return;
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => entry.again?.(), ms);
    entry.timer.unref();
  }

  /** A listing that is too old to serve serves nobody who comes back. */
  #sweepLater(): void {
    this.#sweeper ??= setTimeout(() => {
      this.#sweeper = undefined;
      const oldest = this.#clock.now() - this.#limits.listingStaleMs;
      for (const entry of this.#kept.values()) {
        if (entry.takenAt < oldest && entry.running === undefined) this.#forget(entry);
      }
      for (const [upstream, turns] of this.#turns) if (turns.isIdle) this.#turns.delete(upstream);
      if (this.#kept.size > 0) this.#sweepLater();
    }, SWEEP_MS).unref();
  }

  /** A junk credential leaves nothing behind once its failure is no longer news. */
  #forgetFailedLater(): void {
    this.#forgetter ??= setTimeout(() => {
      this.#forgetter = undefined;
      const now = this.#clock.now();
      for (const entry of this.#failed.values()) {
        if (now - entry.failedAt < FAILED_FORWARD_MS) break;
        this.#forget(entry);
      }
      if (this.#failed.size > 0) this.#forgetFailedLater();
    }, FAILED_FORWARD_MS).unref();
  }
}

function countsOf(dropped: Listing['dropped']): Partial<Record<DropCause, number>> {
  const counts: Partial<Record<DropCause, number>> = {};
  for (const { cause } of dropped) counts[cause] = (counts[cause] ?? 0) + 1;
  return counts;
}

function readyState({ listing, id }: HeldListing): SettledState {
  return { kind: 'ready', listing, id };
}
