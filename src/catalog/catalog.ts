import type { Access } from './access.ts';
import { accessOf } from './access.ts';
import { prefixedName } from './exposed-name.ts';
import type { Tool } from './tool.ts';

/** One tool as a caller may use it. */
export interface CatalogTool {
  readonly exposedName: string;
  /** Name of its upstream, as its owner wrote it. */
  readonly upstream: string;
  readonly access: Access;
  readonly tool: Tool;
}

/** The tools of one view. Immutable. */
export interface Catalog {
  /** Sorted by exposed name. */
  readonly tools: readonly CatalogTool[];
  /** The tool of that exact name: an exposed name, or an own name that only one upstream has. */
  find(name: string): CatalogTool | undefined;
}

/** One upstream's share of a catalog. */
export interface CatalogPart {
  readonly upstream: string;
  readonly slug: string;
  readonly trusted: boolean;
  readonly tools: readonly Tool[];
}

export interface CatalogRules {
  /** Whether names carry their upstream's slug: when several upstreams are configured, whether they are up or not. */
  readonly prefixed: boolean;
  readonly writeTools: readonly string[];
  /** The meta-tools' names; a tool of such a name is exposed with its prefix, also when it is alone. */
  readonly reservedNames: ReadonlySet<string>;
}

export function buildCatalog(parts: readonly CatalogPart[], rules: CatalogRules): Catalog {
  const tools: CatalogTool[] = [];
  const byOwnName = new Map<string, CatalogTool | 'ambiguous'>();
  for (const part of parts) {
    for (const tool of part.tools) {
      const isPrefixed = rules.prefixed || rules.reservedNames.has(tool.name);
      const exposedName = isPrefixed ? prefixedName(part.slug, tool.name) : tool.name;
      const access = accessOf(tool, exposedName, { trusted: part.trusted, writeTools: rules.writeTools });
      const entry: CatalogTool = { exposedName, upstream: part.upstream, access, tool };
      tools.push(entry);
      byOwnName.set(tool.name, byOwnName.has(tool.name) ? 'ambiguous' : entry);
    }
  }
  tools.sort((a, b) => (a.exposedName < b.exposedName ? -1 : a.exposedName > b.exposedName ? 1 : 0));
  const byExposedName = new Map(tools.map((tool) => [tool.exposedName, tool]));
  return {
    tools,
    find(name) {
      const exposed = byExposedName.get(name);
      if (exposed !== undefined) return exposed;
      const own = byOwnName.get(name);
      return own === 'ambiguous' ? undefined : own;
    },
  };
}
