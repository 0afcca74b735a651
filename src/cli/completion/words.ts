import { flagOf, placesOf, SETTING_NAMES, settingOf } from '../../config/settings.ts';
import type { SettingName } from '../../config/settings.ts';
import { CLI_FLAGS, GLOBAL_FLAGS } from '../command-line.ts';
import type { CliFlagName } from '../command-line.ts';
import { KNOWN_MODELS } from '../../model/fetch/known-models.ts';
import { COMMANDS } from '../command.ts';

/** What may follow a flag: nothing, some file, some folder, one of these words, or something nobody can guess. */
export type FlagValueKind = 'none' | 'file' | 'folder' | 'any' | readonly string[];

export interface FlagWord {
  /** `--output` */
  readonly long: string;
  /** `-o` */
  readonly short?: string;
  readonly value: FlagValueKind;
  readonly sentence: string;
}

export interface CommandWord {
  readonly name: string;
  readonly sentence: string;
  /** Flags only this command and a few others have. */
  readonly flags: readonly FlagWord[];
  /** What its operands may be, when they are a few known words. */
  readonly operands: readonly string[];
}

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export type Shell = (typeof SHELLS)[number];

/** Both names the program is installed under. */
export const PROGRAMS = ['mcpproxy', 'mcp-toolsearch-proxy'] as const;

/** The few flags whose values are known words. */
const KNOWN_VALUES: Readonly<Record<string, readonly string[]>> = {
  output: ['json', 'table'],
  embedder: ['none', 'packed', 'packed-small'],
};

/** The few commands whose operands are known words. */
const KNOWN_OPERANDS: Readonly<Record<string, readonly string[]>> = {
  completion: SHELLS,
  'fetch-model': Object.keys(KNOWN_MODELS),
};

/** Flags every command takes: the global ones and the settings. */
export function commonFlags(): FlagWord[] {
  const settings = SETTING_NAMES.filter((name) => placesOf(name).includes('flag')).map(settingFlag);
  return [...GLOBAL_FLAGS.map(cliFlag), ...settings];
}

export function commandWords(): CommandWord[] {
  const commands = Object.entries(COMMANDS).map(([name, command]) => ({
    name,
    sentence: command.sentence,
    flags: command.flags.map(cliFlag),
    operands: KNOWN_OPERANDS[name] ?? [],
  }));
  const help = { name: 'help', sentence: 'Show the help of a command.', flags: [] };
  return [...commands, { ...help, operands: commands.map(({ name }) => name) }];
}

function cliFlag(name: CliFlagName): FlagWord {
  const flag = CLI_FLAGS[name];
  const shape: string | undefined = 'shape' in flag ? flag.shape : undefined;
  const value = shape === undefined ? 'none' : (KNOWN_VALUES[name] ?? (shape === 'FILE' ? 'file' : 'any'));
  const word: FlagWord = { long: `--${name}`, value, sentence: flag.sentence };
  return 'short' in flag ? { ...word, short: `-${flag.short}` } : word;
}

function settingFlag(name: SettingName): FlagWord {
  return { long: flagOf(name), value: settingValue(name), sentence: settingOf(name).sentence };
}

function settingValue(name: SettingName): FlagValueKind {
  const { value } = settingOf(name);
  switch (value.kind) {
    case 'switch':
      return 'none';
    case 'path':
      return value.shape === 'DIR' ? 'folder' : 'file';
    case 'choice':
      return value.choices;
    case 'text':
    case 'integer':
    case 'list':
    case 'address':
      return KNOWN_VALUES[name] ?? 'any';
  }
}
