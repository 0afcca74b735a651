import { ProxyError } from '../base/errors.ts';
import { writeError } from './write-whole.ts';

/** A lock nobody has touched for this long belongs to a process that is gone. */
const STALE_MS = 5_000;
/** About how long a writer waits for its turn: longer than a lock left behind lasts. */
const RETRIES = { retries: 80, factor: 1.15, minTimeout: 10, maxTimeout: 250, randomize: true };

/**
 * Runs `work` while no other process of ours writes `path`. The lock is a folder beside the file; one whose process
 * was killed is taken over after five seconds. It keeps programs like this one apart, not editors: what they write
 * is found by comparing texts before a file is replaced.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const { default: lockfile } = await import('proper-lockfile');
  let release: () => Promise<void>;
  try {
    release = await lockfile.lock(path, {
      realpath: false,
      stale: STALE_MS,
      update: 1_000,
      retries: RETRIES,
      // A process that slept through its lock finds the file changed when it compares.
      onCompromised: () => undefined,
    });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ELOCKED') throw writeError(path, cause);
    throw new ProxyError(
      'config_busy',
      `${path} is being written by another process; nothing was changed. Try again in a moment.`,
      { retryable: true, cause },
    );
  }
  try {
    return await work();
  } finally {
    await release().catch(() => undefined);
  }
}
