import { request as httpRequest, Agent } from 'node:http';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import { forwardRecord, httpRecord, startHttpProgram, startProxy } from '../support/proxy.ts';
import type { RunningProxy } from '../support/proxy.ts';
import {
  startStub,
  stubTool,
  textResult,
  type StubReply,
  type StubUpstream,
} from '../support/stub-upstream.ts';
import { sleep, until, within } from '../support/wait.ts';

const look = stubTool('look', { readOnly: true, answer: () => textResult('seen') });
const json = (value: object, status = 200): StubReply => ({
  kind: 'http',
  status,
  body: JSON.stringify(value),
  headers: { 'content-type': 'application/json' },
});

/** An upstream that admits one token, and the authorization server that gives it out. */
async function guarded(): Promise<StubUpstream> {
  const stub = await startStub({
    tools: [look],
    admit: (authorization) =>
      authorization === 'Bearer good'
        ? true
        : { kind: 'http', status: 401, headers: { 'WWW-Authenticate': 'Bearer realm="harbour"' } },
  });
  const { origin } = new URL(stub.url);
  stub.script.intercept = ({ path, body }) => {
    switch (path.split('?')[0] ?? '') {
      case '/.well-known/oauth-protected-resource/mcp':
        return json({
          resource: stub.url,
          authorization_servers: [origin],
          scopes_supported: ['ships'],
          big: 1,
        });
      case '/.well-known/oauth-authorization-server':
        return json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        });
      case '/register':
        return json({ ...(JSON.parse(body) as object), client_id: 'client-1' }, 201);
      case '/token':
        return body.includes('code=the-code')
          ? json({ access_token: 'good', token_type: 'Bearer' })
          : json({ error: 'invalid_grant' }, 400);
      default:
        return undefined;
    }
  };
  return stub;
}

/** A person who signs in at once. */
function person(): OAuthClientProvider & { readonly sentTo: URL[] } {
  const kept: { client?: unknown; tokens?: unknown; verifier?: string } = {};
  const sentTo: URL[] = [];
  return {
    sentTo,
    redirectUrl: 'http://127.0.0.1:1/back',
    clientMetadata: { client_name: 'test', redirect_uris: ['http://127.0.0.1:1/back'] },
    clientInformation: () => kept.client as never,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens as never,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: (url) => void sentTo.push(url),
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier ?? '',
  };
}

const get = (running: RunningProxy, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(new URL(path, running.url), { headers });

describe('a client that signs in by OAuth', () => {
  it('finds the upstream’s authorization server through us, and works with what it gives', async () => {
    const stub = await guarded();
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    const authProvider = person();
    const first = new StreamableHTTPClientTransport(new URL(running.url), { authProvider });
    await expect(new Client({ name: 'c', version: '1' }).connect(first)).rejects.toThrow(UnauthorizedError);
    const [sentTo] = authProvider.sentTo;
    expect(sentTo?.origin).toBe(new URL(stub.url).origin);
    expect(sentTo?.searchParams.get('resource')).toBe(running.url);
    await first.finishAuth('the-code');
    const client = new Client({ name: 'c', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(running.url), { authProvider }));
    whenDone(() => client.close());
    const answer = await client.callTool({ name: 'call_read_tool', arguments: { name: 'look' } });
    expect(JSON.stringify(answer)).toContain('seen');
  });

  it('is told what the upstream says, but for where it reaches us', async () => {
    const stub = await guarded();
    const running = await startProxy({ upstreams: [forwardRecord(stub)], allowedHosts: ['mcp.example.com'] });
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
    ]) {
      const reply = await get(running, path);
      expect([reply.status, reply.headers.get('content-type')]).toEqual([
        200,
        'application/json; charset=utf-8',
      ]);
      expect(await reply.json()).toEqual({
        resource: running.url,
        authorization_servers: [new URL(stub.url).origin],
        scopes_supported: ['ships'],
        big: 1,
      });
    }
    const behind = await new Promise<string>((resolve, reject) => {
      const headers = { host: 'mcp.example.com', 'x-forwarded-proto': 'https' };
      httpRequest(new URL('/.well-known/oauth-protected-resource', running.url), { headers }, (reply) => {
        let text = '';
        reply.on('data', (chunk: Buffer) => (text += chunk.toString())).on('end', () => resolve(text));
      })
        .on('error', reject)
        .end();
    });
    expect(JSON.parse(behind)).toMatchObject({ resource: 'https://mcp.example.com/mcp' });
    // Four questions, and the upstream was asked once, with nothing of anybody's.
    const asked = stub.requests.filter(({ path }) => path.startsWith('/.well-known'));
    expect(asked.map(({ path, authorization }) => [path, authorization])).toEqual([
      ['/.well-known/oauth-protected-resource/mcp', undefined],
    ]);
  });

  it('is told nothing where the upstream says nothing, or nobody checks callers', async () => {
    const silent = await startStub({ tools: [look] });
    silent.script.intercept = ({ path }) =>
      path.startsWith('/.well-known') ? { kind: 'http', status: 404, body: 'no' } : undefined;
    const unchecked = await startProxy({ upstreams: [httpRecord('own', silent)] });
    const forwarded = await startProxy({ upstreams: [forwardRecord(silent)] });
    for (const running of [unchecked, forwarded]) {
      expect((await get(running, '/.well-known/oauth-protected-resource')).status).toBe(404);
    }
    const evil = { host: 'evil.example' };
    const status = await new Promise<number | undefined>((resolve, reject) => {
      httpRequest(
        new URL('/.well-known/oauth-protected-resource', forwarded.url),
        { headers: evil },
        (reply) => resolve(reply.resume().statusCode),
      )
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  });
});

const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'call_read_tool', arguments: { name: 'look' } },
});

interface Answered {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly text: string;
}

function post(url: string, agent: Agent, body = CALL): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    httpRequest(url, { method: 'POST', agent, headers }, (reply) => {
      let text = '';
      reply
        .on('data', (chunk: Buffer) => (text += chunk.toString()))
        .on('end', () => resolve({ status: reply.statusCode, connection: reply.headers.connection, text }))
        .on('error', reject);
    })
      .on('error', reject)
      .end(body);
  });
}

describe('shutting down', () => {
  it('answers everything that came before, tells clients to connect elsewhere, and waits for no idle one', async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow = stubTool('look', {
      readOnly: true,
      answer: async () => {
        await released;
        return textResult('seen');
      },
    });
    const stub = await startStub({ tools: [slow] });
    const running = await startProxy({ upstreams: [httpRecord('tower', stub)], limits: { drainMs: 10_000 } });
    await running.settled();
    const agent = new Agent({ keepAlive: true });
    whenDone(() => agent.destroy());
    // Connections that are open and idle, as clients' pools keep them.
    await Promise.all(Array.from({ length: 5 }, async () => get(running, '/healthz').then((r) => r.text())));
    const calls = Array.from({ length: 10 }, () => post(running.url, agent));
    await stub.arrived('look', 10);
    const closed = running.close();
    expect(running.events.some(({ kind }) => kind === 'draining')).toBe(true);
    // Who could not know yet is answered; balancers hear that we are not ready; soon nobody gets in.
    expect((await get(running, '/readyz')).status).toBe(503);
    await until('new connections are refused', async () =>
      get(running, '/readyz').then(
        () => false,
        (error: Error) => /ECONNREFUSED/.test(String(error.cause)),
      ),
    );
    release();
    for (const { status, connection, text } of await Promise.all(calls)) {
      expect([status, connection, text.includes('seen')]).toEqual([200, 'close', true]);
    }
    await within('it is closed', closed, 5_000);
  });

  it('serves a request that comes on an open connection in the same moment', async () => {
    const stub = await startStub({ tools: [look] });
    const running = await startProxy({ upstreams: [httpRecord('tower', stub)] });
    await running.settled();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    whenDone(() => agent.destroy());
    expect((await post(running.url, agent)).connection).toBe('keep-alive');
    const closed = running.close();
    let last: Answered;
    do {
      last = await post(running.url, agent);
      expect(last.status).toBe(200);
    } while (last.connection !== 'close');
    await within('it is closed', closed, 5_000);
  });

  it('gives up what takes too long by name: nobody knows what became of it', async () => {
    const stub = await startStub({
      tools: [stubTool('look', { readOnly: true, answer: () => ({ kind: 'hang' }) })],
    });
    const running = await startProxy({ upstreams: [httpRecord('tower', stub)], limits: { drainMs: 300 } });
    await running.settled();
    const call = post(running.url, new Agent());
    const arrived = await stub.arrived('look');
    const closed = running.close();
    const { status, text } = await call;
    expect(status).toBe(200);
    expect(text).toContain('[shutting_down]');
    expect(text).toContain('"outcome":"unknown"');
    await within('it is closed', closed, 5_000);
    await until('the upstream knows', () => arrived.clientLeft);
  });

  it('ends streams that have no end', async () => {
    const stub = await startStub({ tools: [look] });
    const running = await startProxy({ upstreams: [httpRecord('tower', stub)], limits: { drainMs: 60_000 } });
    await running.settled();
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    };
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        notifications: { toolsListChanged: true },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    });
    const reply = await fetch(running.url, { method: 'POST', headers, body });
    expect(reply.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const read = reply.text().catch(() => 'cut');
    await within('it is closed', running.close(), 5_000);
    await within('the stream has ended', read, 5_000);
  });

  it('loses no request of many clients, and ends well', async () => {
    const stub = await startStub({ tools: [look] });
    const running = await startHttpProgram([], { config: { mcpServers: { tower: { url: stub.url } } } });
    await until('its tools are there', async () => {
      const { text } = await post(running.url, new Agent());
      return text.includes('seen');
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    whenDone(() => agent.destroy());
    let served = 0;
    const over = new AbortController();
    const lost: unknown[] = [];
    const client = async (): Promise<void> => {
      while (!over.signal.aborted) {
        try {
          const { status } = await post(running.url, agent);
          if (status === 200) served++;
          else lost.push(status);
        } catch (thrown) {
          // Not taken at all is no loss: the next of us, or the next start, gets it.
          if ((thrown as { code?: string }).code !== 'ECONNREFUSED') lost.push(thrown);
          return;
        }
      }
    };
    const clients = Array.from({ length: 8 }, client);
    await until('many are served', () => served > 100);
    running.child.kill('SIGTERM');
    const code = await within('the program ends', running.exited);
    over.abort();
    await Promise.all(clients);
    expect(lost).toEqual([]);
    expect(code).toBe(0);
  });

  it('ends at once when it is asked a second time', async () => {
    const stub = await startStub({
      tools: [stubTool('look', { readOnly: true, answer: () => ({ kind: 'hang' }) })],
    });
    const running = await startHttpProgram([], { config: { mcpServers: { tower: { url: stub.url } } } });
    const call = post(running.url, new Agent()).catch(() => 'cut');
    await stub.arrived('look');
    running.child.kill('SIGTERM');
    await sleep(200);
    running.child.kill('SIGTERM');
    expect(await within('the program ends', running.exited, 5_000)).toBe(143);
    expect(await call).toBe('cut');
  });
});
