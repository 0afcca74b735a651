import { membersOf, rawAt } from '../base/json-text.ts';
import { isJsonObject } from '../base/json-value.ts';

/** The arguments of a tool to be called: the text to send on, and the same parsed, to be checked. */
export interface ToolArguments {
  readonly raw: string;
  readonly value: { readonly [key: string]: unknown };
}

export type ReadArguments =
  | { readonly kind: 'arguments'; readonly arguments: ToolArguments }
  | { readonly kind: 'unusable'; readonly problem: string };

/** Names models use by mistake for `arguments`. */
const MISNOMERS = ['args', 'input', 'params', 'parameters', 'argument', 'arguements'];

/**
 * Reads the arguments of one call from its JSON text: an object, or a string holding one (some clients send nested
 * objects so), or nothing, which is `{}`. The text is kept as the client wrote it.
 */
export function readArguments(callText: string): ReadArguments {
  const raw = rawAt(callText, ['arguments']);
  if (raw === undefined || raw === 'null') {
    const members = membersOf(callText, 0);
    const misnomer = MISNOMERS.find((name) => members.has(name));
    if (misnomer === undefined) return { kind: 'arguments', arguments: { raw: '{}', value: {} } };
    return { kind: 'unusable', problem: `put the tool's arguments in "arguments", not in "${misnomer}"` };
  }
  const value: unknown = JSON.parse(raw);
  if (isJsonObject(value)) return { kind: 'arguments', arguments: { raw, value } };
  if (typeof value === 'string') {
    const inner = parse(value);
    if (isJsonObject(inner)) return { kind: 'arguments', arguments: { raw: value, value: inner } };
    if (value.trim() === '') return { kind: 'arguments', arguments: { raw: '{}', value: {} } };
    return {
      kind: 'unusable',
      problem: '"arguments" is a string that does not hold a JSON object; send the object itself',
    };
  }
  const found = Array.isArray(value) ? 'an array' : `a ${typeof value}`;
  return { kind: 'unusable', problem: `"arguments" must be an object, but is ${found}` };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
