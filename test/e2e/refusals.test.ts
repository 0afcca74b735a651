import { describe, expect, it } from 'vitest';
import { rawHttp } from '../support/clients.ts';
import {
  httpRecord,
  startHttpProgram,
  startProxy,
  stdioRecord,
  type MetaResult,
  type RunningProxy,
} from '../support/proxy.ts';
import { rawMember } from '../support/raw-json.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { rpcError, startStub, stubTool, textResult, type StubUpstream } from '../support/stub-upstream.ts';
import { until, within } from '../support/wait.ts';

const mooring = {
  properties: {
    ship: { type: 'string', minLength: 2 },
    berth: { type: 'integer', minimum: 1, maximum: 40 },
    side: { enum: ['port', 'starboard'] },
    crew: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
  },
  required: ['ship', 'berth'],
};

const quay = [
  stubTool('moor_ship', { description: 'Moors a ship at a berth.', ...mooring }),
  stubTool('check_mooring', { description: 'Checks whether a ship could moor.', ...mooring, readOnly: true }),
  stubTool('read_log', {
    description: 'Reads the log.',
    properties: { pages: { type: 'integer' } },
    readOnly: true,
  }),
  stubTool('list_buoys', {
    description: 'Lists buoys.',
    readOnly: true,
    answer: () => textResult('three buoys'),
  }),
  stubTool('read_wreck', {
    description: 'Reads what is known of a wreck.',
    readOnly: true,
    answer: () => textResult('no such wreck', { isError: true }),
  }),
  stubTool('read_sky', {
    description: 'Reads the sky.',
    properties: { hour: {} },
    readOnly: true,
    answer: () => rpcError(-32602, 'hour must be between 0 and 23', { field: 'hour' }),
  }),
  stubTool('read_storm', {
    description: 'Reads the storm glass.',
    readOnly: true,
    answer: () => rpcError(-32050, 'the glass is broken', { shards: 12 }),
  }),
];

async function open(
  changes: Parameters<typeof startProxy>[0] = {},
): Promise<{ stub: StubUpstream; running: RunningProxy }> {
  const stub = await startStub({ tools: quay });
  const running = await startProxy({ upstreams: [httpRecord('quay', stub)], ...changes });
  await running.settled();
  return { stub, running };
}

const textOf = (result: MetaResult): string => result.content.map(({ text = '' }) => text).join('\n');

function expectRefusal(result: MetaResult, ...parts: readonly (string | RegExp)[]): void {
  expect(result.isError).toBe(true);
  for (const part of parts) expect(textOf(result)).toMatch(part);
}

describe('arguments that do not fit', () => {
  const CASES: readonly (readonly [string, unknown, readonly (string | RegExp)[]])[] = [
    ['a missing property', { ship: 'Petrel' }, [/berth/]],
    ['a wrong type', { ship: 'Petrel', berth: 'four' }, [/\/berth/, /integer/]],
    ['a value outside the enum', { ship: 'Petrel', berth: 4, side: 'left' }, [/\/side/, /starboard/]],
    ['a value outside the range', { ship: 'Petrel', berth: 41 }, [/\/berth/, /40/]],
    [
      'a mistake deep inside',
      { ship: 'Petrel', berth: 4, crew: [{ name: 'Ona' }, { name: 5 }] },
      [/\/crew\/1\/name/],
    ],
    ['several mistakes', { ship: 'P', berth: 0, side: 'up' }, [/\/ship/, /\/berth/, /\/side/]],
    ['a list', [], []],
    ['a text that is no JSON', 'ship=Petrel', []],
    ['a JSON text of a list', '["Petrel"]', []],
    ['a JSON text that does not fit', '{"ship":"Petrel","berth":"four"}', [/\/berth/]],
    ['null', null, []],
  ];

  for (const [label, args, parts] of CASES) {
    it(`${label}: refused with what is wrong and the schema, and the upstream hears nothing`, async () => {
      const { stub, running } = await open();
      const results = [
        await running.call('call_write_tool', { name: 'moor_ship', arguments: args }),
        await running.call('call_read_tool', { name: 'check_mooring', arguments: args }),
        await running.call('call_read_tools', { calls: [{ name: 'check_mooring', arguments: args }] }),
      ];
      for (const result of results) {
        // The schema as JSON, so that a model can fix its call without another search.
        expectRefusal(result, ...parts, /"required":\["ship","berth"\]/);
      }
      expect(stub.requestsOf('tools/call')).toHaveLength(0);
    });
  }

  it('names at most ten problems', async () => {
    const { running } = await open();
    const crew = Array.from({ length: 30 }, () => ({ name: 1 }));
    const result = await running.call('call_write_tool', {
      name: 'moor_ship',
      arguments: { ship: 'Petrel', berth: 1, crew },
    });
    const pointers = textOf(result).match(/\/crew\/\d+\/name/g) ?? [];
    expect(new Set(pointers).size).toBeLessThanOrEqual(10);
    expect(pointers.length).toBeGreaterThan(0);
  });

  it('never reach the upstream from a batch either, while the fitting ones do', async () => {
    const { stub, running } = await open();
    const result = await running.call('call_read_tools', {
      calls: [
        { name: 'read_log', arguments: { pages: 'all' } },
        { name: 'read_log', arguments: { pages: 2 } },
      ],
    });
    expect(result.isError ?? false).toBe(false);
    expect(textOf(result)).toMatch(/#1 read_log: failed[\s\S]*\/pages[\s\S]*#2 read_log: ok/);
    expect(stub.callsOf('read_log').map((request) => rawMember(request.body, 'params', 'arguments'))).toEqual(
      ['{"pages":2}'],
    );
  });

  it('are forwarded unchecked where the schema cannot be used, and that is counted', async () => {
    const odd = [
      stubTool('odd_ref', { readOnly: true, more: { inputSchema: { type: 'object', $ref: '#/nowhere' } } }),
      stubTool('odd_remote', {
        readOnly: true,
        more: { inputSchema: { type: 'object', $ref: 'https://schemas.invalid/x' } },
      }),
      stubTool('odd_pattern', {
        readOnly: true,
        more: { inputSchema: { type: 'object', properties: { a: { pattern: '(' } } } },
      }),
      stubTool('odd_keyword', {
        readOnly: true,
        more: { inputSchema: { type: 'object', required: 'ship' } },
      }),
      stubTool('huge', {
        readOnly: true,
        more: {
          inputSchema: {
            type: 'object',
            properties: { a: { enum: Array.from({ length: 40_000 }, (_, n) => `berth-${n}`) } },
          },
        },
      }),
    ];
    const stub = await startStub({ tools: odd });
    const running = await startProxy({ upstreams: [httpRecord('quay', stub)] });
    await running.settled();
    for (const tool of odd) {
      const { name } = tool.definition as { name: string };
      const result = await running.call('call_read_tool', { name, arguments: { a: 5 } });
      expect(result.isError ?? false, `${name}: ${textOf(result)}`).toBe(false);
      expect(stub.callsOf(name)).toHaveLength(1);
    }
    expect(
      new Set(running.events.flatMap((event) => (event.kind === 'unvalidated' ? [event.tool] : []))).size,
    ).toBe(odd.length);
  });

  it('cannot hold up the proxy with a schema that takes for ever to check', async () => {
    const stub = await startStub({
      tools: [
        stubTool('slow', {
          readOnly: true,
          properties: { a: { type: 'string', pattern: '^(a+)+$' } },
          answer: () => textResult('forwarded'),
        }),
        ...quay,
      ],
    });
    // A program of its own: what blocks it must not block the tests.
    const running = await startHttpProgram([], { config: { mcpServers: { quay: { url: stub.url } } } });
    const client = rawHttp(running.url, { era: 'modern' });
    await until('the upstream is ready', async () =>
      (await client.call('search_tools', '{"query":"slow"}')).body.includes('"total":8'),
    );
    const slow = client.call('call_read_tool', `{"name":"slow","arguments":{"a":"${'a'.repeat(40)}!"}}`);
    slow.catch(() => undefined);
    const other = within(
      'another caller is answered',
      client.call('call_read_tool', '{"name":"list_buoys"}'),
      6_000,
    );
    expect((await other).result).toContain('three buoys');
    expect((await within('the slow one goes on unchecked', slow, 6_000)).result).toContain('forwarded');
  });

  it('are checked by the dialect the schema names, 2020-12 by default, with local references', async () => {
    const stub = await startStub({
      tools: [
        stubTool('tuple_new', {
          more: {
            inputSchema: { type: 'object', properties: { p: { prefixItems: [{ type: 'integer' }] } } },
          },
        }),
        stubTool('tuple_old', {
          more: {
            inputSchema: {
              $schema: 'http://json-schema.org/draft-07/schema#',
              type: 'object',
              properties: { p: { items: [{ type: 'integer' }] } },
            },
          },
        }),
        stubTool('local_ref', {
          more: {
            inputSchema: {
              type: 'object',
              properties: { p: { $ref: '#/$defs/n' } },
              $defs: { n: { type: 'integer' } },
            },
          },
        }),
        stubTool('no_type', {
          more: { inputSchema: { properties: { p: { type: 'integer' } }, required: ['p'] } },
        }),
        stubTool('any_of', { more: { inputSchema: { anyOf: [{ required: ['p'] }, { required: ['q'] }] } } }),
      ],
    });
    const running = await startProxy({ upstreams: [httpRecord('quay', stub)] });
    await running.settled();
    const call = (name: string, args: object): Promise<MetaResult> =>
      running.call('call_write_tool', { name, arguments: args });
    for (const name of ['tuple_new', 'tuple_old']) {
      expectRefusal(await call(name, { p: ['x'] }), /\/p\/0/);
      expect((await call(name, { p: [1] })).isError ?? false).toBe(false);
    }
    expectRefusal(await call('local_ref', { p: 'x' }), /\/p/);
    expectRefusal(await call('no_type', {}), /p/);
    expectRefusal(await call('any_of', {}));
    expect((await call('any_of', { q: 1 })).isError ?? false).toBe(false);
    expect(stub.requestsOf('tools/call')).toHaveLength(3);
  });

  it('may hold what the schema does not mention, and are not given defaults or other types', async () => {
    const { stub, running } = await open();
    await running.call('call_write_tool', {
      name: 'moor_ship',
      arguments: { ship: 'Petrel', berth: 4, flag: 'LT' },
    });
    expect(rawMember(stub.callsOf('moor_ship')[0]?.body ?? '{}', 'params', 'arguments')).toBe(
      '{"ship":"Petrel","berth":4,"flag":"LT"}',
    );
  });

  for (const upstream of ['HTTP', 'stdio'] as const) {
    it(`that the upstream itself calls invalid (${upstream}) are answered the same way`, async () => {
      const child = scriptStdio({
        tools: [
          {
            definition: quay.find(({ definition }) => (definition as { name: string }).name === 'read_sky')
              ?.definition,
            does: { kind: 'error', code: -32602, message: 'hour must be between 0 and 23' },
          },
        ],
      });
      const stub = await startStub({ tools: quay });
      const running = await startProxy({
        upstreams: [upstream === 'HTTP' ? httpRecord('quay', stub) : stdioRecord('quay', child)],
      });
      await running.settled();
      const result = await running.call('call_read_tool', { name: 'read_sky', arguments: { hour: 99 } });
      expectRefusal(result, /hour must be between 0 and 23/, /"properties":\{"hour"/);
    });
  }

  it('other errors of the upstream reach the model with their message, once', async () => {
    const { stub, running } = await open();
    const reply = await running.raw('modern').call('call_read_tool', '{"name":"read_storm"}');
    expect(reply.body).toContain('the glass is broken');
    expect(reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true').toBe(true);
    expect(stub.callsOf('read_storm')).toHaveLength(1);
  });
});

describe('names', () => {
  it('that no tool has are refused, with the tool that finds one', async () => {
    const { stub, running } = await open();
    for (const metaTool of ['call_read_tool', 'call_write_tool']) {
      expectRefusal(
        await running.call(metaTool, { name: 'sell_cargo', arguments: {} }),
        /sell_cargo/,
        /search_tools/,
      );
    }
    expect(stub.requestsOf('tools/call')).toHaveLength(0);
  });

  it('that are clearly a typo of one are refused with that tool’s name and schema, not called', async () => {
    const { stub, running } = await open();
    for (const typo of ['moor_shp', 'moor_sihp', 'Moor_Ship', 'moor-ship']) {
      const result = await running.call('call_write_tool', {
        name: typo,
        arguments: { ship: 'Petrel', berth: 4 },
      });
      expectRefusal(result, /moor_ship/, /"required":\["ship","berth"\]/);
    }
    expect(stub.requestsOf('tools/call')).toHaveLength(0);
  });

  it('that could be one tool or another get no schema pushed', async () => {
    const stub = await startStub({ tools: [stubTool('load_boat'), stubTool('load_coat')] });
    const running = await startProxy({ upstreams: [httpRecord('quay', stub)] });
    await running.settled();
    const result = await running.call('call_write_tool', { name: 'load_goat', arguments: {} });
    expectRefusal(result);
    expect(textOf(result)).not.toContain('"properties"');
  });

  it('of our own tools cannot be called through us', async () => {
    const stub = await startStub({ tools: [stubTool('search_tools', { readOnly: true }), ...quay] });
    const running = await startProxy({ upstreams: [httpRecord('quay', stub)] });
    await running.settled();
    expect((await running.call('call_write_tool', { name: 'call_write_tool', arguments: {} })).isError).toBe(
      true,
    );
    expect(stub.callsOf('call_write_tool')).toHaveLength(0);
  });

  it('that are not one of the meta-tools are an error of the protocol, naming no tool of an upstream', async () => {
    const { stub, running } = await open();
    for (const era of ['modern', 'legacy'] as const) {
      const reply = await running.raw(era).call('read_log', '{}');
      expect(reply.error?.code).toBe(-32602);
    }
    expect(stub.requestsOf('tools/call')).toHaveLength(0);
  });
});

describe('writes', () => {
  it('are refused through the reading tools, naming the one that may', async () => {
    const { stub, running } = await open();
    const call = { name: 'moor_ship', arguments: { ship: 'Petrel', berth: 4 } };
    expectRefusal(await running.call('call_read_tool', call), /call_write_tool/);
    const batch = await running.call('call_read_tools', { calls: [call, { name: 'list_buoys' }] });
    expect(batch.isError ?? false).toBe(false);
    expect(textOf(batch)).toMatch(
      /#1 moor_ship: failed[\s\S]*call_write_tool[\s\S]*#2 list_buoys: ok[\s\S]*three buoys/,
    );
    expect(stub.callsOf('moor_ship')).toHaveLength(0);
  });

  it('are what writeTools names, by own or exposed name and by pattern, also against the upstream’s word', async () => {
    for (const pattern of ['read_log', 'read_*', '*log', '*']) {
      const { running } = await open({ writeTools: [pattern] });
      expectRefusal(
        await running.call('call_read_tool', { name: 'read_log', arguments: {} }),
        /call_write_tool/,
      );
      const { tools } = (await running.call('search_tools', { query: 'read log' })).structuredContent as {
        tools: { name: string; readOnly: boolean }[];
      };
      expect(tools.find((tool) => tool.name === 'read_log')?.readOnly).toBe(false);
      expect(
        (await running.call('call_write_tool', { name: 'read_log', arguments: {} })).isError ?? false,
      ).toBe(false);
      if (pattern !== '*')
        expect((await running.call('call_read_tool', { name: 'list_buoys' })).isError ?? false).toBe(false);
    }
  });

  it('are what writeTools names of one upstream among several', async () => {
    const [north, south] = [await startStub({ tools: quay }), await startStub({ tools: quay })];
    const upstreams = [httpRecord('north', north), httpRecord('south', south)];
    const running = await startProxy({ upstreams, writeTools: ['north__read_*', 'list_buoys', 'no_such_*'] });
    await running.settled();
    const isRefused = async (name: string): Promise<boolean> =>
      (await running.call('call_read_tool', { name, arguments: {} })).content[0]?.text?.includes(
        'call_write_tool',
      ) ?? false;
    expect(await isRefused('north__read_log')).toBe(true);
    expect(await isRefused('south__read_log')).toBe(false);
    expect(await isRefused('north__list_buoys')).toBe(true);
    expect(await isRefused('south__list_buoys')).toBe(true);
    await until('the pattern that matches nothing is reported', () =>
      JSON.stringify(running.events).includes('no_such_*'),
    );
  });

  it('are everything of an upstream that is not trusted, and everything unmarked or oddly marked', async () => {
    const stub = await startStub({
      tools: [
        stubTool('marked', { readOnly: true }),
        stubTool('unmarked'),
        stubTool('says_text', { more: { annotations: { readOnlyHint: 'true' } } }),
        stubTool('says_one', { more: { annotations: { readOnlyHint: 1 } } }),
        stubTool('says_null', { more: { annotations: null } }),
      ],
    });
    for (const trusted of [true, false]) {
      const running = await startProxy({ upstreams: [httpRecord('quay', stub, { trusted })] });
      await running.settled();
      for (const name of ['marked', 'unmarked', 'says_text', 'says_one', 'says_null']) {
        const result = await running.call('call_read_tool', { name, arguments: {} });
        expect(result.isError ?? false, name).toBe(!(trusted && name === 'marked'));
      }
    }
  });

  it('go to the upstream once, even when it fails in the middle', async () => {
    let calls = 0;
    const stub = await startStub({
      tools: [
        stubTool('launch', {
          answer: () => {
            calls++;
            return { kind: 'reset' };
          },
        }),
      ],
    });
    const running = await startProxy({ upstreams: [httpRecord('quay', stub)] });
    await running.settled();
    const reply = await running.raw('modern').call('call_write_tool', '{"name":"launch"}');
    expect(reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true').toBe(true);
    expect(calls).toBe(1);
    expect(reply.body).toMatch(/unknown|may have|not known/i);
  });
});

describe('call_read_tools', () => {
  it('runs its calls at the same time and answers in the order asked', async () => {
    const running: string[] = [];
    let release = (): void => undefined;
    const allThere = new Promise<void>((resolve) => {
      release = resolve;
    });
    const stub = await startStub({
      tools: [1, 2, 3].map((n) =>
        stubTool(`look_${n}`, {
          readOnly: true,
          answer: async () => {
            running.push(`look_${n}`);
            if (running.length === 3) release();
            await allThere;
            // The first asked is the last to answer.
            return {
              kind: 'result',
              raw: `{"resultType":"complete","content":[{"type":"text","text":"saw ${n}"}]}`,
              delayMs: 90 - n * 30,
            };
          },
        }),
      ),
    });
    const proxy = await startProxy({ upstreams: [httpRecord('quay', stub)] });
    await proxy.settled();
    const result = await proxy.call('call_read_tools', {
      calls: [1, 2, 3].map((n) => ({ name: `look_${n}`, arguments: {} })),
    });
    expect(result.content.map((block) => block.text)).toEqual([
      '#1 look_1: ok',
      'saw 1',
      '#2 look_2: ok',
      'saw 2',
      '#3 look_3: ok',
      'saw 3',
    ]);
    expect(result.structuredContent?.['results']).toHaveLength(3);
  });

  it('is an error only when all of its calls failed', async () => {
    const { running } = await open();
    const some = await running.call('call_read_tools', {
      calls: [{ name: 'read_wreck' }, { name: 'list_buoys' }, { name: 'nothing' }],
    });
    expect(some.isError ?? false).toBe(false);
    expect(textOf(some)).toMatch(
      /#1 read_wreck: failed[\s\S]*no such wreck[\s\S]*#2 list_buoys: ok[\s\S]*#3 nothing: failed/,
    );
    const all = await running.call('call_read_tools', {
      calls: [{ name: 'read_wreck' }, { name: 'nothing' }],
    });
    expect(all.isError).toBe(true);
    const one = await running.call('call_read_tools', { calls: [{ name: 'list_buoys' }] });
    expect(one.isError ?? false).toBe(false);
  });

  it('refuses more calls than maxBatchCalls and none at all, and is not there when that is 0', async () => {
    const { stub, running } = await open({ maxBatchCalls: 2 });
    const calls = (count: number): object => ({
      calls: Array.from({ length: count }, () => ({ name: 'list_buoys' })),
    });
    expect((await running.call('call_read_tools', calls(2))).isError ?? false).toBe(false);
    for (const count of [3, 0]) {
      const reply = await running
        .raw('modern')
        .request('tools/call', { name: 'call_read_tools', arguments: calls(count) });
      expect(reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true').toBe(true);
    }
    expect(stub.callsOf('list_buoys')).toHaveLength(2);

    const without = (await open({ maxBatchCalls: 0 })).running;
    const listed = await without.raw('modern').request('tools/list');
    expect(listed.result).not.toContain('call_read_tools');
    expect((await without.raw('modern').call('call_read_tools', JSON.stringify(calls(1)))).error?.code).toBe(
      -32602,
    );
  });
});

describe('search_tools and describe_tool', () => {
  it('refuse neither or both of query and queries, and limits outside 1 to 25', async () => {
    const { running } = await open();
    for (const args of [
      {},
      { query: 'log', queries: ['log'] },
      { query: 'log', limit: 0 },
      { query: 'log', limit: 26 },
      { queries: [] },
      { queries: ['a', 'b', 'c', 'd', 'e', 'f'] },
    ]) {
      const reply = await running
        .raw('modern')
        .request('tools/call', { name: 'search_tools', arguments: args });
      expect(
        reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true',
        JSON.stringify(args),
      ).toBe(true);
    }
    const many = Array.from({ length: 11 }, (_, n) => `tool_${n}`);
    const reply = await running
      .raw('modern')
      .request('tools/call', { name: 'describe_tool', arguments: { names: many } });
    expect(reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true').toBe(true);
  });

  it('take what is plainly meant', async () => {
    const { running } = await open();
    const limited = await running.call('search_tools', { query: 'read', limit: '2' });
    expect(limited.structuredContent?.['tools']).toHaveLength(2);
    const described = await running.call('describe_tool', { names: 'read_log' });
    expect(described.structuredContent).toMatchObject({ tools: [{ name: 'read_log' }] });
  });

  it('answer in the fixed shape: schemas of the best three, each once, text and structure alike', async () => {
    const { running } = await open();
    const one = await running.call('search_tools', { query: 'read log wreck sky storm', limit: 4 });
    expect(JSON.parse(one.content[0]?.text ?? '')).toEqual(one.structuredContent);
    expect(one.content[0]?.text).toBe(JSON.stringify(one.structuredContent));
    const { tools, total, ranking, unavailable } = one.structuredContent as {
      tools: { inputSchema?: object }[];
      total: number;
      ranking: string;
      unavailable?: unknown;
    };
    expect([tools.length, total, ranking, unavailable]).toEqual([4, 7, 'words', undefined]);
    expect(tools.map((tool) => tool.inputSchema !== undefined)).toEqual([true, true, true, false]);

    const two = await running.call('search_tools', { queries: ['read log', 'read the log'], schemas: true });
    const { results } = two.structuredContent as {
      results: { query: string; tools: { name: string; inputSchema?: object }[] }[];
    };
    expect(results.map((result) => result.query)).toEqual(['read log', 'read the log']);
    const schemasOfLog = results
      .flatMap((result) => result.tools)
      .filter((tool) => tool.name === 'read_log' && tool.inputSchema);
    expect(schemasOfLog).toHaveLength(1);

    const bare = await running.call('search_tools', { query: 'read log', schemas: false });
    expect(bare.content[0]?.text).not.toContain('inputSchema');

    const nothing = await running.call('search_tools', { query: 'zzzz qqqq' });
    expect(nothing.structuredContent).toMatchObject({ total: 7 });
    expect(nothing.isError ?? false).toBe(false);
  });

  it('give back output schema and annotations, as the upstream wrote them', async () => {
    const outputSchema = { type: 'object', properties: { depth: { type: 'number', 'x-unit': 'm' } } };
    const annotations = { title: 'Depth sounder', readOnlyHint: true, idempotentHint: true };
    const stub = await startStub({
      tools: [stubTool('sound_depth', { more: { outputSchema, annotations } })],
    });
    const running = await startProxy({ upstreams: [httpRecord('quay', stub)] });
    await running.settled();
    const { structuredContent } = await running.call('describe_tool', { names: ['sound_depth'] });
    expect(structuredContent).toMatchObject({ tools: [{ name: 'sound_depth', outputSchema, annotations }] });
  });
});
