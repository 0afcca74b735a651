import { isJsonObject } from '../base/json-value.ts';
import { rawAt } from '../base/json-text.ts';
import { encodeHeaderValue } from '../base/header-value.ts';
import type { JsonObject } from '../catalog/tool.ts';
import type { ToolArguments } from './arguments.ts';

/** What may be the rest of a header's name (RFC 9110 §5.6.2, token). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Deepest property that may ask for a header. */
const MAX_DEPTH = 16;

/**
 * The `Mcp-Param-*` headers a tool's schema asks for with `x-mcp-header` (MCP 2026-07-28, basic/transports): each a
 * copy of a string, boolean or integer argument, so that gateways can route without reading bodies. Properties
 * reachable only through combinators or references ask for none.
 */
export function paramHeaders(schema: JsonObject, args: ToolArguments): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  collect(schema, args.value, [], args.raw, headers);
  return headers;
}

function collect(
  schema: JsonObject,
  value: unknown,
  path: readonly string[],
  raw: string,
  headers: Record<string, string>,
): void {
  const { properties } = schema;
  if (!isJsonObject(properties) || !isJsonObject(value) || path.length > MAX_DEPTH) return;
  for (const [name, property] of Object.entries(properties)) {
    if (!isJsonObject(property) || !Object.hasOwn(value, name)) continue;
    const at = [...path, name];
    const header = property['x-mcp-header'];
    const argument = value[name];
    if (typeof header === 'string' && TOKEN.test(header)) {
      const text = typeof argument === 'string' ? argument : primitiveText(argument, rawAt(raw, at));
      if (text !== undefined) headers[`mcp-param-${header.toLowerCase()}`] = encodeHeaderValue(text);
    }
    collect(property, argument, at, raw, headers);
  }
}

/** Numbers as the client wrote them, so that large ones are not rounded. */
function primitiveText(value: unknown, raw: string | undefined): string | undefined {
  return typeof value === 'boolean' || typeof value === 'number' ? raw : undefined;
}
