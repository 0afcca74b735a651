import { distance } from 'fastest-levenshtein';
import type { CatalogTool } from './catalog.ts';

/** Farthest a name may be from a tool's to count as a typo of it. */
const TYPO_DISTANCE = 2;

interface Near {
  readonly tool: CatalogTool;
  readonly distance: number;
}

/**
 * The tool an unknown name is clearly a typo of: at most two edits away, at least twice as near as any other tool.
 * It is only ever suggested, never called in the other's place.
 */
export function clearTypoOf(name: string, tools: readonly CatalogTool[]): CatalogTool | undefined {
  const [best, next] = nearest(name, tools, 2);
  if (best === undefined || best.distance > TYPO_DISTANCE || best.distance * 2 >= name.length)
    return undefined;
  if (next !== undefined && next.distance < Math.max(1, best.distance * 2)) return undefined;
  return best.tool;
}

/** Exposed names close to an unknown one, nearest first, at most `limit`. */
export function similarNames(name: string, tools: readonly CatalogTool[], limit: number): string[] {
  const reach = Math.max(TYPO_DISTANCE, Math.floor(name.length * 0.4));
  return nearest(name, tools, limit)
    .filter((near) => near.distance <= reach)
    .map((near) => near.tool.exposedName);
}

/** Letters' case does not count; a tool is as near as the nearer of its two names. */
function nearest(name: string, tools: readonly CatalogTool[], limit: number): Near[] {
  const wanted = name.toLowerCase();
  const all: Near[] = tools.map((tool) => ({
    tool,
    distance: Math.min(
      distance(wanted, tool.exposedName.toLowerCase()),
      tool.exposedName === tool.tool.name ? Infinity : distance(wanted, tool.tool.name.toLowerCase()),
    ),
  }));
  return all
    .sort((a, b) => a.distance - b.distance || (a.tool.exposedName < b.tool.exposedName ? -1 : 1))
    .slice(0, limit);
}
