import { resolve } from 'node:path';

/** A path as somebody wrote it: from their home for `~/`, otherwise from `folder`; one that starts with a reference is left as it is. */
export function absolutePath(path: string, folder: string, home: string): string {
  if (path.startsWith('${')) return path;
  if (path === '~' || path.startsWith('~/')) return resolve(home, path.slice(2));
  return resolve(folder, path);
}
