import { describe, expect, it } from 'vitest';
import type { JsonObject, Tool } from '../catalog/tool.ts';
import { createArgumentValidator } from './validator.ts';

const validate = createArgumentValidator({ maxSchemaBytes: 10_000, validationMs: 200 });
let serial = 0;

function tool(inputSchema: JsonObject): Tool {
  return { name: 't', description: '', inputSchema, annotations: {}, digest: `schema ${serial++}` };
}

async function problems(schema: JsonObject, args: JsonObject): Promise<unknown> {
  const verdict = await validate(tool(schema), args);
  return verdict.kind === 'problems'
    ? verdict.problems.map((p) => `${p.pointer} ${p.message}`)
    : verdict.kind;
}

describe('argument validation', () => {
  const city: JsonObject = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      days: { type: 'integer', enum: [1, 7] },
      'a/b~c': { type: 'string' },
    },
    required: ['city', 'a/b~c'],
    additionalProperties: false,
  };

  it('points at what is missing, wrong, unknown or outside an enum', async () => {
    expect(await problems(city, { city: 5, days: 3, town: 'x' })).toEqual([
      '/a~1b~0c is required',
      '/town is not a property of this tool',
      '/city must be string',
      '/days must be one of [1,7]',
    ]);
    expect(await problems(city, { city: 'Vilnius', 'a/b~c': 'x' })).toBe('fits');
  });

  it('names at most ten problems', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`p${n}`, { type: 'string' }]),
    );
    const found = await problems({ type: 'object', properties, required: Object.keys(properties) }, {});
    expect(found).toHaveLength(10);
  });

  it('reads tuples as the dialect means them', async () => {
    const draft07 = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      properties: { p: { items: [{ type: 'string' }] } },
    };
    expect(await problems(draft07, { p: [1] })).toEqual(['/p/0 must be string']);
    const newest = { properties: { p: { prefixItems: [{ type: 'string' }] } } };
    expect(await problems(newest, { p: [1] })).toEqual(['/p/0 must be string']);
  });

  it('follows local references, also recursive ones', async () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['v'] } },
    };
    expect(await problems(tree, { v: 1, next: {} })).toEqual(['/next/v is required']);
  });

  it('lets a call pass unchecked where the schema cannot be used', async () => {
    expect(await problems({ $schema: 'https://example.com/own' }, {})).toBe('unchecked');
    expect(await problems({ $ref: 'https://example.com/schema.json' }, {})).toBe('unchecked');
    expect(await problems({ type: 'nonsense' }, {})).toBe('unchecked');
    expect(await problems({ $ref: '#' }, {})).toBe('unchecked');
    expect(await problems({ description: 'x'.repeat(20_000) }, {})).toBe('unchecked');
  });

  it('never lets one tool’s $id answer for another’s schema', async () => {
    const a = { $id: 'urn:same', type: 'object', required: ['a'] };
    const b = { $id: 'urn:same', type: 'object', required: ['b'] };
    expect(await problems(a, { a: 1 })).toBe('fits');
    expect(await problems(b, { a: 1 })).toEqual(['/b is required']);
    expect(await problems({ ...a, $id: ':// not a URI' }, {})).toEqual(['/a is required']);
  });

  it('is not held up by a schema that takes for ever, and goes on with the others', async () => {
    const slow: JsonObject = { type: 'object', properties: { p: { type: 'string', pattern: '^(a+)+$' } } };
    const levels = Array.from({ length: 26 }, (_, n) => [
      `d${n}`,
      { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
    ]);
    const deep: JsonObject = {
      $ref: '#/$defs/d0',
      $defs: { ...Object.fromEntries(levels), d26: { required: ['never'] } },
    };
    const nested: JsonObject = {
      $defs: { x: { anyOf: [{ $ref: '#/$defs/x' }, { $ref: '#/$defs/x' }] } },
      $ref: '#/$defs/x',
    };
    const before = performance.eventLoopUtilization();
    expect(await problems(slow, { p: `${'a'.repeat(40)}!` })).toBe('unchecked');
    expect(await problems(deep, {})).toBe('unchecked');
    expect(await problems(nested, {})).toBe('unchecked');
    // While others' threads were stuck, this one was idle.
    expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.9);
    const unique: JsonObject = { type: 'object', properties: { p: { type: 'array', uniqueItems: true } } };
    expect(await problems(unique, { p: [1, 1] })).toEqual([
      expect.stringContaining('/p must NOT have duplicate items'),
    ]);
  });
});
