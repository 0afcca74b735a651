import { describe, expect, it } from 'vitest';
import { CLIENTS, rawHttp, textOf } from './clients.ts';
import { rawResult, result, rpcError, startStub, stubTool, textResult } from './stub-upstream.ts';
import { until } from './wait.ts';

const BIG =
  '{"content":[{"type":"text","text":"ąžuolas 🌊"}],"depth":12345678901234567890,"resultType":"complete"}';

const harbour = [
  stubTool('tide_table', { properties: { port: { type: 'string' } }, required: ['port'], readOnly: true }),
  stubTool('sound_horn', { answer: () => textResult('hooo') }),
  stubTool('deep_water', { answer: () => rawResult(BIG) }),
];

describe('the stub upstream', () => {
  for (const client of CLIENTS) {
    for (const reply of ['json', 'sse'] as const) {
      it(`serves the ${client.label} client with ${reply} replies, and finds nothing to object to`, async () => {
        const stub = await startStub({
          era: 'both',
          reply,
          oddSse: reply === 'sse',
          tools: harbour,
          instructions: 'Ahoy.',
        });
        const connected = await client.connect({
          kind: 'http',
          url: stub.url,
          headers: { authorization: 'Bearer mate' },
        });
        expect(connected.instructions()).toBe('Ahoy.');
        expect(connected.protocolVersion()).toBe(client.era === 'modern' ? '2026-07-28' : '2025-11-25');
        expect((await connected.listTools()).map((tool) => tool.name)).toEqual([
          'tide_table',
          'sound_horn',
          'deep_water',
        ]);
        expect(textOf(await connected.callTool('sound_horn', {}))).toBe('hooo');
        expect(stub.callsOf('sound_horn')).toHaveLength(1);
        expect(stub.requests.every((request) => request.authorization === 'Bearer mate')).toBe(true);
        // `auto` asks the newer way first and is told; that is no breach.
        expect(stub.violations).toEqual([]);
      });
    }
  }

  it('insists on the session it handed out, and forgets it when told', async () => {
    const stub = await startStub({ era: 'legacy', session: true, tools: harbour });
    const raw = rawHttp(stub.url, { era: 'legacy' });
    expect((await raw.request('tools/list')).status).toBe(400);
    const opened = await raw.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: {},
    });
    const session = { 'mcp-session-id': opened.headers['mcp-session-id'] ?? '' };
    expect((await raw.request('tools/list', {}, { headers: session })).result).toContain('tide_table');
    stub.dropSessions();
    expect((await raw.request('tools/list', {}, { headers: session })).status).toBe(404);
  });

  it('gives results as the very text of the script', async () => {
    const stub = await startStub({ era: 'both', tools: harbour });
    for (const era of ['modern', 'legacy'] as const) {
      for (const reply of ['json', 'sse'] as const) {
        stub.script.reply = reply;
        expect((await rawHttp(stub.url, { era }).call('deep_water', '{}')).result).toBe(BIG);
      }
    }
  });

  it('refuses and records what a modern client may not leave out', async () => {
    const stub = await startStub({ era: 'modern', tools: harbour });
    const raw = rawHttp(stub.url, { era: 'modern' });
    const wrong = await raw.call('sound_horn', '{}', { headers: { 'mcp-name': 'tide_table' } });
    expect([wrong.status, wrong.error?.code]).toEqual([400, -32020]);
    expect((await raw.call('sound_horn', '{}', { headers: { accept: 'application/json' } })).status).toBe(
      406,
    );
    expect(stub.violations).toHaveLength(2);
    expect((await raw.request('resources/list')).status).toBe(404);
  });

  it('pages, lists by credential, and refuses with a challenge', async () => {
    const many = Array.from({ length: 5 }, (_, n) => stubTool(`pier_${n}`));
    const stub = await startStub({
      pageSize: 2,
      tools: (authorization) => (authorization === 'Bearer mate' ? harbour : many),
      admit: (authorization) =>
        authorization === 'Bearer stowaway'
          ? { kind: 'http', status: 401, headers: { 'WWW-Authenticate': 'Bearer realm="quay"' } }
          : true,
    });
    const anonymous = rawHttp(stub.url, { era: 'modern' });
    const first = JSON.parse((await anonymous.request('tools/list')).result ?? '') as { nextCursor: string };
    const second = await anonymous.request('tools/list', { cursor: first.nextCursor });
    expect(second.result).toContain('pier_3');
    const mate = rawHttp(stub.url, { era: 'modern', headers: { authorization: 'Bearer mate' } });
    expect((await mate.request('tools/list')).result).toContain('tide_table');
    const refused = await rawHttp(stub.url, {
      era: 'modern',
      headers: { authorization: 'Bearer stowaway' },
    }).request('tools/list');
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer realm="quay"']);
  });

  it('hangs, resets, fails, sends progress and notices that a client left', async () => {
    const stub = await startStub({
      tools: [
        stubTool('hang', { answer: () => ({ kind: 'hang' }) }),
        stubTool('reset', { answer: () => ({ kind: 'reset', partial: '{"jsonrpc"' }) }),
        stubTool('fail', { answer: () => rpcError(-32050, 'no tugs', { left: 0 }) }),
        stubTool('steps', {
          answer: () =>
            result(
              { content: [] },
              { notifications: [{ method: 'notifications/progress', params: { progress: 1 } }] },
            ),
        }),
      ],
    });
    const raw = rawHttp(stub.url, { era: 'modern' });
    await expect(raw.call('reset', '{}')).rejects.toThrow();
    expect((await raw.call('fail', '{}')).error).toEqual({
      code: -32050,
      message: 'no tugs',
      data: { left: 0 },
    });
    const steps = await raw.call('steps', '{}', { progressToken: 'p' });
    expect(JSON.parse(steps.messages[0] ?? '')).toMatchObject({
      params: { progressToken: 'p', progress: 1 },
    });
    const leaving = new AbortController();
    const hanging = raw.call('hang', '{}', { signal: leaving.signal });
    const request = await stub.arrived('hang');
    leaving.abort();
    await expect(hanging).rejects.toThrow();
    await until('the stub notices', () => request.clientLeft);
  });

  it('stops and starts again on its port', async () => {
    const stub = await startStub({ tools: harbour });
    const { url } = stub;
    await stub.stop();
    await expect(rawHttp(url, { era: 'modern' }).request('tools/list')).rejects.toThrow();
    await stub.start();
    expect((await rawHttp(url, { era: 'modern' }).request('tools/list')).status).toBe(200);
  });

  it('sends list_changed on the streams of both generations', async () => {
    const stub = await startStub({ era: 'both', tools: harbour });
    const seen = { legacy: '', modern: '' };
    const listening = new AbortController();
    const follow = async (era: 'legacy' | 'modern', init: RequestInit): Promise<void> => {
      const response = await fetch(stub.url, { ...init, signal: listening.signal });
      const decoder = new TextDecoder();
      if (response.body === null) return;
      for await (const chunk of response.body) seen[era] += decoder.decode(chunk as Uint8Array);
    };
    const accept = 'application/json, text/event-stream';
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const followed = Promise.allSettled([
      follow('legacy', { headers: { accept } }),
      follow('modern', {
        method: 'POST',
        headers: {
          accept,
          'content-type': 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'subscriptions/listen',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 7,
          method: 'subscriptions/listen',
          params: { _meta, notifications: { toolsListChanged: true } },
        }),
      }),
    ]);
    await until('both streams are open', () => stub.openStreams() === 2);
    stub.sendListChanged();
    await until('both were told', () =>
      Object.values(seen).every((text) => text.includes('tools/list_changed')),
    );
    expect(seen.modern).toContain('"io.modelcontextprotocol/subscriptionId":7');
    listening.abort();
    await followed;
    await until('both streams are closed', () => stub.openStreams() === 0);
  });
});
