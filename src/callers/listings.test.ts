import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ProxyError, UpstreamAuthError } from '../base/errors.ts';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import { silentObserver } from '../base/observer.ts';
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
    listings = new Listings({ limits: DEFAULT_LIMITS, clock: { now: () => now }, observer: silentObserver });
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
