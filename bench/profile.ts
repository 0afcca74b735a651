import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine, script } from './contender.ts';
import { printTable } from './numbers.ts';
import { httpWays, stdioWays } from './ways.ts';
import type { Ways, WaysOptions } from './ways.ts';

/**
 * Where the proxy's time goes: a CPU profile of warm calls, by module and by function, in microseconds a call.
 * `npm run bench -- profile [CALLS]`. The profiler itself costs some, and a system call that wakes another process
 * includes what that one does first on the same core; read the shares, not the sums.
 */
const WARM_UP = 2_000;
const LINES = 20;

/** What code is for, by where it lies; the first that fits. */
const KINDS: readonly (readonly [string, RegExp])[] = [
  ['Node in JavaScript', /^node:/],
  ['undici', /\/node_modules\/undici\//],
  ['the SDK and zod', /\/node_modules\/(?:zod|@modelcontextprotocol)\//],
  ['other packages', /\/node_modules\//],
  ['ours: JSON text, messages, lines', /\/(?:json-text|json-lines|upstream\/message)\.js$/],
  ['ours: the log line', /\/(?:observe\/[a-z-]+|cli\/serve)\.js$/],
  ["ours: the caller's view", /\/(?:callers|roster)\/[a-z-]+\.js$/],
];

interface ProfileNode {
  readonly id: number;
  readonly children?: readonly number[];
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export async function run(args: readonly string[]): Promise<void> {
  const calls = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 5_000);
  console.log(`${machine()}; ${calls} calls, one at a time\n`);
  const kinds: readonly (readonly [string, (options: WaysOptions) => Promise<Ways>])[] = [
    ['stdio', stdioWays],
    ['HTTP, 2026-07-28', (options) => httpWays('modern', options)],
  ];
  for (const [name, open] of kinds) {
    const folder = mkdtempSync(join(tmpdir(), 'bench-profile-'));
    const path = join(folder, 'proxy.cpuprofile');
    const ways = await open({
      nodeFlags: ['--import', script('profile-hook')],
      env: { ...process.env, BENCH_PROFILE: path },
    });
    const proxy = ways.contenders.find((contender) => contender.name === 'proxy');
    if (proxy?.pid === undefined) throw new Error('the proxy has a process of its own');
    for (let i = 0; i < WARM_UP; i++) await proxy.call();
    process.kill(proxy.pid, 'SIGUSR2');
    for (let i = 0; i < calls; i++) await proxy.call();
    process.kill(proxy.pid, 'SIGUSR2');
    while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 50));
    await ways.close();
    print(name, JSON.parse(readFileSync(path, 'utf8')) as Profile, calls);
    rmSync(folder, { recursive: true, force: true });
  }
}

function print(name: string, profile: Profile, calls: number): void {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])),
  );
  const byKind = new Map<string, number>();
  const byModule = new Map<string, number>();
  const bySelf = new Map<string, number>();
  const byWhole = new Map<string, number>();
  let sum = 0;
  profile.samples.forEach((id, i) => {
    const node = nodes.get(id);
    const micros = profile.timeDeltas[i] ?? 0;
    const module = node === undefined || micros < 0 ? undefined : moduleOf(node);
    if (node === undefined || module === undefined) return;
    sum += micros;
    add(byKind, kindOf(node), micros);
    add(byModule, module, micros);
    add(bySelf, functionOf(node), micros);
    const callers = new Set<string>();
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const caller = nodes.get(at);
      if (caller !== undefined && isOurs(caller)) callers.add(functionOf(caller));
    }
    for (const caller of callers) add(byWhole, caller, micros);
  });
  console.log(`${name}: ${(sum / calls).toFixed(0)} µs a call while not idle\n`);
  const rows = (counts: ReadonlyMap<string, number>): string[][] =>
    [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, LINES)
      .map(([key, micros]) => [key, (micros / calls).toFixed(1), `${((micros / sum) * 100).toFixed(1)} %`]);
  printTable(['kind', 'µs a call', 'share'], rows(byKind));
  printTable(['module, itself', 'µs a call', 'share'], rows(byModule));
  printTable(['function, itself', 'µs a call', 'share'], rows(bySelf));
  printTable(['function of ours, with what it calls', 'µs a call', 'share'], rows(byWhole));
}

function functionOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const place = url === '' ? '' : ` ${placeOf(url)}:${lineNumber + 1}`;
  return `${functionName === '' ? '(anonymous)' : functionName}${place}`;
}

function isOurs({ callFrame: { url } }: ProfileNode): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !url.includes('/dist-eval/');
}

function kindOf({ callFrame: { functionName, url } }: ProfileNode): string {
  if (url === '') {
    if (functionName === '(garbage collector)') return 'garbage collection';
    return functionName.startsWith('write') ? 'writing' : 'native code';
  }
  const found = KINDS.find(([, pattern]) => pattern.test(url));
  return found === undefined ? 'ours: the rest' : found[0];
}

/** A room of ours, a package, or a part of Node; undefined for time nothing ran. */
function moduleOf({ callFrame: { functionName, url } }: ProfileNode): string | undefined {
  if (functionName === '(idle)') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collection';
  if (url === '') return 'native code';
  if (url.startsWith('node:')) return url.replace(/^node:internal\/([^/]+).*/, 'node:$1 (internal)');
  const parts = url.split('/node_modules/');
  if (parts.length > 1) return (/^(?:@[^/]+\/)?[^/]+/.exec(parts.at(-1) ?? '') ?? [''])[0];
  return /\/dist\/(.+)\.m?js$/.exec(url)?.[1] ?? url;
}

function placeOf(url: string): string {
  return (
    url
      .split('/node_modules/')
      .at(-1)
      ?.replace(/^.*\/dist\/(?=[a-z-]+\/[a-z-]+\.m?js$)/, '') ?? url
  );
}

function add(counts: Map<string, number>, key: string, value: number): void {
  counts.set(key, (counts.get(key) ?? 0) + value);
}
