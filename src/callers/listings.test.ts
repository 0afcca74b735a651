import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ProxyError, UpstreamAuthError } from '../base/errors.ts';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import type { Listing } from '../upstream/list-tools.ts';
import { ANONYMOUS, callerOf, createCallerKey } from './caller.ts';
import { Listings } from './listings.ts';
import type { ListingRequest, ListingState } from './listings.ts';

const MINUTE = 60_000;

function listing(name: string, ttlMs?: number): Listing {
  const tool = { name, description: '', inputSchema: {}, annotations: {}, digest: name };
  return { tools: [tool], dropped: [], ...(ttlMs === undefined ? {} : { ttlMs }) };
}

function names(state: ListingState): unknown {
  return state.kind === 'ready' ? state.listing.tools.map((t) => t.name) : state.kind;
}

describe('listings', () => {
  let now = 0;
  let answers: (Listing | Error)[] = [];
  let taken = 0;
  let listings: Listings;
  let events: string[] = [];
  const request = (change: Partial<ListingRequest> = {}): ListingRequest => ({
    key: 'k',
    upstream: 'u',
    isOwn: false,
    caller: ANONYMOUS,
    take: () => {
      taken++;
      const answer = answers.shift() ?? listing('later');
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    ...change,
  });
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };

  beforeEach(() => {
    vi.useFakeTimers();
    now = 1_000;
    taken = 0;
    answers = [];
    events = [];
    listings = new Listings({
      limits: DEFAULT_LIMITS,
      clock: { now: () => now },
      observer: (event) => events.push(event.kind),
    });
  });
  afterEach(() => {
    listings.close();
    vi.useRealTimers();
  });

  it('are taken once, whoever asks meanwhile, and kept ten minutes', async () => {
    answers = [listing('one')];
    expect([1, 2, 3].map(() => listings.get(request()).kind)).toEqual(['starting', 'starting', 'starting']);
    await pass(0);
    expect(names(listings.get(request()))).toEqual(['one']);
    await pass(8 * MINUTE);
    expect(names(listings.get(request()))).toEqual(['one']);
    expect(taken).toBe(1);
  });

  it('are taken again behind while the old one serves', async () => {
    answers = [listing('old'), listing('new')];
    listings.get(request());
    await pass(0);
    await pass(11 * MINUTE);
    expect(names(listings.get(request()))).toEqual(['old']);
    await pass(0);
    expect(names(listings.get(request()))).toEqual(['new']);
  });

  it('are kept for as long as the upstream says, when that is shorter', async () => {
    answers = [listing('brief', 1_000), listing('new')];
    listings.get(request());
    await pass(0);
    await pass(1_500);
    listings.get(request());
    await pass(0);
    expect(names(listings.get(request()))).toEqual(['new']);
  });

  it('outlive network trouble for half an hour, and no longer', async () => {
    const trouble = new ProxyError('upstream_unreachable', 'gone');
    answers = [listing('old'), ...Array.from({ length: 100 }, () => trouble)];
    listings.get(request());
    await pass(0);
    for (let minute = 0; minute < 29; minute++) {
      await pass(MINUTE);
      expect(names(listings.get(request()))).toEqual(['old']);
    }
    // Told each time, once there was trouble.
    expect(events.filter((kind) => kind === 'stale').length).toBeGreaterThan(10);
    await pass(2 * MINUTE);
    listings.get(request());
    await pass(0);
    expect(names(listings.get(request()))).toBe('failed');
  });

  it('are dropped at once when the credential is refused', async () => {
    answers = [listing('secret'), new UpstreamAuthError('u', 401, undefined)];
    listings.get(request());
    await pass(0);
    await pass(11 * MINUTE);
    listings.get(request());
    await pass(0);
    expect(names(listings.get(request()))).toBe('failed');
  });

  it('of junk credentials leave nothing behind', async () => {
    const refused = new UpstreamAuthError('u', 401, 'Bearer');
    for (let n = 0; n < 50; n++) {
      answers = [refused];
      listings.get(request({ key: `junk ${n}` }));
      await pass(0);
    }
    await pass(2_000);
    taken = 0;
    answers = [listing('x')];
    listings.get(request({ key: 'junk 1' }));
    expect(taken).toBe(1);
  });

  it('of an own upstream are tried again until they come, with growing pauses', async () => {
    const trouble = new ProxyError('upstream_exited', 'crashed');
    answers = [trouble, trouble, trouble, listing('at last')];
    const own = request({ isOwn: true });
    listings.get(own);
    await pass(0);
    expect(listings.get(own)).toMatchObject({ kind: 'failed', error: { code: 'upstream_exited' } });
    await pass(8_000);
    expect(names(listings.get(own))).toEqual(['at last']);
    expect(taken).toBe(4);
  });

  it('are taken again once for many change notices in a row', async () => {
    const own = request({ isOwn: true });
    answers = [listing('before'), listing('after')];
    listings.get(own);
    await pass(0);
    for (let n = 0; n < 50; n++) listings.changed('u');
    await pass(1_000);
    expect(names(listings.get(own))).toEqual(['after']);
    expect(taken).toBe(2);
  });
});

describe('listings among many callers', () => {
  let now = 0;
  let evicted: string[] = [];
  const open = (limits: Partial<typeof DEFAULT_LIMITS> = {}): Listings =>
    new Listings({
      limits: { ...DEFAULT_LIMITS, ...limits },
      clock: { now: () => now },
      observer: (event) => {
        if (event.kind === 'evicted') evicted.push(event.limit);
      },
    });
  const request = (key: string, take: ListingRequest['take']): ListingRequest => ({
    key,
    upstream: 'u',
    isOwn: false,
    caller: ANONYMOUS,
    take,
  });
  const gives =
    (...names: string[]) =>
    (): Promise<Listing> =>
      Promise.resolve({ tools: names.flatMap((name) => listing(name).tools), dropped: [] });
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  let listings: Listings;

  beforeEach(() => {
    vi.useFakeTimers();
    now = 1_000;
    evicted = [];
  });
  afterEach(() => {
    listings.close();
    vi.useRealTimers();
  });

  it('are one when they are the same, and each definition is kept once', async () => {
    listings = open();
    for (let n = 0; n < 100; n++) listings.get(request(`same ${n}`, gives('a', 'b')));
    listings.get(request('other', gives('b', 'c')));
    await pass(0);
    expect(listings.held).toMatchObject({ callers: 101, listings: 2, tools: 3 });
    const ids = [0, 1, 2].map((n) => listings.get(request(`same ${n}`, gives())));
    expect(new Set(ids.map((state) => state.kind === 'ready' && state.id)).size).toBe(1);
    expect(names(listings.get(request('other', gives())))).toEqual(['b', 'c']);
    for (let n = 0; n < 100; n++) listings.drop(`same ${n}`);
    expect(listings.held).toMatchObject({ callers: 1, listings: 1, tools: 2 });
    listings.drop('other');
    expect(listings.held).toEqual({ callers: 0, listings: 0, tools: 0, bytes: 0 });
  });

  it('keep what they have when a refresh brings the same, and its identity', async () => {
    listings = open();
    listings.get(request('k', gives('a')));
    await pass(0);
    const before = listings.get(request('k', gives('a')));
    await pass(11 * MINUTE);
    listings.get(request('k', gives('a')));
    await pass(0);
    expect(listings.get(request('k', gives('a')))).toEqual(before);
    expect(listings.held.tools).toBe(1);
  });

  it('are pushed out by count, the longest unused first, and an own one never', async () => {
    listings = open({ maxListings: 3 });
    listings.get({ ...request('own', gives('own')), isOwn: true });
    for (const key of ['a', 'b', 'c']) {
      listings.get(request(key, gives(key)));
      await pass(0);
    }
    listings.get(request('a', gives('never asked')));
    listings.get(request('d', gives('d')));
    await pass(0);
    expect(['own', 'a', 'b', 'c', 'd'].filter((key) => listings.has(key))).toEqual(['own', 'a', 'c', 'd']);
    expect(names(listings.get(request('b', gives('again'))))).toBe('starting');
    expect(evicted).toContain('maxListings');
  });

  it('are pushed out by memory too, but never the one just taken', async () => {
    listings = open({ maxListingBytes: 20_000 });
    const large = (n: number) => (): Promise<Listing> => {
      const [tool] = listing(`t${n}`).tools;
      return Promise.resolve({ tools: [{ ...tool!, description: 'x'.repeat(3_000) }], dropped: [] });
    };
    for (let n = 0; n < 50; n++) {
      listings.get(request(`k${n}`, large(n)));
      await pass(0);
      expect(listings.held.bytes).toBeLessThanOrEqual(15_000);
      expect(listings.has(`k${n}`)).toBe(true);
    }
    expect(listings.held.callers).toBe(3);
    expect(listings.has('k0')).toBe(false);
  });

  it('tell whoever waited what came, also when it was pushed out at once', async () => {
    listings = open({ maxListings: 1 });
    const waiting = ['a', 'b', 'c'].map((key) => listings.get(request(key, gives(key))));
    await pass(0);
    expect(
      waiting.map((state) => state.kind === 'starting' && state.outcome && names(state.outcome)),
    ).toEqual([['a'], ['b'], ['c']]);
    expect(listings.held.callers).toBe(1);
  });

  it('of junk credentials leave nothing behind, however many, and push nobody out', async () => {
    listings = open({ maxListings: 10 });
    for (let n = 0; n < 10; n++) listings.get(request(`good ${n}`, gives(`${n}`)));
    await pass(0);
    const refuses = (): Promise<Listing> => Promise.reject(new UpstreamAuthError('u', 401, 'Bearer'));
    let asked = 0;
    for (let n = 0; n < 20_000; n++) {
      const junk = request(`junk ${n}`, () => {
        asked++;
        return refuses();
      });
      listings.get(junk);
      if (n % 16 === 15) await pass(0);
      if (n % 1_600 === 1_599) expect(listings.get(junk).kind).toBe('failed');
    }
    expect(asked).toBe(20_000);
    await pass(3_000);
    expect(listings.held.callers).toBe(10);
    for (let n = 0; n < 20_000; n += 997) expect(listings.has(`junk ${n}`)).toBe(false);
    for (let n = 0; n < 10; n++) expect(names(listings.get(request(`good ${n}`, gives())))).toEqual([`${n}`]);
  });

  it('are taken sixteen at a time; who gets no turn in five seconds is told so', async () => {
    listings = open();
    let running = 0;
    let most = 0;
    const slow = async (): Promise<Listing> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      running--;
      return listing('x');
    };
    const states = Array.from({ length: 100 }, (_, n) => listings.get(request(`k${n}`, slow)));
    expect(states.every(({ kind }) => kind === 'starting')).toBe(true);
    for (let n = 0; n < 20; n++) await pass(500);
    expect(most).toBe(16);
    const outcomes = states.map((state) => (state.kind === 'starting' ? state.outcome : undefined));
    // Turns begin at 0, 2 and 4 seconds; the next would at 6.
    expect(outcomes.filter((outcome) => outcome?.kind === 'ready')).toHaveLength(48);
    const turnedAway = outcomes.flatMap((outcome) => (outcome?.kind === 'failed' ? [outcome.error] : []));
    expect(turnedAway).toHaveLength(52);
    expect(turnedAway[0]).toMatchObject({ code: 'busy', retryAfterS: 1, outcome: 'not_sent' });
    expect(turnedAway[0]?.message).toContain('maxListingsAtOnce');
    expect(names(listings.get(request('late', slow)))).toBe('starting');
  });

  it('of other upstreams and own ones wait for nobody', async () => {
    listings = open({ maxListingsAtOnce: 1 });
    const never = (): Promise<Listing> => new Promise(() => undefined);
    listings.get(request('hangs', never));
    listings.get(request('waits', gives('late')));
    listings.get({ ...request('elsewhere', gives('there')), upstream: 'v' });
    listings.get({ ...request('own', gives('own')), isOwn: true });
    await pass(0);
    const state = (key: string): unknown => names(listings.get(request(key, never)));
    expect(names(listings.get({ ...request('elsewhere', never), upstream: 'v' }))).toEqual(['there']);
    expect(state('own')).toEqual(['own']);
    expect(state('waits')).toBe('starting');
  });

  it('are taken again behind only when there is a turn', async () => {
    listings = open({ maxListingsAtOnce: 1 });
    listings.get(request('good', gives('old')));
    await pass(0);
    await pass(11 * MINUTE);
    listings.get(request('hangs', () => new Promise(() => undefined)));
    let asked = 0;
    const again = request('good', () => {
      asked++;
      return Promise.resolve(listing('new'));
    });
    for (let n = 0; n < 5; n++) {
      expect(names(listings.get(again))).toEqual(['old']);
      await pass(1_100);
    }
    expect(asked).toBe(0);
    listings.drop('hangs');
  });

  it('come due apart from each other', async () => {
    listings = open();
    for (let n = 0; n < 1_000; n++) listings.get(request(`k${n}`, gives('a')));
    for (let n = 0; n < 100; n++) await pass(0);
    let due = 0;
    const count = (n: number): ListingRequest =>
      request(`k${n}`, () => {
        due++;
        return Promise.resolve(listing('a'));
      });
    const perSecond: number[] = [];
    await pass(9 * MINUTE - 2_000);
    for (let second = 0; second < 72; second++) {
      const before = due;
      for (let n = 0; n < 1_000; n++) listings.get(count(n));
      await pass(1_000);
      perSecond.push(due - before);
    }
    expect(due).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...perSecond)).toBeLessThan(60);
    expect(perSecond.filter((many) => many > 0).length).toBeGreaterThan(50);
  });

  it('that are too old to serve are let go, though nobody asks for them', async () => {
    listings = open();
    for (let n = 0; n < 10; n++) listings.get(request(`k${n}`, gives('a')));
    await pass(0);
    await pass(29 * MINUTE);
    expect(listings.held.callers).toBe(10);
    await pass(3 * MINUTE);
    expect(listings.held).toEqual({ callers: 0, listings: 0, tools: 0, bytes: 0 });
  });

  it('are tried again with growing pauses while the old one serves', async () => {
    listings = open();
    listings.get(request('k', gives('old')));
    await pass(0);
    await pass(10 * MINUTE);
    let asked = 0;
    const fails = request('k', () => {
      asked++;
      return Promise.reject(new ProxyError('upstream_unreachable', 'gone'));
    });
    for (let second = 0; second < 120; second++) {
      expect(names(listings.get(fails))).toEqual(['old']);
      await pass(1_000);
    }
    // After 0, 1, 3, 7, 15, 31, 63 seconds, and then each minute, a tenth earlier at most.
    expect(asked).toBeGreaterThanOrEqual(7);
    expect(asked).toBeLessThanOrEqual(9);
  });

  it('are doubted when a call says otherwise, but not the young', async () => {
    listings = open();
    listings.get(request('k', gives('old')));
    await pass(0);
    listings.doubt('k');
    expect(names(listings.get(request('k', gives('new'))))).toEqual(['old']);
    await pass(0);
    expect(names(listings.get(request('k', gives('new'))))).toEqual(['old']);
    await pass(11_000);
    listings.doubt('k');
    expect(names(listings.get(request('k', gives('new'))))).toEqual(['old']);
    await pass(0);
    expect(names(listings.get(request('k', gives('new'))))).toEqual(['new']);
  });

  it('with no time to keep them are not listed without end', async () => {
    listings = open();
    let asked = 0;
    const own: ListingRequest = {
      ...request('own', () => {
        asked++;
        return Promise.resolve(listing('x', 0));
      }),
      isOwn: true,
    };
    listings.get(own);
    await pass(10_000);
    expect(asked).toBeLessThanOrEqual(12);
  });

  it('that are dropped or of a changed upstream do not come back from a listing under way', async () => {
    listings = open();
    const answers: ((listing: Listing) => void)[] = [];
    const held = request('k', () => new Promise((resolve) => answers.push(resolve)));
    const waiting = listings.get(held);
    listings.drop('k');
    answers[0]?.(listing('old'));
    await pass(0);
    expect(waiting.kind === 'starting' && waiting.outcome).toBeUndefined();
    expect(listings.has('k')).toBe(false);
    expect(listings.held.bytes).toBe(0);
  });
});

describe('caller keys', () => {
  const key = createCallerKey();

  it('differ by credential and by place, and are the same again', () => {
    const alice = callerOf('Bearer alice');
    const keys = [key('a', alice), key('b', alice), key('a', callerOf('Bearer bob')), key('a', ANONYMOUS)];
    expect(new Set(keys).size).toBe(4);
    expect(key('a', callerOf('Bearer alice'))).toBe(keys[0]);
  });

  it('mean nothing in another process', () => {
    expect(createCallerKey()('a', callerOf('Bearer alice'))).not.toBe(key('a', callerOf('Bearer alice')));
  });

  it('never show the credential', () => {
    const caller = callerOf('Bearer canary');
    expect(JSON.stringify(caller) + String(caller.credential) + key('a', caller)).not.toContain('canary');
    expect(callerOf('   ').credential).toBeUndefined();
  });
});
