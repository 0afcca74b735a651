import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A gateway with very many callers: `node many-callers-upstream.js TOOLS OWN LIST_MS CALL_MS` lists TOOLS tools to everybody
 * who presents a credential, of which OWN are nobody else's, and takes LIST_MS for it, CALL_MS for a call. `GET /stats` tells how often
 * it was listed and how many listings were under way at most. It speaks 2026-07-28.
 */
const [tools = 1_000, own = 0, listMs = 0, callMs = 0] = process.argv.slice(2).map(Number);

const WORDS =
  'invoice ledger ferry orchard gauge meeting parcel ticket garden report album badge recipe'.split(' ');
const VERBS = 'list find create update delete export archive move rename count'.split(' ');
const FILLER =
  'The answer holds the newest state known, and dates are in UTC. Use the identifiers another tool of this server gave; names are not unique. ';

/** About a kilobyte of definition, as real servers' tools have. */
function definition(name: string, description: string): string {
  const text = { type: 'string', description: `${FILLER}${FILLER}`.slice(0, 180) };
  return JSON.stringify({
    name,
    description: `${description} ${FILLER}`,
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'Identifier, as a listing gives it' },
        filter: { ...text, maxLength: 500 },
        sort: { enum: ['newest', 'oldest', 'name', 'size'], default: 'newest' },
        limit: { type: 'integer', minimum: 1, maximum: 200 },
        fields: { type: 'array', items: { type: 'string' }, description: 'Names of the fields to give' },
      },
      required: ['id'],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true },
  });
}

const shared = Array.from({ length: tools - own }, (_, n) => {
  const [verb, word] = [VERBS[n % VERBS.length], WORDS[Math.floor(n / VERBS.length) % WORDS.length]];
  return definition(`${verb}_${word}_${n}`, `Can ${verb} one ${word} or many of department ${n}.`);
}).join(',');

/** Nobody else's: the mark is of the credential. */
function ownTools(authorization: string): string {
  const mark = markOf(authorization);
  return Array.from({ length: own }, (_, n) =>
    definition(`vault_${mark}_${n}`, `Opens drawer ${n} of the vault ${mark}.`),
  )
    .map((tool) => `,${tool}`)
    .join('');
}

function markOf(authorization: string): string {
  return createHash('sha256').update(authorization).digest('hex').slice(0, 12);
}

let listed = 0;
let listing = 0;
let most = 0;

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify({ listed, most }));
    listed = 0;
    most = 0;
    return;
  }
  void answer(request, response);
});
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  const { id, method } = JSON.parse(body) as { readonly id?: unknown; readonly method: string };
  const { authorization } = request.headers;
  if (authorization === undefined || authorization.includes('junk')) {
    response.writeHead(401, { 'www-authenticate': 'Bearer realm="bench"' }).end();
    return;
  }
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const result = await resultOf(method, authorization);
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete",${result}}}`);
}

async function resultOf(method: string, authorization: string): Promise<string> {
  const kept = '"ttlMs":600000,"cacheScope":"private"';
  switch (method) {
    case 'server/discover':
      return `${kept},"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"many","version":"1"}}`;
    case 'tools/list': {
      listed++;
      most = Math.max(most, ++listing);
      if (listMs > 0) await new Promise((resolve) => setTimeout(resolve, listMs));
      listing--;
      return `${kept},"tools":[${shared}${ownTools(authorization)}]`;
    }
    default:
      if (callMs > 0) await new Promise((resolve) => setTimeout(resolve, callMs));
      return `"content":[{"type":"text","text":"${markOf(authorization)}"}]`;
  }
}
