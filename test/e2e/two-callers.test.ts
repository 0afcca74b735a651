import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLIENTS, textOf } from '../support/clients.ts';
import { forwardRecord, startProxy, type MetaResult, type RunningProxy } from '../support/proxy.ts';
import { sleep, until, within } from '../support/wait.ts';
import {
  startStub,
  stubTool,
  textResult,
  type StubScript,
  type StubTool,
  type StubUpstream,
} from '../support/stub-upstream.ts';

const CAPTAIN = 'Bearer captain-7f3a';
const COOK = 'Bearer cook-b21c';

const named = (name: string, description: string, readOnly: boolean): StubTool =>
  stubTool(name, {
    description,
    readOnly,
    properties: { note: { type: 'string' } },
    answer: ({ authorization }) => textResult(`${name} for ${authorization ?? 'nobody'}`),
  });

/** What each may use at the one upstream; `anchor_status` is defined alike for two of them. */
const LISTS: Readonly<Record<string, readonly StubTool[]>> = {
  [CAPTAIN]: [
    named('plot_course', 'Plots a course to another harbour.', false),
    named('read_charts', 'Reads the secret sea charts.', true),
    named('anchor_status', 'Tells whether the anchor is down.', true),
  ],
  [COOK]: [
    named('order_food', 'Orders provisions for the galley.', false),
    named('read_recipes', 'Reads recipes of the galley.', true),
    named('anchor_status', 'Tells whether the anchor is down.', true),
    named('count_barrels', 'Counts the barrels in the hold.', true),
  ],
  anonymous: [named('read_notice_board', 'Reads the public notice board.', true)],
};

const CALLERS = [CAPTAIN, COOK, undefined] as const;
type Caller = (typeof CALLERS)[number];

const listOf = (caller: string | undefined): readonly StubTool[] => LISTS[caller ?? 'anonymous'] ?? [];
const namesOf = (caller: Caller): string[] =>
  listOf(caller).map((tool) => (tool.definition as { name: string }).name);
const othersOnly = (caller: Caller): string[] =>
  CALLERS.flatMap(namesOf).filter((name) => !namesOf(caller).includes(name));
const headersOf = (caller: Caller): Record<string, string> =>
  caller === undefined ? {} : { authorization: caller };

async function ship(
  script: Partial<StubScript> = {},
): Promise<{ stub: StubUpstream; running: RunningProxy }> {
  const stub = await startStub({
    tools: listOf,
    instructions: (authorization) => `For ${authorization ?? 'nobody'} only.`,
    ...script,
  });
  const running = await startProxy({ upstreams: [forwardRecord(stub)] });
  return { stub, running };
}

const said = (result: MetaResult): string => JSON.stringify(result);

describe('callers with different lists at one upstream', () => {
  it('find only their own tools, and only those count', async () => {
    const { running } = await ship();
    for (const caller of [...CALLERS, ...CALLERS]) {
      const queries = ['secret sea charts', 'galley recipes', 'anchor', 'public notice board', 'barrels'];
      const result = await running.call('search_tools', { queries, limit: 25 }, headersOf(caller));
      expect(result.structuredContent?.['total']).toBe(namesOf(caller).length);
      for (const name of othersOnly(caller)) expect(said(result)).not.toContain(name);
      const found = await running.call(
        'search_tools',
        { query: namesOf(caller)[0], limit: 25 },
        headersOf(caller),
      );
      expect(said(found)).toContain(namesOf(caller)[0]);
    }
  });

  it('get no description, no suggestion and no near name of another’s tool', async () => {
    const { running } = await ship();
    for (const caller of CALLERS) {
      for (const name of othersOnly(caller)) {
        const described = await running.call(
          'describe_tool',
          { names: [name, `${name}s`] },
          headersOf(caller),
        );
        expect(described.structuredContent).toMatchObject({ tools: [], unknown: [name, `${name}s`] });
        const similar = (described.structuredContent?.['similar'] ?? {}) as Record<string, string[]>;
        for (const names of Object.values(similar))
          expect(othersOnly(caller)).not.toEqual(expect.arrayContaining(names));
        for (const suggestion of Object.values(similar).flat()) expect(namesOf(caller)).toContain(suggestion);
      }
    }
  });

  it('cannot call another’s tool by any of the calling tools, and the upstream never hears of it', async () => {
    const { stub, running } = await ship();
    // All views are warm: the others' tools are known to the process.
    for (const caller of CALLERS) await running.call('search_tools', { query: 'anchor' }, headersOf(caller));
    for (const caller of CALLERS) {
      for (const name of othersOnly(caller)) {
        const typo = name.slice(0, -1);
        for (const wanted of [name, typo]) {
          const results = [
            await running.call('call_read_tool', { name: wanted, arguments: {} }, headersOf(caller)),
            await running.call('call_write_tool', { name: wanted, arguments: {} }, headersOf(caller)),
            await running.call(
              'call_read_tools',
              { calls: [{ name: wanted, arguments: {} }] },
              headersOf(caller),
            ),
          ];
          for (const result of results) {
            expect(result.isError).toBe(true);
            // The name asked for may be repeated; what it is may not be told.
            const description = CALLERS.flatMap(listOf).find(
              (tool) => (tool.definition as { name: string }).name === name,
            )?.definition as { description: string };
            expect(said(result)).not.toContain(description.description);
            if (wanted === typo) expect(said(result).replaceAll(typo, '')).not.toContain(name);
          }
        }
      }
    }
    expect(stub.requestsOf('tools/call')).toHaveLength(0);
  });

  for (const era of ['modern', 'legacy'] as const) {
    it(`reach a ${era} upstream with their own credential, whoever asks when (generated)`, async () => {
      const { stub, running } = await ship({ era, session: era === 'legacy' });
      const step = fc.record({
        caller: fc.constantFrom(...CALLERS),
        tool: fc.constantFrom(...new Set(CALLERS.flatMap(namesOf))),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
          const results = await Promise.all(
            steps.map(({ caller, tool }) =>
              running.call('call_write_tool', { name: tool, arguments: {} }, headersOf(caller)),
            ),
          );
          steps.forEach(({ caller, tool }, n) => {
            const result = results[n];
            const mayCall = namesOf(caller).includes(tool);
            expect(result?.isError ?? false).toBe(!mayCall);
            if (mayCall) expect(result?.content[0]?.text).toBe(`${tool} for ${caller ?? 'nobody'}`);
          });
        }),
        { numRuns: 20 },
      );
      const sessionOwners = new Map<string, Set<string | undefined>>();
      for (const request of stub.requests) {
        const tool = request.params['name'] as string | undefined;
        if (request.method === 'tools/call') expect(namesOf(request.authorization as Caller)).toContain(tool);
        const session = request.headers['mcp-session-id'];
        if (session !== undefined) {
          sessionOwners.set(session, (sessionOwners.get(session) ?? new Set()).add(request.authorization));
        }
      }
      // No two callers share a session, and none opens a second one.
      for (const owners of sessionOwners.values()) expect(owners.size).toBe(1);
      expect(sessionOwners.size).toBe(era === 'legacy' ? 3 : 0);
      // One listing for each, however many asked at once.
      expect(stub.requestsOf('tools/list')).toHaveLength(3);
      expect(stub.violations).toEqual([]);
    });
  }

  it('get the instructions meant for them', async () => {
    const { running } = await ship();
    for (const caller of CALLERS) {
      for (const client of CLIENTS) {
        const connected = await client.connect({
          kind: 'http',
          url: running.url,
          headers: headersOf(caller),
        });
        expect(connected.instructions()).toContain(`For ${caller ?? 'nobody'} only.`);
        for (const other of CALLERS) {
          if (other !== caller)
            expect(connected.instructions()).not.toContain(`For ${other ?? 'nobody'} only.`);
        }
      }
    }
  });

  it('differ by the whole header: another scheme or case is another caller', async () => {
    const { stub, running } = await ship();
    await running.call('search_tools', { query: 'anchor' }, headersOf(CAPTAIN));
    const lower = await running.call(
      'search_tools',
      { query: 'charts' },
      { authorization: CAPTAIN.toLowerCase() },
    );
    expect(said(lower)).not.toContain('read_charts');
    expect(stub.requestsOf('tools/list').map((request) => request.authorization)).toEqual([
      CAPTAIN,
      CAPTAIN.toLowerCase(),
    ]);
  });

  it('do not wait for each other, and one who leaves does not spoil the listing for who stays', async () => {
    const { stub, running } = await ship();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    stub.script.intercept = async ({ method, authorization }) => {
      if (method === 'tools/list' && authorization === CAPTAIN) await released;
      return undefined;
    };
    const leaving = new AbortController();
    const search = { name: 'search_tools', arguments: { query: 'charts' } };
    const captain = running.raw('modern', headersOf(CAPTAIN));
    const left = captain.request('tools/call', search, { signal: leaving.signal });
    left.catch(() => undefined);
    await until('the listing is asked for', () => stub.requestsOf('tools/list').length === 1);
    const staying = captain.request('tools/call', search);
    const cook = await within(
      'the other caller',
      running.call('search_tools', { query: 'barrels' }, headersOf(COOK)),
      5_000,
    );
    expect(cook.structuredContent?.['total']).toBe(4);
    leaving.abort();
    await sleep(50);
    release();
    expect((await staying).result).toContain('read_charts');
    expect(
      stub.requestsOf('tools/list').filter(({ authorization }) => authorization === CAPTAIN),
    ).toHaveLength(1);
  });

  it('get a handshake without instructions when the upstream keeps silent too long', async () => {
    const stub = await startStub({ tools: listOf, intercept: () => ({ kind: 'hang' }) });
    const running = await startProxy({
      upstreams: [forwardRecord(stub)],
      limits: { instructionsWaitMs: 200 },
    });
    for (const { era, connect } of [CLIENTS[0]!, CLIENTS[3]!]) {
      const client = await within(
        'the handshake',
        connect({ kind: 'http', url: running.url, headers: headersOf(CAPTAIN) }),
        8_000,
      );
      expect(client.instructions(), era).toMatch(/search_tools/);
    }
  });

  it('keep their lists apart in the answers of our own tools/list, which is the same for all', async () => {
    const { running } = await ship();
    const answers = await Promise.all(
      CALLERS.map(
        async (caller) => (await running.raw('modern', headersOf(caller)).request('tools/list')).result,
      ),
    );
    expect(new Set(answers).size).toBe(1);
    for (const name of CALLERS.flatMap(namesOf)) expect(answers[0]).not.toContain(name);
  });
});

describe('what of a request reaches a forwarded upstream', () => {
  const CANARY = 'canary-5d1e';
  /** What clients and the proxies before us send along. */
  const THEIRS = {
    cookie: `session=${CANARY}`,
    'x-api-key': CANARY,
    'x-custom': CANARY,
    'x-forwarded-for': '203.0.113.9',
    forwarded: 'for=203.0.113.9',
    'x-real-ip': '203.0.113.9',
    'proxy-authorization': `Basic ${CANARY}`,
    'x-goog-iap-jwt-assertion': CANARY,
    'mcp-session-id': CANARY,
    'last-event-id': CANARY,
    referer: `http://localhost/${CANARY}`,
    'user-agent': CANARY,
    'accept-language': `lt;${CANARY}`,
  };
  /** Headers of the proxy's own request: HTTP's and the protocol's. */
  const OURS = new Set([
    'host',
    'connection',
    'content-type',
    'content-length',
    'transfer-encoding',
    'accept',
    'accept-encoding',
    'accept-language',
    'sec-fetch-mode',
    'user-agent',
    'mcp-protocol-version',
    'mcp-method',
    'mcp-name',
  ]);

  for (const era of ['modern', 'legacy'] as const) {
    for (const upstreamEra of ['modern', 'legacy'] as const) {
      it(`is the Authorization header and nothing else (${era} client, ${upstreamEra} upstream)`, async () => {
        const stub = await startStub({ era: upstreamEra, session: upstreamEra === 'legacy', tools: listOf });
        const running = await startProxy({ upstreams: [forwardRecord(stub)] });
        const client = running.raw(era, { ...THEIRS, authorization: CAPTAIN });
        const handshake = era === 'modern' ? 'server/discover' : 'initialize';
        await client.request(handshake, {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: CANARY, version: '1' },
        });
        await client.request('tools/list');
        await client.call('search_tools', '{"query":"charts"}');
        await client.call('describe_tool', '{"names":["read_charts"]}');
        const called = await client.call('call_read_tool', '{"name":"read_charts","arguments":{"note":"x"}}');
        expect(called.result).toContain(`read_charts for ${CAPTAIN}`);
        await client.call('call_read_tools', '{"calls":[{"name":"anchor_status"}]}');
        await client.call('call_write_tool', '{"name":"plot_course"}');

        expect(stub.requests.length).toBeGreaterThan(3);
        for (const request of stub.requests) {
          expect(request.authorization).toBe(CAPTAIN);
          const names = request.headerNames.map((name) => name.toLowerCase());
          const allowed = upstreamEra === 'legacy' ? [...OURS, 'mcp-session-id'] : [...OURS];
          expect(names.filter((name) => name !== 'authorization' && !allowed.includes(name))).toEqual([]);
          expect(JSON.stringify(request.headers)).not.toContain(CANARY);
          expect(JSON.stringify(request.headers)).not.toContain('203.0.113.9');
        }
        expect(stub.violations).toEqual([]);
      });
    }
  }

  it('is no Authorization header when the client sent none', async () => {
    const { stub, running } = await ship();
    await running.call('call_read_tool', { name: 'read_notice_board', arguments: {} });
    expect(stub.requests.length).toBeGreaterThan(1);
    for (const request of stub.requests)
      expect(request.headerNames.map((name) => name.toLowerCase())).not.toContain('authorization');
  });

  it('is not sent to an upstream with a credential of its own', async () => {
    const forwarded = await startStub({ tools: listOf });
    const own = await startStub({ tools: [named('ring_bell', 'Rings the bell.', true)] });
    const running = await startProxy({
      upstreams: [
        forwardRecord(forwarded, 'ship'),
        {
          ...forwardRecord(own, 'bell'),
          auth: 'own',
          transport: { kind: 'http', url: own.url, headers: { authorization: 'Bearer the-proxy-itself' } },
        },
      ],
    });
    const result = await running.call(
      'call_read_tool',
      { name: 'bell__ring_bell', arguments: {} },
      headersOf(CAPTAIN),
    );
    expect(result.content[0]?.text).toContain('the-proxy-itself');
    await running.call('search_tools', { query: 'charts' }, headersOf(CAPTAIN));
    for (const request of own.requests) expect(request.authorization).toBe('Bearer the-proxy-itself');
    expect(own.requests.some((request) => JSON.stringify(request).includes('captain'))).toBe(false);
    for (const request of forwarded.requests)
      expect(JSON.stringify(request)).not.toContain('the-proxy-itself');
  });
});

describe('an upstream that does not accept the credential', () => {
  const CHALLENGE =
    'Bearer realm="quay", resource_metadata="http://127.0.0.1:1/.well-known/oauth-protected-resource/mcp", scope="ships:read", error="invalid_token"';
  const REFUSALS = [
    { status: 401, challenge: CHALLENGE },
    { status: 403, challenge: 'Bearer error="insufficient_scope", scope="ships:write"' },
    { status: 401, challenge: undefined },
  ] as const;

  for (const { status, challenge } of REFUSALS) {
    it(`answers ${status} ${challenge === undefined ? 'without a challenge' : 'with its challenge'}, and so do we`, async () => {
      const stub = await startStub({
        tools: listOf,
        admit: (authorization) =>
          authorization === CAPTAIN
            ? true
            : {
                kind: 'http',
                status,
                headers: {
                  'Content-Type': 'application/json',
                  ...(challenge !== undefined && { 'WWW-Authenticate': challenge }),
                },
                body: '{"error":"invalid_token"}',
              },
      });
      const running = await startProxy({ upstreams: [forwardRecord(stub)] });
      for (const headers of [{}, { authorization: 'Bearer stowaway' }]) {
        const modern = running.raw('modern', headers);
        const legacy = running.raw('legacy', headers);
        const replies = {
          'server/discover': await modern.request('server/discover'),
          initialize: await legacy.request('initialize', {
            protocolVersion: '2025-11-25',
            capabilities: {},
            clientInfo: { name: 'x', version: '1' },
          }),
          'search, modern': await modern.call('search_tools', '{"query":"charts"}'),
          'search, legacy': await legacy.call('search_tools', '{"query":"charts"}'),
          describe: await modern.call('describe_tool', '{"names":["read_charts"]}'),
          'read, modern': await modern.call('call_read_tool', '{"name":"read_charts"}'),
          'read, legacy': await legacy.call('call_read_tool', '{"name":"read_charts"}'),
          batch: await modern.call('call_read_tools', '{"calls":[{"name":"read_charts"}]}'),
          write: await legacy.call('call_write_tool', '{"name":"plot_course"}'),
        };
        for (const [what, reply] of Object.entries(replies)) {
          expect([reply.status, reply.headers['www-authenticate']], what).toEqual([status, challenge]);
        }
      }
      // Others are not touched by it.
      const captain = await running.call('search_tools', { query: 'charts' }, headersOf(CAPTAIN));
      expect(captain.structuredContent?.['total']).toBe(3);
    });
  }

  for (const session of [true, false]) {
    it(`is passed on from an older upstream ${session ? 'with' : 'without'} sessions too`, async () => {
      const stub = await startStub({
        era: 'legacy',
        session,
        tools: listOf,
        admit: (authorization) =>
          authorization === CAPTAIN
            ? true
            : { kind: 'http', status: 401, headers: { 'WWW-Authenticate': CHALLENGE } },
      });
      const running = await startProxy({ upstreams: [forwardRecord(stub)] });
      for (const era of ['modern', 'legacy'] as const) {
        const reply = await running
          .raw(era, headersOf(COOK))
          .call('call_read_tool', '{"name":"read_charts"}');
        expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, CHALLENGE]);
        const captain = await running
          .raw(era, headersOf(CAPTAIN))
          .call('call_read_tool', '{"name":"read_charts"}');
        expect(captain.result).toContain(`read_charts for ${CAPTAIN}`);
      }
    });
  }

  it('does not hide the tools of an upstream with a credential of its own, and is named', async () => {
    const refusing = await startStub({
      admit: () => ({ kind: 'http', status: 401, headers: { 'WWW-Authenticate': CHALLENGE } }),
    });
    const own = await startStub({ tools: [named('ring_bell', 'Rings the bell.', true)] });
    const running = await startProxy({
      upstreams: [forwardRecord(refusing, 'ship'), { ...forwardRecord(own, 'bell'), auth: 'own' }],
    });
    await running.settled();
    const found = await running.call('search_tools', { query: 'bell' }, headersOf(COOK));
    expect(found.structuredContent).toMatchObject({ total: 1, unavailable: [{ name: 'ship' }] });
    expect(
      (await running.call('call_read_tool', { name: 'ring_bell', arguments: {} }, headersOf(COOK))).isError ??
        false,
    ).toBe(false);
  });

  it('is never asked again at the address it redirects to', async () => {
    const elsewhere = await startStub({ tools: listOf });
    for (const status of [301, 302, 303, 307, 308]) {
      const stub = await startStub({
        intercept: () => ({ kind: 'http', status, headers: { Location: elsewhere.url } }),
      });
      const running = await startProxy({ upstreams: [forwardRecord(stub)] });
      const reply = await running
        .raw('modern', headersOf(CAPTAIN))
        .call('call_read_tool', '{"name":"read_charts"}');
      expect(reply.body, String(status)).toMatch(/redirect/i);
    }
    expect(elsewhere.requests).toHaveLength(0);
  });

  it('is seen by the SDKs’ clients as what it is', async () => {
    const stub = await startStub({
      tools: listOf,
      admit: () => ({ kind: 'http', status: 401, headers: { 'WWW-Authenticate': CHALLENGE } }),
    });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    for (const { connect } of CLIENTS) {
      await expect(connect({ kind: 'http', url: running.url, headers: headersOf(COOK) })).rejects.toThrow(
        /401|[Uu]nauthorized/,
      );
    }
  });

  it('when it revokes one that was good, answers the next call, and its tools are gone at once', async () => {
    let isRevoked = false;
    const stub = await startStub({
      tools: listOf,
      admit: () =>
        isRevoked ? { kind: 'http', status: 401, headers: { 'WWW-Authenticate': CHALLENGE } } : true,
    });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    const client = running.raw('modern', headersOf(CAPTAIN));
    expect((await client.call('call_read_tool', '{"name":"read_charts"}')).status).toBe(200);
    isRevoked = true;
    const call = await client.call('call_read_tool', '{"name":"read_charts"}');
    expect([call.status, call.headers['www-authenticate']]).toEqual([401, CHALLENGE]);
    const search = await client.call('search_tools', '{"query":"charts"}');
    expect([search.status, search.headers['www-authenticate']]).toEqual([401, CHALLENGE]);
    expect(search.body).not.toContain('read_charts');
  });

  it('does not make a client with it wait or fail: the good ones work side by side', async () => {
    const { running } = await ship();
    const clients = await Promise.all(
      CALLERS.map((caller) =>
        CLIENTS[0]!.connect({ kind: 'http', url: running.url, headers: headersOf(caller) }),
      ),
    );
    const texts = await Promise.all(
      clients.map(async (client, n) =>
        textOf(await client.callTool('call_read_tool', { name: namesOf(CALLERS[n]).at(-1) })),
      ),
    );
    expect(texts).toEqual([
      `anchor_status for ${CAPTAIN}`,
      `count_barrels for ${COOK}`,
      'read_notice_board for nobody',
    ]);
  });
});
