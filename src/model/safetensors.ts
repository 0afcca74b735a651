import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { messageOf, ProxyError } from '../base/errors.ts';

/**
 * Reads files in the safetensors format: a little-endian u64, that many bytes of JSON that say where each tensor
 * lies, then the tensors. The header may come from anywhere and is held to all the format promises before a byte
 * of data is read. Data is read by position and on demand, so a table of rows need not be in memory.
 *
 * Reading is synchronous: a row costs a few microseconds when the system has the page. A file cut short or
 * replaced in place after it was opened gives an error or other numbers, never memory out of bounds.
 */
export interface Tensor {
  readonly name: string;
  readonly dtype: TensorType;
  readonly shape: readonly number[];
  /** Offset of the tensor's first byte in the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** The types of the format that models are made of, with the bytes of one value. */
const BYTES = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U64: 8,
  U32: 4,
  U16: 2,
  U8: 1,
  BOOL: 1,
} as const;

export type TensorType = keyof typeof BYTES;

/** Longest header, in bytes; the format allows 100 MB, but the headers of embedding models have a few thousand. */
const MAX_HEADER_BYTES = 8 * 1024 * 1024;
const MAX_TENSORS = 10_000;
const MAX_DIMENSIONS = 8;

export class SafetensorsFile {
  readonly path: string;
  /** The free-form texts of the header. */
  readonly metadata: ReadonlyMap<string, string>;
  readonly tensors: ReadonlyMap<string, Tensor>;
  #descriptor: number | undefined;

  /** Opens the file; throws a `model_missing` or `model_invalid` error that names it and says what is wrong. */
  constructor(path: string) {
    this.path = path;
    let descriptor: number;
    try {
      descriptor = openSync(path, 'r');
    } catch (cause) {
      throw new ProxyError('model_missing', `The model file ${path} cannot be opened: ${messageOf(cause)}.`, {
        cause,
      });
    }
    this.#descriptor = descriptor;
    try {
      const { metadata, tensors } = readHeader(descriptor);
      this.metadata = metadata;
      this.tensors = tensors;
    } catch (error) {
      this.close();
      throw this.#damaged(messageOf(error), error);
    }
  }

  /**
   * The tensor of this name, which has to have the type and shape given (`undefined` stands for any length).
   * Throws `model_invalid` when there is no such tensor.
   */
  tensor(name: string, dtype: TensorType, shape: readonly (number | undefined)[]): Tensor {
    const tensor = this.tensors.get(name);
    const wanted = `${dtype} [${shape.map((length) => length ?? 'any').join(', ')}]`;
    if (tensor === undefined) throw this.#damaged(`it has no tensor "${name}" (${wanted})`);
    const fits =
      tensor.dtype === dtype &&
      tensor.shape.length === shape.length &&
      shape.every((length, i) => length === undefined || length === tensor.shape[i]);
    if (!fits) {
      throw this.#damaged(
        `its tensor "${name}" is ${tensor.dtype} [${tensor.shape.join(', ')}], not ${wanted}`,
      );
    }
    return tensor;
  }

  /** All bytes of a tensor, in memory of their own, so that typed arrays of any width can lie on them. */
  read(tensor: Tensor): Uint8Array {
    const bytes = new Uint8Array(tensor.byteLength);
    this.readInto(bytes, tensor, 0);
    return bytes;
  }

  /** Fills `target` with the tensor's bytes from `start` on; they have to lie within the tensor. */
  readInto(target: Uint8Array, tensor: Tensor, start: number): void {
    if (this.#descriptor === undefined) throw new Error(`${this.path} is closed`);
    if (start < 0 || start + target.length > tensor.byteLength) {
      throw new RangeError(`bytes ${start} to ${start + target.length} are not in tensor "${tensor.name}"`);
    }
    try {
      readFully(this.#descriptor, target, tensor.offset + start);
    } catch (error) {
      throw this.#damaged(messageOf(error), error);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #damaged(what: string, cause?: unknown): ProxyError {
    return new ProxyError('model_invalid', `The model file ${this.path} cannot be used: ${what}.`, { cause });
  }
}

/** A fault of the file as a sentence's end. */
class Fault extends Error {}

function readHeader(descriptor: number): {
  readonly metadata: ReadonlyMap<string, string>;
  readonly tensors: ReadonlyMap<string, Tensor>;
} {
  const { size } = fstatSync(descriptor);
  if (size < 10) throw new Fault(`it has ${size} bytes, fewer than the shortest header`);
  const length = new Uint8Array(8);
  readFully(descriptor, length, 0);
  const headerBytes = Number(new DataView(length.buffer).getBigUint64(0, true));
  if (headerBytes > MAX_HEADER_BYTES) {
    throw new Fault(`its header claims ${headerBytes} bytes; ${MAX_HEADER_BYTES} is the limit`);
  }
  if (8 + headerBytes > size) {
    throw new Fault(`its header claims ${headerBytes} bytes, but the file ends after ${size}`);
  }
  const bytes = new Uint8Array(headerBytes);
  readFully(descriptor, bytes, 8);
  return headerOf(bytes, size - 8 - headerBytes, 8 + headerBytes);
}

function headerOf(
  bytes: Uint8Array,
  dataBytes: number,
  dataStart: number,
): { readonly metadata: ReadonlyMap<string, string>; readonly tensors: ReadonlyMap<string, Tensor> } {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new Fault('its header is not JSON', { cause });
  }
  if (!isRecord(header)) throw new Fault('its header is not a JSON object');
  const metadata = new Map<string, string>();
  const tensors = new Map<string, Tensor>();
  const entries = Object.entries(header);
  if (entries.length > MAX_TENSORS) {
    throw new Fault(`it has ${entries.length} tensors; ${MAX_TENSORS} is the limit`);
  }
  for (const [name, value] of entries) {
    if (name !== '__metadata__') {
      tensors.set(name, tensorOf(name, value, dataBytes, dataStart));
      continue;
    }
    if (!isRecord(value)) throw new Fault('its metadata is not a JSON object');
    for (const [key, text] of Object.entries(value)) {
      if (typeof text !== 'string') throw new Fault(`its metadata "${key}" is not a text`);
      metadata.set(key, text);
    }
  }
  requireNoHoles([...tensors.values()], dataBytes, dataStart);
  return { metadata, tensors };
}

function tensorOf(name: string, value: unknown, dataBytes: number, dataStart: number): Tensor {
  if (!isRecord(value)) throw new Fault(`its tensor "${name}" is not described by a JSON object`);
  const { dtype, shape, data_offsets: offsets } = value;
  if (typeof dtype !== 'string' || !Object.hasOwn(BYTES, dtype)) {
    throw new Fault(`the type of its tensor "${name}" is not known: ${JSON.stringify(dtype)}`);
  }
  if (!isCounts(shape) || shape.length > MAX_DIMENSIONS) {
    throw new Fault(`the shape of its tensor "${name}" is not a list of at most ${MAX_DIMENSIONS} lengths`);
  }
  const [begin, end, ...more] = isCounts(offsets) ? offsets : [];
  if (begin === undefined || end === undefined || more.length > 0 || begin > end || end > dataBytes) {
    throw new Fault(
      `its tensor "${name}" is said to lie at ${JSON.stringify(offsets)}, but there are ${dataBytes} bytes of data`,
    );
  }
  const byteLength = shape.reduce((a, b) => a * b, BYTES[dtype as TensorType]);
  if (byteLength !== end - begin) {
    throw new Fault(
      `its tensor "${name}" takes ${end - begin} bytes, but its type and shape make ${byteLength}`,
    );
  }
  return { name, dtype: dtype as TensorType, shape, offset: dataStart + begin, byteLength };
}

/** The tensors cover the data without gap or overlap, as the format demands; a file cut off fails here. */
function requireNoHoles(tensors: Tensor[], dataBytes: number, dataStart: number): void {
  tensors.sort((a, b) => a.offset - b.offset || a.byteLength - b.byteLength);
  let at = dataStart;
  for (const { name, offset, byteLength } of tensors) {
    if (offset !== at) throw new Fault(`its tensor "${name}" does not begin where the one before it ends`);
    at += byteLength;
  }
  if (at !== dataStart + dataBytes) {
    throw new Fault(`its tensors take ${at - dataStart} bytes, but there are ${dataBytes} bytes of data`);
  }
}

function readFully(descriptor: number, target: Uint8Array, position: number): void {
  for (let done = 0; done < target.length;) {
    const got = readSync(descriptor, target, done, target.length - done, position + done);
    if (got === 0) throw new Fault(`it ends after ${position + done} bytes`);
    done += got;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether it is a list of whole numbers that arithmetic is exact with. */
function isCounts(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((one) => Number.isSafeInteger(one) && one >= 0);
}
