import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf, ProxyError } from '../../base/errors.ts';
import { SafetensorsFile } from '../safetensors.ts';
import type { Tensor } from '../safetensors.ts';
import { byteTrieOf } from '../tokenizer/byte-trie.ts';
import { Fault, isRecord, readBoolean, readOptional, readText } from '../tokenizer-json/json-fields.ts';
import { readTokenizerSpec } from '../tokenizer-json/read-spec.ts';
import { openJsonTokenizer } from '../tokenizer-json/tokenizer.ts';
import type { Vocabulary } from '../tokenizer-json/vocabulary.ts';
import { Model2VecEncoder } from './encoder.ts';
import { compactRow, compactRowBytes, compactTable, isTableType, numbersOf } from './row-table.ts';
import { about, requireFit } from './source.ts';
import type { Model2VecSource } from './source.ts';

/**
 * A Model2Vec model in a form that opens at once and needs little memory, made once from its published files. It is
 * a file in the safetensors format: the table at one byte a number with a scale and a checksum for each row, which
 * stays in the file, and beside it what is read into memory (the vocabulary as a trie, its scores, charsmaps, weights
 * and mapping), with a digest of its own. For half a million tokens that is some 25 MB instead of the 600 MB that
 * parsing the published tokenizer takes.
 */

/** Its name in a model's folder. */
export const COMPACT_FILE = 'model2vec.compact';

/** Raised when the form changes; older files are then made again. */
const VERSION = 1;

/** A file the compact one was made of. */
export interface SourceFile {
  /** Its path within the model's folder. */
  readonly file: string;
  readonly bytes: number;
  /** SHA-256 in hexadecimal, when it was taken; else undefined, and `changed` tells whether it is still the same. */
  readonly sha256: string | undefined;
  /** When it was last changed, in milliseconds since 1970. */
  readonly changed: number;
}

export interface CompactModel {
  readonly encoder: Model2VecEncoder;
  /** Equal for equal models, whatever folder they lie in. */
  readonly digest: string;
  readonly sources: readonly SourceFile[];
  /** Reads the whole table; throws `model_invalid` when any of it is damaged. */
  checkAll(): Promise<void>;
  close(): void;
}

interface Part {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** Rows that are turned at once, between which others get their turn. */
const ROWS_AT_ONCE = 4_096;

/** Bytes the compact file of a source takes, but for its header of a few thousand. */
export function compactBytes(rows: number, dimensions: number, tokens: number): number {
  return rows * compactRowBytes(dimensions) + tokens * 60;
}

/**
 * Writes the compact form of `source` to `path`, whole and flushed to the disk, or throws and leaves what it wrote to
 * the caller. `onProgress` hears the share of rows that are done.
 */
export async function writeCompact(
  source: Model2VecSource,
  path: string,
  sources: readonly SourceFile[],
  onProgress: (share: number) => void = () => undefined,
): Promise<void> {
  const { file, tableTensor, table } = source;
  const parts = partsOf(source);
  const stride = compactRowBytes(table.dimensions);
  const rowsBytes = table.rows * stride;
  const facts = {
    version: VERSION,
    ...source.facts,
    size: source.vocabulary.size,
    tokenizer: withoutLargeParts(source.tokenizerJson),
    sources,
  };
  const headerOf = (rowsDigest: string): Buffer => {
    const text = JSON.stringify({ ...facts, rowsDigest });
    return header(text, smallDigest(text, parts), parts, [table.rows, stride]);
  };
  const room = headerOf('0'.repeat(64)).length;
  const descriptor = openSync(path, 'w', 0o644);
  try {
    let at = room;
    for (const { bytes } of parts) at = writeAll(descriptor, bytes, at);
    const hash = createHash('sha256');
    const { dtype } = tableTensor;
    if (!isTableType(dtype)) throw new Error(`a table of ${dtype} came through`);
    const rows = numbersOf(dtype, ROWS_AT_ONCE * table.dimensions);
    const rowBytes = rows.bytes.length / ROWS_AT_ONCE;
    const out = new Uint8Array(ROWS_AT_ONCE * stride);
    for (let row = 0; row < table.rows; row += ROWS_AT_ONCE) {
      const count = Math.min(ROWS_AT_ONCE, table.rows - row);
      file.readInto(rows.bytes.subarray(0, count * rowBytes), tableTensor, row * rowBytes);
      for (let i = 0; i < count; i++) {
        const target = out.subarray(i * stride, (i + 1) * stride);
        about(file.path, () => compactRow(rows, dtype === 'I8', i * table.dimensions, target));
      }
      const done = out.subarray(0, count * stride);
      hash.update(done);
      at = writeAll(descriptor, done, at);
      onProgress((row + count) / table.rows);
      await nextTurn();
    }
    if (at !== room + parts.reduce((sum, { bytes }) => sum + bytes.length, rowsBytes)) {
      throw new Error('the compact model has another length than was planned');
    }
    writeAll(descriptor, headerOf(hash.digest('hex')), 0);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, bytes: Uint8Array, at: number): number {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, at + done);
  }
  return at + bytes.length;
}

/** What is kept in memory later, in the order it lies in the file. */
function partsOf({ vocabulary, mapping, weights }: Model2VecSource): Part[] {
  const { trie, scores, charsmaps } = vocabulary;
  const part = (
    name: string,
    dtype: string,
    values: ArrayBufferView & { readonly length: number },
  ): Part => ({
    name,
    dtype,
    shape: [values.length],
    bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  });
  return [
    ...(scores.length === 0 ? [] : [part('scores', 'F64', scores)]),
    part('trie.children', 'I32', trie.firstChild),
    part('trie.tokens', 'I32', trie.pieceAt),
    ...(mapping === undefined ? [] : [part('mapping', 'I32', mapping)]),
    ...(weights === undefined ? [] : [part('weights', 'F32', weights)]),
    part('trie.labels', 'U8', trie.labels),
    ...charsmaps.map((bytes, i) => part(`charsmap.${i}`, 'U8', bytes)),
  ];
}

/** The tokenizer's JSON as small as its spec. */
function withoutLargeParts(json: unknown): unknown {
  if (!isRecord(json)) return json;
  const { normalizer, pre_tokenizer, added_tokens } = json;
  const model = isRecord(json['model']) ? { ...json['model'], vocab: undefined } : undefined;
  return { normalizer: withoutCharsmaps(normalizer), pre_tokenizer, added_tokens, model };
}

function withoutCharsmaps(normalizer: unknown): unknown {
  if (!isRecord(normalizer)) return normalizer;
  const { normalizers } = normalizer;
  return {
    ...normalizer,
    ...('precompiled_charsmap' in normalizer ? { precompiled_charsmap: undefined } : {}),
    ...(Array.isArray(normalizers) ? { normalizers: normalizers.map(withoutCharsmaps) } : {}),
  };
}

function smallDigest(facts: string, parts: readonly Pick<Part, 'name' | 'bytes'>[]): string {
  const hash = createHash('sha256').update(facts);
  for (const { name, bytes } of parts) hash.update(`\n${name} ${bytes.length}\n`).update(bytes);
  return hash.digest('hex');
}

function header(facts: string, digest: string, parts: readonly Part[], rows: readonly number[]): Buffer {
  let at = 0;
  const described = (dtype: string, shape: readonly number[], bytes: number): object => {
    const start = at;
    at += bytes;
    return { dtype, shape, data_offsets: [start, at] };
  };
  const tensors = parts.map(({ name, dtype, shape, bytes }) => [name, described(dtype, shape, bytes.length)]);
  const [count = 0, stride = 0] = rows;
  const json = JSON.stringify({
    __metadata__: { model2vec: facts, digest },
    ...(Object.fromEntries(tensors) as object),
    rows: described('U8', rows, count * stride),
  });
  const text = Buffer.from(json);
  const padded = Math.ceil(text.length / 8) * 8;
  const out = Buffer.alloc(8 + padded, ' ');
  out.writeBigUInt64LE(BigInt(padded), 0);
  text.copy(out, 8);
  return out;
}

/** Opens a compact model; throws `model_missing` or `model_invalid` (which an older form of the file is too). */
export function openCompact(path: string): CompactModel {
  const file = new SafetensorsFile(path);
  try {
    return about(path, () => readCompact(file));
  } catch (error) {
    file.close();
    throw error;
  }
}

function readCompact(file: SafetensorsFile): CompactModel {
  const text = file.metadata.get('model2vec') ?? '';
  const facts = parsed(text);
  const parts: { name: string; bytes: Uint8Array; tensor: Tensor }[] = [];
  const inOrder = [...file.tensors.values()].sort((a, b) => a.offset - b.offset);
  for (const tensor of inOrder) {
    if (tensor.name !== 'rows') parts.push({ name: tensor.name, bytes: file.read(tensor), tensor });
  }
  const digest = smallDigest(text, parts);
  if (digest !== file.metadata.get('digest')) throw new Fault('its vocabulary is damaged');
  const bytesOf = (name: string, dtype: string): ArrayBuffer | undefined => {
    const part = parts.find((each) => each.name === name);
    if (part === undefined) return undefined;
    if (part.tensor.dtype !== dtype)
      throw new Fault(`its tensor "${name}" is ${part.tensor.dtype}, not ${dtype}`);
    // file.read gives bytes a buffer of their own.
    return part.bytes.buffer as ArrayBuffer;
  };
  const needed = (name: string, dtype: string): ArrayBuffer => {
    const bytes = bytesOf(name, dtype);
    if (bytes === undefined) throw new Fault(`it has no tensor "${name}"`);
    return bytes;
  };
  const size = count(facts, 'size');
  const spec = readTokenizerSpec(facts['tokenizer']);
  const rowsTensor = file.tensor('rows', 'U8', [undefined, undefined]);
  const table = compactTable(file, rowsTensor);
  const trie = byteTrieOf(
    new Int32Array(needed('trie.children', 'I32')),
    new Uint8Array(needed('trie.labels', 'U8')),
    new Int32Array(needed('trie.tokens', 'I32')),
    size,
  );
  const charsmaps = spec.normalizer
    .filter(({ kind }) => kind === 'precompiled')
    .map((_, i) => new Uint8Array(needed(`charsmap.${i}`, 'U8')));
  const isUnigram = spec.model.kind === 'unigram';
  const medianCharacters = count(facts, 'medianCharacters');
  const scores = isUnigram ? new Float64Array(needed('scores', 'F64')) : new Float64Array(0);
  const vocabulary: Vocabulary = { trie, scores, charsmaps, size, medianCharacters };
  const mapping = optional(bytesOf('mapping', 'I32'), (bytes) => new Int32Array(bytes));
  const weights = optional(bytesOf('weights', 'F32'), (bytes) => new Float32Array(bytes));
  requireFit(spec, vocabulary, mapping === undefined ? table.rows : undefined);
  if (isUnigram && trie.pieceAt.some((id) => id >= scores.length)) throw new Fault('a piece has no score');
  if ((mapping?.length ?? size) !== size || (weights?.length ?? size) !== size) {
    throw new Fault('its mapping or its weights are not one for each token');
  }
  if (mapping?.some((row) => row < 0 || row >= table.rows))
    throw new Fault('its mapping leads out of the table');

  const maxLength = Object.hasOwn(facts, 'maxLength') ? count(facts, 'maxLength') : undefined;
  const normalize = readBoolean(facts, 'normalize', false);
  const encoder = new Model2VecEncoder({
    tokenizer: openJsonTokenizer(spec, vocabulary),
    table,
    mapping,
    weights,
    facts: { normalize, maxLength, medianCharacters },
  });
  return {
    encoder,
    digest,
    sources: readSources(facts['sources']),
    checkAll: () => checkRows(file, rowsTensor, readText(facts, 'rowsDigest')),
    close: () => file.close(),
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  let facts: unknown;
  try {
    facts = JSON.parse(text);
  } catch (cause) {
    throw new Fault('it is no compact Model2Vec model', { cause });
  }
  if (!isRecord(facts)) throw new Fault('it is no compact Model2Vec model');
  const version = readOptional(facts, 'version', 'number');
  if (version !== VERSION) throw new Fault(`it is of form ${version}; this program reads form ${VERSION}`);
  return facts;
}

function count(facts: Readonly<Record<string, unknown>>, key: string): number {
  const value = readOptional(facts, key, 'number');
  if (value === undefined || !Number.isSafeInteger(value) || value < 0)
    throw new Fault(`its ${key} is no count`);
  return value;
}

function optional<T>(bytes: ArrayBuffer | undefined, make: (bytes: ArrayBuffer) => T): T | undefined {
  return bytes === undefined ? undefined : make(bytes);
}

function readSources(json: unknown): SourceFile[] {
  if (!Array.isArray(json)) return [];
  return json.map((each: unknown) => {
    if (!isRecord(each)) throw new Fault('what it says of the files it was made of is not readable');
    return {
      file: readText(each, 'file'),
      bytes: count(each, 'bytes'),
      sha256: readOptional(each, 'sha256', 'string'),
      changed: readOptional(each, 'changed', 'number') ?? 0,
    };
  });
}

async function checkRows(file: SafetensorsFile, tensor: Tensor, expected: string): Promise<void> {
  const hash = createHash('sha256');
  const bytes = new Uint8Array(Math.min(tensor.byteLength, 4_194_304));
  for (let at = 0; at < tensor.byteLength; at += bytes.length) {
    const part = bytes.subarray(0, Math.min(bytes.length, tensor.byteLength - at));
    try {
      file.readInto(part, tensor, at);
    } catch (cause) {
      throw new ProxyError('model_invalid', messageOf(cause), { cause });
    }
    hash.update(part);
    await nextTurn();
  }
  if (hash.digest('hex') === expected) return;
  throw new ProxyError('model_invalid', `The model file ${file.path} cannot be used: its table is damaged.`);
}
