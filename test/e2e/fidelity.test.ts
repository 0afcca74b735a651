import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { UpstreamRecord } from '../../src/roster/record.ts';
import type { RawHttpClient } from '../support/clients.ts';
import { rawMember } from '../support/raw-json.ts';
import { httpRecord, startProxy, startStdioProgram, stdioRecord, toolsAreThere } from '../support/proxy.ts';
import { startSseStub } from '../support/sse-upstream.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import {
  rawResult,
  startStub,
  stubTool,
  type StubTool,
  type StubUpstream,
} from '../support/stub-upstream.ts';

/** Results upstreams give that a careless proxy changes; each is the text of a result object without `resultType`. */
const RESULTS: Readonly<Record<string, string>> = {
  'big integers':
    '{"content":[],"structuredContent":{"id":12345678901234567890,"tiny":1e-400,"huge":1E+400,"one":1.0,"minus":-0}}',
  'unknown fields':
    '{"content":[{"type":"text","text":"a","weight":3,"annotations":{"priority":0.5,"mood":"calm"}}],"extra":{"deep":[null,true]}}',
  'unknown block types':
    '{"content":[{"type":"hologram","beam":[1,2,3]},{"type":"text","text":"b"},{"type":"hologram"}]}',
  _meta:
    '{"content":[{"type":"text","text":"c","_meta":{"harbour.example/seen":99999999999999999999}}],"_meta":{"harbour.example/trace":"t-1","plain":1}}',
  'image and audio':
    '{"content":[{"type":"image","data":"aGFyYm91cg==","mimeType":"image/png"},{"type":"audio","data":"not base64 at all!","mimeType":"audio/ogg"}]}',
  'resource links and resources':
    '{"content":[{"type":"resource_link","uri":"chart://north/1","name":"north","size":9007199254740993,"icons":[{"src":"i.png"}]},{"type":"resource","resource":{"uri":"chart://2","text":"ä","lastModified":"yesterday"}}]}',
  'an error of the tool':
    '{"isError":true,"content":[{"type":"text","text":"no such chart"}],"structuredContent":{"code":404}}',
  'structured content alone': '{"structuredContent":{"b":1,"a":2,"10":3,"9":4}}',
  unicode:
    '{"content":[{"type":"text","text":"ąčęėįšųūž 海 🌊 \\u00e9 \\ud83c\\udf0a \\ud800 \\u2028 \u2028\u2029 \\/ \\u0000"}]}',
  'odd spacing': '{"content" : [ { "type":"text" ,"text":" d  " } ] , "n" :  1 }',
  'keys twice': '{"content":[],"note":1,"note":2}',
  'keys of the language': '{"content":[],"__proto__":{"polluted":true},"constructor":1,"toJSON":"x"}',
  'an empty result': '{"content":[]}',
  'isError of a strange type': '{"content":[],"isError":"perhaps"}',
  'a long text': `{"content":[{"type":"text","text":"${'šaltis '.repeat(20_000)}"}]}`,
};
const NAMES = Object.keys(RESULTS);

const stamped = (raw: string): string => raw.replace('{', '{"resultType":"complete",');

/** Takes the result's text when only a `resultType` was added to it, in front or at the end. */
function withoutResultType(text: string): string {
  return text.replace(/^\{"resultType":"complete",?/, '{').replace(/,"resultType":"complete"\}$/, '}');
}

const definitionOf = (name: string): unknown =>
  stubTool(name, {
    description: 'Gives a result exactly.',
    properties: { which: { type: 'string' } },
    readOnly: true,
  }).definition;

const EXACT = definitionOf('exact');

function textFor(argumentsText: string | undefined, isModern: boolean): string {
  const which = (JSON.parse(argumentsText ?? '{}') as { which: string }).which;
  const raw = RESULTS[which] ?? which;
  return isModern ? stamped(raw) : raw;
}

async function exactStub(script: Parameters<typeof startStub>[0]): Promise<StubUpstream> {
  return startStub({
    ...script,
    tools: [
      {
        definition: EXACT,
        answer: ({ argumentsText, request }) => rawResult(textFor(argumentsText, request.era === 'modern')),
      },
    ],
  });
}

/** One tool per result, because a child answers by tool. */
const exactChild = (era: 'modern' | 'legacy'): ReturnType<typeof scriptStdio> =>
  scriptStdio({
    era,
    splitWrites: false,
    tools: NAMES.map((which, n) => ({
      definition: definitionOf(`exact_${n}`),
      does: {
        kind: 'raw' as const,
        raw: era === 'modern' ? stamped(RESULTS[which] ?? '') : (RESULTS[which] ?? ''),
      },
    })),
  });

interface Side {
  /** The record in a config file and for `createProxy`. */
  readonly entry: object;
  readonly record: readonly UpstreamRecord[];
  readonly era: 'modern' | 'legacy';
  readonly toolFor: (which: string) => string;
  readonly toolCount: number;
}

const UPSTREAMS: Readonly<Record<string, () => Promise<Side>>> = {
  'modern HTTP upstream, JSON': () => httpSide({ era: 'modern' }),
  'modern HTTP upstream, SSE': () => httpSide({ era: 'modern', reply: 'sse', oddSse: true }),
  'legacy HTTP upstream, JSON': () => httpSide({ era: 'legacy', session: true }),
  'legacy HTTP upstream, SSE': () => httpSide({ era: 'legacy', reply: 'sse', oddSse: true }),
  'HTTP+SSE upstream': () => sseSide(),
  'legacy stdio upstream': async () => stdioSide('legacy'),
  'modern stdio upstream': async () => stdioSide('modern'),
};

async function httpSide(script: Parameters<typeof startStub>[0]): Promise<Side> {
  const stub = await exactStub(script);
  return {
    entry: { url: stub.url },
    record: [httpRecord('charts', stub)],
    era: script?.era === 'legacy' ? 'legacy' : 'modern',
    toolFor: () => 'exact',
    toolCount: 1,
  };
}

async function sseSide(): Promise<Side> {
  const stub = await startSseStub({
    odd: true,
    tools: [{ definition: EXACT, answer: ({ argumentsText }) => rawResult(textFor(argumentsText, false)) }],
  });
  return {
    entry: { type: 'sse', url: stub.url },
    record: [httpRecord('charts', stub)],
    era: 'legacy',
    toolFor: () => 'exact',
    toolCount: 1,
  };
}

function stdioSide(era: 'modern' | 'legacy'): Side {
  const child = exactChild(era);
  return {
    entry: { command: child.command, args: child.args },
    record: [stdioRecord('charts', child)],
    era,
    toolFor: (which) => `exact_${NAMES.indexOf(which)}`,
    toolCount: NAMES.length,
  };
}

const callText = (name: string, which: string): string =>
  `{"name":${JSON.stringify(name)},"arguments":{"which":${JSON.stringify(which)}}}`;

function expectSame(
  got: string | undefined,
  which: string,
  upstream: 'modern' | 'legacy',
  client: 'modern' | 'legacy',
  label = '',
): void {
  const raw = RESULTS[which] ?? '';
  const what = `${label} ${which}`;
  if (upstream === 'modern') expect(got, what).toBe(stamped(raw));
  else if (client === 'legacy') expect(got, what).toBe(raw);
  else {
    expect(withoutResultType(got ?? ''), what).toBe(raw);
    expect(got, what).toContain('"resultType":"complete"');
  }
}

describe('a result comes out as the text it was given as', () => {
  for (const [label, open] of Object.entries(UPSTREAMS)) {
    it(`${label}, clients over HTTP`, async () => {
      const side = await open();
      const running = await startProxy({ upstreams: side.record });
      await running.settled();
      for (const era of ['modern', 'legacy'] as const) {
        const client = running.raw(era);
        for (const which of NAMES) {
          for (const metaTool of ['call_read_tool', 'call_write_tool']) {
            const reply = await client.call(metaTool, callText(side.toolFor(which), which));
            expectSame(reply.result, which, side.era, era);
          }
        }
      }
    });
  }

  for (const era of ['modern', 'legacy'] as const) {
    // One program for all upstreams: starting one is what takes the time.
    it(`every upstream, ${era} client over stdio`, async () => {
      const sides = await Promise.all(
        Object.entries(UPSTREAMS).map(async ([label, open], n) => ({
          label,
          slug: `side-${n}`,
          ...(await open()),
        })),
      );
      const program = await startStdioProgram(era, {
        mcpServers: Object.fromEntries(sides.map(({ slug, entry }) => [slug, entry])),
      });
      const { client } = program;
      if (era === 'legacy') await client.initialize();
      await toolsAreThere(
        program,
        sides.reduce((sum, side) => sum + side.toolCount, 0),
      );
      for (const side of sides) {
        for (const which of NAMES) {
          const line = await client.call(
            'call_read_tool',
            callText(`${side.slug}__${side.toolFor(which)}`, which),
          );
          expectSame(rawMember(line, 'result'), which, side.era, era, side.label);
        }
      }
    });
  }

  it('also one inside a batch, in structuredContent and as blocks', async () => {
    const stub = await exactStub({ era: 'modern' });
    const running = await startProxy({ upstreams: [httpRecord('charts', stub)] });
    await running.settled();
    const chosen = [
      'big integers',
      'unknown fields',
      'unknown block types',
      'unicode',
      'an error of the tool',
      'keys of the language',
    ];
    const calls = chosen.map((which) => callText('exact', which)).join(',');
    for (const era of ['modern', 'legacy'] as const) {
      const { result = '' } = await running.raw(era).call('call_read_tools', `{"calls":[${calls}]}`);
      chosen.forEach((which, n) => {
        const whole = rawMember(result, 'structuredContent', 'results', n) ?? '';
        expect(
          whole.includes(stamped(RESULTS[which] ?? '')) || whole.includes(RESULTS[which]?.slice(1) ?? ''),
          which,
        ).toBe(true);
      });
      expect(result).toContain('{"type":"hologram","beam":[1,2,3]}');
      expect(result).toContain(
        '{"type":"text","text":"a","weight":3,"annotations":{"priority":0.5,"mood":"calm"}}',
      );
    }
  });

  it('also when it spans several lines, without breaking the framing of stdio or SSE', async () => {
    const pretty =
      '{\n  "content": [\r\n    { "type": "text", "text": "line\\nbreak" }\n  ],\n\t"depth": 12345678901234567890\n}';
    const compact = '{"content":[{"type":"text","text":"line\\nbreak"}],"depth":12345678901234567890}';
    const squeeze = (text: string): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
    const stub = await startStub({
      era: 'legacy',
      tools: [
        {
          definition: EXACT,
          answer: () => ({
            kind: 'result',
            raw: pretty,
          }),
        },
      ],
    });
    const program = await startStdioProgram('legacy', { mcpServers: { charts: { url: stub.url } } });
    const { client } = program;
    await client.initialize();
    await toolsAreThere(program, 1);
    const line = await client.call('call_read_tool', '{"name":"exact"}');
    expect(squeeze(rawMember(line, 'result') ?? '')).toBe(compact);
    const running = await startProxy({ upstreams: [httpRecord('charts', stub)] });
    await running.settled();
    for (const era of ['modern', 'legacy'] as const) {
      const reply = await running.raw(era).call('call_read_tool', '{"name":"exact"}', { progressToken: 'p' });
      expect(squeeze(withoutResultType(reply.result ?? ''))).toBe(compact);
    }
  });

  it('whatever it is (generated), from every kind of upstream to both kinds of clients', async () => {
    let next = '';
    const tools = (isModern: boolean): StubTool[] => [
      { definition: EXACT, answer: () => rawResult(isModern ? stamped(next) : next) },
    ];
    // A child is scripted beforehand, so what it gives is drawn beforehand too: one tool each.
    const drawn = fc.sample(rawMembers(), 30).map((members) => `{"content":[]${members}}`);
    const child = (era: 'modern' | 'legacy'): ReturnType<typeof scriptStdio> =>
      scriptStdio({
        era,
        splitWrites: true,
        tools: drawn.map((raw, n) => ({
          definition: definitionOf(`drawn_${n}`),
          does: { kind: 'raw' as const, raw: era === 'modern' ? stamped(raw) : raw },
        })),
      });
    const stubs = {
      modern: await startStub({ era: 'modern', tools: tools(true) }),
      'modern-sse': await startStub({ era: 'modern', reply: 'sse', oddSse: true, tools: tools(true) }),
      legacy: await startStub({ era: 'legacy', session: true, tools: tools(false) }),
      'legacy-sse': await startStub({ era: 'legacy', reply: 'sse', oddSse: true, tools: tools(false) }),
      'http-sse': await startSseStub({ odd: true, tools: tools(false) }),
    };
    const running = await startProxy({
      upstreams: [
        ...Object.entries(stubs).map(([name, stub]) => httpRecord(name, stub)),
        stdioRecord('child', child('legacy')),
        stdioRecord('modern-child', child('modern')),
      ],
    });
    await running.settled();
    const clients: readonly RawHttpClient[] = [running.raw('modern'), running.raw('legacy')];
    const check = async (client: number, tool: string, raw: string): Promise<void> => {
      const reply = await clients[client]?.call('call_read_tool', `{"name":"${tool}"}`);
      expect(withoutResultType(reply?.result ?? ''), tool).toBe(raw);
    };
    await fc.assert(
      fc.asyncProperty(rawMembers(), fc.nat(1), async (members, client) => {
        next = `{"content":[]${members}}`;
        for (const name of Object.keys(stubs)) await check(client, `${name}__exact`, next);
      }),
      { numRuns: 40 },
    );
    for (const [n, raw] of drawn.entries()) {
      for (const name of ['child', 'modern-child']) await check(n % 2, `${name}__drawn_${n}`, raw);
    }
  });
});

/** Members of an object as JSON text, with numbers no double holds; objects only at the root of structuredContent. */
function rawMembers(): fc.Arbitrary<string> {
  const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(String),
      fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
      fc.constantFrom('null', 'true', '1e999', '-0', '0.10', '"\\ud800"', '"\\u0041"'),
      fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(', ')}]`),
      tie('object'),
    ),
    object: fc
      .array(fc.tuple(fc.string(), tie('value')), { maxLength: 4 })
      .map((members) => objectText(members)),
  }));
  const objectText = (members: [string, string][]): string =>
    `{${members.map(([key, text]) => `${JSON.stringify(key)}: ${text}`).join(',')}}`;
  return fc
    .array(
      fc.tuple(
        fc.string({ minLength: 1 }).map((key) => `x-${key}`),
        value,
      ),
      { maxLength: 5 },
    )
    .map((members) => members.map(([key, text]) => `,${JSON.stringify(key)}:${text}`).join(''));
}

/** Arguments as clients write them. */
const ARGUMENTS = [
  '{"n":12345678901234567890}',
  '{"big":-98765432109876543210,"tiny":1e-400,"one":1.0,"minus":-0,"exp":1E5}',
  '{"text":"ąž 🌊 \\u00e9 \\ud83c\\udf0a \\/ \u2028"}',
  '{"z":1,"a":2,"10":3,"9":4}',
  '{"deep":{"list":[[],{},null,{"x":[18446744073709551615]}]}}',
  '{ "spaced" : [ 1 , 2 ] }',
  '{"__proto__":{"x":1},"constructor":{"prototype":{}}}',
  '{}',
];

describe('arguments reach the upstream as the client wrote them', () => {
  let stub: StubUpstream;
  const child = (): ReturnType<typeof scriptStdio> =>
    scriptStdio({ tools: [{ definition: free('repeat') }] });
  const free = (name: string): unknown => ({
    name,
    inputSchema: { type: 'object' },
    annotations: { readOnlyHint: true },
  });

  beforeAll(async () => {
    stub = await startStub({ era: 'both', tools: [{ definition: free('repeat') }] });
  });

  const lastArguments = (): string | undefined =>
    rawMember(stub.callsOf('repeat').at(-1)?.body ?? '{}', 'params', 'arguments');

  it('over HTTP, through each calling tool', async () => {
    const running = await startProxy({ upstreams: [httpRecord('echo', stub)] });
    await running.settled();
    for (const era of ['modern', 'legacy'] as const) {
      for (const text of ARGUMENTS) {
        for (const metaTool of ['call_read_tool', 'call_write_tool']) {
          await running.raw(era).call(metaTool, `{"name":"repeat","arguments":${text}}`);
          expect(lastArguments()).toBe(text);
        }
        await running.raw(era).call('call_read_tools', `{"calls":[{"arguments":${text},"name":"repeat"}]}`);
        expect(lastArguments()).toBe(text);
      }
    }
  });

  it('also when they come as a JSON string', async () => {
    const running = await startProxy({ upstreams: [httpRecord('echo', stub)] });
    await running.settled();
    for (const text of ARGUMENTS) {
      await running
        .raw('modern')
        .call('call_read_tool', `{"name":"repeat","arguments":${JSON.stringify(text)}}`);
      expect(lastArguments()).toBe(text);
      await running
        .raw('legacy')
        .call('call_read_tools', `{"calls":[{"name":"repeat","arguments":${JSON.stringify(text)}}]}`);
      expect(lastArguments()).toBe(text);
    }
  });

  it('over stdio on both sides', async () => {
    const echo = child();
    for (const era of ['modern', 'legacy'] as const) {
      const program = await startStdioProgram(era, {
        mcpServers: { echo: { command: echo.command, args: echo.args } },
      });
      const { client } = program;
      if (era === 'legacy') await client.initialize();
      await toolsAreThere(program, 1);
      for (const text of ARGUMENTS) {
        await client.call('call_read_tool', `{"name":"repeat","arguments":${text}}`);
        expect(rawMember(echo.callsOf('repeat').at(-1) ?? '{}', 'params', 'arguments')).toBe(text);
      }
    }
  });

  it('and a call without arguments is sent with none or an empty object', async () => {
    const running = await startProxy({ upstreams: [httpRecord('echo', stub)] });
    await running.settled();
    await running.raw('modern').call('call_read_tool', '{"name":"repeat"}');
    expect([undefined, '{}']).toContain(lastArguments());
  });

  it('with the client’s own _meta, but none of what belongs to its own leg', async () => {
    const running = await startProxy({ upstreams: [httpRecord('echo', stub)] });
    await running.settled();
    await running
      .raw('legacy')
      .request(
        'tools/call',
        '{"name":"call_read_tool","arguments":{"name":"repeat"},"_meta":{"traceparent":"00-abc-def-01","harbour.example/n":12345678901234567890}}',
      );
    const meta = rawMember(stub.callsOf('repeat').at(-1)?.body ?? '{}', 'params', '_meta') ?? '';
    expect(meta).toContain('"traceparent":"00-abc-def-01"');
    expect(meta).toContain('"harbour.example/n":12345678901234567890');
    expect(meta).not.toContain('e2e-client');
  });
});

describe('questions an upstream asks during a call', () => {
  const ASKING =
    '{"resultType":"input_required","inputRequests":{"q1":{"method":"elicitation/create","params":{"message":"Which pier?","requestedSchema":{"type":"object","properties":{"pier":{"type":"integer"}}}}}},"requestState":"opaque-12345678901234567890"}';

  it('of 2026-07-28 travel to a client that can answer, and its answer travels back', async () => {
    const stub = await startStub({
      tools: [
        {
          definition: EXACT,
          answer: ({ params }) =>
            rawResult(
              params['inputResponses'] === undefined
                ? ASKING
                : '{"resultType":"complete","content":[{"type":"text","text":"pier 7"}]}',
            ),
        },
      ],
    });
    const running = await startProxy({ upstreams: [httpRecord('charts', stub)] });
    await running.settled();
    const client = running.raw('modern');
    const clientCapabilities = { elicitation: { form: {} } };
    const asked = await client.call('call_read_tool', '{"name":"exact","arguments":{}}', {
      clientCapabilities,
    });
    expect(asked.result).toBe(ASKING);
    const sent = stub.callsOf('exact')[0]?.params['_meta'] as Record<string, unknown>;
    expect(sent['io.modelcontextprotocol/clientCapabilities']).toEqual(clientCapabilities);

    const responses = '{"q1":{"action":"accept","content":{"pier":12345678901234567890}}}';
    const answered = await client.request(
      'tools/call',
      `{"name":"call_read_tool","arguments":{"name":"exact","arguments":{}},"inputResponses":${responses},"requestState":"opaque-12345678901234567890"}`,
      { clientCapabilities },
    );
    expect(answered.result).toContain('pier 7');
    const retried = stub.callsOf('exact')[1]?.body ?? '{}';
    expect(rawMember(retried, 'params', 'inputResponses')).toBe(responses);
    expect(rawMember(retried, 'params', 'requestState')).toBe('"opaque-12345678901234567890"');
  });

  it('of 2026-07-28 give a legacy client a named error, not silence', async () => {
    const stub = await startStub({ tools: [{ definition: EXACT, answer: () => rawResult(ASKING) }] });
    const running = await startProxy({ upstreams: [httpRecord('charts', stub)] });
    await running.settled();
    const reply = await running.raw('legacy').call('call_read_tool', '{"name":"exact","arguments":{}}');
    expect(reply.result).not.toBe(ASKING);
    expect(reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true').toBe(true);
    expect(reply.body).toMatch(/input/i);
  });

  for (const method of ['sampling/createMessage', 'elicitation/create', 'roots/list']) {
    it(`of older HTTP upstreams (${method}) get an error at once`, async () => {
      const stub = await startStub({
        era: 'legacy',
        session: true,
        tools: [
          {
            definition: EXACT,
            answer: () => ({
              kind: 'result',
              raw: '{"content":[{"type":"text","text":"went on"}]}',
              asks: [{ method, params: {} }],
            }),
          },
        ],
      });
      const running = await startProxy({ upstreams: [httpRecord('charts', stub)] });
      await running.settled();
      const reply = await running.raw('modern').call('call_read_tool', '{"name":"exact","arguments":{}}');
      expect(reply.result).toContain('went on');
      expect(stub.clientAnswers).toHaveLength(1);
      expect(rawMember(stub.clientAnswers[0] ?? '{}', 'error', 'code')).toMatch(/^-\d+$/);
    });
  }

  it('of older stdio upstreams get an error at once', async () => {
    const child = scriptStdio({
      tools: [{ definition: EXACT, does: { kind: 'ask', method: 'sampling/createMessage' } }],
    });
    const running = await startProxy({ upstreams: [stdioRecord('charts', child)] });
    await running.settled();
    const { content } = await running.call('call_read_tool', { name: 'exact', arguments: {} });
    const answer = JSON.parse(content[0]?.text ?? '{}') as { id?: unknown; error?: { code: number } };
    expect(answer).toMatchObject({ id: 'ask', error: { code: expect.any(Number) as number } });
  });
});
