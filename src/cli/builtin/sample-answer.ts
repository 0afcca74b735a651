import type { SampleServer, SampleTool } from './tool.ts';

/** How many entries a list in an answer has. */
const LIST_LENGTH = 3;

type Value = string | number | boolean;

/**
 * The answer of an invented tool: made of its arguments and the words of its server, so that the same call always
 * gets the same answer and nothing happens anywhere.
 */
export function sampleAnswer(
  server: SampleServer,
  tool: SampleTool,
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const [, list, fields = ''] = /^(?:(\w+)\[\] )?(.*)$/.exec(tool.gives) ?? [];
  const names = fields.split(', ');
  const seed = `${tool.name} ${JSON.stringify(args)}`;
  const entry = (n: number): Record<string, unknown> =>
    Object.fromEntries(names.map((name) => [name, valueOf(name, server, args, `${seed} ${n}`)]));
  if (list === undefined) return entry(0);
  return { [list]: Array.from({ length: LIST_LENGTH }, (_, n) => entry(n)) };
}

function valueOf(
  name: string,
  server: SampleServer,
  args: Readonly<Record<string, unknown>>,
  seed: string,
): Value {
  const given = args[name] ?? args[name.replace(/_(?:on|time|eur)$/, '')];
  if (typeof given === 'string' || typeof given === 'number' || typeof given === 'boolean') return given;
  const number = hashOf(`${seed} ${name}`);
  const words = server.words[name] ?? server.words[name.replace(/^.*_/, '')];
  if (words !== undefined) return words[number % words.length] ?? '';
  const [, plain = name, unit = ''] = /^(.*?)_?([a-z0-9]+)$/.exec(name) ?? [];
  if (/^(?:is|has|can)_/.test(name)) return number % 2 === 0;
  const range = RANGES[unit];
  if (range !== undefined) return rounded(range, number);
  switch (unit) {
    case 'id':
      return `${plain.charAt(0).toUpperCase()}-${1_000 + (number % 9_000)}`;
    case 'on':
      return dateOf(number);
    case 'time':
      return clockOf(number);
    case 'at':
      return `${dateOf(number)}T${clockOf(number >>> 3)}:00Z`;
    default:
      return `${name.replaceAll('_', ' ')} ${1 + (number % 40)}`;
  }
}

/** What a number may be, by the last word of its field's name: least, most, and digits after the point. */
const RANGES: Readonly<Record<string, readonly [least: number, most: number, digits: number]>> = {
  eur: [2, 90, 2],
  count: [1, 9, 0],
  left: [0, 30, 0],
  free: [0, 12, 0],
  number: [1, 60, 1],
  line: [1, 9, 0],
  percent: [3, 97, 0],
  minutes: [5, 120, 0],
  months: [1, 30, 0],
  days: [1, 60, 0],
  year: [1780, 1990, 0],
  c: [2, 24, 1],
  kg: [1, 48, 1],
  g: [20, 2_000, 0],
  mg: [5, 250, 0],
  litres: [20, 900, 0],
  km: [4, 80, 1],
  m: [10, 900, 0],
  m2: [40, 400, 0],
  cm: [20, 190, 0],
  ph: [6.8, 7.6, 1],
};

function rounded([least, most, digits]: readonly [number, number, number], number: number): number {
  const value = least + ((number % 10_007) / 10_007) * (most - least);
  return Number(value.toFixed(digits));
}

function dateOf(number: number): string {
  const month = 1 + (number % 12);
  const day = 1 + ((number >>> 5) % 28);
  return `2031-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

function clockOf(number: number): string {
  return `${String(7 + (number % 13)).padStart(2, '0')}:${String(((number >>> 4) % 12) * 5).padStart(2, '0')}`;
}

/** FNV-1a, whose low bits are then stirred once more: fields of one answer differ in their last letter only. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
