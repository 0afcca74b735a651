import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ProxyError } from '../../base/errors.ts';
import type { Encoder } from '../encoder.ts';
import { COMPACT_FILE, openCompact, writeCompact } from './compact.ts';
import type { CompactModel, SourceFile } from './compact.ts';
import { about, layoutOf, nameOfFolder, openSource, sourceEncoder } from './source.ts';
import type { Layout } from './source.ts';

/**
 * The folder of the model that is meant: `folder` itself, or the one called `name` in it; without a name the only one
 * in it. Throws `model_missing`, saying which there are.
 */
export function modelFolder(folder: string, name: string | undefined): string {
  if (name === undefined && holdsModel(folder)) return folder;
  const names = existsSync(folder) ? modelsIn(folder) : [];
  if (name !== undefined) {
    if (names.includes(name)) return join(folder, name);
    // A folder that is the model may be called by its name.
    if (nameOfFolder(folder) === name && holdsModel(folder)) return folder;
    const others = names.length === 0 ? 'it holds none' : `it holds ${names.join(', ')}`;
    throw missing(`There is no model ${name} in ${folder}; ${others}. mcpproxy fetch-model gets one.`);
  }
  const [only, ...more] = names;
  if (only === undefined) {
    throw missing(
      `There is no embedding model in ${folder}; mcpproxy fetch-model --model-dir ${folder} gets one.`,
    );
  }
  if (more.length > 0)
    throw missing(`There are several models in ${folder}: ${names.join(', ')}; name one with --embedder.`);
  return join(folder, only);
}

function missing(message: string): ProxyError {
  return new ProxyError('model_missing', message);
}

/** Names of the folders in `folder` that hold a model; what begins with a dot is being fetched or is not ours. */
function modelsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith('.') && holdsModel(join(folder, entry.name)))
    .map((entry) => entry.name)
    .sort();
}

function holdsModel(folder: string): boolean {
  return existsSync(join(folder, COMPACT_FILE)) || layoutOf(folder) !== undefined;
}

/**
 * Opens the Model2Vec model in a folder. Its compact form is made first when there is none, or one of other files;
 * where that cannot be written the published files are read as they are, which takes more memory.
 * Throws `model_missing` or `model_invalid`.
 */
export async function openModel2Vec(folder: string): Promise<Encoder> {
  const layout = layoutOf(folder);
  const path = join(folder, COMPACT_FILE);
  const kept = openKept(folder, path, layout);
  if (kept !== undefined) return compactEncoder(path, kept);
  if (layout === undefined) throw missing(`There is no Model2Vec model in ${folder}.`);
  const source = openSource(folder);
  try {
    await makeCompact(path, async (target) => writeCompact(source, target, sourceFiles(folder, layout)));
  } catch (error) {
    if (!isUnwritable(error)) {
      source.close();
      throw error;
    }
    const { file } = source;
    const encoder = sourceEncoder(source);
    const { size, mtimeMs } = statSync(file.path);
    return {
      id: `model2vec-${nameOfFolder(folder)}-${size}-${Math.round(mtimeMs)}`,
      dimensions: encoder.dimensions,
      encode: (text) => about(file.path, () => encoder.encode(text, true)),
      close: () => source.close(),
    };
  }
  source.close();
  return compactEncoder(path, openCompact(path));
}

function compactEncoder(path: string, model: CompactModel): Encoder {
  const { encoder, digest } = model;
  return {
    id: `model2vec-${digest.slice(0, 32)}`,
    dimensions: encoder.dimensions,
    // Whether the model asks for it or not: vectors of one length are what search compares.
    encode: (text) => about(path, () => encoder.encode(text, true)),
    close: () => model.close(),
  };
}

/** The compact model that is there, unless it was made of other files than those beside it. */
function openKept(folder: string, path: string, layout: Layout | undefined): CompactModel | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const model = openCompact(path);
    if (layout === undefined || isOf(model.sources, sourceFiles(folder, layout))) return model;
    model.close();
    return undefined;
  } catch (error) {
    // One that is damaged, or of an older form, is made again while its sources are there.
    if (layout === undefined) throw error;
    return undefined;
  }
}

function isOf(made: readonly SourceFile[], there: readonly SourceFile[]): boolean {
  return there.every(({ file, bytes, changed }) =>
    made.some((one) => one.file === file && one.bytes === bytes && one.changed === changed),
  );
}

/** What can be said of a model's files without reading them. */
export function sourceFiles(folder: string, layout: Layout): SourceFile[] {
  return Object.values(layout).map((file: string) => {
    const { size, mtimeMs } = statSync(join(folder, file));
    return { file, bytes: size, sha256: undefined, changed: Math.round(mtimeMs) };
  });
}

/** Writes a file beside `path` and puts it there only when it is whole. */
export async function makeCompact(path: string, write: (target: string) => Promise<void>): Promise<void> {
  const target = `${path}.${process.pid}.making`;
  try {
    await write(target);
    renameSync(target, path);
  } finally {
    rmSync(target, { force: true });
  }
}

/** Whether the disk is full or may not be written, which is nobody's fault but the place's. */
export function isUnwritable(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return ['ENOSPC', 'EDQUOT', 'EFBIG', 'EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'EIO'].includes(
    String(code),
  );
}
