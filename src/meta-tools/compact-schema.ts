import { isJsonObject } from '../base/json-value.ts';
import type { JsonObject } from '../catalog/tool.ts';

/** Keywords whose values map names to schemas. */
const NAMED_SCHEMAS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
/** Keywords whose value is data, not a schema: never touched. */
const DATA = new Set(['default', 'const', 'enum', 'examples', 'required', 'dependentRequired']);

/**
 * A schema as a model needs it: the same meaning in fewer tokens. Left out are `$schema` and `$id`, empty
 * descriptions and lists, and titles that only repeat the property's name (generators write them).
 */
export function compactSchema(schema: JsonObject): JsonObject {
  const { $schema: _dialect, $id: _id, title: _title, ...rest } = schema;
  return compact(rest, undefined, 0) as JsonObject;
}

/** Deeper than any schema a model could use; below it the schema is given as it is. */
const MAX_DEPTH = 64;

function compact(value: unknown, propertyName: string | undefined, depth: number): unknown {
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => compact(item, undefined, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const kept: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value)) {
    if (DATA.has(key)) {
      if (key === 'required' && Array.isArray(inner) && inner.length === 0) continue;
      kept.push([key, inner]);
    } else if (NAMED_SCHEMAS.has(key) && isJsonObject(inner)) {
      const schemas = Object.entries(inner).map(([name, s]) => [name, compact(s, name, depth + 1)] as const);
      if (schemas.length > 0) kept.push([key, Object.fromEntries(schemas)]);
    } else if (inner === '' && (key === 'description' || key === 'title')) {
      continue;
    } else if (key === 'title' && typeof inner === 'string' && repeats(inner, propertyName)) {
      continue;
    } else {
      kept.push([key, compact(inner, undefined, depth + 1)]);
    }
  }
  return Object.fromEntries(kept);
}

function repeats(title: string, propertyName: string | undefined): boolean {
  return propertyName !== undefined && letters(title) === letters(propertyName);
}

function letters(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]/gu, '').toLowerCase();
}
