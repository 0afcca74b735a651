import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { UpstreamRecord } from '../../src/roster/record.ts';
import { whenDone } from '../support/cleanup.ts';
import { CLIENTS, textOf } from '../support/clients.ts';
import { forwardRecord, httpRecord, startHttpProgram, startProxy } from '../support/proxy.ts';
import { rawMember } from '../support/raw-json.ts';
import { startSseStub, type SseStub } from '../support/sse-upstream.ts';
import { rawResult, rpcError, startStub, stubTool, textResult } from '../support/stub-upstream.ts';
import { sleep, until, within } from '../support/wait.ts';

/** Servers of MCP 2024-11-05: everything they say comes on one event stream. */

const read = (name: string, answer: Parameters<typeof stubTool>[1] = {}): ReturnType<typeof stubTool> =>
  stubTool(name, { readOnly: true, ...answer });

const BIG =
  '{"content":[{"type":"text","text":"ąčę 🌊"}],"structuredContent":{"id":12345678901234567890},"odd":1.0}';

const tools = [
  read('exact', { answer: () => rawResult(BIG) }),
  read('hang', { answer: () => ({ kind: 'hang' }) }),
  read('refuse', { answer: () => rpcError(-32000, 'tired') }),
];

const sseRecord = (at: SseStub, changes: Partial<UpstreamRecord> = {}): UpstreamRecord => {
  const record = httpRecord('old', at, changes);
  return {
    ...record,
    transport: { ...record.transport, kind: 'http', url: at.url, headers: {}, type: 'sse' },
  };
};

describe('an upstream over HTTP+SSE', () => {
  it('is found and called by every client, its results as it wrote them', async () => {
    const stub = await startSseStub({ tools, odd: true, instructions: 'Knock first.' });
    const running = await startProxy({ upstreams: [sseRecord(stub)] });
    await running.settled();
    for (const client of CLIENTS) {
      const connected = await client.connect(running.target);
      expect(connected.instructions()).toContain('Knock first.');
      expect(textOf(await connected.callTool('call_read_tool', { name: 'exact' }))).toBe('ąčę 🌊');
    }
    const reply = await running.raw('legacy').call('call_read_tool', '{"name":"exact"}');
    expect(reply.result).toBe(BIG);
    // One stream for all of them, and nothing was ever posted where the stream is.
    expect(stub.requests.filter(({ httpMethod }) => httpMethod === 'GET')).toHaveLength(1);
    await running.close();
    await until('its stream is closed with us', () => stub.openStreams() === 0);
  });

  for (const refusal of [400, 404, 405]) {
    it(`is recognised by the ${refusal} it answers the newer handshake with, once`, async () => {
      const stub = await startSseStub({ tools, refusal });
      const running = await startProxy({ upstreams: [httpRecord('old', stub)] });
      await running.settled();
      const posts = (): number =>
        stub.requests.filter(({ method }) => method === 'initialize' || method === 'server/discover').length;
      const reply = await running.raw('modern').call('call_read_tool', '{"name":"exact"}');
      expect(reply.result).toContain('12345678901234567890');
      const before = posts();
      stub.endStreams();
      await until('the stream is gone', () => stub.openStreams() === 0);
      expect((await running.raw('modern').call('call_read_tool', '{"name":"exact"}')).result).toContain(
        'ąčę',
      );
      // What worked is remembered: the second connection asks nothing but its own handshake.
      expect(posts()).toBe(before + 1);
    });
  }

  it('that was replaced by a newer server is reached as one', async () => {
    const stub = await startSseStub({ tools });
    const running = await startProxy({ upstreams: [httpRecord('old', stub)] });
    await running.settled();
    stub.script.streamStatus = 405;
    stub.endStreams();
    await until('the stream is gone', () => stub.openStreams() === 0);
    const before = stub.requests.length;
    await running.raw('modern').call('call_read_tool', '{"name":"exact"}');
    const methods = stub.requests.slice(before).map(({ httpMethod, method }) => method ?? httpMethod);
    expect(methods.slice(0, 2)).toEqual(['GET', 'server/discover']);
  });

  it('is not what a server that refuses both is taken for: the first refusal is the reason', async () => {
    const stub = await startStub({ intercept: () => ({ kind: 'http', status: 404, body: 'nothing here' }) });
    const running = await startProxy({ upstreams: [httpRecord('nowhere', stub)] });
    await running.settled();
    const found = await running.call('search_tools', { query: 'x' });
    expect(JSON.stringify(found.structuredContent)).toContain('HTTP 404');
  });

  it('is not what a stream without an endpoint is taken for, nor waited for long', async () => {
    const stub = await startStub({
      era: 'legacy',
      intercept: ({ httpMethod }) => (httpMethod === 'POST' ? { kind: 'http', status: 400 } : undefined),
    });
    const running = await startProxy({ upstreams: [httpRecord('keyless', stub)] });
    await within('the first listing ends', running.settled(), 9_000);
    const found = await running.call('search_tools', { query: 'x' });
    expect(JSON.stringify(found.structuredContent)).toContain('HTTP 400');
    await until('its stream is closed again', () => stub.openStreams() === 0);
  });

  it('brings new tools with its change notices', async () => {
    const stub = await startSseStub({ tools });
    const running = await startProxy({ upstreams: [sseRecord(stub)] });
    await running.settled();
    stub.script.tools = [...tools, read('new_one')];
    stub.say({ method: 'notifications/tools/list_changed' });
    await until('the new tool is there', async () => {
      const { structuredContent } = await running.call('search_tools', { query: 'new one' });
      return structuredContent?.['total'] === 4;
    });
  });

  it('passes errors, progress and cancellation both ways', async () => {
    const steps = [1, 2, 3].map((progress) => ({ method: 'notifications/progress', params: { progress } }));
    const stub = await startSseStub({
      tools: [
        ...tools,
        read('slow', {
          answer: () => ({
            kind: 'result',
            raw: '{"content":[{"type":"text","text":"at last"}]}',
            notifications: steps,
            pauseMs: 400,
          }),
        }),
      ],
    });
    const running = await startProxy({ upstreams: [sseRecord(stub)], limits: { callTimeoutMs: 900 } });
    await running.settled();
    const refused = await running.call('call_read_tool', { name: 'refuse' });
    expect(refused).toMatchObject({ isError: true });
    expect(refused.content[0]?.text).toContain('tired');
    // 1.2 s in all, longer than a call may be silent; the client wants no progress.
    const slow = await running.call('call_read_tool', { name: 'slow' });
    expect(slow.content[0]?.text).toBe('at last');
    const withProgress = await running
      .raw('modern')
      .call('call_read_tool', '{"name":"slow"}', { progressToken: 'mine' });
    expect(withProgress.messages.filter((message) => message.includes('"mine"'))).toHaveLength(3);

    const leaving = new AbortController();
    const call = running
      .raw('legacy')
      .call('call_read_tool', '{"name":"hang"}', { signal: leaving.signal })
      .catch(() => undefined);
    await until('the call has arrived', () => stub.callsOf('hang').length === 1);
    leaving.abort();
    await call;
    const cancelled = await until('the upstream hears of it', () =>
      stub.requestsOf('notifications/cancelled').at(0),
    );
    expect(cancelled.params['requestId']).toBe(JSON.parse(stub.callsOf('hang')[0]?.body ?? '{}').id);
    // And the upstream goes on.
    expect((await running.call('call_read_tool', { name: 'exact' })).content[0]?.text).toContain('ąčę');
  });

  it('gets answers to what it asks, at once', async () => {
    const asks = ['ping', 'sampling/createMessage', 'elicitation/create', 'roots/list'].map((method) => ({
      method,
      params: {},
    }));
    const stub = await startSseStub({
      tools: [read('asking', { answer: () => ({ kind: 'result', raw: '{"content":[]}', asks }) })],
    });
    const running = await startProxy({ upstreams: [sseRecord(stub)] });
    await running.settled();
    await running.call('call_read_tool', { name: 'asking' });
    expect(
      stub.clientAnswers.map((answer) => rawMember(answer, 'result') ?? rawMember(answer, 'error', 'code')),
    ).toEqual(['{}', '-32601', '-32601', '-32601']);
  });

  it('hands log messages to the one call under way, at the level its client chose', async () => {
    const logs = ['debug', 'warning', 'error'].map((level) => ({
      method: 'notifications/message',
      params: { level, data: `a ${level}` },
    }));
    const stub = await startSseStub({
      logging: true,
      tools: [
        read('chatty', { answer: () => ({ kind: 'result', raw: '{"content":[]}', notifications: logs }) }),
      ],
    });
    const running = await startProxy({ upstreams: [sseRecord(stub)] });
    await running.settled();
    const reply = await running
      .raw('modern')
      .request(
        'tools/call',
        '{"name":"call_read_tool","arguments":{"name":"chatty"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"warning"}}',
      );
    expect(reply.messages.filter((message) => message.includes('notifications/message'))).toHaveLength(2);
    expect(reply.body).not.toContain('a debug');
    expect(stub.requestsOf('logging/setLevel').map(({ params }) => params['level'])).toEqual(['warning']);
  });

  it('that restarted is called again in a new session, also when only the session is lost', async () => {
    const stub = await startSseStub({ tools });
    const running = await startProxy({ upstreams: [sseRecord(stub)] });
    await running.settled();
    stub.dropSessions();
    expect((await running.call('call_read_tool', { name: 'exact' })).content[0]?.text).toContain('ąčę');
    stub.endStreams();
    await until('the stream is gone', () => stub.openStreams() === 0);
    expect((await running.call('call_read_tool', { name: 'exact' })).content[0]?.text).toContain('ąčę');
    // One more than answered: the one refused for its session.
    expect(stub.callsOf('exact')).toHaveLength(3);
  });

  it('whose stream breaks fails the calls under way, once', async () => {
    const stub = await startSseStub({ tools });
    const running = await startProxy({ upstreams: [sseRecord(stub)] });
    await running.settled();
    const call = running.call('call_read_tool', { name: 'hang' });
    await until('the call has arrived', () => stub.callsOf('hang').length === 1);
    stub.endStreams();
    const broken = await within('the call ends', call, 5_000);
    expect(broken.content[0]?.text).toMatch(/upstream_closed.*event stream/);
    expect(stub.callsOf('hang')).toHaveLength(1);
  });

  it('that falls silent is given up and connected anew', async () => {
    const stub = await startSseStub({ tools });
    const running = await startProxy({ upstreams: [sseRecord(stub)], limits: { callTimeoutMs: 500 } });
    await running.settled();
    stub.script.silent = true;
    const late = await running.call('call_read_tool', { name: 'exact' });
    expect(late.content[0]?.text).toContain('upstream_timeout');
    await until('the dead stream is closed', () => stub.openStreams() === 0);
    stub.script.silent = false;
    expect((await running.call('call_read_tool', { name: 'exact' })).content[0]?.text).toContain('ąčę');
  });

  it('cannot send us elsewhere with its endpoint, nor more than a message may have', async () => {
    const elsewhere = await startSseStub({ tools, endpoint: 'http://127.0.0.1:9/steal' });
    const large = await startSseStub({
      tools: [read('large', { answer: () => textResult('x'.repeat(200_000)) })],
    });
    const running = await startProxy({
      upstreams: [
        { ...sseRecord(elsewhere), name: 'elsewhere' },
        { ...sseRecord(large), name: 'large' },
      ],
      limits: { maxMessageBytes: 100_000 },
    });
    await running.settled();
    const { structuredContent } = await running.call('search_tools', { query: 'x' });
    expect(JSON.stringify(structuredContent?.['unavailable'])).toContain('not on its own host');
    const reply = await running.call('call_read_tool', { name: 'large__large' });
    expect(reply.content[0]?.text).toMatch(/upstream_too_large.*maxMessageBytes/);
  });
});

describe('a forwarded upstream over HTTP+SSE', () => {
  it('is reached with each caller’s own credential, and no connection outlives its request', async () => {
    const stub = await startSseStub({ tools, admit: (authorization) => authorization !== undefined });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    const ask = async (name: string): Promise<number> => {
      const client = running.raw('modern', { authorization: `Bearer ${name}` });
      const reply = await client.call('call_read_tool', '{"name":"exact"}');
      expect(reply.result).toContain('ąčę');
      return reply.status;
    };
    await Promise.all([ask('a'), ask('b'), ask('c')]);
    await until('every stream is closed', () => stub.openStreams() === 0);
    const callers = stub.callsOf('exact').map(({ headers }) => headers['authorization'] ?? '');
    expect(new Set(callers)).toEqual(new Set(['Bearer a', 'Bearer b', 'Bearer c']));
    expect(callers).toHaveLength(3);
    const strange = stub.requests
      .flatMap(({ headers }) => Object.keys(headers))
      .filter((name) => name === 'cookie');
    expect(strange).toEqual([]);
  });

  it('answers a refused credential with its own challenge', async () => {
    const stub = await startSseStub({ tools, admit: (authorization) => authorization === 'Bearer good' });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    const reply = await running
      .raw('modern', { authorization: 'Bearer bad' })
      .call('search_tools', '{"query":"x"}');
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer realm="sse"']);
  });
});

describe('a real server over SSE', () => {
  it('is listed and called from a configuration file', async () => {
    const port = await freePort();
    const entry = createRequire(import.meta.url).resolve(
      '@modelcontextprotocol/server-everything/dist/index.js',
    );
    const server = spawn(process.execPath, [entry, 'sse'], {
      env: { PATH: process.env['PATH'] ?? '', PORT: String(port) },
      stdio: 'ignore',
    });
    whenDone(() => void server.kill('SIGKILL'));
    const url = `http://127.0.0.1:${port}/sse`;
    await until('the server listens', async () => {
      const leaving = new AbortController();
      const answered = await fetch(url, { signal: leaving.signal }).then(
        () => true,
        () => false,
      );
      leaving.abort();
      return answered;
    });
    const running = await startHttpProgram([], {
      config: { mcpServers: { named: { type: 'sse', url }, found: { url } } },
    });
    const { rawHttp } = await import('../support/clients.ts');
    const client = rawHttp(running.url, { era: 'modern' });
    for (const name of ['named__echo', 'found__echo']) {
      await until(`${name} answers`, async () => {
        const reply = await client.call(
          'call_write_tool',
          `{"name":"${name}","arguments":{"message":"ahoy"}}`,
        );
        if (!reply.body.includes('ahoy')) await sleep(200);
        return reply.body.includes('ahoy');
      });
    }
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
