import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rowsOf, takeTurns } from './calls.ts';
import { cpuMsOf, machine, poster, PROXY, script, startServing } from './contender.ts';
import { printTable, quantile, valueOf } from './numbers.ts';
import { gatewayWays } from './ways.ts';

/**
 * The proxy in front of a gateway, with callers' own credentials: what a call costs more than the same call straight
 * to the gateway, what very many callers cost in memory, what they ask of the gateway when they come together, and
 * what one caller feels of others who ask for too much.
 * `npm run bench -- gateway [--only calls|memory|herd|flood] [--calls 3000] [--callers 5000] [--tools 1000]`
 */
export async function run(args: readonly string[]): Promise<void> {
  const only = valueOf(args, '--only');
  const number = (flag: string, otherwise: number): number => Number(valueOf(args, flag) ?? otherwise);
  const calls = number('--calls', 3_000);
  const callers = number('--callers', 5_000);
  const tools = number('--tools', 1_000);
  console.log(`${machine()}\n`);
  if (only === undefined || only === 'calls') await measureCalls(calls);
  if (only === undefined || only === 'memory') await measureMemory(callers, tools);
  if (only === undefined || only === 'herd') await measureHerd(tools);
  if (only === undefined || only === 'flood') await measureFlood(number('--seconds', 30));
}

async function measureCalls(calls: number): Promise<void> {
  console.log(`### A call with an answer of 1 KB, ${calls} each way, in turns\n`);
  const ways = await gatewayWays();
  const rows: string[][] = [];
  try {
    await takeTurns(ways.contenders, 600, 1);
    for (const atOnce of [1, 16, 64]) {
      const measured = await takeTurns(ways.contenders, calls, atOnce, Math.max(20, atOnce * 4));
      rows.push(...rowsOf('HTTP, 2026-07-28', atOnce, measured, calls));
    }
  } finally {
    await ways.close();
  }
  printTable(
    ['transport', 'at once', 'way', 'min', 'p50', 'p95', 'added p50', 'p50 / direct', 'CPU a call'],
    rows,
  );
}

// ——— Very many callers ———

interface Memory {
  readonly heapUsed: number;
  readonly external: number;
  readonly arrayBuffers: number;
  readonly rss: number;
}

interface Gateway {
  readonly pid: number;
  readonly url: string;
  /** Calls a tool; throws when its answer is not its result. */
  call(authorization: string, tool: string): Promise<void>;
  search(authorization: string, query: string): Promise<Found>;
  memory(): Promise<Memory>;
  stats(): Promise<{ readonly listed: number; readonly most: number }>;
  close(): Promise<void>;
}

interface Found {
  readonly tools: readonly { readonly name: string }[];
  readonly total: number;
}

async function openGateway(
  upstreamArgs: readonly number[],
  proxyArgs: readonly string[] = [],
): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-heap-'));
  const file = join(folder, 'heap.json');
  const upstream = await startServing([
    process.execPath,
    script('many-callers-upstream'),
    ...upstreamArgs.map(String),
  ]);
  const hook = pathToFileURL(script('heap-hook')).href;
  const serve = [PROXY, '--listen', '127.0.0.1:0', '--upstream', upstream.url, ...proxyArgs];
  const proxy = await startServing([process.execPath, '--expose-gc', '--import', hook, ...serve], {
    ...process.env,
    HEAP_FILE: file,
  });
  const { post, close } = poster(proxy.url);
  let id = 0;
  return {
    pid: proxy.pid,
    url: proxy.url,
    async call(authorization, tool) {
      const params = { name: 'call_read_tool', arguments: { name: tool, arguments: { id: 'a' } } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params });
      const text = await post(body, { authorization, 'mcp-protocol-version': '2025-11-25' });
      if (!text.includes(markOf(authorization))) throw new Error(`not called: ${text}`);
    },
    async search(authorization, query) {
      const params = { name: 'search_tools', arguments: { query, schemas: false, limit: 5 } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params });
      const text = await post(body, { authorization, 'mcp-protocol-version': '2025-11-25' });
      const { result } = JSON.parse(text) as { readonly result?: { readonly structuredContent?: Found } };
      if (result?.structuredContent?.tools === undefined) throw new Error(`not found: ${text}`);
      return result.structuredContent;
    },
    async memory() {
      rmSync(file, { force: true });
      process.kill(proxy.pid, 'SIGUSR2');
      while (!existsSync(file)) await pause(20);
      await pause(50);
      return JSON.parse(readFileSync(file, 'utf8')) as Memory;
    },
    async stats() {
      const answer = await fetch(upstream.url);
      return (await answer.json()) as { listed: number; most: number };
    },
    async close() {
      close();
      await proxy.close();
      await upstream.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const credential = (n: number): string => `Bearer caller-${n}-of-the-bench`;
const markOf = (authorization: string): string =>
  createHash('sha256').update(authorization).digest('hex').slice(0, 12);

async function measureMemory(callers: number, tools: number): Promise<void> {
  console.log(`### ${callers} credentials, ${tools} tools each\n`);
  const rows: string[][] = [];
  const cases: readonly (readonly [string, number])[] = [
    ['all shared', 0],
    ['5 % their own', Math.round(tools / 20)],
  ];
  for (const [name, own] of cases) {
    const gateway = await openGateway([tools, own]);
    try {
      await gateway.search(credential(0), 'find one invoice');
      const before = await gateway.memory();
      const cpuBefore = cpuMsOf(gateway.pid) ?? Number.NaN;
      await each(callers, 16, async (n) => {
        const found = await gateway.search(credential(n), 'find one invoice');
        if (found.total !== tools) throw new Error(`${credential(n)} has ${found.total} tools`);
      });
      const cpuMs = ((cpuMsOf(gateway.pid) ?? Number.NaN) - cpuBefore) / callers;
      const after = await gateway.memory();
      const { listed } = await gateway.stats();
      const checked = await checkSearches(gateway, callers, tools, own);
      const again = (await gateway.stats()).listed;
      const mb = (of: (memory: Memory) => number): string =>
        `${((of(after) - of(before)) / 1e6).toFixed(0)} MB`;
      rows.push([
        name,
        mb(({ heapUsed }) => heapUsed),
        mb(({ heapUsed, arrayBuffers }) => heapUsed + arrayBuffers),
        `${(after.rss / 1e6).toFixed(0)} MB`,
        `${cpuMs.toFixed(1)} ms`,
        String(listed),
        `${checked} right, ${again} listed again`,
      ]);
    } finally {
      await gateway.close();
    }
  }
  printTable(
    [
      'tools',
      'heap growth',
      'with typed arrays',
      'RSS after',
      'CPU for a first search',
      'listings',
      'searches after that',
    ],
    rows,
  );
}

/** Callers from all ages find their own tools, whether they are still kept or not, and nobody else's. */
async function checkSearches(gateway: Gateway, callers: number, tools: number, own: number): Promise<number> {
  let checked = 0;
  await each(200, 8, async (n) => {
    const authorization = credential(Math.floor((n * callers) / 200));
    const mark = markOf(authorization);
    const found = await gateway.search(
      authorization,
      own === 0 ? 'find one invoice' : `drawer 3 vault ${mark}`,
    );
    if (found.total !== tools) throw new Error(`${authorization} has ${found.total} tools`);
    if (own > 0 && found.tools[0]?.name !== `vault_${mark}_3`) {
      throw new Error(`${authorization} found ${found.tools[0]?.name}`);
    }
    for (const { name } of found.tools) {
      if (name.startsWith('vault_') && !name.includes(mark))
        throw new Error(`${authorization} found ${name}`);
    }
    checked++;
  });
  return checked;
}

// ——— All at once ———

async function measureHerd(tools: number): Promise<void> {
  const [together, listMs] = [500, 200];
  console.log(`### ${together} first requests together, a listing of ${tools} tools takes ${listMs} ms\n`);
  const rows: string[][] = [];
  const limits = ['--max-caller-requests', '1000', '--listing-queue-ms', '60000'];
  const cases: readonly (readonly [string, (n: number) => string])[] = [
    ['of one credential', () => credential(0)],
    ['of as many credentials', credential],
  ];
  for (const [name, authorization] of cases) {
    const gateway = await openGateway([tools, 0, listMs], limits);
    try {
      const began = performance.now();
      await each(together, together, async (n) => {
        const found = await gateway.search(authorization(n), 'find one invoice');
        if (found.total !== tools) throw new Error(`${found.total} tools`);
      });
      const tookMs = performance.now() - began;
      const { listed, most } = await gateway.stats();
      rows.push([name, String(listed), String(most), `${(tookMs / 1_000).toFixed(1)} s`]);
    } finally {
      await gateway.close();
    }
  }
  printTable(['requests', 'listings', 'most at once', 'all answered after'], rows);
}

// ——— One caller beside others who ask for too much ———

/** How long the gateway takes for a call, and how often the neighbour calls. */
const [CALL_MS, EVERY_MS] = [200, 500];

async function measureFlood(seconds: number): Promise<void> {
  console.log(
    `### A caller's calls of ${CALL_MS} ms, one each ${EVERY_MS} ms for ${seconds} s, beside others\n`,
  );
  const rows: string[][] = [];
  const gateway = await openGateway([100, 0, 0, CALL_MS]);
  const cases: readonly (readonly [string, number, number])[] = [
    ['alone', 0, 0],
    ['one caller with 2,000 calls under way', 1, 2_000],
    ['40 callers with 40 each', 40, 40],
    ['alone again', 0, 0],
  ];
  try {
    const { tools } = await gateway.search(credential(0), 'find one invoice');
    const tool = tools[0]?.name ?? '';
    for (const [name, callers, atOnce] of cases) {
      const flood = callers === 0 ? undefined : startFlood(gateway.url, callers, atOnce, tool);
      // Until all of them have asked.
      await pause(5_000);
      const took = await neighbour(gateway, tool, seconds);
      const { statuses = {}, shedP50, shedP99 } = (await flood?.end()) ?? {};
      rows.push([
        name,
        ...[0.5, 0.99, 1].map((part) => `${quantile(took, part).toFixed(0)} ms`),
        Object.entries(statuses)
          .map(([status, count]) => `${count} × ${status}`)
          .join(', '),
        shedP50 === undefined ? '' : `${shedP50.toFixed(0)} ms, ${shedP99?.toFixed(0)} ms`,
      ]);
    }
  } finally {
    await gateway.close();
  }
  printTable(
    ['beside', 'p50', 'p99', 'slowest', 'the others were answered', 'turned away after: p50, p99'],
    rows,
  );
}

/** How long each call of the neighbour took, in milliseconds; throws when one was not answered. */
async function neighbour(gateway: Gateway, tool: string, seconds: number): Promise<number[]> {
  const took: number[] = [];
  const running: Promise<void>[] = [];
  const refused: unknown[] = [];
  for (let n = 0; n < (seconds * 1_000) / EVERY_MS; n++) {
    const began = performance.now();
    running.push(
      gateway.call(credential(0), tool).then(
        () => void took.push(performance.now() - began),
        (error: unknown) => void refused.push(error),
      ),
    );
    await pause(EVERY_MS);
  }
  await Promise.all(running);
  if (refused.length > 0) throw refused[0];
  return took;
}

interface Flooded {
  readonly statuses: Readonly<Record<string, number>>;
  readonly shedP50?: number;
  readonly shedP99?: number;
}

/** In a process of its own, so that the neighbour's times are not of its making. */
function startFlood(url: string, callers: number, atOnce: number, tool: string): { end(): Promise<Flooded> } {
  const args = [script('flood-process'), url, String(callers), String(atOnce), tool];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    async end() {
      child.stdin.end();
      await closed;
      return JSON.parse(said) as Flooded;
    },
  };
}

async function each(count: number, atOnce: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
