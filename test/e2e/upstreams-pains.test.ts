import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { UpstreamRecord } from '../../src/roster/record.ts';
import {
  httpRecord,
  startProxy,
  startStdioProgram,
  stdioRecord,
  type MetaResult,
  type RunningProxy,
} from '../support/proxy.ts';
import { SCHEMA_BOMBS } from '../support/schema-bombs.ts';
import { isAlive, scriptStdio } from '../support/stdio-upstream.ts';
import {
  rawResult,
  result,
  startStub,
  stubTool,
  textResult,
  type StubTool,
} from '../support/stub-upstream.ts';
import { sleep, until, within } from '../support/wait.ts';

/** What people suffer from with products like this, and the test that shows it does not happen here: file, words of its name. */
const PAINS: Readonly<Record<string, readonly [file: string, words: string]>> = {
  'one odd schema takes all tools of a server away': ['upstream-trouble', 'keep every tool that has a name'],
  'only the first page of a listing is read': ['upstream-trouble', 'are followed to the last page'],
  'a cursor that never advances is followed for ever': [
    'upstream-trouble',
    'are an error, not a part of the list',
  ],
  'one slow or broken server hides every tool': [
    'upstream-trouble',
    'is usable at once, and answers name the others',
  ],
  'an exact name among others in a query is not found': ['upstreams-pains', 'exact names in one question'],
  'a short name does not find the prefixed one': ['upstreams-pains', 'short names find prefixed ones'],
  'a server that restarted stays unreachable for its lost session': [
    'upstreams-pains',
    'a lost session, refused by',
  ],
  'reconnecting leaks processes or descriptors': ['kills', 'leave every call answered or failed by name'],
  'children are left behind': ['upstreams-children', 'also behind a launcher, whatever the children ignore'],
  'long or odd names are rejected or cut': ['upstream-trouble', 'with names of every kind can be searched'],
  'cut names collide or cannot be called': ['upstreams-pains', 'every listed name can be called back'],
  'names are parsed at a delimiter they contain': [
    'upstreams-pains',
    'double underscores and nested gateways',
  ],
  'an added server is invisible to the client': ['hot-reload', 'is searched and called at once'],
  'a server that announces changes without end is listed without end': [
    'upstreams-pains',
    'announces a change with each listing',
  ],
  'a call that reports progress ends at the timeout': [
    'upstreams-calls',
    'keeps a call alive past its timeout',
  ],
  'a cancelled call evicts its server': ['upstreams-calls', 'which keeps its connection and its other calls'],
  'characters split over chunks are lost': ['upstreams-children', 'one byte at a time, characters cut'],
  'text without a charset is misread': ['upstreams-pains', 'UTF-8 without a word on it'],
  'a dialect or a repeated $id breaks validation': [
    'refusals',
    'are checked by the dialect the schema names',
  ],
  'references are lost, circular or fetched': ['odd-answers', 'endlessly nested schema'],
  'arguments as a JSON string are refused': ['fidelity', 'also when they come as a JSON string'],
  'large integers are rounded': ['fidelity', 'over HTTP, through each calling tool'],
  'structured content, images or _meta are lost': ['fidelity', 'whatever it is (generated)'],
  'a missing command fails without a reason': ['upstreams-pains', 'a command that is not there'],
  'a line of noise on stdout breaks the session': ['upstreams-children', 'noise on lines of its own'],
  'a schema holds up everybody': ['upstreams-pains', 'schema bombs'],
  'a server that speaks SSE only cannot be used': ['upstreams-sse', 'answers the newer handshake with, once'],
  'a question of a server hangs the call': ['upstreams-calls', 'is answered at once over stdio'],
};

describe('the table of pains', () => {
  it('names tests that are there', () => {
    for (const [pain, [file, words]] of Object.entries(PAINS)) {
      const text = readFileSync(join(import.meta.dirname, `${file}.test.ts`), 'utf8');
      // The names of generated tests are templates and keys: their words stand in the file all the same.
      expect(text.includes(words), `${pain}: ${file} has no '${words}'`).toBe(true);
    }
  });
});

const read = (name: string, more: Parameters<typeof stubTool>[1] = {}): StubTool =>
  stubTool(name, { readOnly: true, ...more });

const call = (running: RunningProxy, name: string, args: unknown = {}): Promise<MetaResult> =>
  running.call('call_read_tool', { name, arguments: args });

const total = async (running: RunningProxy): Promise<unknown> =>
  (await running.call('search_tools', { query: 'anything' })).structuredContent?.['total'];

/** The robustness probe other products were put to: one upstream with everything, over HTTP and as a child. */
describe('the probe', () => {
  const RESULT =
    '{"content":[{"type":"text","text":"ąžuolas 海 🌊","_meta":{"a":1}}],"structuredContent":{"n":12345678901234567890},"_meta":{"t":"x"}}';
  const odd = [
    { name: 'odd_any_of', inputSchema: { anyOf: [{ type: 'object' }, { required: ['a'] }] } },
    { name: 'odd_no_type', inputSchema: { properties: { a: {} } } },
    {
      name: 'odd_defs',
      inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: {} } },
    },
    {
      name: 'odd_2020',
      inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
    },
    { name: 'odd_output', inputSchema: { type: 'object' }, outputSchema: { anyOf: [{}] } },
  ].map((definition) => ({ ...definition, annotations: { readOnlyHint: true } }));
  const strict = {
    properties: { size: { enum: ['small', 'large'] }, count: { type: 'integer' } },
    required: ['size'],
  };
  const definitions = [
    read('exact').definition,
    read('large').definition,
    read('strict', strict).definition,
    ...odd,
    ...Array.from({ length: 112 }, (_, n) => read(`filler_${n}`).definition),
  ];
  const LARGE = 5_000_000;

  const PLACES: Readonly<Record<string, () => Promise<{ record: UpstreamRecord; heard: () => number }>>> = {
    'over HTTP': async () => {
      const answers: Record<string, StubTool['answer']> = {
        exact: () => rawResult(RESULT),
        large: () => textResult('x'.repeat(LARGE)),
      };
      const stub = await startStub({
        era: 'legacy',
        pageSize: 50,
        tools: definitions.map((definition) => {
          const answer = answers[(definition as { name: string }).name];
          return { definition, ...(answer && { answer }) };
        }),
      });
      return { record: httpRecord('probe', stub), heard: () => stub.requestsOf('tools/call').length };
    },
    'as a child': async () => {
      const does = {
        exact: { kind: 'raw', raw: RESULT },
        large: { kind: 'bytes', count: LARGE },
      } as const;
      const child = scriptStdio({
        pageSize: 50,
        tools: definitions.map((definition) => {
          const how = does[(definition as { name: string }).name as keyof typeof does];
          return { definition, ...(how && { does: how }) };
        }),
      });
      return { record: stdioRecord('probe', child), heard: () => child.linesOf('tools/call').length };
    },
  };

  for (const [label, open] of Object.entries(PLACES)) {
    it(`${label}: pages, results, refusals, typing errors, a large result, odd schemas`, async () => {
      const { record, heard } = await open();
      const running = await startProxy({ upstreams: [record] });
      await running.settled();
      // 120 tools at 50 a page, the odd ones among them.
      expect(await total(running)).toBe(120);
      const exact = await running.raw('legacy').call('call_read_tool', '{"name":"exact"}');
      expect(exact.result).toBe(RESULT);
      const large = await call(running, 'large');
      expect(large.content[0]?.text).toHaveLength(LARGE);
      for (const { name } of odd) expect((await call(running, name)).isError ?? false, name).toBe(false);
      const sent = heard();
      // Missing, outside the enum, of a wrong type, a typing error in the name: told, with the schema, and not sent.
      for (const [name, args, words] of [
        ['strict', {}, /size.*is required/],
        ['strict', { size: 'medium' }, /must be one of/],
        ['strict', { size: 'small', count: 'three' }, /count.*must be integer/],
        ['strikt', { size: 'small' }, /strict/],
      ] as const) {
        const refused = await call(running, name, args);
        expect(refused.isError).toBe(true);
        expect(refused.content.map(({ text }) => text).join('\n')).toMatch(words);
        expect(JSON.stringify(refused)).toContain('large');
      }
      expect(heard()).toBe(sent);
      const asText = await call(running, 'strict', '{"size":"small"}');
      expect(asText.isError ?? false).toBe(false);
      expect(heard()).toBe(sent + 1);
    });
  }

  it('a hung server beside a good one: the good one is used at once', async () => {
    const good = await startStub({ tools: [read('calm')] });
    const hung = scriptStdio({ tools: [], neverAnswer: ['initialize', 'server/discover'] });
    const running = await startProxy({ upstreams: [stdioRecord('hung', hung), httpRecord('good', good)] });
    const answer = await within('a call', call(running, 'good__calm'), 8_000);
    expect(answer.isError ?? false).toBe(false);
    await within('closing', running.close(), 12_000);
  });

  it('a crash between calls: the next call works', async () => {
    const child = scriptStdio({
      tools: [
        { definition: read('crash').definition, does: { kind: 'crash' } },
        { definition: read('calm').definition },
      ],
    });
    const running = await startProxy({ upstreams: [stdioRecord('frail', child)] });
    await running.settled();
    for (let n = 0; n < 3; n++) {
      expect((await call(running, 'crash')).isError).toBe(true);
      expect((await call(running, 'calm')).isError ?? false).toBe(false);
    }
  });

  it.skipIf(process.platform === 'win32')('SIGTERM with a child that ignores it: both are gone', async () => {
    const child = scriptStdio({
      tools: [{ definition: read('calm').definition }],
      ignoreSigterm: true,
      ignoreStdinEnd: true,
    });
    const running = await startStdioProgram('legacy', {
      mcpServers: { rude: { command: child.command, args: child.args } },
    });
    await running.client.initialize();
    await until('the child is ready', () => child.linesOf('tools/list').length > 0);
    running.child.kill('SIGTERM');
    // Two seconds after its stdin ended and three after SIGTERM, and what a busy machine takes.
    await within('the program ends', running.exited, 12_000);
    expect(child.pids().filter(isAlive)).toEqual([]);
  });
});

describe('a lost session, refused by', () => {
  for (const [label, status, body] of [
    ['404', 404, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'],
    ['404 without a word', 404, ''],
    [
      '400 and a sentence',
      400,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}',
    ],
  ] as const) {
    it(`${label}: the next call works, and a write is carried out once`, async () => {
      let isRefused = false;
      const stub = await startStub({
        era: 'legacy',
        session: true,
        tools: [stubTool('write', { answer: () => textResult('written') })],
        intercept: (request) => {
          if (request.method === 'initialize') isRefused = false;
          return isRefused && request.httpMethod === 'POST'
            ? { kind: 'http', status, headers: { 'Content-Type': 'application/json' }, body }
            : undefined;
        },
      });
      const running = await startProxy({ upstreams: [httpRecord('web', stub)] });
      await running.settled();
      isRefused = true;
      const answer = await running.call('call_write_tool', { name: 'write', arguments: {} });
      expect(answer.content[0]?.text).toBe('written');
      expect(stub.callsOf('write')).toHaveLength(2);
    });
  }

  it('503 while it restarts: that call fails by name, the next works', async () => {
    let isDown = false;
    const stub = await startStub({
      era: 'legacy',
      session: true,
      tools: [read('calm')],
      intercept: () => (isDown ? { kind: 'http', status: 503 } : undefined),
    });
    const running = await startProxy({ upstreams: [httpRecord('web', stub)] });
    await running.settled();
    isDown = true;
    expect((await call(running, 'calm')).content[0]?.text).toMatch(/upstream_error.*HTTP 503/);
    isDown = false;
    stub.dropSessions();
    expect((await call(running, 'calm')).isError ?? false).toBe(false);
  });
});

describe('names', () => {
  it('exact names in one question come first, whatever else it asks for', async () => {
    const tools = Array.from({ length: 200 }, (_, n) =>
      read(`harbour_task_${n}`, { description: 'Does a harbour task.' }),
    );
    const stub = await startStub({ tools: [...tools, read('get_tide'), read('list_berths')] });
    const running = await startProxy({ upstreams: [httpRecord('port', stub)] });
    await running.settled();
    for (const query of ['get_tide', 'get_tide list_berths', 'harbour task get_tide list_berths']) {
      const { structuredContent } = await running.call('search_tools', { query, limit: 5 });
      const found = structuredContent?.['tools'] as { readonly name: string }[] | undefined;
      const names = found?.map(({ name }) => name) ?? [];
      expect(names.slice(0, 2), query).toContain('get_tide');
    }
  });

  it('short names find prefixed ones, and call them', async () => {
    const a = await startStub({ tools: [read('get_tide')] });
    const b = await startStub({ tools: [read('get_wind')] });
    const running = await startProxy({ upstreams: [httpRecord('coast', a), httpRecord('air', b)] });
    await running.settled();
    const { structuredContent } = await running.call('search_tools', { query: 'get_tide' });
    expect(structuredContent).toMatchObject({ tools: [{ name: 'coast__get_tide' }, {}] });
    expect((await call(running, 'get_tide')).isError ?? false).toBe(false);
  });

  it('with double underscores and nested gateways are routed by the table, and every listed name can be called back', async () => {
    const odd = [
      'a__b',
      '__',
      'get__tide',
      'air__get__wind',
      'x'.repeat(120),
      'a.b/c:d e',
      'ąžuolas',
      'A',
      'a',
    ];
    const answering = (place: string): StubTool[] =>
      odd.map((name) => read(name, { answer: () => textResult(`${place} ${name}`) }));
    const one = await startStub({ tools: answering('one') });
    const two = await startStub({ tools: answering('two') });
    const running = await startProxy({ upstreams: [httpRecord('gate__way', one), httpRecord('gate', two)] });
    await running.settled();
    const { tools } = await running.proxy.local.listTools();
    expect(tools).toHaveLength(2 * odd.length);
    const said = await Promise.all(
      tools.map(async ({ name }) => (await call(running, name)).content[0]?.text),
    );
    const expected = ['one', 'two'].flatMap((place) => odd.map((name) => `${place} ${name}`));
    expect(new Set(said)).toEqual(new Set(expected));
  });
});

describe('a server that', () => {
  it('announces a change with each listing is not listed without end', async () => {
    const stub = await startStub({ era: 'legacy', session: true, tools: [read('calm')] });
    stub.script.intercept = ({ method }) => {
      if (method === 'tools/list') setTimeout(() => stub.sendListChanged(20), 1);
      return undefined;
    };
    const running = await startProxy({ upstreams: [httpRecord('loud', stub)] });
    await running.settled();
    await sleep(1_500);
    // One for each 150 ms of quiet at the most; the notices of each would be thirty times as many.
    expect(stub.requestsOf('tools/list').length).toBeLessThanOrEqual(12);
    expect((await call(running, 'calm')).isError ?? false).toBe(false);
  });

  it('sends UTF-8 without a word on it is read as UTF-8', async () => {
    const stub = await startStub({
      tools: [read('say', { answer: () => result({ content: [{ type: 'text', text: 'ąžuolas' }] }) })],
    });
    const running = await startProxy({ upstreams: [httpRecord('plain', stub)] });
    await running.settled();
    const reply = await running.raw('legacy').call('call_read_tool', '{"name":"say"}');
    expect(reply.body).toContain('ąžuolas');
    expect(reply.headers['content-type']).toMatch(/^(application\/json|text\/event-stream)/);
  });

  it('is a command that is not there says which, and where it was looked for', async () => {
    const running = await startProxy({
      upstreams: [
        stdioRecord('missing', { command: 'no-such-launcher', args: [] }),
        stdioRecord('folder', { command: process.execPath, args: [] }, { cwd: '/no/such/folder' }),
        stdioRecord('locked', { command: '/', args: [] }),
      ],
    });
    await running.settled();
    const { structuredContent } = await running.call('search_tools', { query: 'x' });
    const reasons = structuredContent?.['unavailable'] as { name: string; reason: string }[];
    expect(reasons.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/'no-such-launcher' was not found on the PATH/),
      expect.stringMatching(/its working directory does not exist/),
      expect.stringMatching(/could not be started.*EACCES/),
    ]);
  });
});

describe('schema bombs', () => {
  it(
    'of every kind are passed on, unchecked ones counted, and another’s call does not wait for them',
    { timeout: 90_000 },
    async () => {
      const bombs = Object.entries(SCHEMA_BOMBS);
      const stub = await startStub({
        tools: [
          ...bombs.map(([, { schema }], n) => read(`bomb_${n}`, { more: { inputSchema: schema } })),
          read('calm', { answer: () => textResult('calm') }),
        ],
      });
      const running = await startProxy({
        upstreams: [httpRecord('mine', stub)],
        limits: { maxJsonDepth: 1_000 },
      });
      await running.settled();
      expect(await total(running)).toBe(bombs.length + 1);
      for (const [n, [label, { args }]] of bombs.entries()) {
        const [bomb, calm] = await Promise.all([
          within(label, call(running, `bomb_${n}`, args), 10_000),
          within(`a call beside ${label}`, call(running, 'calm'), 5_000),
        ]);
        expect(calm.content[0]?.text).toBe('calm');
        const wasUnchecked = running.events.some(
          (event) => event.kind === 'unvalidated' && event.tool === `bomb_${n}`,
        );
        // Either it was checked in time (and is right or refused for what is wrong), or it was sent and counted.
        const wasSent = stub.callsOf(`bomb_${n}`).length === 1;
        expect([wasSent, bomb.isError ?? false], label).toEqual(
          wasUnchecked ? [true, false] : [wasSent, !wasSent],
        );
      }
      const counted = running.events.filter((event) => event.kind === 'unvalidated');
      expect(counted.length).toBeGreaterThanOrEqual(15);
      expect(running.events.filter((event) => event.kind === 'bug')).toEqual([]);
    },
  );
});
