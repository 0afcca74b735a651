import { posix, win32 } from 'node:path';

/** What the folder depends on; given, not looked up, so that every platform can be tested on one. */
export interface CachePlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

/**
 * Where vectors are kept between runs: `$XDG_CACHE_HOME/mcpproxy`, by default under `~/.cache` (also on macOS, as the
 * configuration is under `~/.config`), and under `%LOCALAPPDATA%` on Windows. Everything in it may be deleted.
 */
export function defaultCacheFolder({ env, home, platform }: CachePlace): string {
  const base = env['XDG_CACHE_HOME'];
  if (platform === 'win32') {
    const local = env['LOCALAPPDATA'] || win32.join(home, 'AppData', 'Local');
    return base ? win32.join(base, 'mcpproxy') : win32.join(local, 'mcpproxy', 'cache');
  }
  // A relative one is to be ignored (XDG Base Directory Specification).
  const folder = base !== undefined && posix.isAbsolute(base) ? base : posix.join(home, '.cache');
  return posix.join(folder, 'mcpproxy');
}
