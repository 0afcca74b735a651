import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../test/support/cleanup.ts';
import { startForwardProxy } from '../../test/support/forward-proxy.ts';
import { TLS } from '../../test/support/tls.ts';
import { BodyTooLarge, HttpFailure, openHttpClient } from './http-client.ts';
import type { HttpClient, HttpRequest } from './http-client.ts';
import { proxySettings } from './proxy-environment.ts';

interface Site {
  readonly port: number;
  readonly url: string;
  /** Connections opened so far. */
  readonly connections: () => number;
}

async function serve(listener: RequestListener, tls = false): Promise<Site> {
  const server = tls ? createTlsServer(TLS, listener) : createServer(listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http${tls ? 's' : ''}://127.0.0.1:${port}/mcp`, connections: () => sockets.size };
}

async function client(env: Record<string, string> = {}, maxMessageBytes = 1_000_000): Promise<HttpClient> {
  const opened = await openHttpClient({ env, maxMessageBytes, dialTimeoutMs: 5_000 });
  whenDone(() => opened.close());
  return opened;
}

const post = (url: string): HttpRequest => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json' },
  body: '{"question":1}',
});

const MAX = 1_000_000;

describe('outgoing requests', () => {
  it('share a connection that is kept open', async () => {
    const site = await serve((_request, response) => void response.end('{}'));
    const http = await client();
    for (let n = 0; n < 20; n++) await (await http.send(post(site.url))).text(MAX);
    // A second is opened when a request comes in the very turn in which the one before ended.
    expect(site.connections()).toBeLessThanOrEqual(2);
  });

  it('follow no redirect, and take what they were meant to carry nowhere else', async () => {
    const seen: string[] = [];
    const site = await serve((request, response) => {
      seen.push(request.url ?? '');
      response.writeHead(307, { location: '/elsewhere' }).end();
    });
    const http = await client();
    const reply = await http.send(post(site.url));
    expect([reply.status, reply.header('location')]).toEqual([307, '/elsewhere']);
    reply.cancel();
    expect((await http.fetch(site.url, { redirect: 'manual' })).status).toBe(307);
    expect(seen).toEqual(['/mcp', '/mcp']);
  });

  it('tell what was never sent from what nobody knows of', async () => {
    const cut = await serve((request) => void request.socket.destroy());
    const untrusted = await serve((_request, response) => void response.end(), true);
    const http = await client();
    const phaseOf = async (url: string): Promise<unknown> =>
      http.send(post(url)).then(
        () => 'answered',
        (thrown: unknown) => (thrown instanceof HttpFailure ? thrown.phase : thrown),
      );
    expect(await phaseOf('http://127.0.0.1:1/')).toBe('connect');
    expect(await phaseOf(untrusted.url)).toBe('connect');
    expect(await phaseOf(cut.url)).toBe('exchange');
  });

  it('end with their signal, before and in the middle of an answer', async () => {
    const site = await serve((request, response) => {
      if (request.url === '/mcp') return;
      response.write('half');
    });
    const http = await client();
    const ends = async (url: string): Promise<unknown> => {
      const gone = new AbortController();
      setTimeout(() => gone.abort(new Error('gone')), 50);
      try {
        return await (await http.send({ ...post(url), signal: gone.signal })).text(MAX);
      } catch (thrown) {
        return (thrown as Error).message;
      }
    };
    expect(await ends(site.url)).toBe('gone');
    expect(await ends(new URL('/half', site.url).href)).toBe('gone');
  });
});

describe('answers', () => {
  const text = JSON.stringify({ words: 'ąčę '.repeat(5_000) });

  it('are asked for uncompressed, and read however they come', async () => {
    const asked: unknown[] = [];
    const how = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, 'X-GZip': gzipSync };
    const site = await serve((request, response) => {
      asked.push(request.headers['accept-encoding']);
      const encoding = decodeURIComponent(request.url?.slice(1) ?? '') as keyof typeof how;
      response.writeHead(200, { 'content-encoding': encoding }).end(how[encoding](text));
    });
    const http = await client();
    for (const encoding of Object.keys(how)) {
      const reply = await http.send(post(new URL(`/${encoding}`, site.url).href));
      expect(await reply.text(MAX)).toBe(text);
    }
    expect(new Set(asked)).toEqual(new Set(['identity']));
  });

  it('come whole when they are large and read more slowly than they come', async () => {
    const large = Buffer.alloc(4_000_000, 'abcdefg');
    const site = await serve((_, response) => response.end(large));
    const http = await client();
    const { body } = await http.send({ method: 'GET', url: site.url, headers: {} });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) {
      chunks.push(chunk);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(Buffer.concat(chunks).equals(large)).toBe(true);
  });

  it('compressed in a way nobody knows are refused by name, and the next request works', async () => {
    const site = await serve((request, response) => {
      if (request.url === '/mcp') response.setHeader('content-encoding', 'zstd, gzip');
      response.end('whatever');
    });
    const http = await client();
    await expect((await http.send(post(site.url))).text(MAX)).rejects.toThrow(/content-encoding: zstd, gzip/);
    expect(await (await http.send(post(new URL('/plain', site.url).href))).text(MAX)).toBe('whatever');
  });

  it('that unpack to more than allowed, or not at all, are given up', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const site = await serve((request, response) => {
      response.setHeader('content-encoding', 'gzip');
      response.end(request.url === '/bomb' ? bomb : gzipSync(text).subarray(0, 40));
    });
    const http = await client();
    const at = async (path: string): Promise<string> =>
      (await http.send(post(new URL(path, site.url).href))).text(MAX);
    await expect(at('/bomb')).rejects.toThrow(BodyTooLarge);
    await expect(at('/half')).rejects.toThrow(HttpFailure);
  });

  it('to a library are bounded too: whole ones in all, streams by the event', async () => {
    const site = await serve((request, response) => {
      const isStream = request.url !== '/json';
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
      if (request.url === '/json') response.end(gzipped(response, 'x'.repeat(5_000)));
      else if (request.url === '/endless') response.end(`data: ${'x'.repeat(5_000)}`);
      else {
        for (let n = 0; n < 50; n++) response.write(`data: ${'x'.repeat(500)}\r\n\r\n`);
        response.end();
      }
    });
    const http = await client({}, 1_000);
    const at = async (path: string): Promise<string> =>
      (await http.fetch(new URL(path, site.url).href)).text();
    expect(await at('/stream')).toHaveLength(50 * 510);
    await expect(at('/json')).rejects.toThrow(/1000 bytes/);
    await expect(at('/endless')).rejects.toThrow(/1000 bytes/);
  });
});

function gzipped(response: { setHeader(name: string, value: string): unknown }, text: string): Buffer {
  response.setHeader('content-encoding', 'gzip');
  return gzipSync(text);
}

describe('proxies from the environment', () => {
  it('are asked for plain URLs as such and for a tunnel otherwise, with their own credential', async () => {
    const site = await serve((_request, response) => void response.end('through'));
    const proxy = await startForwardProxy(site.port);
    const withPassword = proxy.url.replace('//', '//me:s%40fe@');
    const http = await client({ HTTP_PROXY: withPassword, https_proxy: withPassword });
    const reply = await http.send(post('http://upstream.test/mcp'));
    expect(await reply.text(MAX)).toBe('through');
    expect(await (await http.fetch('http://upstream.test/mcp')).text()).toBe('through');
    // What is behind the tunnel is no TLS server, so it gets no further than this.
    await expect(http.send(post('https://upstream.test/mcp'))).rejects.toThrow(HttpFailure);
    expect(proxy.asked).toEqual([
      'POST http://upstream.test/mcp',
      'GET http://upstream.test/mcp',
      'CONNECT upstream.test:443',
    ]);
    expect(new Set(proxy.credentials)).toEqual(
      new Set([`Basic ${Buffer.from('me:s@fe').toString('base64')}`]),
    );
  });

  it('are never asked for this machine, nor for what NO_PROXY names', async () => {
    const site = await serve((_request, response) => void response.end('direct'));
    const proxy = await startForwardProxy(site.port);
    const http = await client({ http_proxy: proxy.url, NO_PROXY: 'other.test, .upstream.test' });
    for (const host of ['127.0.0.1', 'localhost']) {
      expect(await (await http.send(post(`http://${host}:${site.port}/`))).text(MAX)).toBe('direct');
    }
    // No resolver knows it, and nobody else was asked.
    await expect(http.send(post('http://a.upstream.test/'))).rejects.toMatchObject({ phase: 'connect' });
    expect(proxy.asked).toEqual([]);
  });

  it('that refuse are named as what they are: nothing was sent on', async () => {
    const proxy = await startForwardProxy(1, { status: 403 });
    const http = await client({ HTTPS_PROXY: proxy.url });
    await expect(http.send(post('https://upstream.test/mcp'))).rejects.toMatchObject({
      phase: 'connect',
      message: expect.stringContaining('Proxy response (403)') as string,
    });
    const gone = await client({ HTTPS_PROXY: 'http://127.0.0.1:1' });
    await expect(gone.send(post('https://upstream.test/mcp'))).rejects.toMatchObject({ phase: 'connect' });
  });

  it('are read in both spellings, the lower-case first, with and without a scheme', () => {
    expect(proxySettings({})).toBeUndefined();
    expect(proxySettings({ HTTP_PROXY: '', NO_PROXY: 'x' })).toBeUndefined();
    expect(
      proxySettings({ HTTPS_PROXY: 'http://a:1', https_proxy: 'b:2', no_proxy: 'x', NO_PROXY: 'y' }),
    ).toEqual({ httpProxy: '', httpsProxy: 'http://b:2', noProxy: 'x' });
    expect(proxySettings({ HTTPS_PROXY: 'http://a:1', https_proxy: '' })).toBeUndefined();
  });

  it('that are no URL are a mistake that names the variable, not its value', () => {
    const read = (): unknown => proxySettings({ HTTPS_PROXY: 'http://me:hunter2@:::' });
    expect(read).toThrow('the environment variable HTTPS_PROXY names no proxy: it is not a URL');
  });
});
