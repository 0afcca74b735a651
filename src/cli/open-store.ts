import { homedir } from 'node:os';
import { defaultConfigPath } from '../config/default-path.ts';
import { shellWord } from '../base/shell-word.ts';
import type { Loaded, LoadInput } from '../config/load.ts';
import type { UpstreamStore } from '../config/upstream-store.ts';
import { loadedOf } from './context.ts';
import type { Context } from './context.ts';

/** The configuration of this run read anew, of the file or of what may become it. */
export async function reload(context: Context, fileText?: string): Promise<Loaded> {
  const { loadConfig } = await import('../config/load.ts');
  const input: LoadInput = {
    flags: context.line.settings,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    platform: process.platform,
    hasOneCaller: (context.line.command ?? 'serve') !== 'serve',
    ...(fileText === undefined ? {} : { fileText }),
    knownRegistries: async () => (await import('../registry/known-facts.ts')).knownFacts(),
  };
  return loadConfig(input);
}

/** The configuration file of this run as the place where upstreams are kept. */
export async function openStore(context: Context): Promise<UpstreamStore> {
  const { openUpstreamStore } = await import('../config/upstream-store.ts');
  const { path } = loadedOf(context);
  const usual = defaultConfigPath({ env: process.env, home: homedir(), platform: process.platform });
  const program = path === usual ? 'mcpproxy' : `mcpproxy --config ${shellWord(path)}`;
  return openUpstreamStore({ path, program, load: (fileText) => reload(context, fileText) });
}
