import type { ParseError } from 'jsonc-parser';
import { endOfValue, skipSpace } from '../base/json-text.ts';

/** A JSON value with its place in the text, so that a mistake in it can be pointed at. */
export type JsonNode = { readonly start: number; readonly end: number } & (
  | { readonly kind: 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'array'; readonly elements: readonly JsonNode[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'other'; readonly value: number | boolean | null }
);

/** Duplicates are kept: in JSON the last would win in silence. */
export interface JsonMember {
  readonly key: string;
  readonly keyStart: number;
  readonly node: JsonNode;
}

interface SyntaxMistake {
  readonly at: number;
  readonly message: string;
}

export type ReadTree = { readonly root: JsonNode } | { readonly mistakes: readonly SyntaxMistake[] };

/** Deeper than any configuration; what is deeper would overflow the stack of what walks it. */
const MAX_DEPTH = 100;

/**
 * Reads JSON with comments and trailing commas. Plain JSON, what most clients write, is read without loading
 * jsonc-parser: that saves about 16 ms of every start.
 */
export async function readTree(text: string): Promise<ReadTree> {
  try {
    JSON.parse(text);
  } catch {
    return readWithComments(text);
  }
  try {
    return { root: nodeAt(text, skipSpace(text, 0), 0) };
  } catch (error) {
    return tooDeep(error);
  }
}

function nodeAt(text: string, start: number, depth: number): JsonNode {
  if (depth > MAX_DEPTH) throw new TooDeep();
  switch (text.charAt(start)) {
    case '{': {
      const members: JsonMember[] = [];
      let at = skipSpace(text, start + 1);
      while (text[at] !== '}') {
        const keyEnd = endOfValue(text, at);
        const node = nodeAt(text, skipSpace(text, skipSpace(text, keyEnd) + 1), depth + 1);
        members.push({ key: JSON.parse(text.slice(at, keyEnd)) as string, keyStart: at, node });
        at = afterComma(text, node.end);
      }
      return { kind: 'object', members, start, end: at + 1 };
    }
    case '[': {
      const elements: JsonNode[] = [];
      let at = skipSpace(text, start + 1);
      while (text[at] !== ']') {
        const node = nodeAt(text, at, depth + 1);
        elements.push(node);
        at = afterComma(text, node.end);
      }
      return { kind: 'array', elements, start, end: at + 1 };
    }
    default: {
      const end = endOfValue(text, start);
      const value = JSON.parse(text.slice(start, end)) as string | number | boolean | null;
      return typeof value === 'string'
        ? { kind: 'string', value, start, end }
        : { kind: 'other', value, start, end };
    }
  }
}

function afterComma(text: string, end: number): number {
  const at = skipSpace(text, end);
  return text[at] === ',' ? skipSpace(text, at + 1) : at;
}

async function readWithComments(text: string): Promise<ReadTree> {
  const { parseTree, printParseErrorCode } = await import('jsonc-parser');
  const errors: ParseError[] = [];
  try {
    const tree = parseTree(text, errors, { allowTrailingComma: true });
    if (errors.length > 0 || tree === undefined) {
      if (tree === undefined && errors.length <= 1) {
        return { mistakes: [{ at: 0, message: 'the file is empty; the least it can hold is {}.' }] };
      }
      return {
        mistakes: errors.map(({ error, offset }) => {
          const name = printParseErrorCode(error);
          return {
            at: offset,
            message: SYNTAX[name] ?? `not valid JSON (${name}).`,
          };
        }),
      };
    }
    return { root: converted(tree, 0) };
  } catch (error) {
    return tooDeep(error);
  }
}

const SYNTAX: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this is not JSON; texts and keys go in double quotes.',
  InvalidNumberFormat: 'this is not a number as JSON writes it.',
  PropertyNameExpected: 'a key in double quotes is missing here.',
  ValueExpected: 'a value is missing here.',
  ColonExpected: 'a colon is missing here.',
  CommaExpected: 'a comma is missing here.',
  CloseBraceExpected: 'a closing } is missing here.',
  CloseBracketExpected: 'a closing ] is missing here.',
  EndOfFileExpected: 'the configuration ends before this; remove what follows.',
  InvalidCommentToken: 'this is not a comment; write // or /* */.',
  UnexpectedEndOfComment: 'this comment never ends; close it with */.',
  UnexpectedEndOfString: 'this text never ends; close it with a double quote.',
  UnexpectedEndOfNumber: 'this number breaks off.',
  InvalidUnicode: 'this \\u escape needs four hexadecimal digits.',
  InvalidEscapeCharacter: 'this escape does not exist in JSON; a backslash itself is written \\\\.',
  InvalidCharacter: 'this character cannot stand in a JSON text; write it as an escape.',
};

/** The part of jsonc-parser's node that is read here. */
interface ForeignNode {
  readonly type: string;
  readonly value?: unknown;
  readonly offset: number;
  readonly length: number;
  readonly children?: readonly ForeignNode[];
}

function converted(node: ForeignNode, depth: number): JsonNode {
  if (depth > MAX_DEPTH) throw new TooDeep();
  const place = { start: node.offset, end: node.offset + node.length };
  const children = node.children ?? [];
  switch (node.type) {
    case 'object':
      return {
        ...place,
        kind: 'object',
        members: children.flatMap(({ children: [key, value] = [] }) =>
          key === undefined || value === undefined
            ? []
            : [{ key: String(key.value), keyStart: key.offset, node: converted(value, depth + 1) }],
        ),
      };
    case 'array':
      return { ...place, kind: 'array', elements: children.map((child) => converted(child, depth + 1)) };
    case 'string':
      return { ...place, kind: 'string', value: String(node.value) };
    default:
      return { ...place, kind: 'other', value: node.value as number | boolean | null };
  }
}

class TooDeep extends Error {}

function tooDeep(error: unknown): ReadTree {
  if (!(error instanceof TooDeep || error instanceof RangeError)) throw error;
  return {
    mistakes: [
      { at: 0, message: `the file nests deeper than ${MAX_DEPTH} levels, which no configuration does.` },
    ],
  };
}

/** The value without its places, as `JSON.parse` would give it. */
export function plainValue(node: JsonNode): unknown {
  switch (node.kind) {
    case 'object':
      return Object.fromEntries(node.members.map(({ key, node: value }) => [key, plainValue(value)]));
    case 'array':
      return node.elements.map(plainValue);
    case 'string':
    case 'other':
      return node.value;
  }
}
