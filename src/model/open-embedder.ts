import { createRequire } from 'node:module';
import { availableParallelism, homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { Embedder } from '../search/embedder.ts';
import { defaultCacheFolder } from './cache-folder.ts';
import type { EncoderSource } from './encoder-messages.ts';
import { openEncoderThread } from './encoder-thread.ts';

/** The second encoder's file. */
const SECOND_FILE = 'english.safetensors';

/** Which embedding model is meant: none, the program's own, its first encoder alone, or a Model2Vec model in (a folder of) a folder. */
export type EmbedderChoice =
  | { readonly kind: 'none' }
  | { readonly kind: 'packed' | 'packed-small' }
  | { readonly kind: 'folder'; readonly folder: string; readonly name: string | undefined };

export interface EmbedderOptions {
  /** Folder of the vectors kept between runs; by default the platform's (`defaultCacheFolder`), null keeps none. */
  readonly cacheFolder?: string | null;
  /**
   * The packed model's first file, when it is not that of the package `mcp-toolsearch-proxy-model`. The second encoder's
   * lies beside it.
   */
  readonly packedFile?: string;
  /** How many threads the machine runs at once; 1 makes a document's later part leave half of the time to others. */
  readonly cores?: number;
}

/**
 * Opens the chosen embedder on a thread of its own; undefined when none is chosen. Rejects with `model_missing` or
 * `model_invalid` when its files are not there or not good, and with `model_stopped` when the thread cannot be had.
 * The packed model without its second file is opened all the same, and says so in `shortfall`.
 */
export async function openEmbedder(
  choice: EmbedderChoice,
  options: EmbedderOptions = {},
): Promise<Embedder | undefined> {
  const source = sourceOf(choice, options);
  if (source === undefined) return undefined;
  const restShare = (options.cores ?? availableParallelism()) === 1 ? 1 : 0;
  return openEncoderThread({ source, cacheFolder: cacheFolderOf(options), restShare });
}

/** What the choice opens, by path; undefined when none is chosen. */
export function sourceOf(choice: EmbedderChoice, options: EmbedderOptions): EncoderSource | undefined {
  switch (choice.kind) {
    case 'none':
      return undefined;
    case 'packed':
    case 'packed-small': {
      const file = options.packedFile ?? packedModelFile();
      const second = choice.kind === 'packed' ? join(dirname(file), SECOND_FILE) : undefined;
      return { kind: 'packed', file, second };
    }
    case 'folder':
      return { kind: 'model2vec', folder: choice.folder, name: choice.name };
  }
}

/** Path of the packed model that is installed with the program. Throws `model_missing`. */
export function packedModelFile(): string {
  try {
    return createRequire(import.meta.url).resolve('mcp-toolsearch-proxy-model/encoder.safetensors');
  } catch (cause) {
    throw new ProxyError(
      'model_missing',
      `The package mcp-toolsearch-proxy-model, which carries the packed model, is not installed: ${messageOf(cause)}.`,
      { cause },
    );
  }
}

/** Folder of the vectors kept between runs; undefined when none are. */
export function cacheFolderOf({ cacheFolder }: EmbedderOptions): string | undefined {
  if (cacheFolder === null) return undefined;
  return cacheFolder ?? defaultCacheFolder({ env: process.env, home: homedir(), platform: process.platform });
}
