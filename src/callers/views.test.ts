import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { UpstreamAuthError, ProxyError } from '../base/errors.ts';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import type { Limits } from '../base/limits.ts';
import { silentObserver } from '../base/observer.ts';
import { similarNames } from '../catalog/near-name.ts';
import type { UpstreamRecord } from '../roster/record.ts';
import { Roster } from '../roster/roster.ts';
import { createDocumentPool } from '../search/index.ts';
import type { DocumentPool } from '../search/tool-index.ts';
import type { Peer, RequestContext, Upstream } from '../upstream/upstream.ts';
import { callerOf, createCallerKey } from './caller.ts';
import { Listings } from './listings.ts';
import type { View } from './view.ts';
import { Views } from './views.ts';

const PEER: Peer = { era: 'modern', protocolVersion: '2026-07-28' };

/** An upstream that lists by credential: names, an error, or a listing that never comes. */
type Lists = (credential: string | undefined) => readonly string[] | Error | 'never';

function record(name: string, auth: 'own' | 'forward'): UpstreamRecord {
  const transport = { kind: 'http', url: `http://${name}.test/mcp`, headers: {} } as const;
  return { name, origin: 'config', trusted: true, enabled: true, auth, transport };
}

function upstreamOf(name: string, lists: Lists): Upstream {
  const answer = (context: RequestContext): readonly string[] | 'never' => {
    const listed = lists(context.credential?.reveal());
    if (listed instanceof Error) throw listed;
    return listed;
  };
  return {
    name,
    peer: async (context) => {
      if (answer(context) === 'never') await new Promise(() => undefined);
      return { ...PEER, instructions: `${name} for ${context.credential?.reveal() ?? 'all'}` };
    },
    request: async (_method, _params, context) => {
      const listed = answer(context);
      const tools =
        listed === 'never' ? [] : listed.map((tool) => ({ name: tool, description: `does ${tool}` }));
      return { raw: JSON.stringify({ tools }), head: { isError: false, hasPlainStructuredContent: false } };
    },
    close: () => Promise.resolve(),
  };
}

function viewsOf(
  upstreams: Readonly<Record<string, { auth: 'own' | 'forward'; lists: Lists }>>,
  changes: { readonly limits?: Partial<Limits>; readonly clock?: Clock; readonly pool?: DocumentPool } = {},
): Views {
  const limits = { ...DEFAULT_LIMITS, startWaitMs: 50, emptyWaitMs: 50, ...changes.limits };
  const { clock = systemClock, pool = createDocumentPool() } = changes;
  const roster = new Roster(
    Object.entries(upstreams).map(([name, { auth }]) => record(name, auth)),
    {
      observer: silentObserver,
      open: ({ name }) => upstreamOf(name, upstreams[name]?.lists ?? (() => [])),
    },
  );
  return new Views({
    roster,
    listings: new Listings({ limits, clock, observer: silentObserver }),
    callerKey: createCallerKey(),
    pool: () => Promise.resolve(pool),
    limits,
    clock,
    observer: silentObserver,
    writeTools: [],
    reservedNames: new Set(),
  });
}

const names = (view: View): string[] => view.catalog.tools.map((tool) => tool.exposedName);

describe('views', () => {
  it('join the upstreams a caller has, and name those that are missing with a reason', async () => {
    const views = viewsOf({
      good: { auth: 'own', lists: () => ['read'] },
      slow: { auth: 'own', lists: () => 'never' },
      dead: { auth: 'own', lists: () => new ProxyError('upstream_unreachable', 'connection refused') },
    });
    const view = await views.view({});
    expect(names(view)).toEqual(['good__read']);
    expect(view.unavailable.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'slow starting',
      'dead failed',
    ]);
    expect(view.unavailable[1]?.reason).toBe('connection refused');
    views.close();
  });

  it('refuse a caller whom their only upstream refuses, with its challenge', async () => {
    const views = viewsOf({
      gateway: { auth: 'forward', lists: () => new UpstreamAuthError('gateway', 401, 'Bearer x') },
    });
    await expect(views.view(callerOf('Bearer junk'))).rejects.toMatchObject({
      status: 401,
      challenge: 'Bearer x',
    });
    await expect(views.instructions(callerOf('Bearer junk'), 1_000)).rejects.toMatchObject({ status: 401 });
    views.close();
  });

  it('still give the upstreams of their own to a caller whom another refuses', async () => {
    const views = viewsOf({
      shared: { auth: 'own', lists: () => ['read'] },
      gateway: { auth: 'forward', lists: () => new UpstreamAuthError('gateway', 403, undefined) },
    });
    const view = await views.view(callerOf('Bearer junk'));
    expect(names(view)).toEqual(['shared__read']);
    expect(view.unavailable.map((one) => one.name)).toEqual(['gateway']);
    views.close();
  });

  it('whose listings are gone make room: nothing piles up where tools change all the time', async () => {
    let [time, edition] = [0, 0];
    const pool = createDocumentPool();
    const views = viewsOf(
      {
        gateway: {
          auth: 'forward',
          lists: () => Array.from({ length: 100 }, (_, n) => `read_${n}_of_${edition}`),
        },
      },
      // Room for seven views of a hundred tools, were it not for the definitions that only they keep.
      { limits: { maxListingBytes: 1_000_000 }, clock: { now: () => time }, pool },
    );
    const caller = callerOf('Bearer a');
    const renew = async (): Promise<void> => {
      edition++;
      time += DEFAULT_LIMITS.listingTtlMs + 1;
      // The one there serves while the next is taken.
      for (let round = 0; round < 100; round++) {
        const view = await views.view(caller);
        view.search('read', 3);
        if (names(view)[0]?.endsWith(`_of_${edition}`)) break;
        await new Promise((resolve) => setImmediate(resolve));
      }
      await new Promise((resolve) => setImmediate(resolve));
    };
    for (let n = 0; n < 20; n++) await renew();
    expect(names(await views.view(caller))[0]).toBe('read_0_of_20');
    expect(pool.size).toBe(200);
    views.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(pool.size).toBe(0);
  });

  it('never hold anything of another caller, whoever comes when', async () => {
    const tools = ['list_users', 'list_user', 'list_usage', 'delete_user', 'get_user'];
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.subarray(tools), { minKeys: 2 }),
        fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 12 }),
        async (may, visits) => {
          const views = viewsOf({
            gateway: { auth: 'forward', lists: (credential) => may[credential?.slice(-1) ?? ''] ?? [] },
          });
          await Promise.all(
            visits.map(async (who) => {
              const view = await views.view(callerOf(`Bearer ${who}`));
              const allowed = new Set(may[who] ?? []);
              expect(new Set(names(view))).toEqual(allowed);
              const found = view.index
                .search('list users', { limit: 10 })
                .matches.map(({ position }) => names(view)[position]);
              for (const name of found) expect(allowed).toContain(name);
              for (const name of similarNames('list_usr', view.catalog.tools, 5))
                expect(allowed).toContain(name);
              expect(view.instructions).toEqual([{ upstream: 'gateway', text: `gateway for Bearer ${who}` }]);
            }),
          );
          views.close();
        },
      ),
      { numRuns: 200 },
    );
  });
});
