import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Encoder } from '../src/model/encoder.ts';
import { openTwoEncoders } from '../src/model/english/two-encoders.ts';
import { openPackedEncoder } from '../src/model/packed/packed-encoder.ts';
import type { Embedder } from '../src/search/index.ts';
import { PROJECT } from './evaluation-set.ts';
import { openFileEmbedder } from './file-embedder.ts';

/** The files of the model that is installed with the program: its first encoder and its second. */
const PACKED_FILES = [
  join(PROJECT, 'packages/model/encoder.safetensors'),
  join(PROJECT, 'packages/model/english.safetensors'),
] as const;

/** Whether this checkout has the weights. */
export const HAS_PACKED_MODEL = PACKED_FILES.every((file) => existsSync(file));

/**
 * The embedder that `--embedder` names: `packed`, `packed-small`, other packed model's files (`FILE`, or `FILE,SECOND`
 * for two encoders), or a folder of vectors made elsewhere; undefined for `none`. It works on this thread: nothing else
 * is waiting here.
 */
export function openEmbedderFor(name: string): Embedder | undefined {
  if (name === 'none') return undefined;
  const [path, second] = filesOf(name);
  for (const file of second === undefined ? [path] : [path, second])
    if (!existsSync(file)) throw new Error(`there is no model ${file}; --embedder none measures words alone`);
  if (statSync(path).isDirectory()) return openFileEmbedder(path);
  const encoder = second === undefined ? openPackedEncoder(path) : openTwoEncoders(path, second);
  return onThisThread(encoder);
}

function filesOf(name: string): readonly [file: string, second?: string] {
  if (name === 'packed') return PACKED_FILES;
  if (name === 'packed-small') return [PACKED_FILES[0]];
  const [file = '', second] = name.split(',');
  return second === undefined ? [file] : [file, second];
}

function onThisThread(encoder: Encoder): Embedder {
  const { id, dimensions, parts } = encoder;
  return {
    id,
    dimensions,
    embed: (texts, role) => Promise.resolve(texts.map((text) => encoder.encode(text, role))),
    parts: parts && {
      dimensions: parts.map((part) => part.dimensions),
      embed: (texts, part) => Promise.resolve(texts.map((text) => parts[part]!.encode(text))),
    },
    close: () => Promise.resolve(encoder.close()),
  };
}
