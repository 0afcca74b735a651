import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openPackedEncoder } from '../src/model/packed/packed-encoder.ts';
import type { Embedder } from '../src/search/index.ts';
import { PROJECT } from './evaluation-set.ts';
import { openFileEmbedder } from './file-embedder.ts';

/** The model that is installed with the program. */
export const PACKED_MODEL = join(PROJECT, 'packages/model/encoder.safetensors');

/**
 * The embedder that `--embedder` names: `packed`, another packed model's file, or a folder of vectors made elsewhere;
 * undefined for `none`. It works on this thread: nothing else is waiting here.
 */
export function openEmbedderFor(name: string): Embedder | undefined {
  if (name === 'none') return undefined;
  const path = name === 'packed' ? PACKED_MODEL : name;
  if (!existsSync(path)) throw new Error(`there is no model ${path}; --embedder none measures words alone`);
  if (statSync(path).isDirectory()) return openFileEmbedder(path);
  const encoder = openPackedEncoder(path);
  return {
    id: encoder.id,
    dimensions: encoder.dimensions,
    embed: (texts, role) => Promise.resolve(texts.map((text) => encoder.encode(text, role))),
    close: () => Promise.resolve(encoder.close()),
  };
}
