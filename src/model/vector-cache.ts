import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

/**
 * Vectors of documents on disk, by a digest of the text, so that a catalog that was embedded once has its vectors at
 * once. It is only a cache: whatever cannot be read is not there, whatever cannot be written is not kept.
 *
 * Every flush makes a file of its own under a name nobody else has, complete before it gets that name. So any number
 * of processes share a folder without locks; when the files become many, whoever notices makes one of them, and if
 * two do so at once something is kept twice until the next time. Vectors have 8 bits a number and one scale.
 */
export interface VectorCache {
  /** The vector of a document's text, of length 1; undefined when it is not kept, or damaged. */
  get(text: string): Float32Array | undefined;
  /** Keeps a vector with the next flush. Gives what `get` gives from now on: the vector as far as 8 bits keep it. */
  add(text: string, vector: Float32Array): Float32Array;
  flush(): void;
  /** Lets go of the files, without a flush. */
  close(): void;
}

export interface CacheBounds {
  /** Most bytes of one model's vectors: 32 MB, which is some 60,000 documents of 512 numbers, or 80,000 of 384. */
  readonly maxBytes: number;
  /** Files of one model that are made one when there are more. */
  readonly maxFiles: number;
  /** Folders of other models, and of another part of this one, that are left alone; older ones are removed. */
  readonly maxOtherModels: number;
  /** Vectors that are written without waiting for a flush. */
  readonly maxPending: number;
}

const BOUNDS: CacheBounds = {
  maxBytes: 32 * 1024 * 1024,
  maxFiles: 16,
  maxOtherModels: 3,
  maxPending: 2_048,
};

/** Never throws: without a folder that can be read there are no vectors. `id` says which model's they are. */
export function openVectorCache(
  folder: string,
  id: string,
  dimensions: number,
  bounds: Partial<CacheBounds> = {},
): VectorCache {
  return new FileCache(folder, id, dimensions, { ...BOUNDS, ...bounds });
}

const SUFFIX = '.vectors';
const MAGIC = Buffer.from('mcpvec1\n');
const HEAD_BYTES = MAGIC.length + 8;
const KEY_BYTES = 16;
const SUM_BYTES = 4;
/** How old an unfinished file has to be to be somebody's who is gone. */
const ABANDONED_MS = 600_000;

/** Where a kept vector lies. */
interface Place {
  readonly file: OpenFile;
  readonly position: number;
}

interface OpenFile {
  readonly path: string;
  readonly descriptor: number;
  readonly keys: readonly string[];
}

class FileCache implements VectorCache {
  readonly #folder: string;
  readonly #models: string;
  readonly #dimensions: number;
  readonly #bounds: CacheBounds;
  readonly #recordBytes: number;
  #files: OpenFile[] = [];
  readonly #places = new Map<string, Place>();
  /** Records that are on no disk yet. */
  readonly #pending = new Map<string, Buffer>();
  /** What was asked for in this run: the last to go. */
  readonly #used = new Set<string>();
  #isWritable = true;
  #hasRemovedOthers = false;

  constructor(folder: string, id: string, dimensions: number, bounds: CacheBounds) {
    this.#models = join(folder, 'vectors');
    this.#folder = join(this.#models, createHash('sha256').update(id).digest('hex').slice(0, 32));
    this.#dimensions = dimensions;
    this.#bounds = bounds;
    this.#recordBytes = 4 + dimensions + SUM_BYTES;
    this.#openNew();
    // So that the models in use are the last to be removed.
    quietly(() => utimesSync(this.#folder, new Date(), new Date()));
  }

  get(text: string): Float32Array | undefined {
    const key = keyOf(text);
    this.#used.add(key);
    const record = this.#pending.get(key) ?? this.#read(key);
    return record === undefined ? undefined : this.#decode(record);
  }

  add(text: string, vector: Float32Array): Float32Array {
    const key = keyOf(text);
    const record = this.#encode(key, vector);
    this.#used.add(key);
    if (this.#isWritable) {
      this.#pending.set(key, record);
      if (this.#pending.size >= this.#bounds.maxPending) this.flush();
    }
    return this.#decode(record);
  }

  flush(): void {
    if (this.#pending.size === 0) return;
    const records = [...this.#pending];
    this.#pending.clear();
    try {
      this.#write(records);
      if (this.#isTooMuch()) this.#compact();
      this.#removeOtherModels();
    } catch {
      // A full disk, or a folder that may not be written: what is kept in memory would only grow.
      this.#isWritable = false;
    }
  }

  close(): void {
    for (const { descriptor } of this.#files) quietly(() => closeSync(descriptor));
    this.#files = [];
    this.#places.clear();
  }

  /** Those that are not open yet. One that is open can be read even when another process has removed it. */
  #openNew(): void {
    const known = new Set(this.#files.map(({ path }) => path));
    for (const name of fileNames(this.#folder)) {
      const path = join(this.#folder, name);
      if (!known.has(path)) this.#open(path);
    }
  }

  #open(path: string): OpenFile | undefined {
    const file = openFile(path, this.#dimensions, this.#recordBytes);
    if (file === undefined) return undefined;
    this.#files.push(file);
    const first = HEAD_BYTES + file.keys.length * KEY_BYTES + SUM_BYTES;
    file.keys.forEach((key, i) => {
      this.#places.set(key, { file, position: first + i * this.#recordBytes });
    });
    return file;
  }

  #read(key: string): Buffer | undefined {
    const place = this.#places.get(key);
    if (place === undefined) return undefined;
    const record = Buffer.alloc(this.#recordBytes);
    const got = quietly(() => readSync(place.file.descriptor, record, 0, record.length, place.position));
    if (got === record.length && record.readUInt32LE(record.length - SUM_BYTES) === sumOf(key, record)) {
      return record;
    }
    this.#places.delete(key);
    return undefined;
  }

  /** Gives the new file, opened; undefined when another process has merged it already. */
  #write(records: readonly (readonly [key: string, record: Buffer])[]): OpenFile | undefined {
    const head = Buffer.alloc(HEAD_BYTES);
    MAGIC.copy(head);
    head.writeUInt32LE(this.#dimensions, MAGIC.length);
    head.writeUInt32LE(records.length, MAGIC.length + 4);
    const keys = Buffer.concat(records.map(([key]) => Buffer.from(key, 'base64url')));
    const sum = Buffer.alloc(SUM_BYTES);
    sum.writeUInt32LE(crc32(keys, crc32(head)));
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    // In the order of time, so that the oldest come first.
    const name = `${Date.now().toString(36).padStart(10, '0')}-${randomUUID()}`;
    const unfinished = join(this.#folder, `${name}.part`);
    const finished = join(this.#folder, name + SUFFIX);
    try {
      writeFileSync(unfinished, Buffer.concat([head, keys, sum, ...records.map(([, record]) => record)]), {
        mode: 0o600,
      });
      renameSync(unfinished, finished);
    } catch (error) {
      quietly(() => rmSync(unfinished, { force: true }));
      throw error;
    }
    return this.#open(finished);
  }

  #isTooMuch(): boolean {
    const names = fileNames(this.#folder);
    const bytes = names.reduce(
      (sum, name) => sum + (quietly(() => statSync(join(this.#folder, name)).size) ?? 0),
      0,
    );
    return names.length > this.#bounds.maxFiles || bytes > this.#bounds.maxBytes;
  }

  /** Makes one file of all, without what is damaged, kept twice, or, when it is too much, oldest and unused. */
  #compact(): void {
    this.#openNew();
    const merged = [...this.#files];
    const keys = [...this.#places.keys()];
    const inOrder = [
      ...keys.filter((key) => !this.#used.has(key)),
      ...keys.filter((key) => this.#used.has(key)),
    ];
    // Half of what is allowed, so that this is not done again with the next few.
    const most = Math.floor(this.#bounds.maxBytes / 2 / (this.#recordBytes + KEY_BYTES));
    const records: (readonly [string, Buffer])[] = [];
    for (const key of inOrder.slice(-most)) {
      const record = this.#read(key);
      if (record !== undefined) records.push([key, record]);
    }
    const made = this.#write(records);
    if (made === undefined) return;
    this.#files = [made];
    for (const [key, { file }] of this.#places) if (file !== made) this.#places.delete(key);
    for (const { descriptor, path } of merged) {
      quietly(() => closeSync(descriptor));
      quietly(() => rmSync(path, { force: true }));
    }
    // Also those that could not be opened, once nobody can be writing them any more.
    for (const name of readdirSync(this.#folder)) {
      const path = join(this.#folder, name);
      const age = Date.now() - (quietly(() => statSync(path).mtimeMs) ?? Date.now());
      if (path !== made.path && age > ABANDONED_MS && isDamaged(path, this.#dimensions, this.#recordBytes)) {
        quietly(() => rmSync(path, { force: true }));
      }
    }
  }

  #removeOtherModels(): void {
    if (this.#hasRemovedOthers) return;
    this.#hasRemovedOthers = true;
    const others = readdirSync(this.#models)
      .map((name) => join(this.#models, name))
      .filter((path) => path !== this.#folder)
      .map((path) => ({ path, used: quietly(() => statSync(path).mtimeMs) ?? 0 }))
      .sort((a, b) => b.used - a.used);
    for (const { path } of others.slice(this.#bounds.maxOtherModels)) {
      quietly(() => rmSync(path, { recursive: true, force: true }));
    }
  }

  /** Scale, numbers, checksum. */
  #encode(key: string, vector: Float32Array): Buffer {
    const record = Buffer.alloc(this.#recordBytes);
    let largest = 0;
    for (const number of vector) largest = Math.max(largest, Math.abs(number));
    record.writeFloatLE(largest / 127, 0);
    vector.forEach((number, i) => {
      record.writeInt8(largest === 0 ? 0 : Math.round((number / largest) * 127), 4 + i);
    });
    record.writeUInt32LE(sumOf(key, record), record.length - SUM_BYTES);
    return record;
  }

  #decode(record: Buffer): Float32Array {
    const numbers = new Int8Array(record.buffer, record.byteOffset + 4, this.#dimensions);
    let square = 0;
    for (const number of numbers) square += number * number;
    const factor = square === 0 ? 0 : 1 / Math.sqrt(square);
    return Float32Array.from(numbers, (number) => number * factor);
  }
}

function keyOf(text: string): string {
  return createHash('sha256').update(text).digest().subarray(0, KEY_BYTES).toString('base64url');
}

/** Over the key too: a record is nobody else's. */
function sumOf(key: string, record: Buffer): number {
  return crc32(record.subarray(0, record.length - SUM_BYTES), crc32(key));
}

/** The oldest first. */
function fileNames(folder: string): string[] {
  const names = quietly(() => readdirSync(folder)) ?? [];
  return names.filter((name) => name.endsWith(SUFFIX)).sort();
}

/** Undefined when it cannot be opened or is not what it should be. */
function openFile(path: string, dimensions: number, recordBytes: number): OpenFile | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const keys = readKeys(descriptor, statSync(path).size, dimensions, recordBytes);
    if (keys !== undefined) return { path, descriptor, keys };
  } catch {
    // Gone, not ours to read, or cut off.
  }
  if (descriptor !== undefined) closeSync(descriptor);
  return undefined;
}

function readKeys(
  descriptor: number,
  size: number,
  dimensions: number,
  recordBytes: number,
): string[] | undefined {
  const head = Buffer.alloc(HEAD_BYTES);
  if (readSync(descriptor, head) !== HEAD_BYTES || !head.subarray(0, MAGIC.length).equals(MAGIC)) {
    return undefined;
  }
  const count = head.readUInt32LE(MAGIC.length + 4);
  const expected = HEAD_BYTES + count * (KEY_BYTES + recordBytes) + SUM_BYTES;
  if (head.readUInt32LE(MAGIC.length) !== dimensions || size !== expected) return undefined;
  const keys = Buffer.alloc(count * KEY_BYTES + SUM_BYTES);
  if (readSync(descriptor, keys, 0, keys.length, HEAD_BYTES) !== keys.length) return undefined;
  const all = keys.subarray(0, count * KEY_BYTES);
  if (keys.readUInt32LE(all.length) !== crc32(all, crc32(head))) return undefined;
  return Array.from({ length: count }, (_, i) =>
    all.subarray(i * KEY_BYTES, (i + 1) * KEY_BYTES).toString('base64url'),
  );
}

function isDamaged(path: string, dimensions: number, recordBytes: number): boolean {
  const file = openFile(path, dimensions, recordBytes);
  if (file !== undefined) closeSync(file.descriptor);
  return file === undefined;
}

/** What the work gives, or undefined when it fails. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
