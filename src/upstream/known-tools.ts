import { createHash } from 'node:crypto';
import { mirroredParameters } from '../catalog/mirrored-parameter.ts';
import { readTool } from './read-tool.ts';
import type { ReadTool } from './read-tool.ts';

/** One entry of a listing as it is kept, and what forbids it over streamable HTTP of the newer generation, if anything. */
export interface ReadEntry {
  readonly read: ReadTool;
  readonly badHeader: string | undefined;
}

interface Known extends ReadEntry {
  readonly characters: number;
}

/** Definitions longer than this are read anew each time: there are few. */
const MOST_CHARACTERS = 16_384;
/** All together; a definition of a real server has about a thousand. */
const MOST_IN_ALL = 16_777_216;

/**
 * Definitions that were read before, by their very text: thousands of callers are listed the same tools, and reading
 * one costs ten times what looking it up does. The longest unused go first.
 */
export class KnownTools {
  readonly #known = new Map<string, Known>();
  #characters = 0;

  /** Reads an entry of a listing; `text` is its JSON, `position` its place. */
  read(text: string, position: number): ReadEntry {
    if (text.length > MOST_CHARACTERS) return readEntry(text, position);
    const key = createHash('sha256').update(text).digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined) {
      this.#known.delete(key);
      this.#known.set(key, known);
      return known;
    }
    const entry = readEntry(text, position);
    // What is wrong with an unusable one names its place.
    if (entry.read.kind === 'tool') this.#keep(key, { ...entry, characters: text.length });
    return entry;
  }

  #keep(key: string, entry: Known): void {
    this.#known.set(key, entry);
    this.#characters += entry.characters;
    for (const [oldest, { characters }] of this.#known) {
      if (this.#characters <= MOST_IN_ALL) break;
      this.#known.delete(oldest);
      this.#characters -= characters;
    }
  }
}

function readEntry(text: string, position: number): ReadEntry {
  const read = readTool(JSON.parse(text), position);
  const mirrored = read.kind === 'tool' ? mirroredParameters(read.tool.inputSchema) : undefined;
  return { read, badHeader: mirrored?.kind === 'invalid' ? mirrored.reason : undefined };
}
