import { randomBytes } from 'node:crypto';
import { chown, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProxyError } from '../base/errors.ts';

/**
 * Writes a file whole or not at all: the text goes into a file beside it, to the disk, and is then given its name. A
 * disk that is full, or a process killed at any moment, leaves the file as it was. Whatever it was before, only its
 * owner may read it afterwards (0600), because configurations hold keys.
 *
 * By hand, because the library for it writes once and takes a short write, as a filling disk gives, for a whole one.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const before = await stat(path).catch(() => undefined);
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.chmod(0o600);
      await file.sync();
    } finally {
      await file.close();
    }
    // Root, who may write everybody's files, takes none from its owner.
    if (before !== undefined && process.getuid?.() === 0) await chown(temporary, before.uid, before.gid);
    await rename(temporary, path);
    await syncFolder(folder);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw writeError(path, cause);
  }
}

/** What a killed process left beside a file. Only for whoever holds the file's lock: nobody else is writing then. */
export async function removeLeftovers(path: string): Promise<void> {
  const name = basename(path);
  const names = await readdir(dirname(path)).catch(() => []);
  const left = names.filter(
    (each) => each.startsWith(`${name}.`) && /^[0-9a-f]{12}\.tmp$/.test(each.slice(name.length + 1)),
  );
  await Promise.all(
    left.map((each) => rm(join(dirname(path), each), { force: true }).catch(() => undefined)),
  );
}

/**
 * The file a path leads to, so that a link stays one. Throws when it belongs to somebody else: their file would
 * become ours.
 */
export async function targetFile(path: string): Promise<string> {
  const target = await realpath(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw writeError(path, error);
    const folder = await realpath(dirname(path)).catch(() => dirname(path));
    return join(folder, basename(path));
  });
  const owner = (await stat(target).catch(() => undefined))?.uid;
  const user = process.getuid?.();
  if (owner !== undefined && user !== undefined && user !== 0 && owner !== user) {
    throw new ProxyError(
      'config_write_failed',
      `${target} belongs to another user, so it is not written; nothing was changed.`,
    );
  }
  return target;
}

export function writeError(path: string, cause: unknown): ProxyError {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
  return new ProxyError(
    'config_write_failed',
    `${path} could not be written (${code}${REASONS[code] ?? ''}); nothing was changed.`,
    { cause },
  );
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: ': the disk is full',
  EDQUOT: ': your share of the disk is full',
  EACCES: ': this user may not write there',
  EPERM: ': this user may not write there',
  EROFS: ': the file system is read-only',
  EFBIG: ': it would be larger than this user may write',
};

/** The new name survives a loss of power only once its folder is on the disk; not every system can say so. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Windows opens no folders, some network file systems sync none.
  }
}
