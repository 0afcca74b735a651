// @ts-check
import { execFile, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * One server behind the built proxy: what a client got to see, and beside it what the server really sent. Every
 * step has an end, and nothing that was started is left running.
 */

const run = promisify(execFile);
const TAP = fileURLToPath(new URL('compatibility-tap.mjs', import.meta.url));

const FIRST_TOOL_MS = 60_000;
const CALL_MS = 60_000;
const END_MS = 20_000;
const DISCOVER_MS = 10_000;
/** Most tools that describe_tool takes at once. */
const MAX_DESCRIBED = 10;
/** A process that carries this in its environment belongs to the run. */
const MARK = 'COMPATIBILITY_RUN';

/**
 * @typedef {{ [key: string]: unknown }} Json
 * @typedef {object} Definition a tool as the server listed it
 * @property {string} name
 * @property {string} [description]
 * @property {Json} [inputSchema]
 * @property {Json} [outputSchema]
 * @property {Json} [annotations]
 *
 * @typedef {object} TapEntry
 * @property {number} ms since the tap started
 * @property {'in' | 'out' | 'err' | 'stdin-end' | 'sigterm' | 'exit' | 'error'} at
 * @property {string} [line]
 * @property {number | null} [code]
 *
 * @typedef {object} CallOutcome
 * @property {string} tool
 * @property {'call_read_tool' | 'call_write_tool'} through
 * @property {boolean} isError
 * @property {string} text the beginning of the answer
 * @property {boolean} isUnchanged whether the client got just what the server sent
 *
 * @typedef {object} Refusal a call without the arguments a tool requires
 * @property {string} tool
 * @property {boolean} isRefused whether the proxy said what is missing and the server heard nothing
 *
 * @typedef {object} Session
 * @property {string} [unavailable] why there are no tools, in the proxy's words
 * @property {number} firstToolMs from the start of the proxy to the first search that knew a tool
 * @property {number} total tools behind the proxy, in the proxy's count
 * @property {readonly Definition[]} listed as the server sent them
 * @property {readonly string[]} lost names that could not be described
 * @property {readonly string[]} changed names whose schemas differ from what the server sent
 * @property {string} [found] the first tool of the search
 * @property {number} searchMatches
 * @property {CallOutcome} [call]
 * @property {Refusal} [refusal]
 * @property {readonly TapEntry[]} tap
 * @property {number} survivors processes left after the proxy had ended
 * @property {number | string} exit how the proxy ended
 */

/**
 * Folders and files for the servers, made anew.
 * @returns {Promise<import('./compatibility-servers.mjs').Scratch & { home: string, remove: () => void }>}
 */
export async function makeScratch() {
  const home = mkdtempSync(join(tmpdir(), 'compatibility-'));
  const folder = join(home, 'folder');
  const repository = join(home, 'repository');
  mkdirSync(join(folder, 'notes', '.obsidian'), { recursive: true });
  mkdirSync(repository);
  writeFileSync(join(folder, 'shopping.txt'), 'bread, cheese, plums\n');
  writeFileSync(join(folder, 'letter.txt'), 'Dear neighbour, the gate is open again.\n');
  writeFileSync(join(folder, 'program.js'), 'const unused = 1;\nconsole.log("hello");\n');
  writeFileSync(
    join(folder, 'eslint.config.js'),
    'export default [{ rules: { "no-unused-vars": "error" } }];\n',
  );
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(join(folder, 'notes', 'garden.md'), '# Garden\n\nThe plums are ripe.\n');
  writeFileSync(join(repository, 'readme.txt'), 'A small repository.\n');
  const git = (/** @type {string[]} */ ...args) =>
    run('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.com', ...args], { cwd: repository });
  try {
    await git('init', '--quiet');
    await git('add', '.');
    await git('commit', '--quiet', '--message', 'first');
    writeFileSync(join(repository, 'readme.txt'), 'A small repository, changed.\n');
  } catch {
    // Without Git on this machine the folder is no repository, which its server will say.
  }
  return {
    home,
    folder,
    repository,
    file: join(home, 'kept'),
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}

/**
 * What has to stand before a command so that it reaches no network, not even to say that it was started; empty
 * where the system has no such thing.
 * @returns {Promise<string[]>}
 */
export async function isolation() {
  const prefix = ['unshare', '--map-root-user', '--net', 'sh', '-c', 'ip link set lo up; exec "$0" "$@"'];
  const [command = '', ...args] = prefix;
  try {
    await run(command, [...args, 'true'], { timeout: 10_000 });
    return prefix;
  } catch {
    return [];
  }
}

/**
 * @param {object} options
 * @param {string} options.proxy
 * @param {import('./compatibility-servers.mjs').Server} options.server
 * @param {readonly string[]} options.command
 * @param {Record<string, string>} options.env
 * @param {Awaited<ReturnType<typeof makeScratch>>} options.scratch
 * @param {number} [options.firstToolMs]
 * @returns {Promise<Session>}
 */
export async function openSession({ proxy, server, command, env, scratch, firstToolMs = FIRST_TOOL_MS }) {
  const log = join(scratch.home, 'tap.jsonl');
  rmSync(log, { force: true });
  const mark = `${process.pid}-${Date.now()}`;
  const config = join(scratch.home, 'config.json');
  const entry = {
    command: process.execPath,
    args: [TAP, log, ...command],
    env: { ...env, [MARK]: mark },
    cwd: scratch.home,
  };
  writeFileSync(config, JSON.stringify({ mcpServers: { [server.package]: entry } }));
  const startedAt = Date.now();
  const client = startProxy(proxy, config, scratch.home);
  /** @type {Omit<Session, 'tap' | 'listed' | 'survivors' | 'exit' | 'firstToolMs'>} */
  let seen = { total: 0, lost: [], changed: [], searchMatches: 0 };
  let listed = /** @type {readonly Definition[]} */ ([]);
  let firstToolAt = startedAt;
  try {
    await client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'compatibility', version: '1.0.0' },
    });
    const first = await firstTool(client, server.question, startedAt + firstToolMs);
    firstToolAt = Date.now();
    listed = listedIn(readTap(log));
    seen = { ...seen, ...first };
    if (first.total > 0) {
      const described = await describeAll(client, listed);
      const refusal = await refuseOnce(client, listed, log);
      const call = typeof server.call === 'string' ? undefined : server.call;
      seen = {
        ...seen,
        ...described,
        ...(refusal && { refusal }),
        ...(call && { call: await callOnce(client, call.tool, call.args(scratch), listed, log) }),
      };
    }
  } catch (thrown) {
    seen = { ...seen, unavailable: thrown instanceof Error ? thrown.message : String(thrown) };
  }
  const exit = await client.end();
  const survivors = processesWith(mark);
  for (const pid of survivors) process.kill(pid, 'SIGKILL');
  return {
    ...seen,
    firstToolMs: firstToolAt - startedAt,
    listed,
    tap: readTap(log),
    survivors: survivors.length,
    exit,
  };
}

/**
 * Asks a server, without the proxy, whether it speaks the newer protocol.
 * @param {readonly string[]} command
 * @param {Record<string, string>} env
 * @param {string} home
 * @returns {Promise<{ versions?: readonly string[], ms: number } | undefined>} the versions it says, and when after
 *   its start it said something
 */
export async function discover([command = '', ...args], env, home) {
  const startedAt = Date.now();
  const mark = `${process.pid}-${startedAt}`;
  const child = spawn(command, args, {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, ...env, [MARK]: mark },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => undefined);
  const late = new AbortController();
  try {
    return await Promise.race([
      new Promise((resolve) => {
        child.once('error', () => resolve(undefined));
        child.once('exit', () => resolve(undefined));
        createInterface({ input: child.stdout }).on('line', (line) => {
          const message = parse(line);
          if (message?.['id'] !== 1) return;
          const versions = /** @type {Json | undefined} */ (message['result'])?.['supportedVersions'];
          resolve({ ms: Date.now() - startedAt, ...(Array.isArray(versions) && { versions }) });
        });
        const params = {
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'compatibility', version: '1.0.0' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        };
        const request = { jsonrpc: '2.0', id: 1, method: 'server/discover', params };
        child.stdin.write(`${JSON.stringify(request)}\n`);
      }),
      sleep(DISCOVER_MS, undefined, { signal: late.signal }),
    ]);
  } finally {
    late.abort();
    child.kill('SIGKILL');
    for (const pid of processesWith(mark)) process.kill(pid, 'SIGKILL');
  }
}

/**
 * @typedef {object} ProxyClient
 * @property {(method: string, params: object) => Promise<Json>} request gives the result
 * @property {(name: string, args: object) => Promise<Json>} call
 * @property {() => Promise<number | string>} end
 */

/**
 * @param {string} proxy
 * @param {string} config
 * @param {string} home
 * @returns {ProxyClient}
 */
function startProxy(proxy, config, home) {
  const child = spawn(process.execPath, [proxy, '--stdio', '--config', config], {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => (said = `${said}${String(chunk)}`.slice(-1_000)));
  child.stdin.on('error', () => undefined);
  const exited = new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  /** @type {Map<unknown, (message: Json) => void>} */
  const waiting = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = parse(line);
    if (message !== undefined) waiting.get(message['id'])?.(message);
  });
  let lastId = 0;
  /** @type {ProxyClient['request']} */
  const request = async (method, params) => {
    const id = ++lastId;
    const reply = new Promise((resolve) => waiting.set(id, resolve));
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    const late = new AbortController();
    try {
      const message = /** @type {Json | undefined} */ (
        await Promise.race([reply, exited, sleep(CALL_MS, undefined, { signal: late.signal })])
      );
      if (typeof message !== 'object')
        throw new Error(`the proxy did not answer ${method}; it said: ${said}`);
      if (message['result'] === undefined) throw new Error(`${method}: ${JSON.stringify(message['error'])}`);
      return /** @type {Json} */ (message['result']);
    } finally {
      late.abort();
      waiting.delete(id);
    }
  };
  return {
    request,
    call: (name, args) => request('tools/call', { name, arguments: args }),
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
 * Searches until the server's tools are there or it is clear that they will not be.
 * @param {ProxyClient} client
 * @param {string} query
 * @param {number} end
 */
async function firstTool(client, query, end) {
  for (;;) {
    const { structuredContent } = await client.call('search_tools', { query });
    const { total, tools, unavailable } =
      /** @type {{ total: number, tools: { name: string }[], unavailable?: { reason: string }[] }} */ (
        structuredContent
      );
    const found = tools[0]?.name;
    const reason = unavailable?.[0]?.reason;
    if (total > 0) return { total, searchMatches: tools.length, ...(found !== undefined && { found }) };
    const isStarting = reason?.startsWith('still starting') === true;
    if (!isStarting || Date.now() > end)
      return { total, searchMatches: 0, unavailable: reason ?? 'it lists no tools' };
    await sleep(50);
  }
}

/**
 * Describes every tool the server listed and compares its schemas.
 * @param {ProxyClient} client
 * @param {readonly Definition[]} listed
 */
async function describeAll(client, listed) {
  /** @type {string[]} */
  const lost = [];
  /** @type {string[]} */
  const changed = [];
  for (let from = 0; from < listed.length; from += MAX_DESCRIBED) {
    const some = listed.slice(from, from + MAX_DESCRIBED);
    const { structuredContent } = await client.call('describe_tool', { names: some.map(({ name }) => name) });
    const { tools } = /** @type {{ tools: Definition[] }} */ (structuredContent);
    for (const definition of some) {
      const described = tools.find(({ name }) => name === definition.name);
      if (described === undefined) lost.push(definition.name);
      else if (!isSame(schemasOf(described), schemasOf(definition))) changed.push(definition.name);
    }
  }
  return { lost, changed };
}

/** @param {Definition} definition */
const schemasOf = ({ inputSchema, outputSchema }) => ({ inputSchema, outputSchema });

/**
 * @param {ProxyClient} client
 * @param {string} tool
 * @param {object} args
 * @param {readonly Definition[]} listed
 * @param {string} log
 * @returns {Promise<CallOutcome>}
 */
async function callOnce(client, tool, args, listed, log) {
  const isRead = listed.find(({ name }) => name === tool)?.annotations?.['readOnlyHint'] === true;
  const through = isRead ? 'call_read_tool' : 'call_write_tool';
  const result = /** @type {{ content?: { text?: string }[], isError?: boolean }} */ (
    await client.call(through, { name: tool, arguments: args })
  );
  const sent = resultsOf(readTap(log), 'tools/call').at(-1);
  return {
    tool,
    through,
    isError: result.isError === true,
    text: (result.content?.[0]?.text ?? '').slice(0, 200),
    isUnchanged: isSame(result, sent),
  };
}

/**
 * Calls the first tool that requires an argument without any.
 * @param {ProxyClient} client
 * @param {readonly Definition[]} listed
 * @param {string} log
 * @returns {Promise<Refusal | undefined>}
 */
async function refuseOnce(client, listed, log) {
  const tool = listed.find(({ inputSchema }) => {
    const required = inputSchema?.['required'];
    return Array.isArray(required) && required.length > 0;
  })?.name;
  if (tool === undefined) return undefined;
  const result = /** @type {{ content?: { text?: string }[], isError?: boolean }} */ (
    await client.call('call_write_tool', { name: tool, arguments: {} })
  );
  const saysWhy = /^Not called: .* is required/s.test(result.content?.[0]?.text ?? '');
  const wasSent = readTap(log).some(
    ({ at, line = '' }) => at === 'in' && parse(line)?.['method'] === 'tools/call',
  );
  return { tool, isRefused: result.isError === true && saysWhy && !wasSent };
}

/** @param {string} log @returns {TapEntry[]} */
function readTap(log) {
  if (!existsSync(log)) return [];
  return readFileSync(log, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const entry = parse(line);
      return entry === undefined ? [] : [/** @type {TapEntry} */ (/** @type {unknown} */ (entry))];
    });
}

/**
 * The tools of the server's last whole listing.
 * @param {readonly TapEntry[]} tap
 */
function listedIn(tap) {
  /** @type {Map<string, Definition>} */
  const byName = new Map();
  for (const result of resultsOf(tap, 'tools/list')) {
    for (const tool of /** @type {Definition[]} */ (result['tools'] ?? [])) byName.set(tool.name, tool);
  }
  return [...byName.values()];
}

/**
 * The results a server sent to requests of one method, in order.
 * @param {readonly TapEntry[]} tap
 * @param {string} method
 * @returns {Json[]}
 */
export function resultsOf(tap, method) {
  const asked = new Set();
  /** @type {Json[]} */
  const results = [];
  for (const { at, line } of tap) {
    const message = line === undefined ? undefined : parse(line);
    if (at === 'in' && message?.['method'] === method) asked.add(message['id']);
    if (
      at === 'out' &&
      message !== undefined &&
      asked.delete(message['id']) &&
      message['result'] !== undefined
    ) {
      results.push(/** @type {Json} */ (message['result']));
    }
  }
  return results;
}

/** @param {string} line @returns {Json | undefined} */
export function parse(line) {
  try {
    const value = /** @type {unknown} */ (JSON.parse(line));
    return typeof value === 'object' && value !== null ? /** @type {Json} */ (value) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Equal as JSON values; the order of keys says nothing.
 * @param {unknown} one
 * @param {unknown} other
 */
const isSame = (one, other) => sorted(one) === sorted(other);

/** @param {unknown} value @returns {string | undefined} */
function sorted(value) {
  return JSON.stringify(value, (_key, part) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/**
 * Processes of the run that are alive (where there is /proc; elsewhere none are seen).
 * @param {string} mark
 */
function processesWith(mark) {
  if (!existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const isEnded = /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
        return !isEnded && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`${MARK}=${mark}`);
      } catch {
        return false;
      }
    });
}
