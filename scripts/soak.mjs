// @ts-check
import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { Agent, createServer, request as send } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startFaultProxy } from '../test/support/fault-proxy.mjs';

/**
 * `npm run soak [-- 5m [RATE]]`: RATE (100) requests a second through the built proxy for so long, while everything
 * around it misbehaves: the network to its upstream is slow, slices, resets and goes away; the upstream answers 5xx;
 * its child process is killed; clients leave in the middle; new credentials come each second; tools change.
 *
 * The promise: whatever was accepted is answered, with its own answer or a named error; nobody gets another's; memory
 * stays flat; descriptors, sockets and children are what they were; nothing unforeseen is thrown; SIGTERM ends it
 * well. It exits with 1 when that is broken. It needs /proc, so Linux.
 */
const [time = '5m', rate = '100'] = process.argv.slice(2);
const LASTS_MS = durationOf(time);
const RATE = Number(rate);
const PROXY = fileURLToPath(new URL('../dist/bin.js', import.meta.url));
const CHILD = fileURLToPath(new URL('../test/support/stdio-upstream.mjs', import.meta.url));

const TOOLS = 200;
const LEAVES = 0.1;
const SERVER_ERRORS = 0.05;
const ANSWER_MS = 30_000;
const QUIET_MS = 20_000;
/** More are not asked at once: what a machine too busy for RATE can answer in time. */
const MOST_RUNNING = 200;
/** Sockets and pipes more than before; clients' and upstreams' pools are not emptied at the same moment each time. */
const MOST_MORE_DESCRIPTORS = 5;
/** Files of kept vectors (`maxFiles` of src/model/vector-cache.ts and one being made, for two models) and the models. */
const MOST_FILES = 40;
/** The share of memory samples, from the start, that is warming up. */
const WARM_UP = 0.3;
const MOST_SLOPE_MB = 1;
const MOST_GROWTH_MB = 3;

/** @param {string} text */
function durationOf(text) {
  const [, number, unit] = /^(\d+)(s|m)$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`how long? such as 90s or 5m, not '${text}'`);
  return Number(number) * (unit === 's' ? 1_000 : 60_000);
}

// ——— The upstream: modern, over HTTP, behind a bad network ———

let generation = 0;
/** @param {import('node:http').IncomingMessage} request */
async function textOf(request) {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  return body;
}

/** @param {string} method @param {Record<string, any>} params @param {string} who */
function resultOf(method, params, who) {
  const kept = { resultType: 'complete', ttlMs: 10_000, cacheScope: 'private' };
  switch (method) {
    case 'server/discover':
      return { ...kept, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    case 'tools/list':
      return { ...kept, tools: toolsNow() };
    default:
      return {
        resultType: 'complete',
        content: [{ type: 'text', text: `${who} ${params['arguments']?.mark} ${'x'.repeat(1_000)}` }],
      };
  }
}

function toolsNow() {
  return Array.from({ length: TOOLS }, (_, n) => ({
    name: `read_meter_${n}`,
    description: `Reads meter ${n}${n % 50 === 0 ? ` of edition ${generation}` : ''}, in cubic metres.`,
    inputSchema: { type: 'object', properties: { mark: { type: 'string' } }, required: ['mark'] },
    annotations: { readOnlyHint: true },
  }));
}

const upstream = createServer((request, response) => {
  void (async () => {
    const { id, method, params } = JSON.parse(await textOf(request));
    if (method === 'tools/call' && !params.arguments?.isSlow && Math.random() < SERVER_ERRORS)
      return response.writeHead(503).end();
    await sleep(params?.arguments?.isSlow === true ? 1_000 : Math.random() * 20);
    if (id === undefined) return response.writeHead(202).end();
    const result = resultOf(method, params, request.headers.authorization ?? '');
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  })().catch(() => response.destroy());
});
upstream.on('connection', (socket) => socket.on('error', () => undefined));
await new Promise((resolve) => upstream.listen(0, '127.0.0.1', () => resolve(undefined)));
const upstreamPort = /** @type {import('node:net').AddressInfo} */ (upstream.address()).port;
const network = await startFaultProxy(upstreamPort);

// ——— The proxy: that upstream with callers' credentials, and a child of its own ———

const folder = mkdtempSync(join(tmpdir(), 'soak-'));
const memoryFile = join(folder, 'memory.json');
const hook = join(folder, 'hook.mjs');
writeFileSync(
  hook,
  `import { writeFileSync } from 'node:fs';
process.on('SIGUSR2', () => { gc(); gc(); const m = process.memoryUsage();
  writeFileSync(${JSON.stringify(memoryFile)}, JSON.stringify({ heap: m.heapUsed + m.arrayBuffers, rss: m.rss })); });
process.on('unhandledRejection', (e) => console.error('SOAK unhandled rejection', e));`,
);
const childScript = join(folder, 'child.json');
writeFileSync(
  childScript,
  JSON.stringify({
    tools: [
      {
        definition: {
          name: 'weigh_parcel',
          description: 'Weighs a parcel.',
          inputSchema: { type: 'object', properties: { mark: { type: 'string' } } },
          annotations: { readOnlyHint: true },
        },
        does: { kind: 'echo', delayMs: 5 },
      },
    ],
  }),
);
const config = join(folder, 'config.json');
writeFileSync(
  config,
  JSON.stringify({
    mcpServers: {
      meters: { url: `http://127.0.0.1:${network.port}/mcp`, auth: 'forward' },
      parcels: { command: process.execPath, args: [CHILD, childScript] },
    },
    callTimeoutMs: 5_000,
    listTimeoutMs: 5_000,
    connectTimeoutMs: 5_000,
    maxListings: 50,
  }),
);
const proxy = spawn(
  process.execPath,
  ['--expose-gc', '--import', pathToFileURL(hook).href, PROXY, '--listen', '127.0.0.1:0', '--config', config],
  { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder, env: { PATH: process.env['PATH'] ?? '', HOME: folder } },
);
const pid = proxy.pid ?? 0;
let said = '';
/** @type {string[]} */
const bugs = [];
for (const stream of [proxy.stdout, proxy.stderr]) {
  stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
    said = `${said}${text}`.slice(-100_000);
    if (/SOAK unhandled|\bbug\b|^\s+at .*\.js:\d+/m.test(text)) bugs.push(text.slice(0, 1_000));
  });
}
const exited = new Promise((resolve) => proxy.once('exit', (code, signal) => resolve(code ?? signal)));
const url = await waitFor('the proxy listens', () => /(http:\/\/127\.0\.0\.1:\d+\/mcp)/.exec(said)?.[1]);

/**
 * @template T
 * @param {string} what
 * @param {() => T | undefined | false | Promise<T | undefined | false>} ask
 * @param {number} [ms]
 * @returns {Promise<T>}
 */
async function waitFor(what, ask, ms = QUIET_MS) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
  }
  throw new Error(`gave up waiting: ${what}\n${said.slice(-2_000)}`);
}

/** Open sockets, pipes and the like, and files, which are kept vectors and have a bound of their own. */
function descriptors() {
  const kinds = { others: 0, files: 0 };
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    let target = '';
    try {
      target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      continue;
    }
    if (target.startsWith('/') && !target.startsWith('/dev/')) kinds.files++;
    else kinds.others++;
  }
  return kinds;
}

/** How long its main thread waited for a core while it could have run, as a share of so many milliseconds. */
function waitedMs() {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
}

function children() {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((part) => part.trim() !== '')
    .map(Number);
}

async function memory() {
  rmSync(memoryFile, { force: true });
  process.kill(pid, 'SIGUSR2');
  await waitFor('the proxy says its memory', () => existsSync(memoryFile));
  await sleep(50);
  return /** @type {{ heap: number, rss: number }} */ (JSON.parse(readFileSync(memoryFile, 'utf8')));
}

// ——— Clients ———

let agent = new Agent({ keepAlive: true });
const counts = {
  sent: 0,
  answered: 0,
  left: 0,
  failed: /** @type {Record<string, number>} */ ({}),
  lost: 0,
  wrong: 0,
};
/** @type {string[]} */
const examples = [];
/** How long each answer took, in milliseconds. */
/** @type {number[]} */
const times = [];
let running = 0;
let serial = 0;

/**
 * @param {string} authorization @param {string} tool @param {object} args @param {boolean} leaves
 * @param {Agent} [from]
 * @returns {Promise<{ status?: number, text?: string, id?: number, error?: Error, how?: string }>}
 */
function ask(authorization, tool, args, leaves, from = agent) {
  const id = ++serial;
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: tool, arguments: args },
  });
  const began = performance.now();
  return new Promise((settle) => {
    /** @param {{ status?: number, text?: string, id?: number, error?: Error, how?: string }} answer */
    const resolve = (answer) => {
      const ms = performance.now() - began;
      if (answer.error === undefined) times.push(ms);
      const { bytesWritten = 0, bytesRead = 0 } = request.socket ?? {};
      const connection = request.reusedSocket ? 'an open connection' : 'a connection of its own';
      settle({
        ...answer,
        how: `on ${connection}, ${bytesWritten > 0 ? '' : 'not '}sent, ${bytesRead} bytes came`,
      });
    };
    const request = send(
      url,
      {
        method: 'POST',
        agent: from,
        timeout: ANSWER_MS,
        headers: {
          authorization,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          'content-length': Buffer.byteLength(body),
        },
      },
      (reply) => {
        textOf(reply).then(
          (text) => resolve({ status: reply.statusCode ?? 0, text, id }),
          (error) => resolve({ error }),
        );
      },
    );
    request.on('timeout', () => request.destroy(new Error('no answer in time')));
    request.on('error', (error) => resolve({ error }));
    request.end(body);
    if (leaves) setTimeout(() => request.destroy(new Error('left')), Math.random() * 30);
  });
}

async function oneRequest() {
  const caller = `Bearer caller-${Math.random() < 0.7 ? Math.floor(Math.random() * 20) : Math.floor(Date.now() / 1_000)}`;
  const leaves = Math.random() < LEAVES;
  const weather = JSON.stringify(WEATHER[turnNow % WEATHER.length]);
  const mark = `mark-${++serial}`;
  const kind = Math.random();
  const n = Math.floor(Math.random() * TOOLS);
  counts.sent++;
  running++;
  const answer =
    kind < 0.25
      ? await ask(caller, 'search_tools', { query: `read meter ${n}` }, leaves)
      : kind < 0.45
        ? await ask(caller, 'call_read_tool', { name: 'parcels__weigh_parcel', arguments: { mark } }, leaves)
        : await ask(
            caller,
            'call_read_tool',
            { name: `meters__read_meter_${n}`, arguments: { mark } },
            leaves,
          );
  running--;
  if (answer.error !== undefined) {
    if (leaves) counts.left++;
    else {
      counts.lost++;
      examples.push(
        `lost: ${kind < 0.25 ? 'a search' : kind < 0.45 ? 'a parcel' : 'a meter'} begun in ${weather} ${answer.how}: ${String(answer.error)}`,
      );
    }
    return;
  }
  const { status, text = '', id } = answer;
  /** @type {any} */
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    message = {};
  }
  const result = message.result;
  const first = String(result?.content?.[0]?.text ?? '');
  const code = /^\[([a-z_]+)\] ./.exec(first)?.[1];
  const isNoTool = result?.isError === true && first.startsWith('Not called: ');
  if (status === 429 || status === 503) count(`HTTP ${status}`);
  else if (message.id !== id || result === undefined) wrong(`HTTP ${status} ${text}`);
  else if (code !== undefined) count(code);
  else if (isNoTool && kind >= 0.25) count('tool away');
  else if (kind < 0.25) {
    if (typeof result.structuredContent?.total === 'number') counts.answered++;
    else wrong(text);
  } else if (!first.includes(mark) || (kind >= 0.45 && !first.includes(caller))) wrong(text);
  else counts.answered++;
}

/** @param {string} name */
function count(name) {
  counts.failed[name] = (counts.failed[name] ?? 0) + 1;
}

/** @param {string} text */
function wrong(text) {
  counts.wrong++;
  examples.push(`wrong: ${text.slice(0, 300)}`);
}

// ——— Chaos ———

const WEATHER = [
  {},
  { latencyMs: 30, jitterMs: 50 },
  {},
  { sliceBytes: 100 },
  { resetAfterBytes: 400 },
  {},
  { bytesPerSecond: 50_000 },
  { silent: /** @type {const} */ ('both') },
  {},
  { resetAfterBytes: 0 },
  { closeAfterBytes: 2_000 },
];
const soak = { isOver: false };
/** Which weather there is. */
let turnNow = 0;

async function chaos() {
  for (let turn = 0; !soak.isOver; turn++) {
    turnNow = turn;
    network.set(WEATHER[turn % WEATHER.length] ?? {});
    if (turn % 4 === 3) network.cut();
    if (turn % 11 === 10) {
      await network.stop();
      await sleep(1_000);
      await network.start();
    }
    if (turn % 5 === 2) for (const child of children()) process.kill(child, 'SIGKILL');
    if (turn % 3 === 1) generation++;
    await sleep(2_000);
  }
  network.set({});
}

async function load() {
  const began = Date.now();
  for (let sent = 0; !soak.isOver;) {
    const due = ((Date.now() - began) / 1_000) * RATE;
    for (; sent < due && running < MOST_RUNNING; sent++) void oneRequest();
    await sleep(10);
  }
}

/** @type {{ atMs: number, heap: number, rss: number }[]} */
const samples = [];
async function watch() {
  for (const began = Date.now(); !soak.isOver; await sleep(Math.min(10_000, LASTS_MS / 20))) {
    samples.push({ atMs: Date.now() - began, ...(await memory()) });
  }
}

/** Least squares over what comes after warming up, in MB for ten minutes. */
function slope() {
  const kept = samples.slice(Math.floor(samples.length * WARM_UP));
  const x = kept.map(({ atMs }) => atMs / 600_000);
  const y = kept.map(({ heap }) => heap / 1e6);
  const mean = (/** @type {number[]} */ of) => of.reduce((sum, value) => sum + value, 0) / of.length;
  const [mx, my] = [mean(x), mean(y)];
  const over = x.reduce((sum, value, n) => sum + (value - mx) * ((y[n] ?? my) - my), 0);
  return over / x.reduce((sum, value) => sum + (value - mx) ** 2, 0);
}

/** All answer again, and our own connections are closed: what is open now is the proxy's own. */
async function settle() {
  await waitFor('both upstreams answer', async () => {
    const parcel = await ask(
      'Bearer caller-1',
      'call_read_tool',
      { name: 'parcels__weigh_parcel', arguments: {} },
      false,
    );
    const meter = await ask(
      'Bearer caller-1',
      'call_read_tool',
      { name: 'meters__read_meter_1', arguments: { mark: 'm' } },
      false,
    );
    return [parcel, meter].every(({ text }) => text !== undefined && !/isError":true|"error"/.test(text));
  });
  agent.destroy();
  agent = new Agent({ keepAlive: true });
  await sleep(1_500);
}

await settle();
const before = { descriptors: descriptors(), children: children().length };
const waitedBefore = waitedMs();
const loading = Promise.all([load(), chaos(), watch()]);
await sleep(LASTS_MS);
soak.isOver = true;
await loading;
await waitFor('every request is answered', () => running === 0, ANSWER_MS + QUIET_MS);
const waited = (waitedMs() - waitedBefore) / LASTS_MS;
times.sort((a, b) => a - b);
const answeredIn = [0.5, 0.99, 1].map((q) => Math.round(times[Math.floor((times.length - 1) * q)] ?? 0));
await settle();
const mostOthers = before.descriptors.others + MOST_MORE_DESCRIPTORS;
let after = { descriptors: descriptors(), children: children().length };
for (
  const end = Date.now() + QUIET_MS;
  after.descriptors.others > mostOthers && Date.now() < end;
  await sleep(500)
)
  after = { descriptors: descriptors(), children: children().length };
samples.push({ atMs: LASTS_MS, ...(await memory()) });

// SIGTERM while calls are under way, and while as many connect: they are answered all the same.
const lostBefore = counts.lost;
const strangers = new Agent({ keepAlive: false });
/** @param {number} n @param {boolean} isSlow @param {Agent} [from] */
const lastAsk = (n, isSlow, from) =>
  ask(
    `Bearer caller-${n % 20}`,
    'call_read_tool',
    { name: `meters__read_meter_${n}`, arguments: { mark: `last-${n}`, isSlow } },
    false,
    from,
  );
const last = Array.from({ length: 50 }, (_none, n) => lastAsk(n, true));
await sleep(500);
const left = children();
for (let n = 50; n < 150; n++) last.push(lastAsk(n, true, strangers));
proxy.kill('SIGTERM');
const lastAnswers = await Promise.all(last);
const lostLast = lastAnswers.filter(({ text }, n) => !String(text).includes(`last-${n}`));
counts.lost += lostLast.length;
for (const { error, text, how } of lostLast)
  examples.push(`lost at the end ${how}: ${String(error ?? text).slice(0, 300)}`);
const exit = await exited;
const refused = counts.lost - lostBefore;
const survivors = left.filter((child) => existsSync(`/proc/${child}`)).length;

await network.stop();
upstream.closeAllConnections();
upstream.close();
rmSync(folder, { recursive: true, force: true });

/** @param {readonly string[]} texts */
function counted(texts) {
  /** @type {Record<string, number>} */
  const times = {};
  for (const text of texts) times[text] = (times[text] ?? 0) + 1;
  return Object.entries(times)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 12);
}

const heaps = samples.map(({ heap }) => heap / 1e6);
const report = {
  lasted: time,
  rate: RATE,
  ...counts,
  lostAtSigterm: refused,
  answeredInMs: `${answeredIn[0]} (half), ${answeredIn[1]} (99 %), ${answeredIn[2]} (all)`,
  waitedForACore: `${(waited * 100).toFixed(0)} % of the time`,
  heapMB: {
    first: heaps[0]?.toFixed(1),
    highest: Math.max(...heaps).toFixed(1),
    last: heaps.at(-1)?.toFixed(1),
  },
  heapSlopeMBin10min: Number(slope().toFixed(2)),
  rssMB: (Math.max(...samples.map(({ rss }) => rss)) / 1e6).toFixed(0),
  descriptors: `${before.descriptors.others} before, ${after.descriptors.others} after, and ${after.descriptors.files} files`,
  children: `${before.children} before, ${after.children} after, ${survivors} survived the end`,
  connectionsMade: network.madeConnections(),
  bugs,
  exit,
  examples: counted(examples),
};
console.log(JSON.stringify(report, undefined, 2));
// Over minutes a slope is mostly noise: then the end may not be above what warming up reached.
const warm = Math.max(...heaps.slice(0, Math.ceil(heaps.length * WARM_UP)));
const isFlat =
  LASTS_MS >= 1_800_000
    ? report.heapSlopeMBin10min <= MOST_SLOPE_MB
    : (heaps.at(-1) ?? 0) <= warm + MOST_GROWTH_MB;
const isHeld =
  counts.lost === 0 &&
  counts.wrong === 0 &&
  counts.answered > 0 &&
  bugs.length === 0 &&
  exit === 0 &&
  survivors === 0 &&
  after.descriptors.others <= mostOthers &&
  after.descriptors.files <= MOST_FILES &&
  after.children === before.children &&
  isFlat;
process.exitCode = isHeld ? 0 : 1;
