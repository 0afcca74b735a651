import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { messageOf, ProxyError } from '../../base/errors.ts';
import type { Environment } from '../../net/proxy-environment.ts';
import { COMPACT_FILE, compactBytes, openCompact, writeCompact } from '../model2vec/compact.ts';
import type { SourceFile } from '../model2vec/compact.ts';
import { isUnwritable, makeCompact } from '../model2vec/open-model.ts';
import {
  LAYOUTS,
  layoutOf,
  MAX_CONFIG_BYTES,
  MAX_TOKENIZER_BYTES,
  openSource,
  sourceEncoder,
} from '../model2vec/source.ts';
import type { Layout } from '../model2vec/source.ts';
import { download, NotThere, PATIENCE } from './download.ts';
import type { Patience } from './download.ts';
import { lock } from './folder-lock.ts';
import { KNOWN_MODELS } from './known-models.ts';
import type { ModelFile } from './known-models.ts';
import { openReacher } from './reach.ts';
import type { Reacher } from './reach.ts';

/** Where a model is fetched from. */
export type ModelOrigin =
  /** Files under a URL; those of a known model are pinned, wherever they come from. */
  | { readonly kind: 'web'; readonly base: string; readonly pinned: readonly ModelFile[] | undefined }
  /** A folder that holds them. */
  | { readonly kind: 'folder'; readonly folder: string };

export interface FetchModelRequest {
  /** The folder it gets below `modelDir`. */
  readonly name: string;
  readonly origin: ModelOrigin;
  readonly modelDir: string;
  /** Where proxies are looked up. */
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: FetchProgress) => void;
  readonly onNote: (text: string) => void;
  readonly patience?: Patience;
}

/** How far it is: bytes of a file, or the share (0 to 1) of rows made compact. */
export type FetchProgress =
  | {
      readonly kind: 'file';
      readonly file: string;
      readonly done: number;
      readonly total: number | undefined;
    }
  | { readonly kind: 'compact'; readonly share: number };

export interface FetchedModel {
  readonly name: string;
  readonly folder: string;
  readonly dimensions: number;
  /** Size of what was kept, in bytes. */
  readonly bytes: number;
  readonly files: readonly {
    readonly file: string;
    readonly bytes: number;
    readonly sha256: string;
    readonly isPinned: boolean;
  }[];
  /** Whether it was there before, whole and of the same files. */
  readonly wasThere: boolean;
}

/** Largest table that is fetched without being known: 16 GB. */
const MAX_TABLE_BYTES = 16_000_000_000;

/**
 * Gets a Model2Vec model into `modelDir/name`, in its compact form. The published files lie in a folder of their own
 * beside it until the model is made and checked, under a name no model can have, and are then removed: what serves
 * never sees half a model. Interrupted, it goes on where it ended; when the disk is full or a file is not the one
 * that is pinned, it leaves nothing of that behind. Throws `ProxyError` (`model_…`), or the signal's reason.
 */
export async function fetchModel(request: FetchModelRequest): Promise<FetchedModel> {
  const { name, modelDir } = request;
  const stage = join(modelDir, `.${name}.download`);
  let unlock: (() => Promise<void>) | undefined;
  try {
    mkdirSync(modelDir, { recursive: true });
    unlock = await lock(join(modelDir, `.${name}`));
    const present = await presentModel(request);
    if (present !== undefined) return present;
    const fetched = await published(request, stage);
    const made = await makeModel(request, fetched);
    rmSync(stage, { recursive: true, force: true });
    return made;
  } catch (error) {
    if (existsSync(stage) && !holdsBytes(stage)) rmSync(stage, { recursive: true, force: true });
    if (error instanceof ProxyError || !isUnwritable(error)) throw error;
    // On a full disk a beginning would only be in the way.
    if (existsSync(stage)) rmSync(stage, { recursive: true, force: true });
    throw new ProxyError(
      'model_unwritable',
      `The model cannot be written to ${modelDir}: ${messageOf(error)}.`,
      { cause: error },
    );
  } finally {
    await unlock?.();
  }
}

/** Whether there is anything to go on with. */
function holdsBytes(stage: string): boolean {
  return readdirSync(stage, { recursive: true, withFileTypes: true }).some(
    (entry) =>
      entry.isFile() &&
      !entry.name.endsWith('.part.json') &&
      statSync(join(entry.parentPath, entry.name)).size > 0,
  );
}

/** The published files of a model, there and checked. */
interface Published {
  readonly folder: string;
  readonly files: readonly SourceFile[];
}

async function published(request: FetchModelRequest, stage: string): Promise<Published> {
  const { origin } = request;
  if (origin.kind === 'web') {
    mkdirSync(stage, { recursive: true });
    return { folder: stage, files: await downloadAll(request, origin, stage) };
  }
  const { folder } = origin;
  const layout = layoutOf(folder);
  if (layout === undefined) {
    const message = `There is no Model2Vec model in ${folder}: it needs config.json, model.safetensors and tokenizer.json.`;
    throw new ProxyError('model_missing', message);
  }
  const files: SourceFile[] = [];
  for (const file of filesOf(layout)) {
    const { size, mtimeMs } = statSync(join(folder, file));
    files.push({
      file,
      bytes: size,
      sha256: await digestOf(join(folder, file), request.signal),
      changed: Math.round(mtimeMs),
    });
  }
  return { folder, files };
}

/** Small files first: what is wrong with them is known before the large one is fetched. */
function filesOf({ config, tokenizer, tensors }: Layout): readonly string[] {
  return [config, tokenizer, tensors];
}

async function digestOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal })) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}

async function downloadAll(
  request: FetchModelRequest,
  origin: Extract<ModelOrigin, { kind: 'web' }>,
  stage: string,
): Promise<SourceFile[]> {
  const { pinned } = origin;
  if (pinned !== undefined) requireRoom(request.modelDir, pinned);
  const reacher = await openReacher(origin.base, request.env);
  try {
    for (const [i, layout] of LAYOUTS.entries()) {
      try {
        return await downloadLayout(request, origin, layout, stage, reacher);
      } catch (error) {
        if (!(error instanceof NotThere)) throw error;
        if (pinned === undefined && i < LAYOUTS.length - 1) continue;
        const message = `There is no Model2Vec model at ${origin.base}: ${error.message}.`;
        throw new ProxyError('model_missing', message, { cause: error });
      }
    }
    throw new Error('there is no layout');
  } finally {
    await reacher.close();
  }
}

async function downloadLayout(
  request: FetchModelRequest,
  { base, pinned }: Extract<ModelOrigin, { kind: 'web' }>,
  layout: Layout,
  stage: string,
  reacher: Reacher,
): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for (const file of filesOf(layout)) {
    const known = pinned?.find((each) => each.file === file) ?? { file, bytes: undefined, sha256: undefined };
    const path = join(stage, file);
    mkdirSync(dirname(path), { recursive: true });
    const maxBytes =
      file === layout.config
        ? MAX_CONFIG_BYTES
        : file === layout.tokenizer
          ? MAX_TOKENIZER_BYTES
          : MAX_TABLE_BYTES;
    const sha256 = await download(
      { ...known, url: `${base.replace(/\/+$/, '')}/${file}`, maxBytes },
      path,
      reacher,
      {
        signal: request.signal,
        onNote: request.onNote,
        onProgress: (done, total) => request.onProgress({ kind: 'file', file, done, total }),
      },
      request.patience ?? PATIENCE,
    );
    const { size } = statSync(path);
    request.onProgress({ kind: 'file', file, done: size, total: size });
    files.push({ file, bytes: size, sha256, changed: 0 });
  }
  return files;
}

/** Throws `model_unwritable` when the disk has less room than the files and the model made of them will take. */
function requireRoom(folder: string, files: readonly ModelFile[]): void {
  // A compact model has about a third of the bytes of the single-precision one it is made of.
  const needed = files.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0) * 1.4;
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free >= needed) return;
  const message = `The model needs ${megabytes(needed)} while it is fetched, but the disk of ${folder} has ${megabytes(free)} left.`;
  throw new ProxyError('model_unwritable', message);
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}

async function makeModel(request: FetchModelRequest, { folder, files }: Published): Promise<FetchedModel> {
  const source = openSource(folder);
  const target = join(request.modelDir, request.name);
  try {
    const { table, vocabulary } = source;
    const { bavail, bsize } = statfsSync(request.modelDir);
    const needed = compactBytes(table.rows, table.dimensions, vocabulary.size);
    if (bavail * bsize < needed) {
      const message = `The model needs ${megabytes(needed)} more, but the disk of ${request.modelDir} has ${megabytes(bavail * bsize)} left.`;
      throw new ProxyError('model_unwritable', message);
    }
    const wasThere = existsSync(target);
    mkdirSync(target, { recursive: true });
    try {
      await makeCompact(join(target, COMPACT_FILE), async (path) => {
        await writeCompact(source, path, files, (share) => {
          request.signal.throwIfAborted();
          request.onProgress({ kind: 'compact', share });
        });
        await check(path, sourceEncoder(source));
      });
    } catch (error) {
      if (!wasThere) rmSync(target, { recursive: true, force: true });
      throw error;
    }
  } finally {
    source.close();
  }
  return described(request, target, files, false);
}

/** Throws unless the file reads as it was written and means what it was made of. */
async function check(
  path: string,
  source: { readonly encode: (text: string, isUnit: boolean) => Float32Array },
): Promise<void> {
  const model = openCompact(path);
  try {
    await model.checkAll();
    for (const text of PROBES) {
      const [ours, theirs] = [model.encoder.encode(text, true), source.encode(text, true)];
      const near = ours.reduce((sum, value, i) => sum + value * (theirs[i] ?? 0), 0);
      if (theirs.some((value) => value !== 0) && !(near > 0.99)) {
        throw new ProxyError(
          'model_invalid',
          `The compact model made of it differs from the published one (cosine ${near}).`,
        );
      }
    }
  } finally {
    model.close();
  }
}

const PROBES = [
  'a',
  'list the files of a folder',
  'what is the weather tomorrow?',
  'Ieškok failų pagal pavadinimą',
];

function described(
  { name, origin }: FetchModelRequest,
  folder: string,
  files: readonly SourceFile[],
  wasThere: boolean,
): FetchedModel {
  const path = join(folder, COMPACT_FILE);
  const model = openCompact(path);
  const { dimensions } = model.encoder;
  model.close();
  const pinned = origin.kind === 'web' ? origin.pinned : undefined;
  return {
    name,
    folder,
    dimensions,
    bytes: statSync(path).size,
    files: files.map(({ file, bytes, sha256 = '' }) => ({
      file,
      bytes,
      sha256,
      isPinned: pinned?.some((one) => one.file === file && one.sha256 === sha256) ?? false,
    })),
    wasThere,
  };
}

/** The model that was fetched before, when it is of just these pinned files and undamaged. */
async function presentModel(request: FetchModelRequest): Promise<FetchedModel | undefined> {
  const { origin, modelDir, name } = request;
  const folder = join(modelDir, name);
  const path = join(folder, COMPACT_FILE);
  if (origin.kind !== 'web' || origin.pinned === undefined || !existsSync(path)) return undefined;
  try {
    const model = openCompact(path);
    try {
      const isSame = origin.pinned.every(({ file, sha256 }) =>
        model.sources.some((one) => one.file === file && (sha256 === undefined || one.sha256 === sha256)),
      );
      if (!isSame) return undefined;
      await model.checkAll();
      return described(request, folder, model.sources, true);
    } finally {
      model.close();
    }
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    request.onNote(`${error.message} It is fetched again.`);
    return undefined;
  }
}

/** Names of folders models may have; the same as in the settings. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** What was asked for, or a sentence saying why it cannot be. */
export type AskedModel =
  | { readonly name: string; readonly origin: ModelOrigin }
  | { readonly mistake: string };

/**
 * Reads what a person typed: a known model's name, a folder, or a URL under which the files lie; a known name with a
 * URL means its pinned files from there.
 */
export function readAsked(
  operand: string | undefined,
  url: string | undefined,
  cwd: string,
  fallback: string,
): AskedModel {
  if (url === undefined) {
    const asked = operand ?? fallback;
    const known = Object.hasOwn(KNOWN_MODELS, asked) ? KNOWN_MODELS[asked] : undefined;
    if (known !== undefined)
      return { name: asked, origin: { kind: 'web', base: known.base, pinned: known.files } };
    if (/^https?:\/\//i.test(asked)) return readAsked(undefined, asked, cwd, fallback);
    const folder = resolve(cwd, asked);
    if (existsSync(folder)) return named(basename(folder), { kind: 'folder', folder });
    const names = Object.keys(KNOWN_MODELS).join(', ');
    return {
      mistake: `there is no model or folder ${JSON.stringify(asked)}; known models are ${names}, others need --url BASE.`,
    };
  }
  const known =
    operand !== undefined && Object.hasOwn(KNOWN_MODELS, operand) ? KNOWN_MODELS[operand] : undefined;
  if (!/^https?:\/\//i.test(url)) {
    const folder = resolve(cwd, url);
    if (!existsSync(folder))
      return { mistake: `--url: ${JSON.stringify(url)} is neither an https URL nor a folder.` };
    return named(operand ?? basename(folder), { kind: 'folder', folder });
  }
  if (!URL.canParse(url)) return { mistake: `--url: ${JSON.stringify(url)} is not a URL.` };
  const parsed = new URL(url);
  if (parsed.search !== '' || parsed.hash !== '')
    return { mistake: '--url is the folder the files lie in, without a query.' };
  const { pathname } = parsed;
  // A model's page on the hub is what people copy; its files lie below it.
  const page = /^\/[^/]+\/([^/]+)\/?$/.exec(pathname);
  const isPage = parsed.hostname === 'huggingface.co' && page !== null;
  const base = isPage ? `${parsed.origin}${pathname.replace(/\/$/, '')}/resolve/main` : url;
  const ofHub = /^\/[^/]+\/([^/]+)\/resolve\/[^/]+/.exec(new URL(base).pathname)?.[1];
  const last = decodeURIComponent(pathname.split('/').findLast((part) => part !== '') ?? parsed.hostname);
  return named(operand ?? ofHub ?? last, { kind: 'web', base, pinned: known?.files });
}

function named(name: string, origin: ModelOrigin): AskedModel {
  if (NAME.test(name)) return { name, origin };
  return {
    mistake: `${JSON.stringify(name)} cannot be a model's name; give another: mcpproxy fetch-model NAME --url BASE.`,
  };
}
