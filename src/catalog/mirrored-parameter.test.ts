import { describe, expect, it } from 'vitest';
import { mirroredParameters } from './mirrored-parameter.ts';
import type { JsonObject } from './tool.ts';

const mirrored = (type: string, header: unknown): JsonObject => ({ type, 'x-mcp-header': header });
const properties = (inner: JsonObject): JsonObject => ({ type: 'object', properties: inner });

describe('mirrored parameters', () => {
  it('are strings, integers and booleans reachable through properties', () => {
    const schema = properties({
      region: mirrored('string', 'Region'),
      'x-mcp-header': { type: 'string', default: { 'x-mcp-header': 1 } },
      nested: properties({ dry: mirrored('boolean', 'Dry-Run') }),
    });
    expect(mirroredParameters(schema)).toEqual({
      kind: 'mirrored',
      parameters: [
        { path: ['region'], header: 'Region' },
        { path: ['nested', 'dry'], header: 'Dry-Run' },
      ],
    });
  });

  it.each([
    ['an empty name', properties({ a: mirrored('string', '') })],
    ['no text', properties({ a: mirrored('string', 7) })],
    ['a name with a space', properties({ a: mirrored('string', 'a b') })],
    ['a number', properties({ a: mirrored('number', 'A') })],
    ['an object', properties({ a: mirrored('object', 'A') })],
    ['one name twice', properties({ a: mirrored('string', 'A'), b: mirrored('string', 'a') })],
    ['the root', { type: 'string', 'x-mcp-header': 'A' }],
    ['inside items', properties({ list: { items: mirrored('string', 'A') } })],
    ['inside alternatives', { anyOf: [properties({ a: mirrored('string', 'A') })] }],
    ['inside definitions', { $defs: { a: mirrored('string', 'A') } }],
  ])('are invalid with %s', (_what, schema) => {
    expect(mirroredParameters(schema).kind).toBe('invalid');
  });
});
