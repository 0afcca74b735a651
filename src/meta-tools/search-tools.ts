import type { CatalogTool } from '../catalog/catalog.ts';
import type { View } from '../callers/view.ts';
import type { JsonObject } from '../catalog/tool.ts';
import { compactSchema } from './compact-schema.ts';
import { DEFAULT_MATCHES, plain } from './definitions.ts';
import { shortDescription } from './short-description.ts';

/** A settled search: exactly one of the two ways to ask. */
export interface SearchInput {
  readonly query?: string;
  readonly queries?: readonly string[];
  readonly limit?: number;
  readonly schemas?: boolean;
}

/** The answer of `search_tools`. `schemaCount` is how many of each query's best carry their input schema. */
export function searchTools(view: View, input: SearchInput, schemaCount: number): JsonObject {
  const limit = input.limit ?? DEFAULT_MATCHES;
  const withSchemas = input.schemas === false ? 0 : schemaCount;
  const sent = new Set<string>();
  const found = (query: string): JsonObject[] =>
    view.search(query, limit).map((tool, rank) => {
      const isWithSchema = rank < withSchemas && !sent.has(tool.exposedName);
      if (isWithSchema) sent.add(tool.exposedName);
      return matchOf(tool, isWithSchema);
    });
  return {
    ...(input.query === undefined
      ? { results: (input.queries ?? []).map((query) => ({ query, tools: found(query) })) }
      : { tools: found(input.query) }),
    total: view.catalog.tools.length,
    ...(view.unavailable.length === 0 ? {} : { unavailable: unavailableOf(view) }),
    ...(view.catalog.tools.length === 0 ? {} : { ranking: 'words' }),
  };
}

function matchOf({ exposedName, access, tool }: CatalogTool, isWithSchema: boolean): JsonObject {
  return {
    name: exposedName,
    description: shortDescription(tool.description === '' ? (tool.title ?? '') : tool.description),
    readOnly: access === 'read',
    ...(isWithSchema ? { inputSchema: compactSchema(tool.inputSchema) } : {}),
  };
}

/** What an answer says of upstreams whose tools are missing from it. */
export function unavailableOf(view: View): readonly JsonObject[] {
  return view.unavailable.map(({ name, reason }) => ({ name, reason: plain(reason, 300) }));
}
