import { ProxyError } from '../../base/errors.ts';

/** A lock nobody has touched for this long belongs to a process that is gone; making a model keeps us busy for some. */
const STALE_MS = 30_000;

/**
 * Keeps other runs out of what `path` stands for, by a folder `path.lock` that is taken over when its process was killed.
 * Throws `model_busy` while another run has it. Gives what ends it.
 */
export async function lock(path: string): Promise<() => Promise<void>> {
  const { default: lockfile } = await import('proper-lockfile');
  try {
    return await lockfile.lock(path, {
      realpath: false,
      stale: STALE_MS,
      update: 5_000,
      retries: { retries: 0 },
      onCompromised: () => undefined,
    });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ELOCKED') throw cause;
    throw new ProxyError(
      'model_busy',
      `Another run is fetching this model; when there is none, remove ${path}.lock.`,
      {
        cause,
      },
    );
  }
}
