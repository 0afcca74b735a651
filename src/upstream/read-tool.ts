import { createHash } from 'node:crypto';
import type { Tool, ToolAnnotations } from '../catalog/tool.ts';
import { isJsonObject } from '../base/json-value.ts';

/** What became of one entry of a `tools/list` page. */
export type ReadTool =
  | { readonly kind: 'tool'; readonly tool: Tool }
  | { readonly kind: 'dropped'; readonly name: string; readonly reason: string };

/** Far beyond any schema somebody wrote; code that walks schemas by recursion ends long after. */
const MAX_DEPTH = 500;

/**
 * Reads one tool definition. Only what nobody could call is dropped (no usable name), or what nothing here could walk
 * (endless nesting); an odd schema, title or annotation costs the tool nothing but that part.
 */
export function readTool(entry: unknown, position: number): ReadTool {
  if (!isJsonObject(entry)) return { kind: 'dropped', name: `#${position + 1}`, reason: 'not an object' };
  const name = entry['name'];
  if (typeof name !== 'string' || name === '') {
    return { kind: 'dropped', name: `#${position + 1}`, reason: 'has no name' };
  }
  if (isDeeper(entry, MAX_DEPTH))
    return { kind: 'dropped', name, reason: `its definition is nested deeper than ${MAX_DEPTH} levels` };
  const annotations = readAnnotations(entry['annotations']);
  const title = textOf(entry['title']) ?? annotations.title;
  const definition = {
    name,
    ...(title === undefined ? {} : { title }),
    description: textOf(entry['description']) ?? '',
    inputSchema: isJsonObject(entry['inputSchema']) ? entry['inputSchema'] : {},
    ...(isJsonObject(entry['outputSchema']) ? { outputSchema: entry['outputSchema'] } : {}),
    annotations,
  };
  return { kind: 'tool', tool: { ...definition, digest: digestOf(definition) } };
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth === 0 || Object.values(value).some((inner) => isDeeper(inner, depth - 1));
}

function readAnnotations(value: unknown): ToolAnnotations {
  if (!isJsonObject(value)) return {};
  const title = textOf(value['title']);
  const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;
  const read = hints.filter((hint) => typeof value[hint] === 'boolean').map((hint) => [hint, value[hint]]);
  return { ...(title === undefined ? {} : { title }), ...(Object.fromEntries(read) as ToolAnnotations) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** SHA-256 (base64url) of the definition's canonical JSON: keys sorted at every depth. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url');
}

/**
 * A listing of a thousand tools has tens of thousands of values, and each caller's is read: written by hand, because
 * a replacer for `JSON.stringify` took three times as long. Depth is bounded by who calls.
 */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value) ?? 'null';
  let text = '';
  for (const key of Object.keys(value).sort()) {
    const inner = value[key];
    if (inner !== undefined)
      text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(inner)}`;
  }
  return `{${text}}`;
}
