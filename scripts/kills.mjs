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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/**
 * `npm run kills [-- READS KILLS SEED]`: reads through the built proxy while the servers behind it are killed at
 * random moments, also while they start. The promise: every call is answered with its own answer or fails with a
 * named error, the servers work again afterwards, no process survives and no descriptor is lost. test/e2e/
 * kills.test.ts holds it with smaller numbers.
 *
 * It needs /proc, so Linux.
 */

const UPSTREAM = fileURLToPath(new URL('../test/support/stdio-upstream.mjs', import.meta.url));
const PROXY = fileURLToPath(new URL('../dist/bin.js', import.meta.url));

/** Enough that several are starting, dying and answering at once. */
const UPSTREAMS = ['north', 'east', 'south', 'west'];
/** Of these one starts a process of its own, as a package runner does. */
const LAUNCHER = 'west';
const PARALLEL = 8;
const BATCH = 3;
const CALL_MS = 30_000;
const RECOVERY_MS = 30_000;
const END_MS = 15_000;

/**
 * @typedef {object} Figures
 * @property {number} reads
 * @property {number} kills
 * @property {number} answered with the call's own answer
 * @property {Record<string, number>} failed by error code
 * @property {string[]} wrong answers that are neither; empty when the promise is held
 * @property {number} started children in all, their own included
 * @property {number} descriptorsBefore
 * @property {number} descriptorsAfter
 * @property {number} childrenAfter processes of the proxy's once all is quiet again; one each is right
 * @property {number} survivors processes left when the proxy has ended
 * @property {number} recoveryMs the longest a server took to answer again after the last kill
 * @property {number | string} exit how the proxy ended when its stdin closed
 * @property {number} tookMs
 */

/**
 * @param {object} options
 * @param {number} options.reads
 * @param {number} options.kills
 * @param {number} options.seed
 * @param {string} [options.proxy] the program
 * @returns {Promise<Figures>}
 */
export async function killWhileReading({ reads, kills, seed, proxy = PROXY }) {
  const folder = mkdtempSync(join(tmpdir(), 'kills-'));
  const startedAt = Date.now();
  const program = startProxy(proxy, folder);
  try {
    await program.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'kills', version: '1.0.0' },
    });
    await recover(program);
    const descriptorsBefore = await quietDescriptors(program.pid);

    const random = randomFrom(seed);
    const counts = { answered: 0, failed: /** @type {Record<string, number>} */ ({}) };
    /** @type {string[]} */
    const wrong = [];
    let begun = 0;
    let done = 0;
    const readOn = async () => {
      while (begun < reads) {
        // Every fourth request is a batch.
        const size = random() < 0.25 ? Math.min(BATCH, reads - begun) : 1;
        const first = begun;
        begun += size;
        const marked = Array.from({ length: size }, (_none, n) => {
          const upstream = UPSTREAMS[Math.floor(random() * UPSTREAMS.length)] ?? '';
          return markedRead(upstream, first + n);
        });
        const outcomes = size === 1 ? [await readOne(program, marked[0])] : await readMany(program, marked);
        done += size;
        for (const outcome of outcomes) count(outcome);
      }
    };
    const count = (/** @type {ReadOutcome} */ outcome) => {
      if (outcome.kind === 'answered') counts.answered++;
      else if (outcome.kind === 'failed')
        counts.failed[outcome.code] = (counts.failed[outcome.code] ?? 0) + 1;
      else wrong.push(outcome.text);
    };
    let killed = 0;
    const killOn = async () => {
      while (killed < kills) {
        await sleep(random() * 20);
        // As the reads go on, so do the kills: none is left for when all has been read.
        if (killed >= Math.ceil((kills * (done + PARALLEL)) / reads)) continue;
        const victims = childrenOf(program.pid);
        const victim = victims[Math.floor(random() * victims.length)];
        if (victim !== undefined && kill(victim, random() < 0.8 ? 'SIGKILL' : 'SIGTERM')) killed++;
      }
    };
    await Promise.all([killOn(), ...Array.from({ length: PARALLEL }, readOn)]);

    const recoveryMs = await recover(program);
    const descriptorsAfter = await quietDescriptors(program.pid, descriptorsBefore);
    const childrenAfter = childrenOf(program.pid).length;
    const exit = await program.end();
    const started = startedIn(folder);
    await waitUntil(() => started.every((pid) => !isAlive(pid)));
    return {
      reads,
      kills: killed,
      ...counts,
      wrong,
      started: started.length,
      descriptorsBefore,
      descriptorsAfter,
      childrenAfter,
      survivors: started.filter(isAlive).length,
      recoveryMs,
      exit,
      tookMs: Date.now() - startedAt,
    };
  } finally {
    await program.end();
    for (const pid of startedIn(folder)) if (isAlive(pid)) kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @typedef {{ kind: 'answered' } | { kind: 'failed', code: string } | { kind: 'wrong', text: string }} ReadOutcome
 */

/**
 * A call that carries a mark of its own, for the server to repeat.
 * @typedef {{ mark: string, call: object }} MarkedRead
 * @param {string} upstream
 * @param {number} number
 * @returns {MarkedRead}
 */
function markedRead(upstream, number) {
  const mark = `mark-${number}-of-${upstream}`;
  const name = `${upstream}__read_${number % 2 === 0 ? 'quick' : 'slow'}_gauge`;
  return { mark, call: { name, arguments: { mark } } };
}

/**
 * @typedef {{ isError?: boolean, content?: { text?: string }[], structuredContent?: { results?: Result[] } }} Result
 * @param {Program} program
 * @param {string} name
 * @param {object} args
 */
async function call(program, name, args) {
  const reply = await program.request('tools/call', { name, arguments: args });
  const { result } = /** @type {{ result?: Result }} */ (reply === undefined ? {} : JSON.parse(reply));
  return { result, said: reply ?? `no answer within ${CALL_MS} ms` };
}

/**
 * @param {Program} program
 * @param {MarkedRead | undefined} marked
 */
async function readOne(program, marked) {
  const { result, said } = await call(program, 'call_read_tool', marked?.call ?? {});
  return outcomeOf(marked, result, said);
}

/**
 * @param {Program} program
 * @param {MarkedRead[]} batch
 */
async function readMany(program, batch) {
  const { result, said } = await call(program, 'call_read_tools', {
    calls: batch.map((marked) => marked.call),
  });
  return batch.map((marked, n) => outcomeOf(marked, result?.structuredContent?.results?.[n], said));
}

/**
 * The answer has to carry this call's own mark: another call's answer would be worse than none.
 * @param {MarkedRead | undefined} marked
 * @param {Result | undefined} result
 * @param {string} said
 * @returns {ReadOutcome}
 */
function outcomeOf(marked, result, said) {
  const text = result?.content?.[0]?.text ?? '';
  if (result?.isError !== true && text.includes(JSON.stringify(marked?.mark))) return { kind: 'answered' };
  const code = /^\[([a-z_]+)\] ./.exec(text)?.[1];
  if (result?.isError === true && code !== undefined) return { kind: 'failed', code };
  return { kind: 'wrong', text: `${marked?.mark}: ${said}` };
}

/**
 * Waits until every server answers; how long that took.
 * @param {Program} program
 */
async function recover(program) {
  const begun = Date.now();
  for (const upstream of UPSTREAMS) {
    while ((await readOne(program, markedRead(upstream, 0))).kind !== 'answered') {
      if (Date.now() - begun > RECOVERY_MS) {
        throw new Error(`${upstream} does not answer again within ${RECOVERY_MS} ms; ${program.said()}`);
      }
      await sleep(20);
    }
  }
  return Date.now() - begun;
}

/**
 * @typedef {object} Program
 * @property {number} pid
 * @property {(method: string, params: object) => Promise<string | undefined>} request the reply's line
 * @property {() => Promise<number | string>} end closes its stdin; how it ended
 * @property {() => string} said the end of its stderr
 */

/**
 * @param {string} proxy
 * @param {string} folder
 * @returns {Program}
 */
function startProxy(proxy, folder) {
  const script = join(folder, 'script.json');
  const tool = (/** @type {string} */ name, /** @type {number} */ delayMs) => ({
    definition: {
      name,
      description: 'Reads a gauge.',
      inputSchema: { type: 'object', properties: { mark: { type: 'string' } } },
      annotations: { readOnlyHint: true },
    },
    does: { kind: 'echo', delayMs },
  });
  const tools = [tool('read_quick_gauge', 0), tool('read_slow_gauge', 15)];
  const server = (/** @type {string} */ name) => {
    const file = name === LAUNCHER ? join(folder, 'launcher.json') : script;
    const text = JSON.stringify({ tools, grandchild: name === LAUNCHER, log: join(folder, 'log.jsonl') });
    writeFileSync(file, text);
    return [name, { command: process.execPath, args: [UPSTREAM, file] }];
  };
  const config = join(folder, 'config.json');
  writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(UPSTREAMS.map(server)) }));
  const child = spawn(process.execPath, [proxy, '--stdio', '--config', config], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', HOME: folder },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) throw new Error('the proxy could not be started');
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr = `${stderr}${String(chunk)}`.slice(-2_000)));
  child.stdin.on('error', () => undefined);
  const exited = new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  /** @type {Map<number, (line: string | undefined) => void>} */
  const waiting = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    waiting.get(/** @type {{ id: number }} */ (JSON.parse(line)).id)?.(line);
  });
  let lastId = 0;
  return {
    pid: child.pid,
    said: () => stderr,
    async request(method, params) {
      const id = ++lastId;
      const reply = new Promise((resolve) => waiting.set(id, resolve));
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      const late = new AbortController();
      try {
        return await Promise.race([reply, sleep(CALL_MS, undefined, { signal: late.signal })]);
      } finally {
        late.abort();
        waiting.delete(id);
      }
    },
    async end() {
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
      const how = await exited;
      clearTimeout(timer);
      return how;
    },
  };
}

/**
 * The open descriptors of a process once their number stays the same; the closing of pipes may take a moment. Files of
 * vectors are not counted: they come when tools are first read, and are at most 16 for each part of the model.
 * @param {number} pid
 * @param {number} [expected]
 */
async function quietDescriptors(pid, expected) {
  const folder = `/proc/${pid}/fd`;
  const count = () => readdirSync(folder).filter((fd) => !isOfVectors(join(folder, fd))).length;
  if (expected !== undefined) await waitUntil(() => count() <= expected);
  await sleep(200);
  return count();
}

/** @param {string} descriptor */
function isOfVectors(descriptor) {
  try {
    return readlinkSync(descriptor).endsWith('.vectors');
  } catch {
    // Closed meanwhile.
    return false;
  }
}

/** @param {() => boolean} isSo */
async function waitUntil(isSo) {
  for (const end = Date.now() + END_MS; !isSo() && Date.now() < end;) await sleep(20);
}

/** @param {number} pid */
function childrenOf(pid) {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text
    .split(' ')
    .filter((part) => part.trim() !== '')
    .map(Number)
    .filter(isAlive);
}

/**
 * Everything that ran: the servers and what they started.
 * @param {string} folder
 */
function startedIn(folder) {
  const file = join(folder, 'log.jsonl');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => /** @type {{ pid: number, at: string, grandchild?: number }} */ (JSON.parse(line)))
    .flatMap(({ pid, at, grandchild }) =>
      at === 'start' ? [pid] : grandchild === undefined ? [] : [grandchild],
    );
}

/**
 * Whether a process runs; one that ended and only waits to be collected does not.
 * @param {number} pid
 */
function isAlive(pid) {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/**
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
function kill(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/**
 * The same numbers for the same seed (mulberry32).
 * @param {number} seed
 */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [reads = 2_000, kills = 200, seed = 1] = process.argv.slice(2).map(Number);
  const figures = await killWhileReading({ reads, kills, seed });
  console.log(JSON.stringify(figures, undefined, 2));
  const { wrong, survivors, childrenAfter, descriptorsBefore, descriptorsAfter, exit } = figures;
  const isHeld =
    wrong.length === 0 &&
    survivors === 0 &&
    exit === 0 &&
    childrenAfter === UPSTREAMS.length &&
    descriptorsAfter <= descriptorsBefore + 2;
  process.exitCode = isHeld ? 0 : 1;
}
