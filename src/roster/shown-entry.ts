import type { JsonObject } from '../catalog/tool.ts';
import type { UpstreamRecord } from './record.ts';
import { shellWord } from '../base/shell-word.ts';

/**
 * How upstreams are shown, everywhere: their secrets never are. A reference (`${env:NAME}`) is no secret and stays;
 * a value of a header or a variable, of a query, and of an argument that names a key or token, is replaced.
 */
const HIDDEN = '(hidden)';

const SECRET_NAME = /key|token|secret|passw|credential|auth/i;

/** A configuration entry as it may be shown. */
export function shownEntry(entry: JsonObject): JsonObject {
  const shown = Object.entries(entry).map(([key, value]) => [key, shownMember(key, value)] as const);
  return Object.fromEntries(shown);
}

/** What an upstream is reached by, in one line: its URL, or its command line. */
export function shownTarget({ transport }: UpstreamRecord): string {
  if (transport.kind === 'http') return shownUrl(transport.url);
  return [transport.command, ...shownArgs(transport.args)].map(shellWord).join(' ');
}

/** Lines that changed between two entries, `- ` before those that went and `+ ` before those that came. */
export function shownDifference(before: JsonObject, after: JsonObject): readonly string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key): readonly string[] => {
    const [old, now] = [JSON.stringify(before[key]), JSON.stringify(after[key])];
    if (old === now) return [];
    if (isObject(before[key]) && isObject(after[key])) {
      return shownDifference(
        Object.fromEntries(entriesOf(before[key]).map(([name, value]) => [`${key}.${name}`, value])),
        Object.fromEntries(entriesOf(after[key]).map(([name, value]) => [`${key}.${name}`, value])),
      );
    }
    return [
      ...(old === undefined ? [] : [`- ${lineOf(key, before[key])}`]),
      ...(now === undefined ? [] : [`+ ${lineOf(key, after[key])}`]),
    ];
  });
}

function lineOf(key: string, value: unknown): string {
  const [parent = '', name] = /^(env|headers)\.(.*)$/s.exec(key)?.slice(1) ?? [];
  const shown =
    name === undefined ? shownMember(key, value) : entriesOf(shownMember(parent, { [name]: value }))[0]?.[1];
  return `${key}: ${JSON.stringify(shown)}`;
}

function shownMember(key: string, value: unknown): unknown {
  if ((key === 'env' || key === 'headers') && isObject(value))
    return Object.fromEntries(entriesOf(value).map(([name, inner]) => [name, shownValue(String(inner))]));
  if (key === 'args' && Array.isArray(value)) return shownArgs(value.map(String));
  if (/^(url|httpUrl|serverUrl)$/.test(key) && typeof value === 'string') return shownUrl(value);
  return value;
}

/** A value that is more than references and what stands around a token (`Bearer `) is hidden. */
function shownValue(value: string): string {
  return /^(?:(?:Bearer|Basic|Token) )?\$\{env:\w+\}$/i.test(value) ? value : HIDDEN;
}

function shownUrl(url: string): string {
  const [before = '', query] = url.split(/\?(.*)/s);
  const plain = before.replace(/\/\/[^/@]*@/, `//${HIDDEN}@`);
  if (query === undefined) return plain;
  return `${plain}?${query.replaceAll(/=([^&#]*)/g, (_whole, value: string) => `=${shownValue(value)}`)}`;
}

function shownArgs(args: readonly string[]): readonly string[] {
  return args.map((arg, n) => {
    const [, name = '', value] = /^(--?[^=]+|[A-Za-z_]\w*)=(.*)$/s.exec(arg) ?? [];
    if (value !== undefined) return SECRET_NAME.test(name) ? `${name}=${shownValue(value)}` : arg;
    const before = args[n - 1] ?? '';
    const isValue = /^--?[\w-]+$/.test(before) && SECRET_NAME.test(before) && !arg.startsWith('-');
    return isValue ? shownValue(arg) : arg;
  });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : [];
}
