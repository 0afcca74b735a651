import { Agent, request as send } from 'node:http';

/**
 * Callers who want too much: `node flood-process.js URL CALLERS EACH TOOL` has EACH calls of TOOL under way for each of
 * CALLERS, asks again when one is answered, and after what `Retry-After` says when it is turned away. It ends when
 * its stdin does, and prints what it was answered and how long being turned away took.
 */
const [url = '', callers = '1', each = '1', tool = ''] = process.argv.slice(2);

const agent = new Agent({ keepAlive: true });
const statuses: Record<string, number> = {};
const shedMs: number[] = [];
const over = { isSo: false };

interface Answer {
  readonly status: number;
  readonly retryAfterS: number;
  readonly isBusy: boolean;
}

function ask(authorization: string): Promise<Answer> {
  const params = { name: 'call_read_tool', arguments: { name: tool, arguments: { id: 'a' } } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return new Promise((resolve, reject) => {
    const headers = {
      authorization,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      'content-length': Buffer.byteLength(body),
    };
    const request = send(url, { method: 'POST', agent, headers }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      reply.on('end', () =>
        resolve({
          status: reply.statusCode ?? 0,
          retryAfterS: Number(reply.headers['retry-after'] ?? 0),
          isBusy: text.includes('[busy]'),
        }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

async function work(authorization: string): Promise<void> {
  while (!over.isSo) {
    const began = performance.now();
    const { status, retryAfterS, isBusy } = await ask(authorization);
    const name = isBusy ? 'busy' : String(status);
    statuses[name] = (statuses[name] ?? 0) + 1;
    if (status === 429 || status === 503) shedMs.push(performance.now() - began);
    if (retryAfterS > 0 || isBusy) await new Promise((r) => setTimeout(r, Math.max(1, retryAfterS) * 1_000));
  }
}

process.stdin.on('end', () => {
  over.isSo = true;
  shedMs.sort((a, b) => a - b);
  const at = (part: number): number | undefined => shedMs[Math.floor((shedMs.length - 1) * part)];
  console.log(JSON.stringify({ statuses, shedP50: at(0.5), shedP99: at(0.99) }));
  process.exit(0);
});
process.stdin.resume();
for (let caller = 0; caller < Number(callers); caller++) {
  for (let n = 0; n < Number(each); n++) {
    work(`Bearer flood-${caller}`).catch((error: unknown) => {
      statuses['broken'] = (statuses['broken'] ?? 0) + 1;
      console.error(String(error));
    });
  }
}
