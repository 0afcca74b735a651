import { describe, expect, it } from 'vitest';
import { forwardRecord, httpRecord, startProxy, type RunningProxy } from '../support/proxy.ts';
import { stubEmbedder, type StubEmbedder } from '../support/stub-embedder.ts';
import { startStub, stubTool, type StubTool } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

const tool = (name: string, description: string): StubTool => stubTool(name, { description, readOnly: true });

const SHIP = [
  tool('plot_course', 'Plots a course to another harbour.'),
  tool('read_charts', 'Reads the sea charts.'),
  tool('order_food', 'Orders provisions for the galley.'),
  tool('count_barrels', 'Counts the barrels in the hold.'),
];

interface Found {
  readonly names: string[];
  readonly ranking: unknown;
}

async function find(
  running: RunningProxy,
  args: object,
  headers?: Readonly<Record<string, string>>,
): Promise<Found> {
  const { structuredContent = {} } = await running.call('search_tools', args, headers);
  const tools = (structuredContent['tools'] ?? []) as readonly { name: string }[];
  return { names: tools.map(({ name }) => name), ranking: structuredContent['ranking'] };
}

async function ship(embedder: StubEmbedder | Error): Promise<RunningProxy> {
  const stub = await startStub({ tools: () => SHIP });
  const open = (): Promise<StubEmbedder> =>
    embedder instanceof Error ? Promise.reject(embedder) : Promise.resolve(embedder);
  return startProxy({ upstreams: [httpRecord('ship', stub)] }, {}, undefined, open);
}

describe('search by meaning', () => {
  it('has vectors before anybody asks, and finds what shares no word with the question', async () => {
    const embedder = stubEmbedder();
    const running = await ship(embedder);
    await until(
      'every tool was embedded',
      () => embedder.requests.flatMap(({ texts }) => texts).length === 4,
    );
    expect(embedder.requests[0]!.texts).toContain('plot course. Plots a course to another harbour.');
    const { names, ranking } = await find(running, { query: 'užsakyk maisto', limit: 1 });
    expect(names).toEqual(['order_food']);
    expect(ranking).toBeUndefined();
    expect(running.events).toContainEqual(
      expect.objectContaining({ kind: 'search', mode: 'hybrid', queries: 1, matches: 1 }),
    );
  });

  it('keeps a tool that is named first, and fills the answer with what is near in meaning', async () => {
    const running = await ship(stubEmbedder());
    await running.settled();
    const { names } = await find(running, { query: 'count_barrels of food', limit: 4 });
    expect(names.slice(0, 2)).toEqual(['count_barrels', 'order_food']);
    expect(names).toHaveLength(4);
  });

  it('goes by words, and says so, until half of the tools have vectors; by what there is until all have', async () => {
    let goOn = (): void => undefined;
    const embedder = stubEmbedder(
      (texts) =>
        new Promise((resolve) => {
          if (texts.length === 64) resolve();
          else goOn = resolve;
        }),
    );
    const first = Array.from({ length: 64 }, (_, i) => tool(`first_${i}`, 'A recipe.'));
    const stub = await startStub({ tools: () => [...first, ...SHIP] });
    let open = (): void => undefined;
    const isOpen = new Promise<void>((resolve) => (open = resolve));
    const running = await startProxy({ upstreams: [httpRecord('ship', stub)] }, {}, undefined, () =>
      isOpen.then(() => embedder),
    );
    const query = 'provisions';
    expect(await find(running, { query, limit: 1 })).toEqual({ names: ['order_food'], ranking: 'words' });
    open();
    await until('the first batch is kept', () => embedder.requests.length === 2);
    embedder.onRequest = () => undefined;
    expect(await find(running, { query, limit: 1 })).toEqual({ names: ['order_food'], ranking: 'quick' });
    goOn();
    await running.settled();
    expect(await find(running, { query: 'Essen', limit: 1 })).toEqual({
      names: ['order_food'],
      ranking: undefined,
    });
  });

  it('goes by words when a vector is late, and when one of several questions has none', async () => {
    const embedder = stubEmbedder();
    const stub = await startStub({ tools: () => SHIP });
    const running = await startProxy(
      { upstreams: [httpRecord('ship', stub)], limits: { questionVectorMs: 30 } },
      {},
      undefined,
      () => Promise.resolve(embedder),
    );
    await running.settled();
    embedder.onRequest = () => new Promise(() => undefined);
    expect(await find(running, { query: 'barrels' })).toEqual({ names: ['count_barrels'], ranking: 'words' });
    embedder.onRequest = () => undefined;
    const { structuredContent } = await running.call('search_tools', { queries: ['Essen', 'zzz'], limit: 1 });
    expect(structuredContent).toMatchObject({
      results: [{ tools: [{ name: 'order_food' }] }, { tools: [] }],
      ranking: 'words',
    });
  });

  it('goes on by words without a model, with one warning and no error for anybody', async () => {
    const running = await ship(new Error('model.safetensors is cut short'));
    for (const query of ['barrels', 'food']) expect((await find(running, { query })).ranking).toBe('words');
    await until('it is noted', () => running.events.some(({ kind }) => kind === 'note'));
    await find(running, { query: 'barrels' });
    const notes = running.events.flatMap((event) => (event.kind === 'note' ? [event.message] : []));
    expect(notes).toEqual(['search goes by words alone: model.safetensors is cut short']);
  });

  it('embeds new tools of a changed listing, and only those', async () => {
    let tools: readonly StubTool[] = SHIP;
    const embedder = stubEmbedder();
    const stub = await startStub({ tools: () => tools });
    const running = await startProxy(
      { upstreams: [httpRecord('ship', stub)], limits: { listingTtlMs: 50 } },
      {},
      undefined,
      () => Promise.resolve(embedder),
    );
    await running.settled();
    tools = [...SHIP, tool('raise_anchor', 'Raises the anchor.')];
    const found = await until('the new tool is found by meaning', async () => {
      const { names, ranking } = await find(running, { query: 'Anker', limit: 1 });
      return ranking === undefined && names[0] === 'raise_anchor' && names;
    });
    expect(found).toEqual(['raise_anchor']);
    const texts = embedder.requests
      .filter(({ role }) => role === 'document')
      .flatMap((request) => request.texts);
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts).toHaveLength(5);
  });

  it('explains both sides, and measures with vectors', async () => {
    const running = await ship(stubEmbedder());
    await running.settled();
    const { local } = running.proxy;
    const { tools, basis } = await local.explain('provisions, Karte', 2);
    expect(basis).toBe('meaning');
    expect(tools.map(({ name }) => name).sort()).toEqual(['order_food', 'read_charts']);
    for (const { score, named, words, meaning } of tools)
      expect(named + words + meaning).toBeCloseTo(score, 5);
    const measured = await local.measure('{"query": "Essen", "relevant": ["order_food"], "lang": "de"}');
    expect(measured.byWords).toBe(0);
    expect(measured.languages[0]!.scores.recall1.mean).toBe(1);
  });
});

describe('two callers of a gateway', () => {
  const CAPTAIN = { authorization: 'Bearer captain-7f3a' };
  const COOK = { authorization: 'Bearer cook-b21c' };
  const listOf = (authorization: string | undefined): readonly StubTool[] =>
    authorization === CAPTAIN.authorization ? SHIP.slice(0, 2) : SHIP.slice(1);

  it('share vectors of equal tools, and nothing of the other one moves an answer', async () => {
    const embedder = stubEmbedder();
    const stub = await startStub({ tools: listOf });
    const open = (): Promise<StubEmbedder> => Promise.resolve(embedder);
    const running = await startProxy({ upstreams: [forwardRecord(stub)] }, {}, undefined, open);
    const alone = await startProxy({ upstreams: [forwardRecord(stub)] }, {}, undefined, () =>
      Promise.resolve(stubEmbedder()),
    );
    const full = (proxy: RunningProxy, headers: Record<string, string>): Promise<boolean> =>
      until(
        'all vectors are there',
        async () => (await find(proxy, { query: 'Karte' }, headers)).ranking === undefined,
      );
    await full(running, CAPTAIN);
    await full(running, COOK);
    await full(alone, COOK);
    const texts = embedder.requests
      .filter(({ role }) => role === 'document')
      .flatMap((request) => request.texts);
    expect(texts).toHaveLength(4);
    for (const query of ['Karte', 'Kurs', 'Essen', 'charts and barrels', 'plot_course']) {
      const answer = await running.call('search_tools', { query, limit: 25 }, COOK);
      expect(answer).toEqual(await alone.call('search_tools', { query, limit: 25 }, COOK));
      expect(JSON.stringify(answer)).not.toContain('plot_course"');
    }
    expect((await find(running, { query: 'Essen' }, CAPTAIN)).names.sort()).toEqual([
      'plot_course',
      'read_charts',
    ]);
  });
});
