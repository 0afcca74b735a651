import { crc32 } from 'node:zlib';
import type { SafetensorsFile, Tensor } from '../safetensors.ts';
import { Fault } from '../tokenizer-json/json-fields.ts';

/** A table of rows of numbers that stays in its file: a row is read when it is asked for. */
export interface RowTable {
  readonly rows: number;
  readonly dimensions: number;
  /** Adds `weight` times a row to `sum`. Throws a `Fault` when the row is damaged. */
  addRow(row: number, weight: number, sum: Float64Array): void;
}

/** Types of numbers a model's table may have. */
export const TABLE_TYPES = ['F32', 'F16', 'F64', 'I8'] as const;

type TableType = (typeof TABLE_TYPES)[number];

export function isTableType(type: string): type is TableType {
  return TABLE_TYPES.some((each) => each === type);
}

/** Largest table: numbers a row, and rows. */
export const MAX_DIMENSIONS = 8_192;
export const MAX_ROWS = 4_000_000;

/** The tensor of a model as it was published. Throws a `Fault` when it is no table of numbers. */
export function sourceTable(file: SafetensorsFile, tensor: Tensor): RowTable {
  const { dtype, shape } = tensor;
  const [rows = 0, dimensions = 0] = shape;
  if (!isTableType(dtype) || shape.length !== 2 || rows === 0 || dimensions === 0) {
    throw new Fault(
      `its tensor "${tensor.name}" is ${dtype} [${shape.join(', ')}], not a table of ${TABLE_TYPES.join(', ')}`,
    );
  }
  if (rows > MAX_ROWS || dimensions > MAX_DIMENSIONS) {
    throw new Fault(`its table is ${rows} × ${dimensions}; ${MAX_ROWS} × ${MAX_DIMENSIONS} is the limit`);
  }
  const numbers = numbersOf(dtype, dimensions);
  return {
    rows,
    dimensions,
    addRow(row, weight, sum) {
      file.readInto(numbers.bytes, tensor, row * numbers.bytes.length);
      for (let i = 0; i < dimensions; i++) sum[i] = (sum[i] ?? 0) + weight * numbers.at(i);
    },
  };
}

interface Numbers {
  readonly bytes: Uint8Array;
  at(index: number): number;
}

/** Room for `count` numbers as files hold them, little-endian. */
export function numbersOf(type: TableType, count: number): Numbers {
  switch (type) {
    case 'F64': {
      const view = new DataView(new ArrayBuffer(8 * count));
      return { bytes: new Uint8Array(view.buffer), at: (i) => view.getFloat64(8 * i, true) };
    }
    case 'F32': {
      const view = new DataView(new ArrayBuffer(4 * count));
      return { bytes: new Uint8Array(view.buffer), at: (i) => view.getFloat32(4 * i, true) };
    }
    case 'F16': {
      const view = new DataView(new ArrayBuffer(2 * count));
      return { bytes: new Uint8Array(view.buffer), at: (i) => halfFloat(view.getUint16(2 * i, true)) };
    }
    case 'I8': {
      const values = new Int8Array(count);
      return { bytes: new Uint8Array(values.buffer), at: (i) => values[i] ?? 0 };
    }
  }
}

/** An IEEE 754 half as a number. */
export function halfFloat(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Bytes of a compact row beside its numbers: their CRC-32 with the scale, and the scale. */
const ROW_HEAD = 8;

/** A compact row has one byte a number: `dimensions` signed bytes times the row's own scale. */
export function compactRowBytes(dimensions: number): number {
  return ROW_HEAD + dimensions;
}

/**
 * Writes row after row of `numbers` (of a published table) as compact rows. The largest number of a row becomes
 * ±127; whole numbers from −127 to 127 of an I8 table stay as they are. Throws a `Fault` at what is no number.
 */
export function compactRow(numbers: Numbers, isWhole: boolean, start: number, target: Uint8Array): void {
  const dimensions = target.length - ROW_HEAD;
  let most = 0;
  for (let i = 0; i < dimensions; i++) {
    const value = Math.abs(numbers.at(start + i));
    if (!Number.isFinite(value)) throw new Fault('its table holds something that is no finite number');
    if (value > most) most = value;
  }
  const view = new DataView(target.buffer, target.byteOffset, target.length);
  // −128 does not fit a symmetric row.
  const scale = isWhole && most <= 127 ? 1 : Math.fround(most / 127);
  view.setFloat32(4, scale, true);
  for (let i = 0; i < dimensions; i++) {
    const quotient = scale === 0 ? 0 : Math.round(numbers.at(start + i) / scale);
    view.setInt8(ROW_HEAD + i, Math.max(-127, Math.min(127, quotient)));
  }
  view.setUint32(0, crc32(target.subarray(4)), true);
}

/** The table of a compact model. A row is checked each time it is read, so damage never goes unnoticed. */
export function compactTable(file: SafetensorsFile, tensor: Tensor): RowTable {
  const [rows = 0, stride = 0] = tensor.shape;
  const dimensions = stride - ROW_HEAD;
  if (rows < 1 || rows > MAX_ROWS || dimensions < 1 || dimensions > MAX_DIMENSIONS) {
    throw new Fault(`its table is ${rows} × ${dimensions}`);
  }
  const bytes = new Uint8Array(stride);
  const values = new Int8Array(bytes.buffer, ROW_HEAD);
  const view = new DataView(bytes.buffer);
  return {
    rows,
    dimensions,
    addRow(row, weight, sum) {
      file.readInto(bytes, tensor, row * stride);
      if (crc32(bytes.subarray(4)) !== view.getUint32(0, true))
        throw new Fault(`row ${row} of its table is damaged`);
      const factor = weight * view.getFloat32(4, true);
      for (let i = 0; i < dimensions; i++) sum[i] = (sum[i] ?? 0) + factor * (values[i] ?? 0);
    },
  };
}
