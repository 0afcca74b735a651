/**
 * Finds values inside JSON text without building them, so that what we forward is the very text that came in:
 * unknown fields, key order and integers beyond 2^53 survive (`JSON.parse` would round them).
 *
 * The text must already be known to be valid JSON (`JSON.parse` accepted it). All scanning is iterative, so depth
 * costs no stack. Of duplicate keys the last counts, as in `JSON.parse`; otherwise what we check and what we
 * forward could differ.
 */

/** A value's place in the text: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Index of the first character at or after `at` that is not JSON white space (RFC 8259 §2). */
export function skipSpace(text: string, at: number): number {
  for (;;) {
    const c = text.charCodeAt(at);
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return at;
    at++;
  }
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
}

/** End of the value that starts at `start`. */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) {
    let at = start;
    for (; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (
        c === COMMA ||
        c === CLOSE_OBJECT ||
        c === CLOSE_ARRAY ||
        c === 0x20 ||
        c === 0x0a ||
        c === 0x0d ||
        c === 0x09
      )
        break;
    }
    return at;
  }
  let depth = 0;
  for (let at = start; ;) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) depth++;
    else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) depth--;
    at++;
    if (depth === 0) return at;
  }
}

/** The members of the object that starts at `start`; empty when the value there is not an object. */
export function membersOf(text: string, start: number): Map<string, Span> {
  const members = new Map<string, Span>();
  if (text.charCodeAt(start) !== OPEN_OBJECT) return members;
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) !== CLOSE_OBJECT) {
    const keyEnd = endOfString(text, at);
    const written = text.slice(at + 1, keyEnd - 1);
    const key = written.includes('\\') ? (JSON.parse(text.slice(at, keyEnd)) as string) : written;
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    members.set(key, { start: valueStart, end: valueEnd });
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return members;
}

/** The elements of the array that starts at `start`; empty when the value there is not an array. */
export function elementsOf(text: string, start: number): Span[] {
  const elements: Span[] = [];
  if (text.charCodeAt(start) !== OPEN_ARRAY) return elements;
  let at = skipSpace(text, start + 1);
  while (text.charCodeAt(at) !== CLOSE_ARRAY) {
    const end = endOfValue(text, at);
    elements.push({ start: at, end });
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return elements;
}

/** The text of the value at `path` of object keys, or undefined where there is none. */
export function rawAt(text: string, path: readonly string[]): string | undefined {
  let span: Span = { start: skipSpace(text, 0), end: text.length };
  for (const key of path) {
    const member = membersOf(text, span.start).get(key);
    if (member === undefined) return undefined;
    span = member;
  }
  return text.slice(span.start, span.end);
}

/** `{"a":1}` with `"key":value` put first; `object` must be the text of an object. The key must not be in it yet. */
export function withMemberFirst(object: string, key: string, rawValue: string): string {
  const open = object.indexOf('{') + 1;
  const rest = object.slice(skipSpace(object, open));
  const comma = rest.startsWith('}') ? '' : ',';
  return `{${JSON.stringify(key)}:${rawValue}${comma}${rest}`;
}

/** Deepest nesting of objects and arrays in the text; strings are passed over. */
export function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length;) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (c === OPEN_OBJECT || c === OPEN_ARRAY) deepest = Math.max(deepest, ++depth);
    else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) depth--;
    at++;
  }
  return deepest;
}
