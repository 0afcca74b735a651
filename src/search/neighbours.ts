import type { Match, ToolIndex } from './tool-index.ts';

/** The words a tool is described by, as far as its neighbours are found with them. */
export interface Described {
  readonly name: string;
  readonly description: string;
}

/** Longest text of a tool that is asked with: its neighbours share what it is about, not its small print. */
const ASKED_LENGTH = 300;

/**
 * The matches, filled up to `limit` with the neighbours of the best ones: tools found with a match's own name and
 * description. A question of one or two words may meet a few tools only; what they stand beside is a better use of
 * the remaining places than nothing. Neighbours rank below every match, in the order they are found. A question
 * that met nothing has no neighbours.
 */
export function withNeighbours(
  index: ToolIndex,
  tools: readonly Described[],
  matches: readonly Match[],
  limit: number,
): readonly Match[] {
  const filled = [...matches];
  const taken = new Set(matches.map(({ position }) => position));
  for (const { position } of matches) {
    if (filled.length >= limit) break;
    const tool = tools[position];
    if (tool === undefined) continue;
    const text = `${tool.name} ${tool.description}`.slice(0, ASKED_LENGTH);
    for (const near of index.search(text, { limit: limit + filled.length }).matches) {
      if (filled.length >= limit) break;
      if (taken.has(near.position)) continue;
      taken.add(near.position);
      filled.push({ position: near.position, score: 0 });
    }
  }
  return filled;
}
