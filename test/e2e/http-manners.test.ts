import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CLIENTS, type RawReply } from '../support/clients.ts';
import { META_TOOLS } from '../support/harbour.ts';
import { rawMember } from '../support/raw-json.ts';
import {
  forwardRecord,
  httpRecord,
  startProxy,
  startStdioProgram,
  stdioRecord,
  toolsAreThere,
  type RunningProxy,
} from '../support/proxy.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { result, startStub, stubTool, textResult, type StubUpstream } from '../support/stub-upstream.ts';
import { sleep, until, within } from '../support/wait.ts';

const bell = [
  stubTool('ring_bell', { description: 'Rings the bell.', readOnly: true, answer: () => textResult('ding') }),
  stubTool('hang', { readOnly: true, answer: () => ({ kind: 'hang' }) }),
  stubTool('climb', {
    readOnly: true,
    answer: () =>
      result(
        { content: [{ type: 'text', text: 'at the top' }] },
        {
          notifications: [
            { method: 'notifications/progress', params: { progress: 1, total: 2, message: 'half way' } },
            { method: 'notifications/progress', params: { progress: 2, total: 2 } },
          ],
        },
      ),
  }),
];

async function open(
  changes: Parameters<typeof startProxy>[0] = {},
): Promise<{ stub: StubUpstream; running: RunningProxy }> {
  const stub = await startStub({ tools: bell });
  const running = await startProxy({ upstreams: [httpRecord('tower', stub)], ...changes });
  await running.settled();
  return { stub, running };
}

const BOTH = 'application/json, text/event-stream';
const JSON_BODY = { 'content-type': 'application/json', accept: BOTH };
const listBody = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}';

const post = (running: RunningProxy, body: string, headers: Record<string, string> = {}): Promise<RawReply> =>
  running.raw('legacy').send('POST', body, { ...JSON_BODY, ...headers });

const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name !== undefined && { 'mcp-name': name }),
});

describe('who may ask', () => {
  it('refuses foreign hosts and origins with 403, and lets loopback ones in', async () => {
    const { running } = await open();
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await post(running, listBody, headers)).status;
    for (const host of [
      'evil.example',
      'evil.example:8080',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
    ]) {
      expect(await status({ host }), host).toBe(403);
    }
    for (const origin of [
      'https://evil.example',
      'null',
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'garbage',
    ]) {
      expect(await status({ origin }), origin).toBe(403);
    }
    for (const host of ['localhost:5173', '127.0.0.1', '[::1]:8080', 'LOCALHOST'])
      expect(await status({ host }), host).toBe(200);
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1', 'http://[::1]:80'])
      expect(await status({ origin }), origin).toBe(200);
  });

  it('lets configured hosts and origins in', async () => {
    const { running } = await open({ allowedHosts: ['harbour.example'], allowedOrigins: ['office.example'] });
    expect((await post(running, listBody, { host: 'harbour.example:8443' })).status).toBe(200);
    expect((await post(running, listBody, { host: 'other.example' })).status).toBe(403);
    expect((await post(running, listBody, { origin: 'https://office.example' })).status).toBe(200);
    expect((await post(running, listBody, { origin: 'https://other.example' })).status).toBe(403);
  });

  it('checks before it reads, calls or forwards anything', async () => {
    const stub = await startStub({ tools: bell });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    await running
      .raw('modern', { origin: 'https://evil.example', authorization: 'Bearer keeper' })
      .call('call_read_tool', '{"name":"ring_bell"}');
    expect(stub.requests).toHaveLength(0);
  });
});

describe('what may be asked how', () => {
  it('answers other HTTP methods with 405, other paths with 404', async () => {
    const { running } = await open();
    const raw = running.raw('legacy');
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
      const reply = await raw.send(method, method === 'PUT' ? '{}' : undefined, {
        accept: 'text/event-stream',
      });
      expect([reply.status, reply.headers['allow']], method).toEqual([405, 'POST']);
    }
    const elsewhere = await fetch(new URL('/other', running.url), {
      method: 'POST',
      body: listBody,
      headers: JSON_BODY,
    });
    expect(elsewhere.status).toBe(404);
  });

  it('answers a body over the limit with 413 and the name of the limit, with or without a length', async () => {
    const { running } = await open({ limits: { maxBodyBytes: 2_000 } });
    const big = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search_tools', arguments: { query: 'x'.repeat(3_000) } },
    });
    const declared = await post(running, big);
    expect(declared.status).toBe(413);
    expect(declared.body).toContain('maxBodyBytes');
    const chunked = await new Promise<number>((resolve, reject) => {
      const outgoing = httpRequest(
        running.url,
        { method: 'POST', headers: JSON_BODY, agent: false },
        (incoming) => {
          incoming.resume();
          resolve(incoming.statusCode ?? 0);
        },
      );
      outgoing.on('error', reject);
      outgoing.write(big.slice(0, 1_000));
      outgoing.end(big.slice(1_000));
    });
    expect(chunked).toBe(413);
    expect((await post(running, listBody)).status).toBe(200);
  });

  it('answers another content type with 415', async () => {
    const { running } = await open();
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
    ]) {
      expect((await post(running, listBody, { 'content-type': type })).status, type).toBe(415);
    }
    for (const type of ['application/json; charset=utf-8', 'Application/JSON']) {
      expect((await post(running, listBody, { 'content-type': type })).status, type).toBe(200);
    }
  });

  it('answers what is no JSON or no JSON-RPC with 400 and the code for it', async () => {
    const { running } = await open();
    for (const [body, code] of [
      ['{"jsonrpc":"2.0",', -32700],
      ['', -32700],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/list"} trailing', -32700],
      ['"text"', -32600],
      ['{}', -32600],
      ['{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600],
      ['{"jsonrpc":"2.0","id":1,"method":5}', -32600],
      ['[]', -32600],
    ] as const) {
      const reply = await post(running, body);
      expect([reply.status, reply.error?.code], body).toEqual([400, code]);
    }
    const deep = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_tools","arguments":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`;
    expect((await post(running, deep)).status).toBeLessThan(500);
    expect((await post(running, listBody)).status).toBe(200);
  });

  it('takes bodies in UTF-8 that arrive in pieces', async () => {
    const { running } = await open();
    const body = Buffer.from('{"jsonrpc":"2.0","id":"ąž🌊","method":"tools/list","params":{}}');
    const { port } = new URL(running.url);
    const socket = connect(Number(port), '127.0.0.1');
    let reply = '';
    socket.setEncoding('utf8').on('data', (text: string) => (reply += text));
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: ${BOTH}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
    );
    for (const byte of body) {
      socket.write(Buffer.from([byte]));
      if (byte > 127) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await within('the reply', new Promise((resolve) => socket.on('close', resolve)));
    expect(reply).toMatch(/^HTTP\/1\.1 200/);
    expect(reply).toContain('"id":"ąž🌊"');
  });

  it('answers clients that accept JSON alone, anything, or say nothing', async () => {
    const { running } = await open();
    for (const era of ['modern', 'legacy'] as const) {
      for (const accept of ['application/json', '*/*', '', 'application/json;q=0.9, text/event-stream']) {
        const reply = await running
          .raw(era)
          .call('call_read_tool', '{"name":"ring_bell"}', { headers: { accept } });
        expect([reply.status, reply.result?.includes('ding')], `${era} ${accept}`).toEqual([200, true]);
        if (!accept.includes('event-stream'))
          expect(reply.headers['content-type']).toMatch(/application\/json/);
        const listed = await running.raw(era).request('tools/list', {}, { headers: { accept } });
        expect([listed.status, listed.result?.includes('search_tools')]).toEqual([200, true]);
      }
    }
    const initialized = await running
      .raw('legacy')
      .request(
        'initialize',
        { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
        { headers: { accept: 'application/json' } },
      );
    expect(initialized.status).toBe(200);
  });

  it('answers progress to a client that accepts JSON alone with the result', async () => {
    const { running } = await open();
    const reply = await running.raw('legacy').call('call_read_tool', '{"name":"climb"}', {
      headers: { accept: 'application/json' },
      progressToken: 'p',
    });
    expect(reply.headers['content-type']).toMatch(/application\/json/);
    expect(reply.result).toContain('at the top');
  });
});

describe('JSON-RPC', () => {
  it('gives ids back as they came', async () => {
    const { running } = await open();
    for (const id of ['1', '0', '-7', '"a"', '""', '"ą\\u00e9🌊"', '9007199254740991', '"1"']) {
      const reply = await post(
        running,
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"call_read_tool","arguments":{"name":"ring_bell"}}}`,
      );
      const message = reply.messages[0] ?? '{}';
      expect(JSON.parse(rawMember(message, 'id') ?? 'null'), id).toEqual(JSON.parse(id));
      expect(rawMember(message, 'result')).toContain('ding');
    }
  });

  it('answers notifications with 202 and nothing', async () => {
    const { running } = await open();
    for (const era of ['modern', 'legacy'] as const) {
      for (const method of [
        'notifications/initialized',
        'notifications/cancelled',
        'notifications/of_another_time',
      ]) {
        const reply = await running
          .raw(era)
          .notify(method, { requestId: 'x', ...(era === 'modern' && { _meta: MODERN_META }) });
        expect([reply.status, reply.body], `${era} ${method}`).toEqual([202, '']);
      }
    }
    const answer = await post(running, '{"jsonrpc":"2.0","id":"ask","result":{}}');
    expect(answer.status).toBe(202);
  });

  it('takes the batches of 2025-03-26', async () => {
    const { running } = await open();
    const batch = `[${listBody},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"call_read_tool","arguments":{"name":"ring_bell"}}},{"jsonrpc":"2.0","id":3,"method":"nonsense"}]`;
    for (const accept of [BOTH, 'application/json']) {
      const reply = await post(running, batch, { accept });
      expect(reply.status).toBe(200);
      const messages = reply.messages.flatMap((message) => {
        const value: unknown = JSON.parse(message);
        return Array.isArray(value) ? (value as unknown[]) : [value];
      }) as { id: unknown; result?: unknown; error?: { code: number } }[];
      const byId = new Map(messages.map((message) => [message.id, message]));
      expect(byId.size).toBe(3);
      expect(JSON.stringify(byId.get('b'))).toContain('ding');
      expect(JSON.stringify(byId.get(1))).toContain('search_tools');
      expect(byId.get(3)?.error?.code).toBe(-32601);
    }
    const quiet = await post(running, '[{"jsonrpc":"2.0","method":"notifications/initialized"}]');
    expect(quiet.status).toBe(202);
  });

  it('answers unknown methods: 404 for 2026-07-28, in band for older clients', async () => {
    const { running } = await open();
    for (const method of ['nonsense', 'resources/list', 'prompts/list', 'tools/unknown']) {
      const modern = await running.raw('modern').request(method);
      expect([modern.status, modern.error?.code], method).toEqual([404, -32601]);
      const legacy = await running.raw('legacy').request(method);
      expect([legacy.status, legacy.error?.code], method).toEqual([200, -32601]);
    }
    const ping = await running.raw('legacy').request('ping');
    expect(ping.result).toBe('{}');
    expect((await running.raw('modern').request('ping')).status).toBe(404);
  });

  it('answers malformed parameters with -32602', async () => {
    const { running } = await open();
    for (const params of [
      '{}',
      '{"name":5}',
      '{"name":"search_tools","arguments":"x"}',
      '{"name":"search_tools","arguments":[]}',
    ]) {
      const reply = await post(running, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
      const isRefused = reply.error?.code === -32602 || rawMember(reply.result ?? '{}', 'isError') === 'true';
      expect(isRefused, `${params}: ${reply.body}`).toBe(true);
    }
  });
});

describe('2026-07-28 over HTTP', () => {
  const body = (
    method: string,
    params: Record<string, unknown>,
    meta: object | undefined = MODERN_META,
  ): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...(meta && { _meta: meta }) } });
  const call = { name: 'call_read_tool', arguments: { name: 'ring_bell' } };

  it('refuses headers that do not match the body with -32020', async () => {
    const { stub, running } = await open();
    const good = modernHeaders('tools/call', 'call_read_tool');
    const cases: readonly (readonly [string, Record<string, string>])[] = [
      ['another method', { ...good, 'mcp-method': 'tools/list' }],
      ['another name', { ...good, 'mcp-name': 'call_write_tool' }],
      ['no method', { ...good, 'mcp-method': '' }],
      ['no name', { ...good, 'mcp-name': '' }],
      ['another version', { ...good, 'mcp-protocol-version': '2025-11-25' }],
    ];
    for (const [label, headers] of cases) {
      const reply = await post(running, body('tools/call', call), headers);
      expect([reply.status, reply.error?.code], label).toEqual([400, -32020]);
    }
    expect(stub.callsOf('ring_bell')).toHaveLength(0);
    const encoded = `=?base64?${Buffer.from('call_read_tool').toString('base64')}?=`;
    expect((await post(running, body('tools/call', call), { ...good, 'mcp-name': encoded })).status).toBe(
      200,
    );
  });

  it('refuses a request without its envelope with -32602, and another version with -32022 and those we speak', async () => {
    const { running } = await open();
    const none = await post(
      running,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
      modernHeaders('tools/list'),
    );
    expect([none.status, none.error?.code]).toEqual([400, -32602]);
    const { 'io.modelcontextprotocol/clientCapabilities': _, ...bare } = MODERN_META;
    const half = await post(running, body('tools/list', {}, bare), modernHeaders('tools/list'));
    expect([half.status, half.error?.code]).toEqual([400, -32602]);
    const future = { ...MODERN_META, 'io.modelcontextprotocol/protocolVersion': '2031-01-01' };
    const later = await post(running, body('tools/list', {}, future), {
      ...modernHeaders('tools/list'),
      'mcp-protocol-version': '2031-01-01',
    });
    expect([later.status, later.error?.code]).toEqual([400, -32022]);
    expect(JSON.stringify(later.error?.data)).toContain('2026-07-28');
  });

  it('takes no batches', async () => {
    const { running } = await open();
    const reply = await post(running, `[${body('tools/list', {})}]`, modernHeaders('tools/list'));
    expect(reply.status).toBe(400);
  });

  it('discovers: versions, capabilities, instructions, and how long that may be kept', async () => {
    const { running } = await open();
    const reply = await running.raw('modern').request('server/discover');
    const discovered = JSON.parse(reply.result ?? '{}') as Record<string, unknown>;
    expect(discovered).toMatchObject({
      resultType: 'complete',
      cacheScope: 'private',
      capabilities: { tools: {} },
    });
    expect(discovered['supportedVersions']).toContain('2026-07-28');
    expect(discovered['ttlMs']).toBeGreaterThanOrEqual(0);
    expect(discovered['instructions']).toMatch(/search_tools/);
    expect(JSON.stringify(discovered['_meta'])).toContain('mcp-toolsearch-proxy');
    const listed = JSON.parse((await running.raw('modern').request('tools/list')).result ?? '{}') as Record<
      string,
      unknown
    >;
    expect(listed).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
    expect(listed['ttlMs']).toBeGreaterThan(0);
    expect(listed['nextCursor']).toBeUndefined();
    const names = (listed['tools'] as { name: string }[]).map((tool) => tool.name);
    expect(names).toEqual([...names].sort());
  });
});

describe('older clients over HTTP', () => {
  it('agree on the version they asked for, or the newest of the older ones', async () => {
    const { running } = await open();
    for (const [asked, agreed] of [
      ['2024-11-05', '2024-11-05'],
      ['2025-03-26', '2025-03-26'],
      ['2025-06-18', '2025-06-18'],
      ['2025-11-25', '2025-11-25'],
      ['2019-01-01', '2025-11-25'],
    ] as const) {
      const reply = await running.raw('legacy').request('initialize', {
        protocolVersion: asked,
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      });
      const answer = JSON.parse(reply.result ?? '{}') as Record<string, unknown>;
      expect(answer).toMatchObject({ protocolVersion: agreed, serverInfo: { name: 'mcp-toolsearch-proxy' } });
      expect(reply.headers['mcp-session-id']).toBeUndefined();
      expect(answer['resultType']).toBeUndefined();
    }
  });

  it('work with and without a version header, with a stale session id, and without initialize', async () => {
    const { running } = await open();
    for (const headers of [
      {},
      { 'mcp-protocol-version': '2025-03-26' },
      { 'mcp-protocol-version': '2025-06-18' },
      { 'mcp-session-id': 'stale' },
    ]) {
      const reply = await post(running, listBody, headers);
      expect(reply.status).toBe(200);
      const result = rawMember(reply.messages[0] ?? '{}', 'result') ?? '{}';
      expect(rawMember(result, 'ttlMs')).toBeUndefined();
      expect(rawMember(result, 'resultType')).toBeUndefined();
    }
    expect((await post(running, listBody, { 'mcp-protocol-version': '1999-01-01' })).status).toBe(400);
  });
});

describe('health', () => {
  it('is told without a credential, and ready means that tools can be listed', async () => {
    const { running } = await open();
    for (const path of ['/healthz', '/readyz']) {
      const reply = await fetch(new URL(path, running.url));
      expect(reply.status, path).toBe(200);
    }
  });

  it('tells nothing of upstreams or callers', async () => {
    const { stub, running } = await open();
    await running.call(
      'call_read_tool',
      { name: 'ring_bell', arguments: {} },
      { authorization: 'Bearer keeper-9' },
    );
    for (const path of ['/healthz', '/readyz']) {
      const text = await (await fetch(new URL(path, running.url))).text();
      expect(text).not.toContain('keeper-9');
      expect(text).not.toContain(String(stub.port));
    }
  });
});

describe('a client that goes away', () => {
  for (const era of ['modern', 'legacy'] as const) {
    for (const upstreamEra of ['modern', 'legacy'] as const) {
      it(`ends the call at the upstream (${era} client, ${upstreamEra} upstream)`, async () => {
        const stub = await startStub({ era: upstreamEra, session: upstreamEra === 'legacy', tools: bell });
        const running = await startProxy({ upstreams: [httpRecord('tower', stub)] });
        await running.settled();
        const leaving = new AbortController();
        const call = running.raw(era).call('call_read_tool', '{"name":"hang"}', { signal: leaving.signal });
        call.catch(() => undefined);
        const request = await stub.arrived('hang');
        expect(request.clientLeft).toBe(false);
        leaving.abort();
        await until('the upstream call ends', () => request.clientLeft);
        if (upstreamEra === 'legacy')
          await until('the upstream is told', () => stub.requestsOf('notifications/cancelled').length === 1);
        expect(stub.violations).toEqual([]);
      });
    }

    it(`ends every call of a batch (${era} client)`, async () => {
      const { stub, running } = await open();
      const leaving = new AbortController();
      const call = running
        .raw(era)
        .call('call_read_tools', '{"calls":[{"name":"hang"},{"name":"hang"}]}', { signal: leaving.signal });
      call.catch(() => undefined);
      await stub.arrived('hang', 2);
      leaving.abort();
      await until('both end', () => stub.callsOf('hang').every((request) => request.clientLeft));
    });
  }

  it('tells a stdio upstream too', async () => {
    const child = scriptStdio({ tools: [{ definition: bell[1]?.definition, does: { kind: 'hang' } }] });
    const running = await startProxy({ upstreams: [stdioRecord('tower', child)] });
    await running.settled();
    const leaving = new AbortController();
    const call = running.raw('modern').call('call_read_tool', '{"name":"hang"}', { signal: leaving.signal });
    call.catch(() => undefined);
    await until('the call arrives', () => child.callsOf('hang').length === 1);
    leaving.abort();
    const [cancelled] = await until(
      'it is told',
      () => child.linesOf('notifications/cancelled').length > 0 && child.linesOf('notifications/cancelled'),
    );
    expect(rawMember(cancelled ?? '{}', 'params', 'requestId')).toBe(
      rawMember(child.callsOf('hang')[0] ?? '{}', 'id'),
    );
  });

  for (const era of ['modern', 'legacy'] as const) {
    it(`over stdio by cancelling ends the call at the upstream (${era})`, async () => {
      const stub = await startStub({ tools: bell });
      const program = await startStdioProgram(era, { mcpServers: { tower: { url: stub.url } } });
      const { client } = program;
      if (era === 'legacy') await client.initialize();
      await toolsAreThere(program, 3);
      const call = client.call('call_read_tool', '{"name":"hang"}', { id: 'leaving' });
      call.catch(() => undefined);
      const request = await stub.arrived('hang');
      const meta = era === 'modern' ? `,"_meta":${JSON.stringify(MODERN_META)}` : '';
      client.write(
        `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"leaving"${meta}}}`,
      );
      await until('the upstream call ends', () => request.clientLeft);
      expect(client.lines.some((line) => line.includes('"id":"leaving"') && line.includes('"result"'))).toBe(
        false,
      );
    });
  }
});

describe('progress', () => {
  for (const client of CLIENTS) {
    it(`reaches the ${client.label} client`, async () => {
      const { stub, running } = await open();
      const connected = await client.connect(running.target);
      const seen: unknown[] = [];
      await connected.callTool(
        'call_read_tool',
        { name: 'climb' },
        { onProgress: (progress) => seen.push(progress) },
      );
      expect(seen).toEqual([
        { progress: 1, total: 2, message: 'half way' },
        { progress: 2, total: 2 },
      ]);
      expect(stub.violations).toEqual([]);
    });
  }

  it('carries the client’s own token, whatever it is', async () => {
    const { running } = await open();
    for (const era of ['modern', 'legacy'] as const) {
      for (const progressToken of [0, 17, 'ą"b']) {
        const reply = await running.raw(era).call('call_read_tool', '{"name":"climb"}', { progressToken });
        const tokens = reply.messages.flatMap(
          (message) => rawMember(message, 'params', 'progressToken') ?? [],
        );
        expect(tokens.map((token) => JSON.parse(token) as unknown)).toEqual([progressToken, progressToken]);
      }
    }
  });

  it('is not sent to clients that did not ask for it', async () => {
    const { running } = await open();
    for (const era of ['modern', 'legacy'] as const) {
      const reply = await running.raw(era).call('call_read_tool', '{"name":"climb"}');
      expect(reply.messages.filter((message) => message.includes('notifications/progress'))).toEqual([]);
      expect(reply.result).toContain('at the top');
    }
  });

  it('reaches a client over stdio', async () => {
    const stub = await startStub({ tools: bell });
    for (const era of ['modern', 'legacy'] as const) {
      const program = await startStdioProgram(era, { mcpServers: { tower: { url: stub.url } } });
      const { client } = program;
      if (era === 'legacy') await client.initialize();
      await toolsAreThere(program, 3);
      await client.call('call_read_tool', '{"name":"climb"}', { progressToken: 'up' });
      const progress = client.lines.filter((line) => line.includes('notifications/progress'));
      expect(progress.map((line) => rawMember(line, 'params', 'progressToken'))).toEqual(['"up"', '"up"']);
    }
  });
});

describe('the handler without a listener', () => {
  it('answers web-standard requests', async () => {
    const { running } = await open();
    const reply = await running.proxy.fetch(
      new Request('http://localhost/mcp', { method: 'POST', body: listBody, headers: JSON_BODY }),
    );
    expect(reply.status).toBe(200);
    expect(await reply.text()).toContain('search_tools');
  });

  it('checks no host when it is meant for another address and none is configured', async () => {
    const stub = await startStub({ tools: bell });
    const upstreams = [httpRecord('tower', stub)];
    const ask = async (changes: Parameters<typeof startProxy>[0]): Promise<number> => {
      const { proxy } = await startProxy({ upstreams, ...changes });
      const request = new Request('http://harbour.example/mcp', {
        method: 'POST',
        body: listBody,
        headers: { ...JSON_BODY, host: 'harbour.example' },
      });
      return (await proxy.fetch(request)).status;
    };
    expect(await ask({})).toBe(403);
    expect(await ask({ listen: { host: '0.0.0.0', port: 0 } })).toBe(200);
    expect(await ask({ listen: { host: '0.0.0.0', port: 0 }, allowedHosts: ['other.example'] })).toBe(403);
  });
});

describe('whatever is sent (generated)', () => {
  it('is answered with JSON-RPC or a status below 500, and the next request works', async () => {
    const { running } = await open();
    const part = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.record(
        {
          name: fc.constantFrom(...META_TOOLS, '', '__proto__'),
          arguments: fc.jsonValue({ maxDepth: 3 }),
          _meta: fc.oneof(fc.constant(MODERN_META), fc.jsonValue({ maxDepth: 1 })),
        },
        { requiredKeys: [] },
      ),
    );
    const message = fc.record(
      {
        jsonrpc: fc.oneof(
          { weight: 9, arbitrary: fc.constant('2.0') },
          { weight: 1, arbitrary: fc.jsonValue() },
        ),
        id: fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.jsonValue({ maxDepth: 1 })),
        method: fc.oneof(
          fc.constantFrom(
            'tools/call',
            'tools/list',
            'initialize',
            'server/discover',
            'ping',
            'notifications/cancelled',
            'subscriptions/listen',
          ),
          fc.string(),
        ),
        params: part,
        result: part,
      },
      { requiredKeys: ['jsonrpc'] },
    );
    const version = fc.constantFrom('', '2026-07-28', '2025-11-25', '2025-03-26', 'x');
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(message, fc.array(message, { maxLength: 3 })),
        version,
        async (body, protocolVersion) => {
          const isListening = JSON.stringify(body).includes('subscriptions/listen');
          const reply = await Promise.race([
            post(running, JSON.stringify(body), { 'mcp-protocol-version': protocolVersion }),
            // A subscription stays open, rightly.
            ...(isListening ? [sleep(200).then(() => undefined)] : []),
          ]);
          if (reply === undefined) return;
          expect(reply.status).toBeLessThan(500);
          for (const text of reply.messages) expect(() => JSON.parse(text) as unknown).not.toThrow();
          expect(JSON.stringify(reply.error ?? {})).not.toMatch(/TypeError|undefined|\bat .*\.(ts|js):/);
        },
      ),
      { numRuns: 150 },
    );
    expect(
      (await running.call('call_read_tool', { name: 'ring_bell', arguments: {} })).content[0]?.text,
    ).toBe('ding');
  });
});

describe('many at once', () => {
  it('get each their own answer', async () => {
    const stub = await startStub({
      tools: [
        stubTool('echo', {
          readOnly: true,
          properties: { n: {} },
          answer: ({ argumentsText = '' }) => textResult(argumentsText),
        }),
      ],
    });
    const running = await startProxy({ upstreams: [httpRecord('tower', stub)] });
    await running.settled();
    const replies = await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        const era = n % 2 === 0 ? 'modern' : 'legacy';
        return (
          await running.raw(era).call('call_read_tool', `{"name":"echo","arguments":{"n":${n}}}`, { id: 7 })
        ).result;
      }),
    );
    replies.forEach((reply, n) => expect(reply).toContain(`{\\"n\\":${n}}`));
  });
});
