import { posix, win32 } from 'node:path';

/** What the default path depends on; given, not looked up, so that every platform can be tested on one. */
export interface Place {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

/**
 * Where the configuration file lies when nobody says: `$XDG_CONFIG_HOME/mcpproxy/config.json`, by default under
 * `~/.config` (also on macOS, where command-line programs keep theirs), and under `%APPDATA%` on Windows.
 */
export function defaultConfigPath({ env, home, platform }: Place): string {
  if (platform === 'win32') {
    const roaming = env['APPDATA'] || win32.join(home, 'AppData', 'Roaming');
    return win32.join(env['XDG_CONFIG_HOME'] || roaming, 'mcpproxy', 'config.json');
  }
  const base = env['XDG_CONFIG_HOME'];
  // A relative one is to be ignored (XDG Base Directory Specification).
  const folder = base !== undefined && posix.isAbsolute(base) ? base : posix.join(home, '.config');
  return posix.join(folder, 'mcpproxy', 'config.json');
}
