import { describe, expect, it } from 'vitest';
import { CLIENTS, textOf, type CallResult, type Target, type TestClient } from '../support/clients.ts';
import {
  HARBOUR_INSTRUCTIONS,
  harbourChild,
  harbourTools,
  LOCAL_TOOLS,
  META_TOOLS,
} from '../support/harbour.ts';
import { httpRecord, programTarget, startProxy, stdioRecord } from '../support/proxy.ts';
import { scriptStdio, type StdioScript } from '../support/stdio-upstream.ts';
import { startStub, type StubScript } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

interface SearchAnswer {
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly readOnly: boolean;
    readonly inputSchema?: object;
  }[];
  readonly total: number;
  readonly unavailable?: readonly { readonly name: string; readonly reason: string }[];
}

/** Searches until the upstream has started: over stdio a client may be faster than it. */
async function searched(client: TestClient, query: string): Promise<SearchAnswer> {
  return until('the search sees the tools', async () => {
    const answer = (await client.callTool('search_tools', { query })).structuredContent as SearchAnswer;
    return answer.total > 0 && answer;
  });
}

/** Everything an agent does, with one client. */
async function walk(client: TestClient): Promise<void> {
  expect([META_TOOLS, LOCAL_TOOLS]).toContainEqual((await client.listTools()).map((tool) => tool.name));

  const found = await searched(client, 'when is high water');
  expect(found.total).toBe(4);
  expect(found.tools[0]).toMatchObject({
    name: 'read_tide_table',
    readOnly: true,
    inputSchema: { required: ['port'] },
  });

  const described = await client.callTool('describe_tool', { names: ['book_berth', 'book_bert'] });
  expect(described.structuredContent).toMatchObject({
    tools: [
      {
        name: 'book_berth',
        description: 'Books a berth for a ship.',
        inputSchema: { required: ['ship', 'berth'] },
      },
    ],
    unknown: ['book_bert'],
    similar: { book_bert: ['book_berth'] },
  });

  const read = await client.callTool('call_read_tool', {
    name: 'read_tide_table',
    arguments: { port: 'Ąžuolai' },
  });
  expect(read.isError ?? false).toBe(false);
  expect(textOf(read)).toContain('Ąžuolai');

  const written = await client.callTool('call_write_tool', {
    name: 'book_berth',
    arguments: { ship: 'Petrel', berth: 4 },
  });
  expect(written.isError ?? false).toBe(false);
  expect(textOf(written)).toContain('Petrel');

  const refused = await client.callTool('call_read_tool', {
    name: 'book_berth',
    arguments: { ship: 'Petrel', berth: 4 },
  });
  expect(refused.isError).toBe(true);
  expect(textOf(refused)).toContain('call_write_tool');

  const batch = await client.callTool('call_read_tools', {
    calls: [
      { name: 'list_ships' },
      { name: 'read_lost_log', arguments: {} },
      { name: 'read_tide_table', arguments: { port: 'Nida' } },
    ],
  });
  expect(batch.isError ?? false).toBe(false);
  const labels = batch.content.flatMap(({ text = '' }) => /^#\d+ .*$/m.exec(text)?.[0] ?? []);
  expect(labels).toEqual(['#1 list_ships: ok', '#2 read_lost_log: failed', '#3 read_tide_table: ok']);
}

describe('every client finds and calls tools', () => {
  for (const client of CLIENTS) {
    it(`the ${client.label} client over HTTP`, async () => {
      const stub = await startStub({ tools: harbourTools, instructions: HARBOUR_INSTRUCTIONS });
      const running = await startProxy({ upstreams: [httpRecord('harbour', stub)] });
      await running.settled();
      const connected = await client.connect(running.target);
      expect(connected.protocolVersion()).toBe(client.era === 'modern' ? '2026-07-28' : '2025-11-25');
      expect(connected.instructions()).toContain(HARBOUR_INSTRUCTIONS);
      await walk(connected);
      expect(stub.callsOf('book_berth')).toHaveLength(1);
      expect(stub.violations).toEqual([]);
    });

    it(`the ${client.label} client over stdio`, async () => {
      const stub = await startStub({ tools: harbourTools, instructions: HARBOUR_INSTRUCTIONS });
      const connected = await client.connect(
        await programTarget({ mcpServers: { harbour: { url: stub.url } } }),
      );
      expect(connected.protocolVersion()).toBe(client.era === 'modern' ? '2026-07-28' : '2025-11-25');
      expect(connected.instructions()).toMatch(/search_tools/);
      await walk(connected);
      expect(stub.callsOf('book_berth')).toHaveLength(1);
      expect(stub.violations).toEqual([]);
    });
  }

  it('names the upstreams where a model looks for a tool, and gives every tool a schema and annotations', async () => {
    const stub = await startStub({ tools: harbourTools });
    const running = await startProxy({ upstreams: [httpRecord('harbour office', stub)] });
    for (const client of CLIENTS) {
      const tools = await (await client.connect(running.target)).listTools();
      expect(tools.find((tool) => tool.name === 'search_tools')?.description).toContain('harbour office');
      for (const tool of tools) {
        expect(tool.inputSchema).toMatchObject({ type: 'object' });
        expect(tool.annotations).toMatchObject({ readOnlyHint: tool.name !== 'call_write_tool' });
        expect(tool.annotations?.['openWorldHint']).toBe(tool.name.startsWith('call_'));
      }
    }
  });
});

type Upstream = { readonly label: string } & (
  | { readonly kind: 'http'; readonly script: Partial<StubScript> }
  | { readonly kind: 'stdio'; readonly script: Omit<StdioScript, 'tools'> }
);

const UPSTREAMS: readonly Upstream[] = [
  { label: 'modern HTTP, JSON', kind: 'http', script: { era: 'modern' } },
  {
    label: 'modern HTTP, SSE at its oddest',
    kind: 'http',
    script: { era: 'modern', reply: 'sse', oddSse: true },
  },
  { label: 'HTTP of both generations', kind: 'http', script: { era: 'both' } },
  {
    label: 'legacy HTTP with sessions, SSE',
    kind: 'http',
    script: { era: 'legacy', session: true, reply: 'sse', oddSse: true },
  },
  { label: 'legacy HTTP with sessions, JSON', kind: 'http', script: { era: 'legacy', session: true } },
  {
    label: 'legacy HTTP without sessions, 2025-06-18',
    kind: 'http',
    script: { era: 'legacy', legacyVersion: '2025-06-18' },
  },
  {
    label: 'legacy HTTP, 2025-03-26',
    kind: 'http',
    script: { era: 'legacy', legacyVersion: '2025-03-26', session: true },
  },
  { label: 'legacy stdio', kind: 'stdio', script: { era: 'legacy' } },
  { label: 'stdio of 2024-11-05', kind: 'stdio', script: { era: 'legacy', version: '2024-11-05' } },
  { label: 'modern-only stdio', kind: 'stdio', script: { era: 'modern' } },
  { label: 'stdio of both generations', kind: 'stdio', script: { era: 'both' } },
  {
    label: 'stdio that prints noise and cuts its lines',
    kind: 'stdio',
    script: { noise: true, splitWrites: true },
  },
  {
    label: 'stdio that ignores server/discover',
    kind: 'stdio',
    script: { neverAnswer: ['server/discover'] },
  },
];

describe('every upstream is found and called', () => {
  for (const upstream of UPSTREAMS) {
    it(upstream.label, async () => {
      const stub =
        upstream.kind === 'http'
          ? await startStub({
              tools: harbourTools,
              instructions: HARBOUR_INSTRUCTIONS,
              pageSize: 3,
              ...upstream.script,
            })
          : undefined;
      const child =
        upstream.kind === 'stdio'
          ? scriptStdio({
              tools: harbourChild,
              instructions: HARBOUR_INSTRUCTIONS,
              pageSize: 3,
              ...upstream.script,
            })
          : undefined;
      const record = stub ? httpRecord('harbour', stub) : child && stdioRecord('harbour', child);
      if (record === undefined) throw new Error('no upstream');
      const running = await startProxy({ upstreams: [record] });
      await running.settled();
      for (const client of CLIENTS.filter(({ label }) => label === '2.x auto' || label === '1.x')) {
        const connected = await client.connect(running.target);
        expect(connected.instructions()).toContain(HARBOUR_INSTRUCTIONS);
        await walk(connected);
      }
      expect(stub?.violations ?? []).toEqual([]);
      expect(stub?.callsOf('book_berth').length ?? child?.callsOf('book_berth').length).toBe(2);
      await running.close();
      await child?.allGone();
    });
  }

  it('starts a new session when the upstream has forgotten the old one', async () => {
    const stub = await startStub({ era: 'legacy', session: true, tools: harbourTools });
    const running = await startProxy({ upstreams: [httpRecord('harbour', stub)] });
    await running.settled();
    const write = { name: 'book_berth', arguments: { ship: 'Heron', berth: 2 } };
    expect((await running.call('call_write_tool', write)).isError ?? false).toBe(false);
    stub.dropSessions();
    expect((await running.call('call_write_tool', write)).isError ?? false).toBe(false);
    expect(stub.requestsOf('initialize')).toHaveLength(2);
  });

  it('believes an upstream of both generations to be modern, and asks it once', async () => {
    const stub = await startStub({ era: 'both', tools: harbourTools });
    const running = await startProxy({ upstreams: [httpRecord('harbour', stub)] });
    await running.settled();
    for (let n = 0; n < 3; n++) await running.call('call_read_tool', { name: 'list_ships' });
    expect(stub.requestsOf('server/discover')).toHaveLength(1);
    expect(stub.requestsOf('initialize')).toHaveLength(0);
    expect(stub.callsOf('list_ships').every((request) => request.era === 'modern')).toBe(true);
  });

  it('mirrors arguments into the headers an upstream asks for with x-mcp-header', async () => {
    const stub = await startStub({
      tools: harbourTools.map((tool) =>
        (tool.definition as { name: string }).name === 'read_tide_table'
          ? {
              ...tool,
              definition: {
                ...(tool.definition as object),
                inputSchema: {
                  type: 'object',
                  properties: { port: { type: 'string', 'x-mcp-header': 'Port' } },
                  required: ['port'],
                },
              },
            }
          : tool,
      ),
    });
    const running = await startProxy({ upstreams: [httpRecord('harbour', stub)] });
    await running.settled();
    await running.call('call_read_tool', { name: 'read_tide_table', arguments: { port: 'Nida' } });
    expect(stub.callsOf('read_tide_table')[0]?.headers['mcp-param-port']).toBe('Nida');
  });
});

describe('clients that check what tools promise', () => {
  for (const client of CLIENTS) {
    it(`take every kind of answer of ours (${client.label})`, async () => {
      const good = await startStub({ tools: harbourTools });
      const down = await startStub({ intercept: () => ({ kind: 'http', status: 503 }) });
      const running = await startProxy({
        upstreams: [httpRecord('harbour', good), httpRecord('down', down)],
      });
      await running.settled();
      const connected = await client.connect(running.target);
      // From here on the libraries check structured content against the output schemas listed.
      await connected.listTools();
      const call = (name: string, args: Record<string, unknown>): Promise<CallResult> =>
        connected.callTool(name, args);
      expect((await call('search_tools', { query: 'ships' })).structuredContent).toMatchObject({
        total: 4,
        unavailable: [{ name: 'down' }],
      });
      expect((await call('search_tools', { queries: ['ships', 'tide'] })).structuredContent).toMatchObject({
        results: [{ query: 'ships' }, { query: 'tide' }],
      });
      expect((await call('search_tools', { query: '???' })).isError ?? false).toBe(false);
      expect((await call('search_tools', {})).isError).toBe(true);
      expect((await call('describe_tool', { names: ['nothing_like_it'] })).structuredContent).toMatchObject({
        tools: [],
        unknown: ['nothing_like_it'],
      });
      expect((await call('describe_tool', { names: [] })).isError).toBe(true);
      expect((await call('call_read_tool', { name: 'nothing' })).isError).toBe(true);
      expect((await call('call_read_tool', {})).isError).toBe(true);
    });
  }
});

describe('several upstreams', () => {
  const target = async (): Promise<Target> => {
    const stub = await startStub({ tools: harbourTools, instructions: 'Of the harbour.' });
    const child = scriptStdio({
      instructions: 'Of the lighthouse.',
      tools: [
        {
          definition: {
            name: 'list_ships',
            inputSchema: { type: 'object' },
            annotations: { readOnlyHint: true },
          },
        },
        { definition: { name: 'light_lamp', inputSchema: { type: 'object' } } },
      ],
    });
    const running = await startProxy({
      upstreams: [httpRecord('harbour', stub), stdioRecord('my lighthouse', child)],
    });
    await running.settled();
    return running.target;
  };

  it('exposes tools under the upstream’s slug, and an own name that only one has', async () => {
    const at = await target();
    for (const { connect } of CLIENTS.slice(1)) {
      const client = await connect(at);
      const { tools, total } = await searched(client, 'light the lamp');
      expect(total).toBe(6);
      expect(tools.map((tool) => tool.name)).toContain('my-lighthouse__light_lamp');
      const call = async (name: string): Promise<string> =>
        textOf(await client.callTool('call_write_tool', { name, arguments: {} }));
      expect(await call('my-lighthouse__light_lamp')).toContain('"name":"light_lamp"');
      expect(await call('light_lamp')).toContain('"name":"light_lamp"');
      expect(await call('harbour__list_ships')).toContain('Petrel');
      expect(await call('my-lighthouse__list_ships')).toContain('"name":"list_ships"');
    }
  });

  it('refuses an own name that two upstreams have, and names both', async () => {
    const client = await CLIENTS[0]!.connect(await target());
    const ambiguous = await client.callTool('call_read_tool', { name: 'list_ships', arguments: {} });
    expect(ambiguous.isError).toBe(true);
    expect(textOf(ambiguous)).toContain('harbour__list_ships');
    expect(textOf(ambiguous)).toContain('my-lighthouse__list_ships');
  });

  it('gives the instructions of each under a heading, ours first', async () => {
    const client = await CLIENTS[0]!.connect(await target());
    const instructions = client.instructions() ?? '';
    expect(instructions).toMatch(
      /search_tools[\s\S]*harbour[\s\S]*Of the harbour\.[\s\S]*my lighthouse[\s\S]*Of the lighthouse\./,
    );
  });
});

describe('instructions', () => {
  it('are cut at maxInstructions with a note, and never inside a character', async () => {
    const stub = await startStub({ tools: harbourTools, instructions: '🌊'.repeat(400) });
    const running = await startProxy({ upstreams: [httpRecord('harbour', stub)], maxInstructions: 101 });
    await running.settled();
    const instructions = (await CLIENTS[0]!.connect(running.target)).instructions() ?? '';
    expect(instructions).toContain('🌊');
    expect(instructions).not.toContain('🌊'.repeat(102));
    // Half a surrogate pair cannot be encoded.
    expect(() => encodeURIComponent(instructions)).not.toThrow();
    expect(instructions.slice(instructions.lastIndexOf('🌊'))).toMatch(/cut|short|trunc/i);
  });

  it('of ours and the start of theirs fit where clients cut, at 2,048 characters', async () => {
    const stub = await startStub({
      tools: harbourTools,
      instructions: `${HARBOUR_INSTRUCTIONS} ${'Moor well. '.repeat(500)}`,
    });
    const running = await startProxy({ upstreams: [httpRecord('harbour', stub)] });
    await running.settled();
    const instructions = (await CLIENTS[0]!.connect(running.target)).instructions() ?? '';
    expect(instructions.slice(0, 2_048)).toContain(HARBOUR_INSTRUCTIONS);
    expect(instructions.length).toBeGreaterThan(5_000);
  });
});
