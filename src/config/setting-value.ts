import { isHostName, readListenAddress } from './listen-address.ts';
import { quoted } from './problem.ts';
import { flagOf, settingOf } from './settings.ts';
import type { ListenAddress, SettingKind, SettingName } from './settings.ts';

export type SettingValue = boolean | number | string | readonly string[] | ListenAddress;

/** A value that was read, or a sentence saying why it could not be. */
export type ReadValue = { readonly value: SettingValue } | { readonly wrong: string };

/** Reads a flag's or a variable's text. */
export function readSettingText(name: SettingName, text: string): ReadValue {
  const kind = settingOf(name).value;
  switch (kind.kind) {
    case 'switch':
      return readSwitch(text);
    case 'integer':
      return /^[+-]?\d+$/.test(text.trim())
        ? readInteger(name, kind, Number(text), text)
        : notInteger(name, kind, quoted(text));
    case 'text':
    case 'path':
      return text.trim() === '' ? empty(name) : { value: text.trim() };
    case 'list':
      return readList(
        name,
        kind,
        text
          .split(',')
          .map((part) => part.trim())
          .filter((part) => part !== ''),
      );
    case 'choice':
      return readChoice(kind, text);
    case 'address':
      return readAddress(name, text);
  }
}

/** Reads a value of the configuration file. */
export function readSettingJson(name: SettingName, value: unknown): ReadValue {
  const kind = settingOf(name).value;
  switch (kind.kind) {
    case 'switch':
      return typeof value === 'boolean'
        ? { value }
        : { wrong: `must be true or false, not ${described(value)}.` };
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value)
        ? readInteger(name, kind, value, String(value))
        : notInteger(name, kind, described(value));
    case 'text':
    case 'path':
      if (typeof value !== 'string') return { wrong: `must be text in quotes, not ${described(value)}.` };
      return value.trim() === '' ? empty(name) : { value: value.trim() };
    case 'list': {
      const parts = typeof value === 'string' ? [value] : value;
      if (!Array.isArray(parts) || !parts.every((part): part is string => typeof part === 'string')) {
        return {
          wrong: `must be a list of texts, such as ["${settingOf(name).example.split(',').join('", "')}"].`,
        };
      }
      return readList(name, kind, parts);
    }
    case 'choice':
      return typeof value === 'string'
        ? readChoice(kind, value)
        : { wrong: `must be ${choicesOf(kind)}, not ${described(value)}.` };
    case 'address':
      if (typeof value === 'number') return readAddress(name, String(value));
      return typeof value === 'string'
        ? readAddress(name, value)
        : { wrong: `must be text such as "127.0.0.1:8080", not ${described(value)}.` };
  }
}

function readSwitch(text: string): ReadValue {
  switch (text.trim().toLowerCase()) {
    case 'true':
    case '1':
    case 'yes':
    case 'on':
      return { value: true };
    case 'false':
    case '0':
    case 'no':
    case 'off':
      return { value: false };
    default:
      return { wrong: `${quoted(text)} is neither true nor false.` };
  }
}

type ChoiceKind = Extract<SettingKind, { kind: 'choice' }>;

function readChoice(kind: ChoiceKind, text: string): ReadValue {
  const value = text.trim().toLowerCase();
  return kind.choices.includes(value)
    ? { value }
    : { wrong: `${quoted(text)} is not among ${choicesOf(kind)}.` };
}

/** `allow, approve or deny`. */
function choicesOf({ choices }: ChoiceKind): string {
  return `${choices.slice(0, -1).join(', ')} or ${choices.at(-1) ?? ''}`;
}

type IntegerKind = Extract<SettingKind, { kind: 'integer' }>;

function readInteger(name: SettingName, kind: IntegerKind, value: number, text: string): ReadValue {
  if (value >= kind.min && value <= kind.max) return { value };
  return { wrong: `${text.trim()} is out of range: ${rangeOf(kind)}, such as ${settingOf(name).example}.` };
}

function notInteger(name: SettingName, kind: IntegerKind, shown: string): ReadValue {
  return { wrong: `${shown} is not a whole number: ${rangeOf(kind)}, such as ${settingOf(name).example}.` };
}

function rangeOf(kind: IntegerKind): string {
  return `give ${kind.min} to ${kind.max} (${kind.unit})`;
}

function empty(name: SettingName): ReadValue {
  return { wrong: `is empty; give a value, such as ${settingOf(name).example}.` };
}

function readAddress(name: SettingName, text: string): ReadValue {
  const address = readListenAddress(text);
  if (!('wrong' in address)) return { value: address };
  return {
    wrong: `${quoted(text)} ${address.wrong}; write HOST:PORT, :PORT or [IPV6]:PORT, such as ${settingOf(name).example}.`,
  };
}

function readList(
  name: SettingName,
  kind: Extract<SettingKind, { kind: 'list' }>,
  parts: readonly string[],
): ReadValue {
  for (const part of parts) {
    if (part.trim() === '') return { wrong: 'holds an empty entry; remove it.' };
    if (kind.of === 'pattern' && /\s/.test(part)) {
      return {
        wrong: `${quoted(part)} holds a space, which no tool's name does; separate names with commas.`,
      };
    }
    if (kind.of === 'host' && !isHostName(part)) {
      const bare = hostIn(part);
      const hint =
        bare === undefined ? `such as ${flagOf(name)} ${settingOf(name).example}` : `which would be ${bare}`;
      return { wrong: `${quoted(part)} is not a host name; give it without scheme, port or path, ${hint}.` };
    }
  }
  return { value: parts.map((part) => part.trim()) };
}

/** The host name in an origin (`https://app.example.com`) or in `host:port`. */
function hostIn(text: string): string | undefined {
  for (const url of [text, `http://${text}`]) {
    if (!URL.canParse(url)) continue;
    const { hostname } = new URL(url);
    if (isHostName(hostname)) return hostname;
  }
  return undefined;
}

/** A JSON value in words, for a message: its type, and its text when that is short and harmless. */
export function described(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return quoted(value);
  return typeof value === 'object' ? 'an object' : JSON.stringify(value);
}
