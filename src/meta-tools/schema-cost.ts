import type { JsonObject } from '../catalog/tool.ts';

/** Within these a check takes well under a millisecond for any arguments a client may send. */
const MAX_NODES = 600;
const MAX_DEPTH = 16;
const MAX_ENUM = 1_000;
const MAX_COMBINATOR_NESTING = 2;

const COMBINATORS = ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'contains'];

/**
 * Whether checking arguments against this schema is cheap whatever they are, so that it may be done on the thread
 * everybody shares. Schemas are untrusted: a slow pattern, nested alternatives or references between them can take
 * seconds or for ever (a 1.5 KB schema of nested `anyOf` took 6 s in a measurement).
 */
export function isCheapSchema(schema: JsonObject): boolean {
  let nodes = 0;
  let hasReference = false;
  let hasCombinator = false;

  function isCheap(value: unknown, depth: number, nesting: number): boolean {
    if (++nodes > MAX_NODES || depth > MAX_DEPTH) return false;
    if (Array.isArray(value)) return value.every((item) => isCheap(item, depth + 1, nesting));
    if (typeof value !== 'object' || value === null) return true;
    return Object.entries(value).every(([key, inner]) => {
      if (key === 'enum' || key === 'examples') return Array.isArray(inner) && inner.length <= MAX_ENUM;
      if (key === 'pattern') return typeof inner === 'string' && isCheapPattern(inner);
      if (key === 'patternProperties') return false;
      if (key === 'uniqueItems') return inner !== true;
      if (key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef') hasReference = true;
      const isCombinator = COMBINATORS.includes(key);
      if (isCombinator) hasCombinator = true;
      const deeper = isCombinator ? nesting + 1 : nesting;
      return deeper <= MAX_COMBINATOR_NESTING && isCheap(inner, depth + 1, deeper);
    });
  }

  // A reference inside alternatives can multiply them at every level of the data.
  return isCheap(schema, 0, 0) && !(hasReference && hasCombinator);
}

/**
 * Values in a JSON value, itself included; what is larger than `limit` counts as just above it. A check looks at
 * most at every part of the schema for every part of the arguments: a thousand names to choose from, for each of
 * 80,000 items of a list, took a second.
 */
export function weightOf(value: unknown, limit: number): number {
  let weight = 0;
  // Not by recursion: arguments given as a JSON string may be nested deeper than the stack.
  const left = [value];
  while (left.length > 0 && weight <= limit) {
    weight++;
    const one = left.pop();
    if (typeof one === 'object' && one !== null) for (const inner of Object.values(one)) left.push(inner);
  }
  return weight;
}

/**
 * A pattern is cheap when no part of it can be tried in more than one way: anchored at the start with at most one
 * unbounded repetition, or without any.
 */
function isCheapPattern(pattern: string): boolean {
  if (pattern.length > 200) return false;
  const bare = pattern.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/g, 'x');
  const unbounded = bare.match(/[*+]|\{\d*,\}/g)?.length ?? 0;
  const large = /\{\d{3,}|,\d{3,}\}/.test(bare);
  const isGroupRepeated = /\)[*+?{]/.test(bare);
  if (large || (isGroupRepeated && unbounded > 0)) return false;
  return unbounded === 0 || (unbounded === 1 && bare.startsWith('^') && !bare.includes('|'));
}
