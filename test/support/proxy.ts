import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createProxy, type Proxy, type ProxyOptions } from '../../src/app.ts';
import { DEFAULT_LIMITS, type Limits } from '../../src/base/limits.ts';
import type { HouseEvent } from '../../src/base/observer.ts';
import type { Config } from '../../src/config/config.ts';
import type { UpstreamRecord } from '../../src/roster/record.ts';
import type { UpstreamStore } from '../../src/roster/store.ts';
import { whenDone } from './cleanup.ts';
import { rawHttp, rawStdio, type RawHttpClient, type RawStdioClient, type Target } from './clients.ts';
import type { StdioUpstream } from './stdio-upstream.ts';
import type { StubUpstream } from './stub-upstream.ts';
import { until, within } from './wait.ts';

export type ConfigChanges = Partial<Omit<Config, 'limits'>> & { readonly limits?: Partial<Limits> };

/** The defaults of a run, on a free loopback port, with what the test changes. */
export function testConfig(changes: ConfigChanges): Config {
  return {
    upstreams: [],
    listen: { host: '127.0.0.1', port: 0 },
    stdio: false,
    allowedHosts: [],
    allowedOrigins: [],
    writeTools: [],
    maxBatchCalls: 10,
    maxInstructions: 10_000,
    searchSchemas: 3,
    embedder: { kind: 'none' },
    requireModel: false,
    discovery: false,
    agentAdds: 'allow',
    registrySearch: true,
    checkServerRepo: false,
    registries: [],
    ...changes,
    // A test that forgets a running call must not wait half a minute for it.
    limits: { ...DEFAULT_LIMITS, drainMs: 500, ...changes.limits },
  };
}

/** An upstream the operator configured, reached over HTTP. */
export function httpRecord(
  name: string,
  at: Pick<StubUpstream, 'url'>,
  changes: Partial<UpstreamRecord> & { readonly headers?: Readonly<Record<string, string>> } = {},
): UpstreamRecord {
  const { headers = {}, ...record } = changes;
  return {
    name,
    origin: 'config',
    trusted: true,
    enabled: true,
    auth: 'own',
    transport: { kind: 'http', url: at.url, headers },
    ...record,
  };
}

/** The one upstream of a gateway: every caller's own credential, nothing else of theirs. */
export const forwardRecord = (at: Pick<StubUpstream, 'url'>, name = 'upstream'): UpstreamRecord =>
  httpRecord(name, at, { auth: 'forward' });

export function stdioRecord(
  name: string,
  child: Pick<StdioUpstream, 'command' | 'args'>,
  changes: Partial<UpstreamRecord> & {
    readonly env?: Readonly<Record<string, string>>;
    readonly cwd?: string;
  } = {},
): UpstreamRecord {
  const { env = {}, cwd, ...record } = changes;
  return {
    name,
    origin: 'config',
    trusted: true,
    enabled: true,
    auth: 'own',
    transport: {
      kind: 'stdio',
      command: child.command,
      args: child.args,
      env,
      ...(cwd !== undefined && { cwd }),
    },
    ...record,
  };
}

export interface RunningProxy {
  readonly proxy: Proxy;
  readonly url: string;
  readonly target: Target;
  /** What the observer was told. */
  readonly events: readonly HouseEvent[];
  raw(era: 'modern' | 'legacy', headers?: Readonly<Record<string, string>>): RawHttpClient;
  /** Calls one of the meta-tools by hand as a modern client and gives the result. */
  call(metaTool: string, args: object, headers?: Readonly<Record<string, string>>): Promise<MetaResult>;
  /** Waits until the upstreams have all listed their tools or failed to. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface MetaResult {
  readonly content: readonly {
    readonly type: string;
    readonly text?: string;
    readonly [key: string]: unknown;
  }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
  readonly [key: string]: unknown;
}

/** The proxy in this process, listening on a free port; closed with the test. */
export async function startProxy(
  changes: ConfigChanges,
  env: Readonly<Record<string, string | undefined>> = {},
  store?: UpstreamStore,
  embedder?: ProxyOptions['embedder'],
): Promise<RunningProxy> {
  const events: HouseEvent[] = [];
  const proxy = await createProxy(testConfig(changes), {
    observer: (event) => void events.push(event),
    env,
    ...(store === undefined ? {} : { store }),
    ...(embedder === undefined ? {} : { embedder }),
  });
  whenDone(() => within('the proxy closes', proxy.close()));
  const url = await within('the proxy listens', proxy.listen());
  const raw: RunningProxy['raw'] = (era, headers = {}) => rawHttp(url, { era, headers });
  return {
    proxy,
    url,
    target: { kind: 'http', url },
    events,
    raw,
    async call(metaTool, args, headers) {
      const reply = await raw('modern', headers).request('tools/call', { name: metaTool, arguments: args });
      if (reply.result === undefined) throw new Error(`${metaTool}: HTTP ${reply.status} ${reply.body}`);
      return JSON.parse(reply.result) as MetaResult;
    },
    settled: () => within('the upstreams settle', proxy.local.settled(10_000)),
    close: () => proxy.close(),
  };
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = join(root, 'dist', 'bin.js');

export interface RunningProgram {
  readonly child: ChildProcess;
  readonly home: string;
  /** Everything written to stderr so far. */
  stderr(): string;
  stdout(): string;
  /** Exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
}

/** An environment that shares nothing with whoever runs the tests. */
export function ownHome(): { readonly home: string; readonly env: Record<string, string> } {
  const home = mkdtempSync(join(tmpdir(), 'proxy-home-'));
  whenDone(() => rmSync(home, { recursive: true, force: true }));
  return {
    home,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      XDG_CACHE_HOME: join(home, 'cache'),
      XDG_STATE_HOME: join(home, 'state'),
      XDG_DATA_HOME: join(home, 'data'),
    },
  };
}

/** Starts the built program as a user would. */
export async function startProgram(
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly config?: object } = {},
): Promise<RunningProgram> {
  await ensureBuilt();
  const { home, env } = ownHome();
  const configArgs = options.config === undefined ? [] : ['--config', writeConfig(home, options.config)];
  const child = spawn(process.execPath, [program, ...args, ...configArgs], {
    cwd: home,
    env: { ...env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stderr = '';
  let stdout = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stdin.on('error', () => undefined);
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  whenDone(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, home, stderr: () => stderr, stdout: () => stdout, exited };
}

/** The built program over stdio, with a client that reads its very lines. */
export async function startStdioProgram(
  era: 'modern' | 'legacy',
  config: object,
  more: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<RunningProgram & { readonly client: RawStdioClient }> {
  const running = await startProgram(['--stdio', ...(more.args ?? [])], {
    config,
    ...(more.env && { env: more.env }),
  });
  const { stdin, stdout } = running.child;
  if (stdin === null || stdout === null) throw new Error('the program was started without pipes');
  return { ...running, client: rawStdio(stdin, stdout, era) };
}

/** Waits until this many tools can be searched; says what the program said when they cannot. */
export async function toolsAreThere(
  running: RunningProgram & { readonly client: RawStdioClient },
  total: number,
): Promise<void> {
  let last = '';
  try {
    await until(`${total} tools are there`, async () => {
      last = await running.client.call('search_tools', '{"query":"anything","schemas":false}');
      return last.includes(`"total":${total}`);
    });
  } catch (error) {
    throw new Error(`The last search said ${last}; stderr: ${running.stderr()}`, { cause: error });
  }
}

/** The built program over HTTP on a free port; resolves when it answers. */
export async function startHttpProgram(
  args: readonly string[],
  options: Parameters<typeof startProgram>[1] = {},
): Promise<RunningProgram & { readonly url: string }> {
  const port = await freePort();
  const running = await startProgram(['--listen', `127.0.0.1:${port}`, ...args], options);
  const gone = running.exited.then((code) => {
    throw new Error(`the program ended with ${code}: ${running.stderr()}`);
  });
  gone.catch(() => undefined);
  const answers = until('the program answers /healthz', async () => {
    try {
      return (await fetch(`http://127.0.0.1:${port}/healthz`)).ok;
    } catch {
      return false;
    }
  });
  await Promise.race([answers, gone]);
  return { ...running, url: `http://127.0.0.1:${port}/mcp` };
}

/** How a client starts the built program over stdio. */
export async function programTarget(config: object): Promise<Extract<Target, { kind: 'stdio' }>> {
  await ensureBuilt();
  const { home, env } = ownHome();
  return {
    kind: 'stdio',
    command: process.execPath,
    args: [program, '--stdio', '--config', writeConfig(home, config)],
    env,
    cwd: home,
  };
}

function writeConfig(home: string, config: object): string {
  const file = join(home, 'proxy.json');
  writeFileSync(file, JSON.stringify(config, undefined, 2));
  return file;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

let built: Promise<void> | undefined;

/** Builds the program once, if a source is newer than it; test files that run side by side take turns. */
function ensureBuilt(): Promise<void> {
  return (built ??= build());
}

async function build(): Promise<void> {
  // One for each checkout.
  const lock = join(root, 'node_modules', '.proxy-build.lock');
  await until('another test file has built the program', () => tryLock(lock), 90_000);
  try {
    if (existsSync(program) && statSync(program).mtimeMs >= newestSource(join(root, 'src'))) return;
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
      cwd: root,
      timeout: 60_000,
    });
    // The compiler writes its output also where types do not fit; that they do is another check's business.
    if (!existsSync(program)) throw new Error(`The program could not be built:\n${stdout.toString()}`);
    // An incremental rewrite of the same text may keep the old time.
    const now = new Date();
    utimesSync(program, now, now);
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function tryLock(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    try {
      // Left behind by a run that was killed.
      if (Date.now() - statSync(lock).mtimeMs > 80_000) rmSync(lock, { recursive: true, force: true });
    } catch {
      // Released in between.
    }
    return false;
  }
}

function newestSource(dir: string): number {
  return Math.max(
    0,
    ...readdirSync(dir, { withFileTypes: true }).map((entry) => {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) return newestSource(path);
      return entry.name.endsWith('.test.ts') ? 0 : statSync(path).mtimeMs;
    }),
  );
}
