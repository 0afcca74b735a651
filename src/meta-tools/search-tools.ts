import type { CatalogTool } from '../catalog/catalog.ts';
import type { FoundTools, View } from '../callers/view.ts';
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

/**
 * The answer of `search_tools`. `schemaCount` is how many of each query's best carry their input schema. Waits for the
 * queries' vectors, where there is a model, no longer than that model is given.
 */
export async function searchTools(
  view: View,
  input: SearchInput,
  schemaCount: number,
  signal?: AbortSignal,
): Promise<FoundAnswer> {
  const limit = input.limit ?? DEFAULT_MATCHES;
  const withSchemas = input.schemas === false ? 0 : schemaCount;
  const queries = input.query === undefined ? (input.queries ?? []) : [input.query];
  const vectors = await view.questionVectors(queries, signal);
  const found = queries.map((query, i) => view.search(query, limit, vectors[i]));
  const sent = new Set<string>();
  const matches = found.map(({ tools }) =>
    tools.map((tool, rank) => {
      const isWithSchema = rank < withSchemas && !sent.has(tool.exposedName);
      if (isWithSchema) sent.add(tool.exposedName);
      return matchOf(tool, isWithSchema);
    }),
  );
  const ranking = rankingOf(found);
  const answer = {
    ...(input.query === undefined
      ? { results: queries.map((query, i) => ({ query, tools: matches[i]! })) }
      : { tools: matches[0]! }),
    total: view.catalog.tools.length,
    ...(view.unavailable.length === 0 ? {} : { unavailable: unavailableOf(view) }),
    ...(view.catalog.tools.length === 0 || ranking === undefined ? {} : { ranking }),
  };
  return {
    answer,
    mode: ranking === 'words' ? 'words' : 'hybrid',
    queries: queries.length,
    matches: matches.reduce((sum, { length }) => sum + length, 0),
  };
}

export interface FoundAnswer {
  readonly answer: JsonObject;
  /** What the worst of the queries was ranked by. */
  readonly mode: 'hybrid' | 'words';
  readonly queries: number;
  readonly matches: number;
}

/** What an answer says of its ranking: the least of its queries; nothing when all of the meaning was there. */
function rankingOf(found: readonly FoundTools[]): 'words' | 'quick' | undefined {
  if (found.some(({ basis }) => basis === 'words')) return 'words';
  return found.some(({ basis }) => basis !== 'meaning') ? 'quick' : undefined;
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
