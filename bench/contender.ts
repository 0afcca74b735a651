import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as send } from 'node:http';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The proxy as it is published. */
export const PROXY = fileURLToPath(new URL('../../dist/bin.js', import.meta.url));
const START_MS = 20_000;
const POLL_MS = 20;

/** One way to the upstream: straight, through a bare relay, or through the proxy. */
export interface Contender {
  readonly name: string;
  /** The process that stands between; absent for the direct way. */
  readonly pid?: number;
  /** Calls the upstream's tool once; resolves with the answer's text. */
  call(): Promise<string>;
  close(): Promise<void>;
}

export function script(name: string): string {
  return fileURLToPath(new URL(`./${name}.js`, import.meta.url));
}

export function machine(): string {
  const load = loadavg()[0] ?? 0;
  return `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.versions.node}, load ${load.toFixed(1)}`;
}

/** A folder that is gone at the end, with a configuration file of these upstreams in it. */
export function scratchConfig(servers: object): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const path = join(folder, 'config.json');
  writeFileSync(path, JSON.stringify({ mcpServers: servers }));
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** CPU time a process has used on all its threads, in milliseconds; undefined where the system does not say. */
export function cpuMsOf(pid: number): number | undefined {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const nanos = tasks.map((task) =>
      Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]),
    );
    return nanos.reduce((sum, value) => sum + value, 0) / 1e6;
  } catch {
    return undefined;
  }
}

/** A line of a process's memory in MB, such as `Pss` of its smaps_rollup. */
export function memoryOf(pid: number): { readonly rss: number; readonly pss: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const mb = (key: string): number => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
  return { rss: mb('Rss'), pss: mb('Pss') };
}

/** A process that speaks JSON-RPC lines. */
export class LineClient {
  readonly child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (line: string) => void; reject: (error: Error) => void }>();
  #nextId = 1;
  #held = '';

  constructor([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'], env });
    this.child.once('close', (code) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`${args.join(' ')} ended with ${code}`));
    });
    this.child.stdin!.on('error', () => undefined);
    this.child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      this.#held += chunk;
      for (let at = this.#held.indexOf('\n'); at !== -1; at = this.#held.indexOf('\n')) {
        const line = this.#held.slice(0, at);
        this.#held = this.#held.slice(at + 1);
        const id = Number(/"id":(\d+)/.exec(line)?.[1]);
        this.#waiting.get(id)?.resolve(line);
        this.#waiting.delete(id);
      }
    });
  }

  request(method: string, params: object): Promise<string> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  }

  async greet(): Promise<void> {
    const clientInfo = { name: 'bench', version: '1' };
    await this.request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    this.child.stdin!.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('close', resolve));
    this.child.stdin!.end();
    await ended;
  }
}

/** Starts a process that says where it serves. What it logs goes to a file, so that nobody spends time reading it. */
export async function startServing(
  [command = '', ...args]: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly url: string; readonly pid: number; readonly close: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-log-'));
  const path = join(folder, 'log');
  const log = openSync(path, 'a');
  const child = spawn(command, args, { stdio: ['ignore', log, log], env });
  closeSync(log);
  const ended = new Promise((resolve) => child.once('close', resolve));
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (
    const end = performance.now() + START_MS;
    ;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  ) {
    const said = readFileSync(path, 'utf8');
    const url = /(http:\/\/127\.0\.0\.1:\d+\/mcp)/.exec(said)?.[1];
    if (url !== undefined) return { url, pid: child.pid ?? 0, close };
    if (performance.now() < end && child.exitCode === null) continue;
    await close();
    throw new Error(`${args.join(' ')} did not start: ${said}`);
  }
}

/** Posts JSON over connections that stay open. */
export function poster(url: string): {
  readonly post: (body: string, headers: Readonly<Record<string, string>>) => Promise<string>;
  readonly close: () => void;
} {
  const agent = new Agent({ keepAlive: true });
  return {
    post: (body, headers) =>
      new Promise((resolve, reject) => {
        const request = send(
          url,
          {
            method: 'POST',
            agent,
            headers: {
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
              'content-length': Buffer.byteLength(body),
              ...headers,
            },
          },
          (reply) => {
            let text = '';
            reply.setEncoding('utf8').on('data', (chunk: string) => {
              text += chunk;
            });
            reply.on('end', () => {
              if (reply.statusCode === 200) resolve(text);
              else reject(new Error(`HTTP ${reply.statusCode}: ${text}`));
            });
          },
        );
        request.on('error', reject);
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}
