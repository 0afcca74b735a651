import { parseArgs } from 'node:util';
import type { FlagValue } from '../config/load.ts';
import { flagOf, placesOf, SETTING_NAMES, settingOf } from '../config/settings.ts';
import type { SettingName } from '../config/settings.ts';
import { didYouMean } from '../config/nearest.ts';
import { quoted } from '../config/problem.ts';
import { COMMANDS } from './command.ts';

/** Flags that are no settings: they say how one run of a command behaves. */
export const CLI_FLAGS = {
  output: {
    short: 'o',
    shape: 'FORMAT',
    sentence: 'Print json (on stdout, nothing else there) or table (for people).',
  },
  json: { sentence: 'The same as -o json.' },
  quiet: { short: 'q', sentence: 'Print no notes and no progress, only results and errors.' },
  'no-input': { sentence: 'Never ask; what would have been asked is an error that names the flag to give.' },
  help: { short: 'h', sentence: 'Show this help, or the help of the command before it.' },
  version: { sentence: 'Print the version.' },
  builtin: {
    sentence:
      'Stand in front of a built-in catalog of several hundred invented tools, instead of configured servers.',
  },
  limit: {
    short: 'l',
    shape: 'N',
    sentence: 'Most matches of each query, 1 to 25 (8 when not given); of search-servers, 1 to 50 (10).',
  },
  registry: {
    short: 'r',
    shape: 'ID',
    sentence: 'The registry to search, by id or name; all asks every one that can be searched.',
  },
  search: {
    short: 's',
    shape: 'WORDS',
    sentence: 'Words a server has in its name or description, all of them.',
  },
  tag: {
    short: 't',
    shape: 'TAG',
    sentence: 'A tag or category of the registry, or one of remote, local, npm, pypi, oci and official.',
  },
  'list-registries': { sentence: 'List every known registry and what it can do, instead of searching.' },
  verbose: { short: 'v', sentence: 'Say which requests are made, and how old the answer is.' },
  'no-schemas': { sentence: 'Leave the input schemas out of the answer.' },
  questions: {
    shape: 'FILE',
    sentence: 'Questions with their right tools, one a line: {"query": "…", "relevant": ["tool_name"]}.',
  },
  yes: { sentence: 'Do without asking what would be asked first.' },
  name: { shape: 'NAME', sentence: 'What a server is to be called, or is called.' },
  url: {
    shape: 'URL',
    sentence: 'The MCP endpoint of a server; of fetch-model, the address or folder its files lie under.',
  },
  id: { shape: 'ID', sentence: 'The id a registry lists a server under; with --registry.' },
  header: {
    shape: "'NAME: VALUE'",
    sentence: 'A header sent to the server with every request; may be given several times.',
  },
  env: {
    short: 'e',
    shape: 'NAME=VALUE',
    sentence: "A variable for the server's program; may be given several times.",
  },
  input: {
    shape: 'NAME=VALUE',
    sentence: 'Something a server of a registry asks for, by its name; may be given several times.',
  },
  description: { shape: 'TEXT', sentence: 'A few words on what a server is for; the model reads them.' },
  enabled: { shape: 'true|false', sentence: 'Whether a server is used.' },
  local: { sentence: 'Run the package of a server, also where it can be reached by URL.' },
  unverified: {
    sentence: "Let a server's tools count as writes until it is approved, as if a model had added it.",
  },
} as const satisfies Record<string, { short?: string; shape?: string; sentence: string }>;

export type CliFlagName = keyof typeof CLI_FLAGS;

/** Flags each of whose values counts. */
const MANY: ReadonlySet<CliFlagName> = new Set(['header', 'env', 'input']);

/** Other names of commands. */
const ALIASES: Readonly<Record<string, string>> = {
  upstream: 'upstream_servers',
  upstreams: 'upstream_servers',
  'upstream-servers': 'upstream_servers',
  search_servers: 'search-servers',
};

/** Accepted by every command. */
export const GLOBAL_FLAGS: readonly CliFlagName[] = [
  'output',
  'json',
  'quiet',
  'no-input',
  'help',
  'version',
];

/** What was typed, taken apart. Mistakes are collected, so that all are said at once. */
export interface CommandLine {
  /** A key of `COMMANDS`; undefined when none was typed. */
  readonly command: string | undefined;
  readonly operands: readonly string[];
  readonly settings: readonly FlagValue[];
  readonly flags: ReadonlyMap<CliFlagName, string>;
  /** Every value of the flags that may be given several times. */
  readonly lists?: ReadonlyMap<CliFlagName, readonly string[]>;
  /** What stands after `--`, when it is a command line of its own. */
  readonly rest?: readonly string[];
  readonly mistakes: readonly string[];
}

const SETTING_OF_FLAG: ReadonlyMap<string, SettingName> = new Map(
  SETTING_NAMES.filter((name) => placesOf(name).includes('flag')).map((name) => [
    flagOf(name).slice(2),
    name,
  ]),
);

function isCliFlag(name: string): name is CliFlagName {
  return Object.hasOwn(CLI_FLAGS, name);
}

function takesValue(name: string): boolean {
  const setting = SETTING_OF_FLAG.get(name);
  if (setting !== undefined) return settingOf(setting).value.kind !== 'switch';
  return isCliFlag(name) && 'shape' in CLI_FLAGS[name];
}

function optionsForParser(): Record<string, { type: 'string' | 'boolean'; short?: string }> {
  const names = [...SETTING_OF_FLAG.keys(), ...Object.keys(CLI_FLAGS)];
  return Object.fromEntries(
    names.map((name) => {
      const type = takesValue(name) ? 'string' : 'boolean';
      const flag = isCliFlag(name) ? CLI_FLAGS[name] : undefined;
      return [name, flag !== undefined && 'short' in flag ? { type, short: flag.short } : { type }];
    }),
  );
}

/** `-o` and the like, which may also be written with `=`. */
const LONG_OF_SHORT: ReadonlyMap<string, string> = new Map(
  Object.entries(CLI_FLAGS).flatMap(([name, flag]) => ('short' in flag ? [[`-${flag.short}`, name]] : [])),
);

/**
 * Long flags with one dash (`-upstream URL`), as our documents also print them, become ones with two. Everything
 * after `--` is left alone.
 */
function withTwoDashes(argv: readonly string[]): string[] {
  const end = argv.indexOf('--');
  return argv.map((arg, index) => {
    if (end !== -1 && index >= end) return arg;
    const long = arg[2] === '=' ? LONG_OF_SHORT.get(arg.slice(0, 2)) : undefined;
    if (long !== undefined) return `--${long}${arg.slice(2)}`;
    return /^-[A-Za-z][A-Za-z0-9-]/.test(arg) ? `-${arg}` : arg;
  });
}

/** Takes the command line apart. Flags may stand anywhere, before and after the command. */
export async function parseCommandLine(argv: readonly string[]): Promise<CommandLine> {
  const { tokens } = parseArgs({
    args: withTwoDashes(argv),
    options: optionsForParser(),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const settings: FlagValue[] = [];
  const flags = new Map<CliFlagName, string>();
  const lists = new Map<CliFlagName, string[]>();
  const mistakes: string[] = [];
  const rest: string[] = [];
  let isRest = false;
  let hasUnknownFlag = false;

  for (const token of tokens) {
    if (token.kind === 'option-terminator') isRest = true;
    if (token.kind === 'positional') (isRest ? rest : words).push(token.value);
    if (token.kind !== 'option') continue;
    const { name } = token;
    const setting = SETTING_OF_FLAG.get(name);
    if (setting === undefined && !isCliFlag(name)) {
      hasUnknownFlag = true;
      mistakes.push(await unknownFlag(token.rawName, name));
      continue;
    }
    const flag = `--${name}`;
    const { value } = token;
    if (takesValue(name)) {
      if (value === undefined) {
        mistakes.push(`${flag} needs a value: ${flag} ${shapeOf(name)}.`);
        continue;
      }
      if (!token.inlineValue && /^--?[A-Za-z]/.test(value)) {
        mistakes.push(
          `${flag} needs a value, but ${quoted(value)} follows; if that is the value, write ${flag}=${value}.`,
        );
        continue;
      }
    }
    if (setting !== undefined) settings.push({ name: setting, text: value ?? 'true' });
    else if (isCliFlag(name)) {
      if (!takesValue(name) && value !== undefined) mistakes.push(`${flag} takes no value.`);
      if (value !== undefined && MANY.has(name)) lists.set(name, [...(lists.get(name) ?? []), value]);
      flags.set(name, value ?? 'true');
    }
  }

  const [typed, ...operands] = words;
  const command = typed === undefined ? undefined : (ALIASES[typed] ?? typed);
  const isOfItsOwn = command !== undefined && COMMANDS[command]?.takesRest === true;
  if (!isOfItsOwn) operands.push(...rest.splice(0));
  if (command === 'help')
    return {
      command: ALIASES[operands[0] ?? ''] ?? operands[0],
      operands: [],
      settings,
      flags: flags.set('help', 'true'),
      mistakes,
    };
  if (command !== undefined && !Object.hasOwn(COMMANDS, command)) {
    // After an unknown flag its value would be taken for the command: that one mistake is enough.
    if (!hasUnknownFlag)
      mistakes.push(
        `there is no command ${quoted(command)}.${await didYouMean(command, Object.keys(COMMANDS))}`,
      );
    return { command, operands, settings, flags, mistakes };
  }
  mistakes.push(...mistakesInFlags(flags, command ?? 'serve'));
  if (flags.has('builtin') && settings.some(({ name }) => name === 'upstream'))
    mistakes.push('--builtin and --upstream contradict each other; give one.');
  if (!flags.has('help') && !flags.has('version'))
    mistakes.push(...mistakesInOperands(operands, command ?? 'serve'));
  return { command, operands, settings, flags, lists, rest, mistakes };
}

async function unknownFlag(raw: string, name: string): Promise<string> {
  const known = [...SETTING_OF_FLAG.keys(), ...Object.keys(CLI_FLAGS)].map((each) => `--${each}`);
  return `there is no flag ${quoted(raw)}.${await didYouMean(name, known)}`;
}

function shapeOf(name: string): string {
  const setting = SETTING_OF_FLAG.get(name);
  if (setting !== undefined) return settingShape(setting);
  if (!isCliFlag(name)) return '';
  const flag = CLI_FLAGS[name];
  return 'shape' in flag ? flag.shape : '';
}

/** What stands for a setting's value in help texts; nothing for a switch. */
export function settingShape(name: SettingName): string {
  const { value } = settingOf(name);
  switch (value.kind) {
    case 'switch':
      return '';
    case 'integer':
      return 'N';
    case 'address':
      return 'HOST:PORT';
    case 'text':
    case 'path':
    case 'list':
    case 'choice':
      return value.shape;
  }
}

function mistakesInFlags(flags: ReadonlyMap<CliFlagName, string>, command: string): string[] {
  const mistakes: string[] = [];
  for (const [name, value] of flags) {
    if (!GLOBAL_FLAGS.includes(name) && !COMMANDS[command]?.flags.includes(name)) {
      const owners = Object.keys(COMMANDS).filter((each) => COMMANDS[each]?.flags.includes(name));
      mistakes.push(`--${name} belongs to ${listed(owners)}, not to ${command}.`);
    }
    if (name === 'output' && value !== 'json' && value !== 'table') {
      mistakes.push(`--output: ${quoted(value)} is no format; give json or table.`);
    }
    if (name === 'enabled' && value !== 'true' && value !== 'false') {
      mistakes.push(`--enabled: ${quoted(value)} is neither true nor false.`);
    }
    if (name === 'limit' && command === 'search-servers') {
      // Out of range is moved into it there, and said; models do the same.
      if (!/^[+-]?\d+$/.test(value)) mistakes.push(`--limit: ${quoted(value)} is not a whole number.`);
    } else if (name === 'limit' && !(/^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= 25)) {
      mistakes.push(`--limit: ${quoted(value)} is not a whole number from 1 to 25.`);
    }
  }
  if (flags.has('json') && flags.get('output') === 'table')
    mistakes.push('--json and --output table contradict each other; give one.');
  return mistakes;
}

/** `a`, `a and b`, `a, b and c`. */
function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}

function mistakesInOperands(operands: readonly string[], name: string): string[] {
  const command = COMMANDS[name];
  if (command === undefined) return [];
  const { min, max, called } = command.operands;
  if (operands.length < min) return [`${name} needs ${called}: mcpproxy ${command.usage}`];
  if (operands.length > max) {
    const extra = quoted(operands[max] ?? '');
    return [
      max === 0
        ? `${name} takes no operands, but ${extra} was given.`
        : `${name} takes at most ${max} operand${max === 1 ? '' : 's'}; ${extra} is one too many.`,
    ];
  }
  return [];
}
