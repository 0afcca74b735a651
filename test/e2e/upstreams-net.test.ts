import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import { rawHttp } from '../support/clients.ts';
import { startForwardProxy } from '../support/forward-proxy.ts';
import { httpRecord, startHttpProgram, startProxy } from '../support/proxy.ts';
import { rawResult, startStub, stubTool, type StubUpstream } from '../support/stub-upstream.ts';
import { CERTIFICATE_FILE, TLS } from '../support/tls.ts';
import { until } from '../support/wait.ts';

/** Stands in front of a stub, by TLS or not, and may change its replies. */
async function before(
  stub: StubUpstream,
  options: { readonly tls?: boolean; readonly encoding?: 'gzip' | 'br' | 'zstd' } = {},
): Promise<{ port: number; url: string }> {
  const { tls = false, encoding } = options;
  const listener: RequestListener = (incoming, response) => {
    const { method, url, headers } = incoming;
    const onward = httpRequest(
      { host: '127.0.0.1', port: stub.port, path: url, method, headers },
      (reply) => {
        const { 'content-length': _length, 'transfer-encoding': _transfer, ...rest } = reply.headers;
        if (encoding === undefined || method !== 'POST') {
          response.writeHead(reply.statusCode ?? 502, rest);
          reply.pipe(response);
          return;
        }
        const chunks: Buffer[] = [];
        reply.on('data', (chunk: Buffer) => chunks.push(chunk));
        reply.on('end', () => {
          const body = Buffer.concat(chunks);
          response.writeHead(reply.statusCode ?? 502, { ...rest, 'content-encoding': encoding });
          response.end(encoding === 'br' ? brotliCompressSync(body) : gzipSync(body));
        });
      },
    );
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  };
  const server = tls ? createTlsServer(TLS, listener) : createServer(listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http${tls ? 's' : ''}://127.0.0.1:${port}/mcp` };
}

const bell = [
  stubTool('ring', {
    readOnly: true,
    answer: () => rawResult('{"content":[{"type":"text","text":"dįng"}],"n":1.0}'),
  }),
];

describe('an upstream behind a proxy of the office, with a certificate of its own authority', () => {
  it('is called through the tunnel when NODE_EXTRA_CA_CERTS names the authority', async () => {
    const stub = await startStub({ tools: bell, era: 'both' });
    const site = await before(stub, { tls: true });
    const proxy = await startForwardProxy(site.port);
    const config = { mcpServers: { tower: { url: 'https://upstream.test/mcp' } } };
    const running = await startHttpProgram([], {
      config,
      env: { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: CERTIFICATE_FILE },
    });
    const client = rawHttp(running.url, { era: 'modern' });
    await until('its tool answers', async () => {
      const reply = await client.call('call_read_tool', '{"name":"ring"}');
      return reply.result?.includes('dįng');
    });
    expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT upstream.test:443']));
  });

  it('is named as what it is when it is not trusted', async () => {
    const stub = await startStub({ tools: bell });
    const site = await before(stub, { tls: true });
    const running = await startProxy({ upstreams: [httpRecord('tower', site)] });
    await running.settled();
    const { structuredContent } = await running.call('search_tools', { query: 'ring' });
    expect(JSON.stringify(structuredContent?.['unavailable'])).toMatch(/cannot be reached.*certificate/);
    expect(stub.requests).toEqual([]);
  });
});

describe('an upstream that compresses though nobody asked', () => {
  for (const encoding of ['gzip', 'br'] as const) {
    for (const reply of ['json', 'sse'] as const) {
      it(`is read (${encoding}, ${reply})`, async () => {
        const stub = await startStub({ tools: bell, reply, listChanged: false });
        const running = await startProxy({
          upstreams: [httpRecord('tower', await before(stub, { encoding }))],
        });
        await running.settled();
        const result = await running.call('call_read_tool', { name: 'ring' });
        expect(result.content[0]?.text).toBe('dįng');
      });
    }
  }
});

describe('an upstream that redirects', () => {
  it('is followed nowhere, at the handshake, a listing or a call', async () => {
    const elsewhere = await startStub({ tools: bell });
    for (const [method, era] of [
      ['server/discover', 'modern'],
      ['initialize', 'legacy'],
      ['tools/list', 'modern'],
      ['tools/call', 'legacy'],
    ] as const) {
      const stub = await startStub({
        era,
        tools: bell,
        intercept: (request) =>
          request.method === method
            ? { kind: 'http', status: 307, headers: { Location: elsewhere.url } }
            : undefined,
      });
      const running = await startProxy({ upstreams: [httpRecord('moved', stub)] });
      await running.settled();
      const answer = await running.call('call_read_tool', { name: 'ring' });
      const said = JSON.stringify([
        answer,
        (await running.call('search_tools', { query: 'x' })).structuredContent,
      ]);
      expect(said, method).toMatch(/redirect \(HTTP 307\).*not followed/);
    }
    expect(elsewhere.requests).toEqual([]);
  });
});
