import type { Config } from '../config/config.ts';
import type { Settings } from '../config/settings.ts';
import type { CommandLine } from './command-line.ts';
import type { Output } from './output.ts';

/** A settled configuration, and the file it was read from (or would have been). */
export interface LoadedConfig {
  readonly config: Config;
  readonly settings: Settings;
  readonly path: string;
}

/** What a command is run with. */
export interface Context {
  readonly line: CommandLine;
  readonly output: Output;
  /** Settled, when the command needs a configuration (`needsConfig`). */
  readonly loaded: LoadedConfig | undefined;
  /** Whether a person is there to be asked: a terminal on both sides, and `--no-input` not given. */
  readonly canAsk: boolean;
}

/** The configuration of a command that needs one. */
export function configOf(context: Context): Config {
  return loadedOf(context).config;
}

export function loadedOf(context: Context): LoadedConfig {
  if (context.loaded === undefined)
    throw new Error('a command that needs the configuration was run without it');
  return context.loaded;
}
