import { keepable, messageOf, ProxyError, UpstreamAuthError } from '../base/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Limits } from '../base/limits.ts';
import type { Observer } from '../base/observer.ts';
import type { Listing } from '../upstream/list-tools.ts';
import type { Caller } from './caller.ts';

/** One upstream's listing for one credential scope, wanted now. */
export interface ListingRequest {
  /** Unique for upstream and scope. */
  readonly key: string;
  readonly upstream: string;
  /** Whether it is the upstream's own listing, which is retried in the background until it comes. */
  readonly isOwn: boolean;
  /** Whose credential it is listed with; kept only while a listing is under way. */
  readonly caller: Caller;
  readonly take: (caller: Caller) => Promise<Listing>;
}

export type ListingState =
  | { readonly kind: 'ready'; readonly listing: Listing }
  | { readonly kind: 'starting'; readonly since: number; readonly settled: Promise<void> }
  | { readonly kind: 'failed'; readonly error: ProxyError };

interface Entry {
  readonly upstream: string;
  readonly isOwn: boolean;
  listing: Listing | undefined;
  /** When the listing was taken. */
  takenAt: number;
  /** When it is due again. */
  dueAt: number;
  failure: ProxyError | undefined;
  failures: number;
  running: { readonly since: number; readonly settled: Promise<void> } | undefined;
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

/** A failed listing of a forwarded caller is believed for this long, so that junk credentials cost one request. */
const FAILED_FORWARD_MS = 1_000;

/** Lifetimes vary by this share, so that many listings taken together do not come due together. */
const JITTER = 0.1;

/**
 * Listings, kept: served while young, taken again behind while they still serve, kept through network trouble for
 * `listingStaleMs`, dropped at once when the upstream refuses the credential. One listing of a key runs at a time,
 * whoever asks. Bounded by count; the longest unused goes first.
 */
export class Listings {
  readonly #entries = new Map<string, Entry>();
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #observer: Observer;
  #isClosed = false;

  constructor(parts: { readonly limits: Limits; readonly clock: Clock; readonly observer: Observer }) {
    this.#limits = parts.limits;
    this.#clock = parts.clock;
    this.#observer = parts.observer;
  }

  /** What is known now; starts a first listing, or one behind, when it is time. Never waits. */
  get(request: ListingRequest): ListingState {
    const entry = this.#entry(request);
    const now = this.#clock.now();
    if (entry.listing !== undefined && now - entry.takenAt > this.#limits.listingStaleMs) {
      entry.listing = undefined;
    }
    if (entry.running === undefined && now >= entry.dueAt) this.#start(entry, request);
    if (entry.listing !== undefined) return { kind: 'ready', listing: entry.listing };
    if (entry.running !== undefined) return { kind: 'starting', ...entry.running };
    if (entry.failure !== undefined) return { kind: 'failed', error: entry.failure };
    throw new Error('a listing is ready, running or failed');
  }

  /** Whether this listing was ever wanted; asking for it is what starts one. */
  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** The upstream refused this credential outside a listing: what was listed with it is no longer theirs. */
  drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    clearTimeout(entry.timer);
    entry.isDropped = true;
    this.#entries.delete(key);
  }

  /** An upstream is not what it was: whatever it listed, for whomever, is forgotten. */
  forget(upstream: string): void {
    for (const [key, entry] of this.#entries) if (entry.upstream === upstream) this.drop(key);
  }

  /** An upstream says its tools changed: its own listing is taken again, once for many notices in a row. */
  changed(upstream: string): void {
    for (const entry of this.#entries.values()) {
      if (entry.upstream !== upstream || !entry.isOwn || entry.isChanged) continue;
      entry.isChanged = true;
      if (entry.running === undefined) this.#schedule(entry, CHANGE_QUIET_MS);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const entry of this.#entries.values()) clearTimeout(entry.timer);
    this.#entries.clear();
  }

  #entry(request: ListingRequest): Entry {
    let entry = this.#entries.get(request.key);
    if (entry === undefined) {
      entry = {
        upstream: request.upstream,
        isOwn: request.isOwn,
        listing: undefined,
        takenAt: 0,
        dueAt: -Infinity,
        failure: undefined,
        failures: 0,
        running: undefined,
        again: undefined,
        isChanged: false,
        isDropped: false,
        timer: undefined,
      };
    }
    this.#entries.delete(request.key);
    this.#entries.set(request.key, entry);
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.maxListings) break;
      this.drop(key);
    }
    return entry;
  }

  #start(entry: Entry, request: ListingRequest): void {
    clearTimeout(entry.timer);
    entry.isChanged = false;
    if (entry.isOwn) {
      entry.again = () => {
        if (entry.running === undefined && !this.#isClosed) this.#start(entry, request);
      };
    }
    const since = this.#clock.now();
    // The credential goes into this one listing and is not kept with the entry.
    const settled = request.take(request.caller).then(
      (listing) => this.#onTaken(entry, listing, since),
      (thrown: unknown) => this.#onFailed(entry, request.key, thrown),
    );
    entry.running = { since, settled };
  }

  #onTaken(entry: Entry, listing: Listing, since: number): void {
    const now = this.#clock.now();
    const ttlMs = Math.min(this.#limits.listingTtlMs, listing.ttlMs ?? Infinity);
    entry.running = undefined;
    entry.listing = listing;
    entry.takenAt = now;
    entry.dueAt = now + ttlMs * (1 - JITTER * Math.random());
    entry.failure = undefined;
    entry.failures = 0;
    this.#observer({
      kind: 'listing',
      upstream: entry.upstream,
      tools: listing.tools.length,
      dropped: listing.dropped.map((tool) => `${tool.name}: ${tool.reason}`),
      ms: now - since,
    });
    // An own listing stays fresh by itself; a caller's is taken again when they come back, with what they present.
    if (entry.isChanged) this.#schedule(entry, CHANGE_QUIET_MS);
    else if (entry.isOwn) this.#schedule(entry, entry.dueAt - now);
  }

  #onFailed(entry: Entry, key: string, thrown: unknown): void {
    const now = this.#clock.now();
    const error =
      thrown instanceof ProxyError
        ? thrown
        : new ProxyError(
            'upstream_invalid',
            `Upstream '${entry.upstream}' could not be listed: ${messageOf(thrown)}`,
            {
              upstream: entry.upstream,
              cause: thrown,
            },
          );
    entry.running = undefined;
    entry.failure = keepable(error);
    entry.failures++;
    if (error instanceof UpstreamAuthError) entry.listing = undefined;
    const backoff = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (entry.failures - 1));
    const retryMs = entry.isOwn ? backoff * (1 - JITTER * Math.random()) : FAILED_FORWARD_MS;
    entry.dueAt = now + retryMs;
    this.#observer({
      kind: 'listing_failed',
      upstream: entry.upstream,
      code: error.code,
      reason: error.message,
    });
    if (entry.isOwn) this.#schedule(entry, retryMs);
    else if (entry.listing === undefined) this.#forgetLater(entry, key);
  }

  #schedule(entry: Entry, ms: number): void {
    if (this.#isClosed || entry.isDropped) return;
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => entry.again?.(), ms);
    entry.timer.unref();
  }

  /** A junk credential leaves nothing behind once its failure is no longer news. */
  #forgetLater(entry: Entry, key: string): void {
    if (this.#isClosed) return;
    entry.timer = setTimeout(() => {
      if (entry.running === undefined && entry.listing === undefined && this.#entries.get(key) === entry) {
        this.#entries.delete(key);
      }
    }, FAILED_FORWARD_MS);
    entry.timer.unref();
  }
}
