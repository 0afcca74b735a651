import type { IndexedTool } from './tool-index.ts';

/** Beyond that, descriptions say when and how. */
const LONGEST_DESCRIPTION = 400;
const LONGEST_NAME = 300;

/**
 * What an embedder reads of a tool: whose it is and its name, as words, and the beginning of its description. Whose it
 * is says a gateway's prefix in the name (`osm__geocode_address`); else the upstream, where there are several and the
 * tool is exposed under a prefix. `docs/search.md` says what more or less of it costs.
 */
export function meaningText(
  tool: Pick<IndexedTool, 'name' | 'exposedName' | 'upstream' | 'description'>,
): string {
  const name = tool.name.slice(0, LONGEST_NAME);
  const isBare = !/.__./su.test(name) && isPrefixed(tool);
  const words = asWords(isBare ? `${tool.upstream.slice(0, LONGEST_NAME)} ${name}` : name);
  return `${words}. ${tool.description.slice(0, LONGEST_DESCRIPTION)}`;
}

/** Whether callers see the tool under another name than its own: there are several upstreams. */
export function isPrefixed({ name, exposedName }: Pick<IndexedTool, 'name' | 'exposedName'>): boolean {
  return name !== exposedName;
}

function asWords(name: string): string {
  return name
    .replaceAll(/(?<=[\p{Ll}\d])(?=\p{Lu})/gu, ' ')
    .replaceAll(/[_\-.:/\s]+/gu, ' ')
    .trim();
}
