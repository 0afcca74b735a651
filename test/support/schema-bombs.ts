type Json = Readonly<Record<string, unknown>>;

export interface SchemaBomb {
  readonly schema: Json;
  readonly args: Json;
}

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

const withPattern = (pattern: string, text: string): SchemaBomb => ({
  schema: { type: 'object', properties: { p: { type: 'string', pattern } } },
  args: { p: text },
});

/** Definitions each of which refers to the next one twice: the work doubles at every level. */
function doubling(combinator: string, levels: number): SchemaBomb {
  const defs = times(levels, (n) => [
    `d${n}`,
    { [combinator]: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
  ]);
  const last = combinator === 'allOf' ? { required: [] } : { required: ['never'] };
  return {
    schema: {
      type: 'object',
      $ref: '#/$defs/d0',
      $defs: { ...Object.fromEntries(defs), [`d${levels}`]: last },
    },
    args: { p: 1 },
  };
}

const nested = (levels: number, make: (inner: Json) => Json, innermost: Json = {}): Json =>
  times(levels, (n) => n).reduce<Json>((inner) => make(inner), innermost);

const inItems = (items: Json, p: readonly unknown[]): SchemaBomb => ({
  schema: { type: 'object', properties: { p: { type: 'array', items } } },
  args: { p },
});

/** Schemas (and arguments within the limit of a body) that hold up who checks one by the other without precautions. */
export const SCHEMA_BOMBS: Readonly<Record<string, SchemaBomb>> = {
  'a pattern with nested repetition': withPattern('^(a+)+$', `${'a'.repeat(40)}!`),
  'a pattern with overlapping alternatives': withPattern('^(a|aa|aaa)+$', `${'a'.repeat(60)}!`),
  'a pattern with many open repetitions': withPattern('(.*)(.*)(.*)(.*)(.*)(.*)(.*)x$', 'a'.repeat(3_000)),
  'a pattern with large counted repetition': withPattern(
    '^((a{1,900}){1,900}){1,900}$',
    `${'a'.repeat(900)}!`,
  ),
  'a slow pattern for names of properties': {
    schema: { type: 'object', patternProperties: { '^(a+)+$': { type: 'string' } } },
    args: { [`${'a'.repeat(40)}!`]: 1 },
  },
  'a slow pattern in propertyNames': {
    schema: { type: 'object', propertyNames: { pattern: '^([a-z]+)*$' } },
    args: { [`${'a'.repeat(40)}!`]: 1 },
  },
  'anyOf that doubles 26 times': doubling('anyOf', 26),
  'oneOf that doubles 26 times': doubling('oneOf', 26),
  'allOf that doubles 26 times': doubling('allOf', 26),
  'a reference to itself': { schema: { $ref: '#' }, args: {} },
  'alternatives that refer to themselves': {
    schema: { $ref: '#/$defs/x', $defs: { x: { anyOf: [{ $ref: '#/$defs/x' }, { $ref: '#/$defs/x' }] } } },
    args: {},
  },
  'a dynamic reference to itself': {
    schema: { $dynamicAnchor: 'x', anyOf: [{ $dynamicRef: '#x' }, { $dynamicRef: '#x' }] },
    args: {},
  },
  'a chain of 3,000 references': {
    schema: {
      $ref: '#/$defs/r0',
      $defs: Object.fromEntries(
        times(3_000, (n) => [`r${n}`, n < 2_999 ? { $ref: `#/$defs/r${n + 1}` } : {}]),
      ),
    },
    args: {},
  },
  'a union of 2,000 kinds': {
    schema: {
      type: 'object',
      properties: {
        p: { anyOf: times(2_000, (n) => ({ type: 'object', properties: { kind: { const: `k${n}` } } })) },
      },
    },
    args: { p: { kind: 'none' } },
  },
  'an enum of 15,000 values': {
    schema: { type: 'object', properties: { p: { enum: times(15_000, (n) => `value ${n}`) } } },
    args: { p: 'none' },
  },
  'an enum of 3,000 objects for 2,000 items': inItems(
    { enum: times(3_000, (n) => ({ a: { b: [n] } })) },
    times(2_000, () => ({ a: { b: ['none'] } })),
  ),
  'a full enum for 80,000 items': inItems(
    { enum: times(1_000, (n) => `value ${n}`) },
    times(80_000, () => 'value x'),
  ),
  'uniqueItems for 20,000 objects': {
    schema: { type: 'object', properties: { p: { type: 'array', uniqueItems: true } } },
    args: { p: times(20_000, (n) => ({ a: n, b: [n] })) },
  },
  'contains within contains': {
    schema: {
      type: 'object',
      properties: { p: nested(6, (inner) => ({ type: 'array', contains: inner }), { const: 'never' }) },
    },
    args: { p: nestedLists(6, 7) },
  },
  'properties nested 200 deep': {
    schema: nested(200, (inner) => ({ type: 'object', properties: { p: inner }, required: ['p'] })),
    args: nested(200, (inner) => ({ p: inner })),
  },
  '3,000 required properties, all missing': {
    schema: {
      type: 'object',
      properties: Object.fromEntries(times(3_000, (n) => [`p${n}`, { type: 'string', minLength: 1 }])),
      required: times(3_000, (n) => `p${n}`),
    },
    args: {},
  },
  'a ladder of if and else': {
    schema: {
      type: 'object',
      // oxlint-disable-next-line unicorn/no-thenable -- the schema's keyword; nobody awaits it
      ...nested(200, (inner) => ({ if: { required: ['never'] }, then: { required: ['x'] }, else: inner })),
    },
    args: { p: 1 },
  },
  'unevaluatedProperties over 500 parts': {
    schema: {
      type: 'object',
      allOf: times(500, (n) => ({ anyOf: [{ properties: { [`p${n}`]: { type: 'string' } } }, {}] })),
      unevaluatedProperties: false,
    },
    args: Object.fromEntries(times(500, (n) => [`q${n}`, n])),
  },
  '150,000 items that are all wrong': inItems(
    { type: 'string' },
    times(150_000, (n) => n % 10),
  ),
  '60,000 items that lack 100 properties each': inItems(
    { type: 'object', required: times(100, (n) => `p${n}`) },
    times(60_000, () => ({})),
  ),
  'arguments with 60,000 unknown properties': {
    schema: { type: 'object', properties: {}, additionalProperties: false },
    args: Object.fromEntries(times(60_000, (n) => [`k${n}`, 1])),
  },
};

function nestedLists(levels: number, width: number): unknown[] {
  return times(width, () => (levels === 1 ? 'x' : nestedLists(levels - 1, width)));
}
