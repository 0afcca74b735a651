import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { messageOf, ProxyError } from '../../base/errors.ts';
import { SafetensorsFile } from '../safetensors.ts';
import type { Tensor } from '../safetensors.ts';
import { Fault, isRecord, readBoolean, readOptional } from '../tokenizer-json/json-fields.ts';
import { readTokenizerSpec } from '../tokenizer-json/read-spec.ts';
import type { TokenizerSpec } from '../tokenizer-json/read-spec.ts';
import { openJsonTokenizer } from '../tokenizer-json/tokenizer.ts';
import { readVocabulary } from '../tokenizer-json/vocabulary.ts';
import type { Vocabulary } from '../tokenizer-json/vocabulary.ts';
import { Model2VecEncoder } from './encoder.ts';
import type { Model2VecFacts } from './encoder.ts';
import { halfFloat, sourceTable } from './row-table.ts';
import type { RowTable } from './row-table.ts';

/** Where the three files of a model lie in its folder; the first layout whose files are all there counts. */
export interface Layout {
  readonly config: string;
  readonly tensors: string;
  readonly tokenizer: string;
}

export const LAYOUTS: readonly [Layout, ...Layout[]] = [
  { config: 'config.json', tensors: 'model.safetensors', tokenizer: 'tokenizer.json' },
  { config: 'config_sentence_transformers.json', tensors: 'model.safetensors', tokenizer: 'tokenizer.json' },
  {
    config: 'config_sentence_transformers.json',
    tensors: '0_StaticEmbedding/model.safetensors',
    tokenizer: '0_StaticEmbedding/tokenizer.json',
  },
];

/** Names the table goes by: model2vec's, sentence-transformers', and that of the reference's port to Rust. */
const TABLE_NAMES = ['embeddings', 'embedding.weight', '0'];

/** Largest configuration and tokenizer that are read, in bytes; the largest known are 1 KB and 19 MB. */
export const MAX_CONFIG_BYTES = 1_048_576;
export const MAX_TOKENIZER_BYTES = 268_435_456;

/** A model as it was published, opened; its table stays in the file. */
export interface Model2VecSource {
  readonly folder: string;
  readonly layout: Layout;
  /** The parsed `tokenizer.json`. */
  readonly tokenizerJson: unknown;
  readonly spec: TokenizerSpec;
  readonly vocabulary: Vocabulary;
  readonly facts: Model2VecFacts;
  readonly file: SafetensorsFile;
  readonly tableTensor: Tensor;
  readonly table: RowTable;
  readonly mapping: Int32Array | undefined;
  readonly weights: Float32Array | undefined;
  readonly close: () => void;
}

/** The layout a folder has, undefined when it has none. */
export function layoutOf(folder: string): Layout | undefined {
  return LAYOUTS.find((layout) =>
    Object.values(layout).every((file: string) => existsSync(join(folder, file))),
  );
}

/** Opens the model in a folder; throws `model_missing` or `model_invalid`, naming the file and what is wrong. */
export function openSource(folder: string): Model2VecSource {
  const layout = layoutOf(folder);
  if (layout === undefined) {
    const message = `There is no Model2Vec model in ${folder}: it needs config.json, model.safetensors and tokenizer.json.`;
    throw new ProxyError('model_missing', message);
  }
  const config = readJson(join(folder, layout.config), MAX_CONFIG_BYTES);
  const tokenizerPath = join(folder, layout.tokenizer);
  const tokenizerJson = readJson(tokenizerPath, MAX_TOKENIZER_BYTES);
  const { spec, vocabulary } = about(tokenizerPath, () => {
    const read = readTokenizerSpec(tokenizerJson);
    const made = readVocabulary(tokenizerJson, read);
    // Asked now for what does not fit, such as a damaged charsmap.
    openJsonTokenizer(read, made);
    return { spec: read, vocabulary: made };
  });
  const file = new SafetensorsFile(join(folder, layout.tensors));
  try {
    return about(file.path, () => {
      const tableTensor = TABLE_NAMES.map((name) => file.tensors.get(name)).find(
        (tensor) => tensor !== undefined,
      );
      if (tableTensor === undefined) throw new Fault(`it has none of the tensors ${TABLE_NAMES.join(', ')}`);
      const table = sourceTable(file, tableTensor);
      const mapping = readMapping(file, vocabulary.size, table.rows);
      const weights = readWeights(file, vocabulary.size);
      requireFit(spec, vocabulary, mapping === undefined ? table.rows : undefined);
      const facts = about(join(folder, layout.config), () => readFacts(config, vocabulary));
      const close = (): void => file.close();
      return {
        folder,
        layout,
        tokenizerJson,
        spec,
        vocabulary,
        facts,
        file,
        tableTensor,
        table,
        mapping,
        weights,
        close,
      };
    });
  } catch (error) {
    file.close();
    throw error;
  }
}

/** The encoder of a source, which reads the published numbers themselves. */
export function sourceEncoder(source: Model2VecSource): Model2VecEncoder {
  const { spec, vocabulary, table, mapping, weights, facts } = source;
  return new Model2VecEncoder({
    tokenizer: openJsonTokenizer(spec, vocabulary),
    table,
    mapping,
    weights,
    facts,
  });
}

/** Runs `read`, and says of which file a `Fault` of it was. */
export function about<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof Fault || cause instanceof RangeError)) throw cause;
    throw new ProxyError('model_invalid', `The model file ${path} cannot be used: ${messageOf(cause)}.`, {
      cause,
    });
  }
}

/** Throws a `Fault` unless every token has a place: as many rows as tokens when nothing maps them, and ids below. */
export function requireFit(spec: TokenizerSpec, vocabulary: Vocabulary, rows: number | undefined): void {
  const { size, trie } = vocabulary;
  if (rows !== undefined && rows !== size) {
    throw new Fault(`its table has ${rows} rows, but there are ${size} tokens and no mapping`);
  }
  let largest = 0;
  for (const { id } of spec.addedTokens) largest = Math.max(largest, id);
  for (const id of trie.pieceAt) if (id > largest) largest = id;
  if (largest >= size) throw new Fault(`a token has the id ${largest}, but there are ${size} tokens`);
}

function readJson(path: string, maxBytes: number): unknown {
  try {
    const { size } = statSync(path);
    if (size > maxBytes) throw new Fault(`it has ${size} bytes; ${maxBytes} is the limit`);
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (cause) {
    const message = `The model file ${path} cannot be read: ${messageOf(cause)}`;
    throw new ProxyError('model_invalid', `${message.replace(/\.$/, '')}.`, { cause });
  }
}

function readFacts(config: unknown, { medianCharacters }: Vocabulary): Model2VecFacts {
  if (!isRecord(config)) throw new Fault('it is not a JSON object');
  const normalize = readBoolean(config, 'normalize', false);
  const hasNone = Object.hasOwn(config, 'max_length') && config['max_length'] === null;
  const maxLength = hasNone ? undefined : (readOptional(config, 'max_length', 'number') ?? 512);
  if (
    maxLength !== undefined &&
    !(Number.isSafeInteger(maxLength) && maxLength >= 1 && maxLength <= 1_000_000)
  ) {
    throw new Fault(`its max_length is ${maxLength}`);
  }
  return { normalize, maxLength, medianCharacters };
}

function readMapping(file: SafetensorsFile, size: number, rows: number): Int32Array | undefined {
  const tensor = file.tensors.get('mapping');
  if (tensor === undefined) return undefined;
  const width = tensor.dtype === 'I64' ? 8 : tensor.dtype === 'I32' ? 4 : 0;
  requireOnePerToken(tensor, width > 0, size);
  const bytes = file.read(tensor);
  const view = new DataView(bytes.buffer);
  return Int32Array.from({ length: size }, (_, id) => {
    const row = width === 8 ? Number(view.getBigInt64(8 * id, true)) : view.getInt32(4 * id, true);
    if (!(row >= 0 && row < rows)) throw new Fault(`its mapping leads token ${id} to row ${row} of ${rows}`);
    return row;
  });
}

function readWeights(file: SafetensorsFile, size: number): Float32Array | undefined {
  const tensor = file.tensors.get('weights');
  if (tensor === undefined) return undefined;
  const width = { F64: 8, F32: 4, F16: 2 }[tensor.dtype as string] ?? 0;
  requireOnePerToken(tensor, width > 0, size);
  const view = new DataView(file.read(tensor).buffer);
  return Float32Array.from({ length: size }, (_, id) => {
    const weight =
      width === 8
        ? view.getFloat64(8 * id, true)
        : width === 4
          ? view.getFloat32(4 * id, true)
          : halfFloat(view.getUint16(2 * id, true));
    if (!Number.isFinite(weight)) throw new Fault(`its weight of token ${id} is no finite number`);
    return weight;
  });
}

function requireOnePerToken({ name, dtype, shape }: Tensor, isRightType: boolean, size: number): void {
  if (isRightType && shape.length === 1 && shape[0] === size) return;
  throw new Fault(`its ${name} are ${dtype} [${shape.join(', ')}] for ${size} tokens`);
}

/** The name of a model that lies in a folder. */
export function nameOfFolder(folder: string): string {
  return basename(folder);
}
