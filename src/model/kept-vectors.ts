import { existsSync } from 'node:fs';
import { packedId } from './packed/packed-encoder.ts';
import { englishId } from './english/two-encoders.ts';
import { BASE_WIDTH, WIDTH } from './english/english-file.ts';
import { cacheFolderOf, sourceOf, type EmbedderChoice, type EmbedderOptions } from './open-embedder.ts';
import { openVectorCache } from './vector-cache.ts';
import { digestOf } from './weights.ts';

/** How far documents have their vectors on disk, which is where a running proxy keeps them too. */
export interface KeptVectors {
  readonly all: number;
  /** How many have the first part of theirs. */
  readonly embedded: number;
  /** How many have all parts; as many as `embedded` where the model has one. */
  readonly whole: number;
}

/**
 * Looks on disk for the vectors of documents' texts under the chosen model, without making any; undefined when no model
 * is chosen or there is no folder to keep vectors in. Takes as long as reading the model's files once. Throws
 * `model_missing` when they are not there, and `model_invalid` for a Model2Vec model that is not good; of the packed
 * model's files only the digests are taken.
 */
export async function keptVectors(
  choice: EmbedderChoice,
  texts: readonly string[],
  options: EmbedderOptions = {},
): Promise<KeptVectors | undefined> {
  const folder = cacheFolderOf(options);
  const source = sourceOf(choice, options);
  if (folder === undefined || source === undefined) return undefined;
  const kept: Set<string>[] = [];
  for (const { id, dimensions } of await partsOf(source)) {
    const cache = openVectorCache(folder, id, dimensions);
    try {
      kept.push(new Set(texts.filter((text) => cache.get(text) !== undefined)));
    } finally {
      cache.close();
    }
  }
  const embedded = texts.filter((text) => kept[0]?.has(text) === true).length;
  const whole = texts.filter((text) => kept.every((part) => part.has(text))).length;
  return { all: texts.length, embedded, whole };
}

/** Under which names a model's vectors are kept, part by part. */
async function partsOf(
  source: NonNullable<ReturnType<typeof sourceOf>>,
): Promise<readonly { readonly id: string; readonly dimensions: number }[]> {
  switch (source.kind) {
    case 'packed': {
      const first = { id: packedId(digestOf(source.file)), dimensions: BASE_WIDTH };
      // Without the second file the first encoder serves alone.
      if (source.second === undefined || !existsSync(source.second)) return [first];
      return [first, { id: englishId(digestOf(source.second)), dimensions: WIDTH }];
    }
    case 'model2vec': {
      const { modelFolder, openModel2Vec } = await import('./model2vec/open-model.ts');
      const encoder = await openModel2Vec(modelFolder(source.folder, source.name));
      encoder.close();
      return [{ id: encoder.id, dimensions: encoder.dimensions }];
    }
  }
}
