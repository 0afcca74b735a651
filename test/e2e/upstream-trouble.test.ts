import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import { rawHttp } from '../support/clients.ts';
import { rawMember } from '../support/raw-json.ts';
import {
  httpRecord,
  startHttpProgram,
  startProxy,
  startStdioProgram,
  stdioRecord,
  type RunningProxy,
} from '../support/proxy.ts';
import { isAlive, scriptStdio, type StdioTool } from '../support/stdio-upstream.ts';
import {
  result,
  rpcError,
  startStub,
  stubTool,
  textResult,
  type StubTool,
} from '../support/stub-upstream.ts';
import { sleep, until, within } from '../support/wait.ts';

const lamp = [
  stubTool('light_lamp', { description: 'Lights the lamp.', answer: () => textResult('lit') }),
  stubTool('read_lamp', {
    description: 'Reads the lamp’s state.',
    readOnly: true,
    answer: () => textResult('burning'),
  }),
];

const childTool = (name: string, does?: StdioTool['does']): StdioTool => ({
  definition: { name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  ...(does && { does }),
});

const progress = [1, 2, 3, 4].map((step) => ({
  method: 'notifications/progress',
  params: { progress: step },
}));

interface Search {
  readonly tools: readonly { readonly name: string }[];
  readonly total: number;
  readonly unavailable?: readonly { readonly name: string; readonly reason: string }[];
}

const search = async (running: RunningProxy, query = 'lamp', limit = 25): Promise<Search> =>
  (await running.call('search_tools', { query, limit })).structuredContent as unknown as Search;

/**
 * An address at which nothing listens: another loopback one than the stubs', at a port that is held meanwhile. A port
 * that was merely free a moment ago may belong to another test by now.
 */
async function deadUrl(): Promise<string> {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  whenDone(() => void holder.close());
  return `http://127.0.0.77:${(holder.address() as AddressInfo).port}/mcp`;
}

/** Accepts connections and never says a word. */
async function silentUrl(): Promise<string> {
  const server = createServer((socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

describe('one good upstream among bad ones', () => {
  it('is usable at once, and answers name the others with a reason', async () => {
    const good = await startStub({ tools: lamp });
    const hungChild = scriptStdio({ tools: [], neverAnswer: ['initialize', 'server/discover'] });
    const hungListing = scriptStdio({ tools: [], neverAnswer: ['tools/list'] });
    const crashing = scriptStdio({ tools: [], exitAtStart: 3 });
    const failing = await startStub({
      intercept: () => ({ kind: 'http', status: 503, body: 'closed for the winter' }),
    });
    const wordy = await startStub({
      intercept: () => ({
        kind: 'http',
        status: 200,
        headers: { 'Content-Type': 'text/html' },
        body: '<h1>Welcome</h1>',
      }),
    });
    const running = await startProxy({
      upstreams: [
        stdioRecord('hung child', hungChild),
        httpRecord('hung server', { url: await silentUrl() }),
        stdioRecord('hung listing', hungListing),
        stdioRecord('crashing', crashing),
        stdioRecord('missing', { command: '/nowhere/no-such-program', args: [] }),
        httpRecord('dead', { url: await deadUrl() }),
        httpRecord('failing', failing),
        httpRecord('wordy', wordy),
        httpRecord('unset', good, { headers: { authorization: 'Bearer ${env:LAMP_TOKEN_THAT_IS_NOT_SET}' } }),
        httpRecord('good', good),
      ],
    });
    // The contract says a second; the deadline here only tells usable from waiting for the hung ones (30 s).
    const found = await within('the good upstream answers', search(running), 8_000);
    const { tools } = await running.proxy.local.listTools();
    expect(tools.map((tool) => tool.name).toSorted()).toEqual(['good__light_lamp', 'good__read_lamp']);
    expect(found.total).toBe(2);
    expect(found.tools.map((tool) => tool.name)).toContain('good__light_lamp');
    const reasons = new Map(found.unavailable?.map(({ name, reason }) => [name, reason]));
    expect([...reasons.keys()].sort()).toEqual([
      'crashing',
      'dead',
      'failing',
      'hung child',
      'hung listing',
      'hung server',
      'missing',
      'unset',
      'wordy',
    ]);
    expect(reasons.get('failing')).toMatch(/503/);
    expect(reasons.get('crashing')).toMatch(/3|end|exit/);
    expect(reasons.get('missing')).toMatch(/no-such-program|not found|ENOENT/);
    expect(reasons.get('unset')).toMatch(/LAMP_TOKEN_THAT_IS_NOT_SET/);
    expect(reasons.get('hung child')).toMatch(/start/);
    const called = await within(
      'a call',
      running.call('call_read_tool', { name: 'good__read_lamp', arguments: {} }),
      5_000,
    );
    expect(called.content[0]?.text).toBe('burning');
    await within('closing', running.close(), 12_000);
    for (const child of [hungChild, hungListing, crashing]) await child.allGone();
  });

  it('gets its calls through while a call to a hung one waits', async () => {
    const good = await startStub({ tools: lamp });
    const hung = await startStub({
      tools: [stubTool('wait_for_ever', { readOnly: true, answer: () => ({ kind: 'hang' }) })],
    });
    const running = await startProxy({
      upstreams: [httpRecord('good', good), httpRecord('hung', hung)],
      limits: { callTimeoutMs: 1_500 },
    });
    await running.settled();
    const waiting = running.raw('modern').call('call_read_tool', '{"name":"hung__wait_for_ever"}');
    await hung.arrived('wait_for_ever');
    expect(
      (await running.call('call_read_tool', { name: 'good__read_lamp', arguments: {} })).content[0]?.text,
    ).toBe('burning');
    const late = await waiting;
    expect(late.error !== undefined || rawMember(late.result ?? '{}', 'isError') === 'true').toBe(true);
    expect(late.body).toMatch(/1500|time/);
    await until(
      'the hung upstream sees the client leave',
      () => hung.callsOf('wait_for_ever')[0]?.clientLeft,
    );
  });

  it('answers a batch whose other calls hang, crash or fail', async () => {
    const good = await startStub({
      tools: [
        ...lamp,
        stubTool('hang', { readOnly: true, answer: () => ({ kind: 'hang' }) }),
        stubTool('cut', {
          readOnly: true,
          answer: () => ({ kind: 'reset', partial: '{"jsonrpc":"2.0","id"' }),
        }),
        stubTool('babble', {
          readOnly: true,
          answer: () => ({
            kind: 'http',
            status: 200,
            headers: { 'Content-Type': 'application/json' },
            body: 'soon',
          }),
        }),
        stubTool('five_hundred', {
          readOnly: true,
          answer: () => ({ kind: 'http', status: 500, body: 'oops' }),
        }),
        stubTool('elsewhere', {
          readOnly: true,
          answer: () => ({ kind: 'http', status: 307, headers: { Location: 'http://127.0.0.1:1/' } }),
        }),
        stubTool('empty', { readOnly: true, answer: () => ({ kind: 'http', status: 202 }) }),
        stubTool('error', { readOnly: true, answer: () => rpcError(-32000, 'tired') }),
      ],
    });
    const crashing = scriptStdio({ tools: [childTool('crash', { kind: 'crash' })] });
    const running = await startProxy({
      upstreams: [httpRecord('good', good), stdioRecord('crashing', crashing)],
      limits: { callTimeoutMs: 1_500 },
    });
    await running.settled();
    const names = [
      'hang',
      'cut',
      'babble',
      'five_hundred',
      'elsewhere',
      'empty',
      'error',
      'crash',
      'read_lamp',
    ];
    const batch = await running.call('call_read_tools', {
      calls: names.map((name) => ({ name, arguments: {} })),
    });
    const labels = batch.content.flatMap(({ text = '' }) => /^#\d+ .*/.exec(text)?.[0] ?? []);
    expect(labels.map((label) => label.replace(/ (good|crashing)__/, ' '))).toEqual([
      '#1 hang: failed',
      '#2 cut: failed',
      '#3 babble: failed',
      '#4 five_hundred: failed',
      '#5 elsewhere: failed',
      '#6 empty: failed',
      '#7 error: failed',
      '#8 crash: failed',
      '#9 read_lamp: ok',
    ]);
    expect(batch.isError ?? false).toBe(false);
  });
});

describe('a child that crashed', () => {
  it('is started again by the next call', async () => {
    const child = scriptStdio({
      tools: [childTool('crash', { kind: 'crash' }), childTool('who', { kind: 'process' })],
    });
    const running = await startProxy({ upstreams: [stdioRecord('frail', child)] });
    await running.settled();
    const who = async (): Promise<number> => {
      const { content } = await running.call('call_read_tool', { name: 'who', arguments: {} });
      return (JSON.parse(content[0]?.text ?? '{}') as { pid: number }).pid;
    };
    const before = await who();
    const crash = await running.raw('modern').call('call_read_tool', '{"name":"crash"}');
    expect(crash.error !== undefined || rawMember(crash.result ?? '{}', 'isError') === 'true').toBe(true);
    const after = await who();
    expect(after).not.toBe(before);
    expect(isAlive(before)).toBe(false);
    // Its tools were never missing in between.
    expect((await search(running)).total).toBe(2);
  });

  it('while it is idle, is started again by the next call too', async () => {
    const child = scriptStdio({ tools: [childTool('who', { kind: 'process' })] });
    const running = await startProxy({ upstreams: [stdioRecord('frail', child)] });
    await running.settled();
    const [pid] = child.pids();
    if (pid === undefined) throw new Error('no child');
    process.kill(pid, 'SIGKILL');
    await until('the proxy has noticed', () =>
      running.events.some((event) => event.kind === 'upstream' && event.state === 'exited'),
    );
    const { content } = await running.call('call_read_tool', { name: 'who', arguments: {} });
    expect((JSON.parse(content[0]?.text ?? '{}') as { pid: number }).pid).not.toBe(pid);
  });

  it('fails every call that was waiting for it, and only those', async () => {
    const child = scriptStdio({
      tools: [childTool('hang', { kind: 'hang' }), childTool('crash', { kind: 'crash' })],
    });
    const running = await startProxy({ upstreams: [stdioRecord('frail', child)] });
    await running.settled();
    const raw = running.raw('modern');
    const waiting = [
      raw.call('call_read_tool', '{"name":"hang"}'),
      raw.call('call_read_tool', '{"name":"hang"}'),
    ];
    await until('both wait', () => child.callsOf('hang').length === 2);
    await raw.call('call_read_tool', '{"name":"crash"}');
    for (const reply of await Promise.all(waiting)) {
      expect(reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true').toBe(true);
    }
    // A call may have taken effect before the crash: none of them is sent again.
    expect(child.callsOf('hang')).toHaveLength(2);
  });
});

describe('an HTTP upstream that comes and goes', () => {
  it('keeps its tools while it is away, says so on a call, and works again when it is back', async () => {
    const stub = await startStub({ tools: lamp });
    const running = await startProxy({ upstreams: [httpRecord('lamp', stub)] });
    await running.settled();
    await stub.stop();
    expect((await search(running)).total).toBe(2);
    const away = await running.raw('modern').call('call_write_tool', '{"name":"light_lamp"}');
    expect(away.error !== undefined || rawMember(away.result ?? '{}', 'isError') === 'true').toBe(true);
    await stub.start();
    await until('calls work again', async () => {
      const back = await running.raw('modern').call('call_write_tool', '{"name":"light_lamp"}');
      return back.result?.includes('"lit"');
    });
    expect(stub.callsOf('light_lamp')).toHaveLength(1);
  });

  it('that was not there at the start is found when it comes', async () => {
    const stub = await startStub({ tools: lamp });
    await stub.stop();
    const good = await startStub({ tools: [stubTool('ring_bell')] });
    const running = await startProxy({ upstreams: [httpRecord('late', stub), httpRecord('good', good)] });
    await running.settled();
    expect((await search(running)).unavailable?.map(({ name }) => name)).toEqual(['late']);
    await stub.start();
    await until('its tools are there', async () => (await search(running)).total === 3, 20_000);
    expect((await search(running)).unavailable).toBeUndefined();
  });

  it('that is the only one, and dead, gives answers that say so instead of none', async () => {
    const running = await startProxy({ upstreams: [httpRecord('dead', { url: await deadUrl() })] });
    await running.settled();
    const result = await running.call('search_tools', { query: 'lamp' });
    expect(JSON.stringify(result)).toContain('dead');
    expect((result.structuredContent as unknown as Search | undefined)?.unavailable?.[0]?.reason).toMatch(
      /reach|refused/i,
    );
    const call = await running.raw('modern').call('call_read_tool', '{"name":"read_lamp"}');
    expect(call.body).toContain('dead');
  });
});

describe('list_changed', () => {
  const upstreams = {
    'a modern HTTP upstream': async () => {
      const stub = await startStub({ era: 'modern', tools: lamp });
      return {
        record: httpRecord('lamp', stub),
        isListening: () => stub.openStreams() > 0,
        listings: () => stub.requestsOf('tools/list').length,
        add: (tools: readonly StubTool[]) => void (stub.script.tools = tools),
        announce: (times: number) => stub.sendListChanged(times),
      };
    },
    'a legacy HTTP upstream': async () => {
      const stub = await startStub({ era: 'legacy', session: true, tools: lamp });
      return {
        record: httpRecord('lamp', stub),
        isListening: () => stub.openStreams() > 0,
        listings: () => stub.requestsOf('tools/list').length,
        add: (tools: readonly StubTool[]) => void (stub.script.tools = tools),
        announce: (times: number) => stub.sendListChanged(times),
      };
    },
    'a stdio upstream': async () => {
      const child = scriptStdio({ tools: lamp.map(({ definition }) => ({ definition })) });
      return {
        record: stdioRecord('lamp', child),
        isListening: () => child.linesOf('notifications/initialized').length > 0,
        listings: () => child.linesOf('tools/list').length,
        add: (tools: readonly StubTool[]) =>
          child.change({ tools: tools.map(({ definition }) => ({ definition })) }),
        announce: (times: number) => {
          for (let n = 0; n < times; n++) child.sendListChanged();
        },
      };
    },
  };

  for (const [label, open] of Object.entries(upstreams)) {
    it(`of ${label} brings new tools, and many of them cause few listings`, async () => {
      const upstream = await open();
      const running = await startProxy({ upstreams: [upstream.record] });
      await running.settled();
      expect((await search(running)).total).toBe(2);
      await until('the proxy listens for changes', upstream.isListening);
      upstream.add([...lamp, stubTool('trim_wick')]);
      const before = upstream.listings();
      upstream.announce(50);
      await until('the new tool is there', async () => (await search(running, 'trim the wick')).total === 3);
      await sleep(300);
      expect(upstream.listings() - before).toBeLessThanOrEqual(4);
      expect((await running.call('describe_tool', { names: ['trim_wick'] })).structuredContent).toMatchObject(
        { tools: [{ name: 'trim_wick' }] },
      );
      // The verdict on a call is taken from the tools as they are now.
      upstream.add([stubTool('trim_wick')]);
      upstream.announce(1);
      await until('the old tools are gone', async () => (await search(running)).total === 1);
      const gone = await running.call('call_write_tool', { name: 'light_lamp', arguments: {} });
      expect(gone.isError).toBe(true);
    });
  }

  it('does not lose the tools when the new listing fails', async () => {
    const child = scriptStdio({ tools: lamp.map(({ definition }) => ({ definition })) });
    const stub = await startStub({ era: 'legacy', session: true, tools: lamp });
    const running = await startProxy({ upstreams: [httpRecord('lamp', stub), stdioRecord('other', child)] });
    await running.settled();
    await until('the proxy listens for changes', () => stub.openStreams() > 0);
    stub.script.intercept = (request) =>
      request.method === 'tools/list' ? { kind: 'http', status: 500 } : undefined;
    const before = stub.requestsOf('tools/list').length;
    stub.sendListChanged();
    await until('it is listed again', () => stub.requestsOf('tools/list').length > before);
    await sleep(100);
    expect((await search(running)).total).toBe(4);
  });
});

describe('odd listings', () => {
  const odd = [
    { name: 'no_type', description: 'A schema without a type.', inputSchema: { properties: { a: {} } } },
    {
      name: 'any_of',
      description: 'A root anyOf.',
      inputSchema: { anyOf: [{ type: 'object' }, { required: ['a'] }] },
    },
    { name: 'no_schema', description: 'No schema at all.' },
    { name: 'null_schema', description: null, inputSchema: null },
    { name: 'true_schema', description: 'A schema that is true.', inputSchema: true },
    {
      name: 'extra',
      title: 7,
      description: 'Members of another time.',
      inputSchema: { type: 'object' },
      execution: { taskSupport: 'x' },
      icons: 'none',
    },
    {
      name: 'odd_output',
      description: 'An output schema that is a list.',
      inputSchema: { type: 'object' },
      outputSchema: [],
    },
    { name: 'plain', description: 'An ordinary tool.', inputSchema: { type: 'object' } },
  ];
  const unkeepable = [
    null,
    'a text',
    42,
    [],
    {},
    { name: '' },
    { name: 5, inputSchema: {} },
    { description: 'nameless', inputSchema: {} },
  ];

  for (const transport of ['HTTP', 'stdio'] as const) {
    it(`keep every tool that has a name (${transport}), and report the rest`, async () => {
      const definitions = [...unkeepable, ...odd, ...unkeepable];
      const stub = await startStub({ tools: definitions.map((definition) => ({ definition })) });
      const child = scriptStdio({ tools: definitions.map((definition) => ({ definition })) });
      const record = transport === 'HTTP' ? httpRecord('odd', stub) : stdioRecord('odd', child);
      const running = await startProxy({ upstreams: [record] });
      await running.settled();
      const { tools, dropped, unavailable } = await running.proxy.local.listTools();
      expect(unavailable).toEqual([]);
      const names = tools.map((tool) => tool.name);
      for (const name of ['no_type', 'any_of', 'no_schema', 'extra', 'odd_output', 'plain'])
        expect(names).toContain(name);
      expect(dropped.length + tools.length).toBe(definitions.length);
      for (const name of ['no_type', 'any_of', 'no_schema', 'plain']) {
        const result = await running.call('call_write_tool', { name, arguments: { a: 1 } });
        expect(result.isError ?? false, name).toBe(false);
      }
      const described = await running.call('describe_tool', { names: names.slice(0, 10) });
      expect(described.isError ?? false).toBe(false);
    });
  }

  it('with a name twice keep the first', async () => {
    const stub = await startStub({
      tools: [
        stubTool('ring', { description: 'Rings once.' }),
        stubTool('ring', { description: 'Rings twice.' }),
      ],
    });
    const running = await startProxy({ upstreams: [httpRecord('odd', stub)] });
    await running.settled();
    const { tools, dropped } = await running.proxy.local.listTools();
    expect(tools.map((tool) => tool.description)).toEqual(['Rings once.']);
    expect(dropped.map((tool) => tool.name)).toEqual(['ring']);
  });

  it('with names of every kind can be searched, described and called by them', async () => {
    const names = [
      'ąžuolas',
      '海の道具',
      'bell🌊',
      'a b',
      ' lead',
      'trail ',
      'tab\tname',
      'line\nname',
      'a__b',
      '=?base64?x?=',
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      'x'.repeat(300),
      'Ring',
      'ring',
      'with"quote',
      "it's",
      'a/b.c:d',
      '-',
      '0',
    ];
    const stub = await startStub({ tools: names.map((name) => stubTool(name, { readOnly: true })) });
    const child = scriptStdio({ tools: names.map((name) => childTool(name)) });
    for (const record of [httpRecord('one', stub), stdioRecord('one', child)]) {
      const running = await startProxy({ upstreams: [record] });
      await running.settled();
      const listed = await running.proxy.local.listTools();
      expect(listed.tools.map((tool) => tool.name).sort()).toEqual([...names].sort());
      expect((await search(running)).total).toBe(names.length);
      for (const name of names) {
        const described = await running.call('describe_tool', { names: [name] });
        expect(described.structuredContent, name).toMatchObject({ tools: [{ name }] });
        const called = await running.call('call_read_tool', { name, arguments: {} });
        expect(called.isError ?? false, name).toBe(false);
      }
    }
    for (const name of names) expect(stub.callsOf(name), name).toHaveLength(1);
    expect(stub.violations).toEqual([]);
  });

  it('of more than a hundred tools are followed to the last page', async () => {
    const many = Array.from({ length: 123 }, (_, n) =>
      stubTool(`gauge_${n}`, { description: `Reads gauge number ${n}.`, readOnly: true }),
    );
    const stub = await startStub({ tools: many, pageSize: 10 });
    const child = scriptStdio({ tools: many.map(({ definition }) => ({ definition })), pageSize: 7 });
    const running = await startProxy({ upstreams: [httpRecord('north', stub), stdioRecord('south', child)] });
    await running.settled();
    expect((await search(running, 'gauge number 122')).total).toBe(246);
    const last = await running.call('call_read_tool', { name: 'north__gauge_122', arguments: {} });
    expect(last.isError ?? false).toBe(false);
    expect(stub.requestsOf('tools/list')).toHaveLength(13);
  });

  it('with an empty text as cursor are followed too', async () => {
    const tools = [stubTool('first'), stubTool('second')];
    const stub = await startStub({
      tools,
      intercept: ({ method, params }) => {
        if (method !== 'tools/list') return undefined;
        const page =
          params['cursor'] === undefined
            ? { tools: [tools[0]?.definition], nextCursor: '' }
            : { tools: [tools[1]?.definition] };
        return {
          kind: 'result',
          raw: JSON.stringify({ resultType: 'complete', ttlMs: 60_000, cacheScope: 'private', ...page }),
        };
      },
    });
    const running = await startProxy({ upstreams: [httpRecord('lamp', stub)] });
    await running.settled();
    expect((await search(running)).total).toBe(2);
  });

  const BROKEN: Readonly<Record<string, Parameters<typeof startStub>[0]>> = {
    'a cursor given twice': { pageSize: 1, cursorAfter: (page) => (page === 1 ? 'page-2' : 'page-1') },
    'the same cursor for ever': { pageSize: 1, cursorAfter: () => 'page-2' },
    'an error on the second page': {
      pageSize: 1,
      intercept: ({ method, params }) =>
        method === 'tools/list' && params['cursor'] !== undefined
          ? rpcError(-32603, 'lost the page')
          : undefined,
    },
    'no tools array': {
      intercept: ({ method }) =>
        method === 'tools/list'
          ? { kind: 'result', raw: '{"resultType":"complete","ttlMs":0,"cacheScope":"private"}' }
          : undefined,
    },
    'a cursor that never ends': {
      pageSize: 1,
      cursorAfter: (() => {
        let n = 0;
        return () => `page-${++n + 100}`;
      })(),
    },
  };

  for (const [label, script] of Object.entries(BROKEN)) {
    it(`with ${label} are an error, not a part of the list`, async () => {
      const good = await startStub({ tools: [stubTool('ring_bell')] });
      const stub = await startStub({ tools: lamp, ...script });
      const running = await startProxy({
        upstreams: [httpRecord('broken', stub), httpRecord('good', good)],
        limits: { maxListPages: 20 },
      });
      await running.settled();
      const found = await search(running);
      expect(found.total).toBe(1);
      expect(found.unavailable?.map(({ name }) => name)).toEqual(['broken']);
      expect(stub.requestsOf('tools/list').length).toBeLessThan(60);
    });
  }

  it('are taken again behind when their time is over, while the old one serves', async () => {
    const stub = await startStub({ tools: lamp, ttlMs: 300, listChanged: false });
    const running = await startProxy({ upstreams: [httpRecord('lamp', stub)] });
    await running.settled();
    stub.script.tools = [...lamp, stubTool('trim_wick')];
    expect((await search(running)).total).toBe(2);
    await until('the new tool is there', async () => (await search(running)).total === 3);
  });
});

describe('limits', () => {
  it('end a call whose answer is too large with an error that names the limit, on HTTP and stdio', async () => {
    const stub = await startStub({
      tools: [stubTool('flood', { readOnly: true, answer: () => textResult('x'.repeat(300_000)) }), ...lamp],
    });
    const child = scriptStdio({
      tools: [childTool('flood', { kind: 'bytes', count: 300_000 }), childTool('calm')],
    });
    const running = await startProxy({
      upstreams: [httpRecord('http', stub), stdioRecord('stdio', child)],
      limits: { maxMessageBytes: 100_000 },
    });
    await running.settled();
    for (const name of ['http__flood', 'stdio__flood']) {
      const reply = await running
        .raw('modern')
        .request('tools/call', { name: 'call_read_tool', arguments: { name, arguments: {} } });
      expect(reply.body).toMatch(/maxMessageBytes/);
      expect(reply.body.length).toBeLessThan(10_000);
    }
    for (const name of ['http__read_lamp', 'stdio__calm']) {
      expect((await running.call('call_read_tool', { name, arguments: {} })).isError ?? false).toBe(false);
    }
  });

  it('keep a call alive while its upstream shows signs of life', async () => {
    const stub = await startStub({
      tools: [
        stubTool('survey', {
          readOnly: true,
          answer: () =>
            result(
              { content: [{ type: 'text', text: 'surveyed' }] },
              { notifications: progress, pauseMs: 700 },
            ),
        }),
      ],
    });
    const running = await startProxy({
      upstreams: [httpRecord('http', stub)],
      limits: { callTimeoutMs: 2_000, maxCallMs: 20_000 },
    });
    await running.settled();
    // Five pauses of 700 ms are more than the two seconds a silent call may take.
    const reply = await running
      .raw('modern')
      .call('call_read_tool', '{"name":"survey"}', { progressToken: 'p' });
    expect(reply.result).toContain('surveyed');
  });

  it('end a call that goes on for ever, progress or not', async () => {
    const stub = await startStub({
      tools: [
        stubTool('survey', {
          readOnly: true,
          answer: () =>
            result({ content: [] }, { notifications: [...progress, ...progress, ...progress], pauseMs: 400 }),
        }),
      ],
    });
    const running = await startProxy({
      upstreams: [httpRecord('http', stub)],
      limits: { callTimeoutMs: 1_000, maxCallMs: 1_500 },
    });
    await running.settled();
    const reply = await running
      .raw('modern')
      .call('call_read_tool', '{"name":"survey"}', { progressToken: 'p' });
    expect(reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true').toBe(true);
    expect(stub.callsOf('survey')).toHaveLength(1);
  });
});

describe('children', () => {
  const family = (): ReturnType<typeof scriptStdio> =>
    scriptStdio({ tools: [childTool('who', { kind: 'process' })], grandchild: true });
  const stubborn = (): ReturnType<typeof scriptStdio> =>
    scriptStdio({ tools: [childTool('calm')], ignoreSigterm: true, ignoreStdinEnd: true });

  it('get their own environment and the few variables of a shell, and their working directory', async () => {
    process.env['HARBOUR_SECRET_OF_THE_PROXY'] = 'canary-2b';
    whenDone(() => void delete process.env['HARBOUR_SECRET_OF_THE_PROXY']);
    const child = scriptStdio({
      tools: [childTool('environment', { kind: 'environment' }), childTool('where', { kind: 'process' })],
    });
    const running = await startProxy(
      {
        upstreams: [
          stdioRecord('child', child, { env: { LAMP: 'on', TOKEN: 'x-${env:LAMP_TOKEN}-y' }, cwd: '/' }),
        ],
      },
      { LAMP_TOKEN: 'oil', OTHER: 'canary-2c' },
    );
    await running.settled();
    const { content } = await running.call('call_read_tool', { name: 'environment', arguments: {} });
    const environment = JSON.parse(content[0]?.text ?? '{}') as Record<string, string>;
    expect(environment).toMatchObject({ LAMP: 'on', TOKEN: 'x-oil-y' });
    expect(JSON.stringify(environment)).not.toContain('canary-2');
    const where = await running.call('call_read_tool', { name: 'where', arguments: {} });
    expect(where.content[0]?.text).toContain('"cwd":"/"');
  });

  it('are gone after close, with their own children', async () => {
    const child = family();
    const running = await startProxy({ upstreams: [stdioRecord('child', child)] });
    await running.settled();
    await running.call('call_read_tool', { name: 'who', arguments: {} });
    expect(child.pids().filter(isAlive)).toHaveLength(2);
    await running.close();
    await child.allGone();
  });

  it('are gone after close when they ignore everything polite, and when they never answered', async () => {
    const rude = stubborn();
    const silent = scriptStdio({
      tools: [],
      neverAnswer: ['initialize', 'server/discover'],
      ignoreSigterm: true,
      ignoreStdinEnd: true,
    });
    const running = await startProxy({
      upstreams: [stdioRecord('rude', rude), stdioRecord('silent', silent)],
    });
    await until('both run', () => rude.pids().length > 0 && silent.pids().length > 0);
    await within('closing', running.close(), 14_000);
    await rude.allGone();
    await silent.allGone();
  });

  const config = (child: ReturnType<typeof scriptStdio>): object => ({
    mcpServers: { child: { command: child.command, args: child.args } },
  });

  it('are gone after stdin ends, and the program ends well', async () => {
    const child = family();
    const running = await startStdioProgram('legacy', config(child));
    await running.client.initialize();
    await until('the child is ready', () => child.linesOf('tools/list').length > 0);
    running.child.stdin?.end();
    expect(await within('the program ends', running.exited)).toBe(0);
    await child.allGone();
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`are gone after ${signal}, over stdio and HTTP`, async () => {
      const child = family();
      const overStdio = await startStdioProgram('legacy', config(child));
      await overStdio.client.initialize();
      const overHttp = await startHttpProgram([], { config: config(child) });
      await until('both children are ready', () => child.linesOf('tools/list').length > 1);
      overStdio.child.kill(signal);
      overHttp.child.kill(signal);
      await within('both programs end', Promise.all([overStdio.exited, overHttp.exited]));
      await child.allGone();
    });
  }

  it('that ignore everything polite are gone after SIGTERM', async () => {
    const child = stubborn();
    const running = await startStdioProgram('legacy', config(child));
    await running.client.initialize();
    await until('the child is ready', () => child.linesOf('tools/list').length > 0);
    running.child.kill('SIGTERM');
    await within('the program ends', running.exited, 14_000);
    await child.allGone();
  });

  it('are gone when the program was killed outright, if they heed their stdin', async () => {
    const child = scriptStdio({ tools: [childTool('calm')] });
    const running = await startStdioProgram('legacy', config(child));
    await running.client.initialize();
    await until('the child is ready', () => child.linesOf('tools/list').length > 0);
    running.child.kill('SIGKILL');
    await child.allGone();
  });

  it('and the calls under way are waited for after SIGTERM over HTTP', async () => {
    const slow = scriptStdio({
      tools: [
        {
          ...childTool('slow'),
          does: { kind: 'raw', raw: '{"content":[{"type":"text","text":"finished"}]}', delayMs: 1_000 },
        },
      ],
    });
    const running = await startHttpProgram([], { config: config(slow) });
    const client = rawHttp(running.url, { era: 'legacy' });
    await until('the child is ready', async () =>
      (await client.call('search_tools', '{"query":"slow"}')).body.includes('"total":1'),
    );
    const call = client.call('call_read_tool', '{"name":"slow"}');
    await until('the call has arrived', () => slow.callsOf('slow').length === 1);
    running.child.kill('SIGTERM');
    expect((await call).result).toContain('finished');
    await within('the program ends', running.exited);
    await slow.allGone();
  });

  it('leave a running call to finish while the program drains', async () => {
    const slow = scriptStdio({
      tools: [
        {
          ...childTool('slow'),
          does: { kind: 'raw', raw: '{"content":[{"type":"text","text":"finished"}]}', delayMs: 1_000 },
        },
      ],
    });
    const running = await startProxy({ upstreams: [stdioRecord('slow', slow)], limits: { drainMs: 10_000 } });
    await running.settled();
    const call = running.raw('modern').call('call_read_tool', '{"name":"slow"}');
    await until('the call has arrived', () => slow.callsOf('slow').length === 1);
    await running.close();
    expect((await call).result).toContain('finished');
    await slow.allGone();
  });
});
