import type { CatalogTool } from '../catalog/catalog.ts';
import { similarNames } from '../catalog/near-name.ts';
import type { JsonObject } from '../catalog/tool.ts';
import type { View } from '../callers/view.ts';
import { unavailableOf } from './search-tools.ts';

const MAX_SIMILAR = 3;

/** The answer of `describe_tool`: the definitions as their upstreams wrote them, under the names asked for. */
export function describeTools(view: View, names: readonly string[]): JsonObject {
  const tools: JsonObject[] = [];
  const unknown: string[] = [];
  const similar: [string, readonly string[]][] = [];
  for (const name of new Set(names)) {
    const tool = view.catalog.find(name);
    if (tool !== undefined) {
      tools.push(descriptionOf(tool));
      continue;
    }
    unknown.push(name);
    const near = similarNames(name, view.catalog.tools, MAX_SIMILAR);
    if (near.length > 0) similar.push([name, near]);
  }
  return {
    tools,
    ...(unknown.length === 0 ? {} : { unknown }),
    ...(similar.length === 0 ? {} : { similar: Object.fromEntries(similar) }),
    // A name may be unknown only because its upstream is away.
    ...(unknown.length === 0 || view.unavailable.length === 0 ? {} : { unavailable: unavailableOf(view) }),
  };
}

function descriptionOf({ exposedName, access, tool }: CatalogTool): JsonObject {
  return {
    name: exposedName,
    ...(tool.title === undefined ? {} : { title: tool.title }),
    description: tool.description,
    readOnly: access === 'read',
    inputSchema: tool.inputSchema,
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }),
    ...(Object.keys(tool.annotations).length === 0 ? {} : { annotations: tool.annotations }),
  };
}
