import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ProxyError, UpstreamAuthError } from '../src/base/errors.ts';
import { DEFAULT_LIMITS } from '../src/base/limits.ts';
import { silentObserver } from '../src/base/observer.ts';
import { callerOf, createCallerKey } from '../src/callers/caller.ts';
import { Listings } from '../src/callers/listings.ts';
import { Views } from '../src/callers/views.ts';
import { RESERVED_NAMES } from '../src/meta-tools/definitions.ts';
import { createMetaTools, type MetaTools } from '../src/meta-tools/meta-tools.ts';
import { Roster } from '../src/roster/roster.ts';
import { createDocumentPool } from '../src/search/index.ts';
import type { DocumentPool } from '../src/search/tool-index.ts';
import type { RequestContext, Upstream } from '../src/upstream/upstream.ts';

/** Callers of one gateway; what each may use changes as time goes by. */
const CALLERS = ['alice', 'bob', 'carol'] as const;
type Who = (typeof CALLERS)[number];

/** Near to each other in spelling and meaning, so that whatever leaks has every occasion. */
const STEMS = ['list_users', 'list_user', 'list_usage', 'delete_user', 'get_user', 'users_report'] as const;
/** A tool may be the same for all, or differ by caller in its words alone, or in its name. */
const FLAVOURS = ['same', 'reworded', 'own'] as const;

interface Sketch {
  readonly stem: (typeof STEMS)[number];
  readonly flavour: (typeof FLAVOURS)[number];
}

type Step =
  | { readonly does: 'search' | 'call' | 'write'; readonly who: Who; readonly said: string }
  | { readonly does: 'describe' | 'batch'; readonly who: Who; readonly names: readonly string[] }
  | { readonly does: 'change'; readonly who: Who; readonly tools: readonly Sketch[] }
  | { readonly does: 'fault'; readonly who: Who; readonly fault: 'none' | 'refused' | 'broken' }
  | { readonly does: 'pass'; readonly who: Who; readonly minutes: number };

const MARK: Readonly<Record<Who, string>> = { alice: 'qzal', bob: 'qzbo', carol: 'qzca' };

function definitionOf({ stem, flavour }: Sketch, who: Who): object {
  const mark = flavour === 'same' ? '' : ` ${MARK[who]}word`;
  return {
    name: flavour === 'own' ? `${stem}_${MARK[who]}` : stem,
    description: `Handles users of the company.${mark}`,
    inputSchema: { type: 'object', properties: { id: { type: 'string', description: `Number${mark}` } } },
    annotations: { readOnlyHint: stem !== 'delete_user' },
  };
}

/** A gateway's world: what it lists for whom, and what it was asked. */
class World {
  #tools: Record<Who, readonly Sketch[]> = { alice: [], bob: [], carol: [] };
  readonly #faults: Record<Who, 'none' | 'refused' | 'broken'> = {
    alice: 'none',
    bob: 'none',
    carol: 'none',
  };
  readonly #asked: Record<Who, number> = { alice: 0, bob: 0, carol: 0 };
  readonly #views: Views;
  readonly #metaTools: MetaTools;
  #now = 0;
  #run = 0;

  constructor(pool: DocumentPool, maxListings: number) {
    // Nothing of a time limit is tried here; a caller's refresh is due when the clock says so, not a little earlier.
    const limits = { ...DEFAULT_LIMITS, maxListings };
    const upstream = this.#upstream();
    const transport = { kind: 'http', url: 'http://gateway.test/mcp', headers: {} } as const;
    const record = {
      name: 'gateway',
      origin: 'config',
      trusted: true,
      enabled: true,
      auth: 'forward',
    } as const;
    this.#views = new Views({
      roster: new Roster([{ ...record, transport }], { observer: silentObserver, open: () => upstream }),
      listings: new Listings({ limits, clock: { now: () => this.#now }, observer: silentObserver }),
      callerKey: createCallerKey(),
      pool: () => Promise.resolve(pool),
      limits,
      clock: { now: () => this.#now },
      observer: silentObserver,
      writeTools: [],
      reservedNames: RESERVED_NAMES,
    });
    this.#metaTools = createMetaTools(
      { upstreams: [], maxBatchCalls: 10, searchSchemas: 3, maxInstructions: 10_000, limits },
      { views: this.#views, observer: silentObserver },
    );
  }

  /** Three callers nobody has seen yet, and what each may use; those before them stay where they were. */
  begin(tools: Record<Who, readonly Sketch[]>): void {
    this.#run++;
    this.#tools = { ...tools };
    for (const who of CALLERS) this.#faults[who] = 'none';
  }

  /** Every name and word that only others have, now or ever: it bears their mark. */
  static foreign(who: Who): readonly string[] {
    return CALLERS.filter((other) => other !== who).map((other) => MARK[other]);
  }

  /** What the caller is told, and how many requests the gateway got from them for it; nothing for a change. */
  async take(step: Step): Promise<{ readonly text: string; readonly asked: number } | undefined> {
    const { who } = step;
    switch (step.does) {
      case 'change':
        this.#tools[who] = step.tools;
        return undefined;
      case 'fault':
        this.#faults[who] = step.fault;
        return undefined;
      case 'pass':
        this.#now += step.minutes * 60_000;
        return undefined;
      case 'search':
        return this.#ask(who, 'search_tools', { query: step.said });
      case 'describe':
        return this.#ask(who, 'describe_tool', { names: step.names });
      case 'call':
        return this.#ask(who, 'call_read_tool', { name: step.said, arguments: { id: '1' } });
      case 'write':
        return this.#ask(who, 'call_write_tool', { name: step.said, arguments: { id: 7 } });
      case 'batch':
        return this.#ask(who, 'call_read_tools', { calls: step.names.map((name) => ({ name })) });
    }
  }

  close(): void {
    this.#views.close();
  }

  async #ask(who: Who, tool: string, args: object): Promise<{ text: string; asked: number }> {
    const before = this.#asked[who];
    const context = { caller: callerOf(`Bearer ${who} ${this.#run}`), signal: new AbortController().signal };
    const answer = await this.#metaTools.call(tool, JSON.stringify(args), context);
    return { text: JSON.stringify(answer), asked: this.#asked[who] - before };
  }

  #upstream(): Upstream {
    const admit = (context: RequestContext): Who => {
      const who = context.credential?.reveal().split(' ')[1] as Who;
      this.#asked[who]++;
      if (this.#faults[who] === 'refused')
        throw new UpstreamAuthError('gateway', 401, `Bearer realm="${who}"`);
      if (this.#faults[who] === 'broken') {
        throw new ProxyError('upstream_error', "Upstream 'gateway' answered 503.", { upstream: 'gateway' });
      }
      return who;
    };
    return {
      name: 'gateway',
      peer: (context) => {
        const who = admit(context);
        return Promise.resolve({
          era: 'modern',
          protocolVersion: '2026-07-28',
          instructions: `For ${MARK[who]}.`,
        });
      },
      request: (method, params, context) => {
        const who = admit(context);
        const tools = this.#tools[who].map((sketch) => definitionOf(sketch, who));
        const raw =
          method === 'tools/list'
            ? JSON.stringify({ tools })
            : JSON.stringify({ content: [{ type: 'text', text: `${MARK[who]} ran ${params['name']}` }] });
        return Promise.resolve({ raw, head: { isError: false, hasPlainStructuredContent: false } });
      },
      close: () => Promise.resolve(),
    };
  }
}

const who = fc.constantFrom(...CALLERS);
const tools = fc
  .uniqueArray(fc.constantFrom(...STEMS), { maxLength: 5 })
  .chain((stems) =>
    fc.tuple(
      ...stems.map((stem) => fc.record({ stem: fc.constant(stem), flavour: fc.constantFrom(...FLAVOURS) })),
    ),
  );
/** A name somebody has, or nearly. */
const name = fc.oneof(
  fc.constantFrom(...STEMS),
  fc.tuple(fc.constantFrom(...STEMS), who).map(([stem, other]) => `${stem}_${MARK[other]}`),
  fc.constantFrom('list_usrs', 'list_userz', 'get_usr', 'delete_users', 'gateway__list_users', '__proto__'),
);
const said = fc.oneof(
  name,
  fc.constantFrom('list the users', 'handles users of the company', 'qzal', 'qzboword', 'remove somebody'),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ does: fc.constant('search' as const), who, said }) },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constantFrom('call' as const, 'write' as const), who, said: name }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constantFrom('describe' as const, 'batch' as const),
      who,
      names: fc.array(name, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('change' as const), who, tools }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('fault' as const),
      who,
      fault: fc.constantFrom('none' as const, 'refused' as const, 'broken' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('pass' as const), who, minutes: fc.constantFrom(1, 11, 40) }),
  },
);
const start = fc.record({ alice: tools, bob: tools, carol: tools });

/** What an answer says apart from what the caller said themselves. */
function without(text: string, step: Step): string {
  const spoken = 'said' in step ? [step.said] : 'names' in step ? step.names : [];
  return spoken
    .toSorted((a, b) => b.length - a.length)
    .reduce((rest, word) => rest.replaceAll(word, ''), text);
}

describe('callers of a gateway', () => {
  it('are never told a name, a word or a number of another’s tools, whoever comes when (10,000 runs)', async () => {
    // One world for all runs: it is full of others' documents, and its few places for listings are fought for.
    const world = new World(createDocumentPool(), 7);
    let answers = 0;
    await fc.assert(
      fc.asyncProperty(start, fc.array(step, { minLength: 1, maxLength: 8 }), async (may, steps) => {
        world.begin(may);
        for (const one of steps) {
          const answer = await world.take(one);
          if (answer === undefined) continue;
          answers++;
          const rest = without(answer.text, one);
          for (const mark of World.foreign(one.who)) expect(rest.includes(mark), rest).toBe(false);
        }
      }),
      { numRuns: 10_000 },
    );
    world.close();
    expect(answers).toBeGreaterThan(10_000);
  }, 300_000);

  it('are answered word for word, and with the same requests upstream, as if they were alone', async () => {
    await fc.assert(
      fc.asyncProperty(
        start,
        fc.array(step, { minLength: 1, maxLength: 10 }),
        who,
        async (may, steps, one) => {
          // Minutes pass for everybody.
          const theirs = steps.filter((step) => step.who === one || step.does === 'pass');
          const answersIn = async (taken: readonly Step[]): Promise<unknown[]> => {
            const world = new World(createDocumentPool(), 5_000);
            world.begin(may);
            const answers: unknown[] = [];
            for (const step of taken) {
              const answer = await world.take(step);
              if (answer !== undefined && step.who === one) answers.push(answer);
            }
            world.close();
            return answers;
          };
          expect(await answersIn(steps)).toEqual(await answersIn(theirs));
        },
      ),
      { numRuns: 200 },
    );
  }, 300_000);
});
