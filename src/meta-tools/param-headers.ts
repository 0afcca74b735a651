import { encodeHeaderValue } from '../base/header-value.ts';
import { rawAt } from '../base/json-text.ts';
import { mirroredParameters } from '../catalog/mirrored-parameter.ts';
import type { MirroredParameters } from '../catalog/mirrored-parameter.ts';
import type { JsonObject } from '../catalog/tool.ts';
import type { ToolArguments } from './arguments.ts';

/** By schema, which a catalog never changes: reading one of 250 KB takes 2 ms, too long for every call. */
const known = new WeakMap<JsonObject, MirroredParameters>();

/**
 * The `Mcp-Param-*` headers a call carries, names in lower case: each a copy of an argument its tool wants mirrored.
 * Numbers go as the client wrote them, so that large ones are not rounded.
 */
export function paramHeaders(schema: JsonObject, args: ToolArguments): Readonly<Record<string, string>> {
  const mirrored = known.get(schema) ?? mirroredParameters(schema);
  known.set(schema, mirrored);
  if (mirrored.kind === 'invalid') return {};
  const headers: Record<string, string> = {};
  for (const { path, header } of mirrored.parameters) {
    const raw = rawAt(args.raw, path);
    if (raw === undefined || raw === 'null') continue;
    const value: unknown = JSON.parse(raw);
    if (typeof value === 'object') continue;
    headers[`mcp-param-${header.toLowerCase()}`] = encodeHeaderValue(typeof value === 'string' ? value : raw);
  }
  return headers;
}
