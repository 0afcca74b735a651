import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { whenDone } from './cleanup.ts';
import { until } from './wait.ts';

/** What a scripted stdio child does. Everything left out behaves well. */
export interface StdioScript {
  readonly tools: readonly StdioTool[];
  readonly era?: 'legacy' | 'modern' | 'both';
  /** The version a legacy child answers `initialize` with. */
  readonly version?: string;
  readonly instructions?: string;
  readonly pageSize?: number;
  /** Waits before answering these methods. */
  readonly delaysMs?: Readonly<Record<string, number>>;
  /** Methods that never get an answer. */
  readonly neverAnswer?: readonly string[];
  /** Lines on stdout that are no JSON-RPC, at the start and before each message. */
  readonly noise?: boolean;
  /** Messages leave in small pieces that cut characters. */
  readonly splitWrites?: boolean;
  readonly ignoreSigterm?: boolean;
  readonly ignoreStdinEnd?: boolean;
  /** Starts a process of its own, as a package runner does. */
  readonly grandchild?: boolean;
  /** Ends with this code before saying anything. */
  readonly exitAtStart?: number;
}

export interface StdioTool {
  readonly definition: unknown;
  readonly does?: StdioBehaviour & { readonly delayMs?: number };
}

export type StdioBehaviour =
  /** The whole request line, as text. */
  | { readonly kind: 'echo' }
  | { readonly kind: 'raw'; readonly raw: string }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly kind: 'environment' }
  | { readonly kind: 'process' }
  | { readonly kind: 'crash'; readonly exitCode?: number }
  | { readonly kind: 'hang' }
  | { readonly kind: 'progress'; readonly steps: number }
  | { readonly kind: 'announce'; readonly times: number }
  | { readonly kind: 'ask'; readonly method: string; readonly params?: Readonly<Record<string, unknown>> }
  | { readonly kind: 'bytes'; readonly count: number }
  | { readonly kind: 'stderr'; readonly text: string };

export interface StdioLogEntry {
  readonly pid: number;
  readonly at: 'start' | 'grandchild' | 'sigterm' | 'stdin-end' | 'line';
  readonly line?: string;
  readonly argv?: readonly string[];
  readonly cwd?: string;
  readonly grandchild?: number;
}

export interface StdioUpstream {
  readonly command: string;
  readonly args: readonly string[];
  /** What happened in every child that ran from this script. */
  log(): readonly StdioLogEntry[];
  /** Process ids of the children started so far (a client that probes may start more than one), and of theirs. */
  pids(): readonly number[];
  /** The messages with this method that reached a child. */
  linesOf(method: string): readonly string[];
  callsOf(tool: string): readonly string[];
  /** Changes the tools of running and later children. */
  change(changes: Partial<StdioScript>): void;
  /** Makes every running child send one `tools/list_changed`. */
  sendListChanged(): void;
  allGone(): Promise<void>;
}

/** Writes the script where a child can read it; children are started by whoever uses `command` and `args`. */
export function scriptStdio(script: StdioScript): StdioUpstream {
  const dir = mkdtempSync(join(tmpdir(), 'stdio-stub-'));
  const scriptFile = join(dir, 'script.json');
  const logFile = join(dir, 'log.jsonl');
  let current = script;
  const write = (): void => writeFileSync(scriptFile, JSON.stringify({ ...current, log: logFile }));
  write();

  const log = (): StdioLogEntry[] =>
    existsSync(logFile)
      ? readFileSync(logFile, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as StdioLogEntry)
      : [];
  const pids = (): number[] =>
    log().flatMap((entry) =>
      entry.at === 'start' ? [entry.pid] : entry.grandchild === undefined ? [] : [entry.grandchild],
    );
  const linesOf = (method: string): string[] =>
    log().flatMap(({ line }) => (line !== undefined && methodOf(line) === method ? [line] : []));

  whenDone(() => {
    for (const pid of pids()) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  });

  return {
    command: process.execPath,
    args: [fileURLToPath(new URL('stdio-upstream.mjs', import.meta.url)), scriptFile],
    log,
    pids,
    linesOf,
    callsOf: (tool) =>
      linesOf('tools/call').filter(
        (line) => (JSON.parse(line) as { params: { name: unknown } }).params.name === tool,
      ),
    change(changes) {
      current = { ...current, ...changes };
      write();
    },
    sendListChanged() {
      for (const { at, pid } of log()) if (at === 'start' && isAlive(pid)) process.kill(pid, 'SIGUSR2');
    },
    async allGone() {
      await until('every child process is gone', () => pids().every((pid) => !isAlive(pid)));
    },
  };
}

/** Whether the process runs; one that ended and only waits to be collected does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    // No /proc (another system), or gone in between.
    return !existsSync('/proc/self/status');
  }
}

function methodOf(line: string): unknown {
  try {
    return (JSON.parse(line) as { method?: unknown }).method;
  } catch {
    return undefined;
  }
}
