import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import { inlineChild } from '../support/inline-child.ts';
import { until } from '../support/wait.ts';
import { httpRecord, startProxy, stdioRecord, type RunningProxy } from '../support/proxy.ts';

/** What is sent if nobody stops it: 1 GB. */
const BOMB_BYTES = 1_073_741_824;
const LIMIT_BYTES = 1_048_576;
const CHUNK = Buffer.alloc(262_144, 'x');
/** What may be in the buffers of two sockets and a pipe when the connection is given up. */
const MOST_SENT_BYTES = 33_554_432;
const MOST_GROWTH_BYTES = 67_108_864;

const START = '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"';

interface Bomb {
  readonly type: string;
  readonly encoding?: string;
  readonly start: Buffer;
  readonly chunk: Buffer;
}

/** A thousand times as much unpacked: members of a gzip file may follow each other. */
const packed = (text: Buffer): Buffer => gzipSync(text, { level: 9 });
const UNPACKED = Buffer.alloc(16_777_216, 'x');

const BOMBS: Readonly<Record<string, Bomb>> = {
  json: { type: 'application/json', start: Buffer.from(START), chunk: CHUNK },
  event: { type: 'text/event-stream', start: Buffer.from(`data: ${START}`), chunk: CHUNK },
  gzip: {
    type: 'application/json',
    encoding: 'gzip',
    start: packed(Buffer.from(START)),
    chunk: packed(UNPACKED),
  },
  'gzip-event': {
    type: 'text/event-stream',
    encoding: 'gzip',
    start: packed(Buffer.from(`data: ${START}`)),
    chunk: packed(UNPACKED),
  },
};

/** A server whose tools answer with a gigabyte each, as fast as it is read. */
async function startBomber(): Promise<{ url: string; sent: Map<string, number> }> {
  const sent = new Map<string, number>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += String(part);
    const { id, method, params } = JSON.parse(body) as {
      id: unknown;
      method: string;
      params: { name: string };
    };
    const answer = (result: object): void => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } }));
    };
    const kept = { ttlMs: 3_600_000, cacheScope: 'private' };
    if (method === 'server/discover') {
      return answer({ ...kept, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
    }
    if (method === 'tools/list') {
      const tools = [...Object.keys(BOMBS), 'calm'].map((name) => ({
        name,
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
      }));
      return answer({ ...kept, tools });
    }
    const bomb = BOMBS[params.name];
    if (bomb === undefined) return answer({ content: [{ type: 'text', text: 'calm' }] });
    const { type, encoding, start, chunk } = bomb;
    response.writeHead(200, {
      'content-type': type,
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    });
    response.write(start);
    const ended = new Promise((resolve) => response.once('close', resolve));
    for (let bytes = 0; bytes < BOMB_BYTES && !response.destroyed; bytes += chunk.length) {
      sent.set(params.name, bytes + chunk.length);
      if (!response.write(chunk)) {
        await Promise.race([new Promise((resolve) => response.once('drain', resolve)), ended]);
      }
    }
    response.end();
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sent };
}

/** How much more memory the process had at any time while the work was done. */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 2);
  await work();
  clearInterval(timer);
  return Math.max(most, process.memoryUsage.rss()) - before;
}

async function meets(running: RunningProxy, bomb: string, calm: string): Promise<void> {
  const answer = await running.call('call_read_tool', { name: bomb, arguments: {} });
  expect(answer.isError).toBe(true);
  expect(answer.content[0]?.text).toMatch(/^\[upstream_too_large\] .*limit maxMessageBytes/);
  // A child that is ended for it may still be ending.
  await until('the next call works', async () => {
    const next = await running.call('call_read_tool', { name: calm, arguments: {} });
    return next.content[0]?.text === 'calm';
  });
}

describe('a gigabyte', () => {
  for (const name of Object.keys(BOMBS)) {
    it(`as ${name} is given up at the limit, in bounded memory, and the next call works`, async () => {
      const bomber = await startBomber();
      const running = await startProxy({
        upstreams: [httpRecord('bomber', bomber)],
        limits: { maxMessageBytes: LIMIT_BYTES },
      });
      await running.settled();
      // Once for code and buffers to be there.
      await meets(running, name, 'calm');
      const growth = await growthDuring(() => meets(running, name, 'calm'));
      expect(bomber.sent.get(name)).toBeLessThan(MOST_SENT_BYTES);
      expect(growth).toBeLessThan(MOST_GROWTH_BYTES);
    });
  }

  it('as a line of a child is given up at the limit, in bounded memory, and the next call works', async () => {
    const child = inlineChild(`
      tools = [tool('bomb'), tool('calm')];
      text = 'calm';
      const plain = call;
      const chunk = 'x'.repeat(262144);
      call = (id, { name }) => {
        if (name === 'calm') return plain(id);
        let left = ${BOMB_BYTES};
        process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"result":{"content":[{"type":"text","text":"');
        const go = () => {
          while (left > 0) {
            left -= chunk.length;
            if (!process.stdout.write(chunk)) return process.stdout.once('drain', go);
          }
          process.stdout.write('"}]}}\\n');
        };
        go();
      };
      process.stdout.on('error', () => process.exit(0));
    `);
    const running = await startProxy({
      upstreams: [stdioRecord('child', child)],
      limits: { maxMessageBytes: LIMIT_BYTES },
    });
    await running.settled();
    await meets(running, 'bomb', 'calm');
    const growth = await growthDuring(() => meets(running, 'bomb', 'calm'));
    expect(growth).toBeLessThan(MOST_GROWTH_BYTES);
  });
});
