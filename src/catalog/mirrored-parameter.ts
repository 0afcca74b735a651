import type { JsonObject } from './tool.ts';

/** A parameter that a modern HTTP server wants repeated in a header, so that gateways can route without the body. */
export interface MirroredParameter {
  readonly path: readonly string[];
  /** The rest of the header's name after `Mcp-Param-`. */
  readonly header: string;
}

export type MirroredParameters =
  | { readonly kind: 'mirrored'; readonly parameters: readonly MirroredParameter[] }
  | { readonly kind: 'invalid'; readonly reason: string };

const KEYWORD = 'x-mcp-header';

/** What may be a header's name (RFC 9110 §5.6.2, token). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const MIRRORED_TYPES = new Set(['string', 'integer', 'boolean']);

/** Keywords whose value is data in which the keyword means nothing. */
const DATA = new Set(['default', 'const', 'enum', 'examples']);

const MAX_DEPTH = 64;

/**
 * The parameters of a tool that are mirrored into headers (MCP 2026-07-28, basic/transports, `x-mcp-header`): strings,
 * integers and booleans reachable through `properties` alone, each with a header name of its own. A tool that says
 * so anywhere else, or in another way, is one that clients of streamable HTTP must leave out.
 */
export function mirroredParameters(inputSchema: JsonObject): MirroredParameters {
  const parameters: MirroredParameter[] = [];
  const names = new Set<string>();

  function problemOf(schema: JsonObject, path: readonly string[]): string | undefined {
    const header = schema[KEYWORD];
    const at = path.join('.') || 'the root';
    if (typeof header !== 'string' || !TOKEN.test(header)) return `${KEYWORD} of ${at} is not a header name`;
    if (path.length === 0 || !MIRRORED_TYPES.has(String(schema['type']))) {
      return `${KEYWORD} of ${at} is on no string, integer or boolean`;
    }
    if (names.has(header.toLowerCase())) return `two parameters want the header '${header}'`;
    names.add(header.toLowerCase());
    parameters.push({ path, header });
    return undefined;
  }

  function visit(value: unknown, path: readonly string[] | undefined, depth: number): string | undefined {
    if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined;
    const schema = value as JsonObject;
    if (Object.hasOwn(schema, KEYWORD)) {
      const problem =
        path === undefined ? `${KEYWORD} is where no one parameter is meant` : problemOf(schema, path);
      if (problem !== undefined) return problem;
    }
    for (const [key, inner] of Object.entries(schema)) {
      if (DATA.has(key) || typeof inner !== 'object' || inner === null) continue;
      const isProperties = key === 'properties' && !Array.isArray(inner) && !Array.isArray(value);
      const problem = isProperties
        ? visitEach(inner as JsonObject, path, depth)
        : visit(inner, undefined, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  function visitEach(
    properties: JsonObject,
    path: readonly string[] | undefined,
    depth: number,
  ): string | undefined {
    for (const [name, property] of Object.entries(properties)) {
      const problem = visit(property, path === undefined ? undefined : [...path, name], depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  const reason = visit(inputSchema, [], 0);
  return reason === undefined ? { kind: 'mirrored', parameters } : { kind: 'invalid', reason };
}
