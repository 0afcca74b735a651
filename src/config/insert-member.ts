import { skipSpace } from '../base/json-text.ts';
import type { JsonNode } from './json-tree.ts';

/**
 * Puts a value at the end of an object (under `key`) or a list, in the way its members stand there: each on a line of
 * its own, or all on one. Nothing else of the text is touched, not even a space; a comment behind the last member
 * stays behind it.
 */
export function insertMember(
  text: string,
  into: JsonNode,
  key: string | undefined,
  value: unknown,
  { unit, eol }: { readonly unit: string; readonly eol: string },
): string {
  const places = placesIn(into);
  const name = key === undefined ? '' : `${JSON.stringify(key)}: `;
  const last = places.at(-1);
  const close = into.end - 1;
  if (last === undefined) {
    const outer = indentAt(text, into.start) ?? '';
    const inner = outer + unit;
    const written = `${eol}${inner}${name}${laidOut(value, inner, unit, eol)}${eol}${outer}`;
    const between = text.slice(into.start + 1, close);
    // What stands in an empty object can only be space and comments; comments stay.
    return between.trim() === ''
      ? text.slice(0, into.start + 1) + written + text.slice(close)
      : `${text.slice(0, close).trimEnd()}${written}${text.slice(close)}`;
  }
  const indent = indentAt(text, last.start);
  const comma = commaAfter(text, last.end, close);
  const head = text.slice(0, last.end) + (comma === undefined ? ',' : '');
  const written =
    indent === undefined
      ? ` ${name}${JSON.stringify(value)}`
      : `${eol}${indent}${name}${laidOut(value, indent, unit, eol)}`;
  const tail = written + (comma === undefined ? '' : ',');
  const from = comma === undefined ? last.end : comma + 1;
  const at = indent === undefined ? from : endOfLine(text, from, close);
  return head + text.slice(last.end, at) + tail + text.slice(at);
}

function placesIn(node: JsonNode): readonly { readonly start: number; readonly end: number }[] {
  switch (node.kind) {
    case 'object':
      return node.members.map(({ keyStart, node: value }) => ({ start: keyStart, end: value.end }));
    case 'array':
      return node.elements;
    case 'string':
    case 'other':
      throw new Error('a member goes into an object or a list');
  }
}

/** What stands before `at` on its line, when that is nothing but space. */
function indentAt(text: string, at: number): string | undefined {
  const start = text.lastIndexOf('\n', at - 1) + 1;
  const before = text.slice(start, at);
  return before.trim() === '' && start > 0 ? before : undefined;
}

function laidOut(value: unknown, indent: string, unit: string, eol: string): string {
  return JSON.stringify(value, undefined, unit).replaceAll('\n', eol + indent);
}

/** The comma behind a value, past comments. */
function commaAfter(text: string, from: number, end: number): number | undefined {
  for (let at = from; ;) {
    at = skipSpace(text, at);
    if (at >= end) return undefined;
    if (text[at] === ',') return at;
    at = endOfComment(text, at);
  }
}

/** Where the line of `from` ends, when only comments follow on it; otherwise `from`. */
function endOfLine(text: string, from: number, end: number): number {
  for (let at = from; at < end;) {
    const character = text[at] ?? '';
    if (character === '\n' || text.startsWith('\r\n', at)) return at;
    if (character === ' ' || character === '\t') at++;
    else if (text.startsWith('//', at)) at = endOfComment(text, at);
    else if (text.startsWith('/*', at) && !text.slice(at, endOfComment(text, at)).includes('\n'))
      at = endOfComment(text, at);
    else return from;
  }
  return from;
}

/** Past the comment that begins here; a line comment ends before its line break. */
function endOfComment(text: string, at: number): number {
  if (text.startsWith('/*', at)) return text.indexOf('*/', at + 2) + 2;
  const end = /\r?\n|$/.exec(text.slice(at));
  return at + (end?.index ?? 0);
}
