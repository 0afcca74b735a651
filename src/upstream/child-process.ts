import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';

/** A child to start, references resolved. */
export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Values it was given that must not come back in a sentence of ours. */
  readonly secrets: readonly string[];
}

/**
 * The variables a shell would give, without which common launchers fail; nothing else of ours is inherited, above
 * all no secret meant for another upstream. The POSIX list is the one MCP clients agree on.
 */
const INHERITED =
  process.platform === 'win32'
    ? [
        'APPDATA',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'PROCESSOR_ARCHITECTURE',
        'PROGRAMFILES',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'USERNAME',
        'USERPROFILE',
      ]
    : ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];

/** How long a child may take to end after its stdin closed, and again after SIGTERM. */
const STDIN_GRACE_MS = 2_000;
const TERM_GRACE_MS = 3_000;

/** Children alive now, so that none survives us whatever way we end. */
const alive = new Set<ChildProcessWithoutNullStreams>();
let isGuarding = false;

/** Starts a child in a process group of its own, so that launchers (`npx`, `uvx`) end with what they launched. */
export function startChild(spec: ChildSpec): ChildProcessWithoutNullStreams {
  if (!isGuarding) {
    isGuarding = true;
    process.on('exit', () => {
      for (const child of alive) signalGroup(child, 'SIGKILL');
    });
  }
  const inherited = INHERITED.flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  );
  const child = spawn(spec.command, spec.args, {
    env: { ...Object.fromEntries(inherited), ...spec.env },
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  alive.add(child);
  child.once('exit', () => {
    // What the launcher left behind in its group goes too.
    signalGroup(child, 'SIGKILL');
    alive.delete(child);
  });
  child.once('error', () => alive.delete(child));
  return child;
}

/** Ends a child and its group: stdin closed, then SIGTERM, then SIGKILL. Resolves when it is gone. */
export async function stopChild(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (!alive.has(child)) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.stdin.end();
  if (await endsWithin(gone, STDIN_GRACE_MS)) return;
  signalGroup(child, 'SIGTERM');
  if (await endsWithin(gone, TERM_GRACE_MS)) return;
  signalGroup(child, 'SIGKILL');
  await gone;
}

/** Ends a child and its group at once. */
export function killChild(child: ChildProcessWithoutNullStreams): void {
  if (alive.has(child)) signalGroup(child, 'SIGKILL');
}

function endsWithin(gone: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    void gone.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

function signalGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // The group is gone already.
  }
}
