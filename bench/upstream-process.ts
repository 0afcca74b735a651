import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The smallest honest upstream: answers at once, so that what is measured is the way to it.
 * `node upstream-process.js stdio|http [TOOLS]`; over HTTP it prints its URL and speaks 2026-07-28, on stdin and
 * stdout 2025-11-25, as such servers mostly do.
 */
const [transport = 'stdio', count = '1'] = process.argv.slice(2);
const MODERN = '2026-07-28';

const TOOLS = Array.from({ length: Number(count) }, (_, i) => ({
  name: i === 0 ? 'lookup' : `lookup_${i}`,
  description: `Looks up one record of table ${i} by its number and returns the fields asked for.`,
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'integer', minimum: 1, description: 'Number of the record' },
      fields: { type: 'array', items: { type: 'string' }, description: 'Names of the fields' },
      note: { type: 'string', maxLength: 200 },
    },
    required: ['id'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
}));

/** About 1 KB of text, as a record with its notes is. */
const ANSWER = {
  content: [
    {
      type: 'text',
      text: JSON.stringify({ id: 4711, name: 'Petrauskienė', city: 'Vilnius', tags: ['a', 'b'] }).padEnd(
        1_000,
      ),
    },
  ],
};

if (transport === 'stdio') {
  let held = '';
  process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
    held += chunk;
    const lines = held.split('\n');
    held = lines.pop() ?? '';
    for (const line of lines) {
      const reply = replyTo(line, 'legacy');
      if (reply !== undefined) process.stdout.write(`${reply}\n`);
    }
  });
  process.stdin.on('end', () => process.exit(0));
} else {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const reply = request.method === 'POST' ? replyTo(body, 'modern') : undefined;
      if (reply === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end();
      else response.writeHead(200, { 'content-type': 'application/json' }).end(reply);
    });
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  });
}

function replyTo(text: string, era: 'modern' | 'legacy'): string | undefined {
  const { id, method } = JSON.parse(text) as { readonly id?: unknown; readonly method: string };
  if (id === undefined) return undefined;
  const result = resultOf(method, era);
  const outcome =
    result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
  return JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
}

function resultOf(method: string, era: 'modern' | 'legacy'): object | undefined {
  const complete = era === 'modern' ? { resultType: 'complete' } : {};
  const serverInfo = { name: 'bench', version: '1' };
  switch (method) {
    case 'tools/call':
      return { ...complete, ...ANSWER };
    case 'tools/list':
      return {
        ...complete,
        ...(era === 'modern' ? { ttlMs: 600_000, cacheScope: 'private' } : {}),
        tools: TOOLS,
      };
    case 'server/discover':
      if (era === 'legacy') return undefined;
      return {
        ...complete,
        ttlMs: 600_000,
        cacheScope: 'private',
        supportedVersions: [MODERN],
        capabilities: { tools: {} },
        _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
      };
    case 'initialize':
      return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
    default:
      return undefined;
  }
}
