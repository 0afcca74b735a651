import { UPSTREAM_TOKEN } from '../config/upstream-token.ts';
import { flagOf, placesOf, SETTING_NAMES, settingOf, variableOf } from '../config/settings.ts';
import type { SettingName } from '../config/settings.ts';
import { LIMITS } from '../base/limits.ts';
import { CLI_FLAGS, GLOBAL_FLAGS, settingShape } from './command-line.ts';
import type { CliFlagName } from './command-line.ts';
import { COMMANDS } from './command.ts';
import { EXIT_CODES } from './exit-code.ts';

/** The whole help, or that of one command. `path` is where the configuration file lies by default. */
export function helpText(command: string | undefined, width: number, path: string): string {
  const known = command === undefined ? undefined : COMMANDS[command];
  if (known !== undefined) {
    return [
      `Usage: mcpproxy ${known.usage}`,
      '',
      ...wrapped(known.sentence, width),
      '',
      'Flags:',
      ...rows([...known.flags, ...GLOBAL_FLAGS].map(cliFlagRow), width),
      '',
      'It takes every setting too; mcpproxy -h lists them.',
    ].join('\n');
  }
  return [
    'mcpproxy puts a few tools in front of MCP servers with too many tools to show to a model:',
    'the model searches, reads the few schemas it needs, and calls.',
    '',
    'Usage: mcpproxy [COMMAND] [FLAGS]      (also installed as mcp-toolsearch-proxy)',
    '',
    'Start in front of one server:    mcpproxy --upstream https://gateway.example.com/mcp',
    'Start with servers from a file:  mcpproxy --config mcpproxy.json --stdio',
    'Look around without any:         mcpproxy --builtin search-tools "renew a library loan"',
    '',
    'Commands:',
    ...rows(
      Object.values(COMMANDS).map((each) => [each.usage, each.sentence] as const),
      width,
    ),
    '',
    'Flags (long ones take one dash or two, and may stand anywhere):',
    ...rows(GLOBAL_FLAGS.map(cliFlagRow), width),
    '',
    'Settings:',
    ...rows(SETTING_NAMES.filter((name) => !isLimit(name)).map(settingRow), width),
    '',
    'Limits:',
    ...rows(SETTING_NAMES.filter(isLimit).map(settingRow), width),
    '',
    ...wrapped(
      `Each setting is also a variable (${flagOf('maxBatchCalls')} is ${variableOf('maxBatchCalls')}) and a key of the configuration file (maxBatchCalls). A flag beats a variable, a variable beats the file.`,
      width,
    ),
    ...wrapped(
      `The bearer token for the server of ${flagOf('upstream')} goes into the variable ${UPSTREAM_TOKEN}, for commands and over stdio; over HTTP each caller brings their own.`,
      width,
    ),
    `Configuration file, when --config names none: ${path}`,
    '',
    'Exit codes:',
    ...rows(
      Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning] as const),
      width,
    ),
  ].join('\n');
}

type Row = readonly [left: string, right: string];

function isLimit(name: SettingName): boolean {
  return Object.hasOwn(LIMITS, name);
}

function settingRow(name: SettingName): Row {
  const shape = settingShape(name);
  const places = placesOf(name).includes('file') ? '' : ' Not in the file itself.';
  return [
    `${flagOf(name)}${shape === '' ? '' : ` ${shape}`}`,
    `${settingOf(name).sentence}${places} (${defaultText(name)})`,
  ];
}

/** `default 10`, `default empty`, `not set`. */
export function defaultText(name: SettingName): string {
  const value = settingOf(name).default;
  if (value === undefined) return 'not set';
  if (Array.isArray(value)) return value.length === 0 ? 'default empty' : `default ${value.join(',')}`;
  if (typeof value === 'boolean') return value ? 'default on' : 'default off';
  const { value: kind } = settingOf(name);
  return `default ${String(value)}${kind.kind === 'integer' && isLimit(name) ? ` ${kind.unit}` : ''}`;
}

function cliFlagRow(name: CliFlagName): Row {
  const flag = CLI_FLAGS[name];
  const short = 'short' in flag ? `-${flag.short}, ` : '';
  const shape = 'shape' in flag ? ` ${flag.shape}` : '';
  return [`${short}--${name}${shape}`, flag.sentence];
}

const LEFT = 30;

function rows(all: readonly Row[], width: number): string[] {
  return all.flatMap(([left, right]) => {
    const lines = wrapped(right, Math.max(30, width - LEFT - 2));
    const [first = '', ...rest] = lines;
    const start = `  ${left}`.padEnd(LEFT);
    // A long left side has a line of its own.
    const head =
      start.length > LEFT || !start.endsWith(' ')
        ? [start, `${' '.repeat(LEFT)}${first}`]
        : [`${start}${first}`];
    return [...head, ...rest.map((line) => `${' '.repeat(LEFT)}${line}`)];
  });
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}
