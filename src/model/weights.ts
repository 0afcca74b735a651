import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { SafetensorsFile } from './safetensors.ts';

/**
 * What the files of this program's own models have in common: their parts are read and held to what is expected of
 * them, and what is wrong is said as the end of the sentence "The model file … cannot be used: …".
 */

/** Gain and bias of a layer normalisation. */
export interface Norm {
  readonly gain: Float32Array;
  readonly bias: Float32Array;
}

/** An error of reading a model's file as the `model_invalid` that names it; one that names it already stays. */
export function unusable(path: string, error: unknown): ProxyError {
  if (error instanceof ProxyError) return error;
  return new ProxyError('model_invalid', `The model file ${path} cannot be used: ${messageOf(error)}.`, {
    cause: error,
  });
}

/** A JSON object in the metadata of a file's header; `called` names it, and `kind` says what the file should be. */
export function readRecord(
  file: SafetensorsFile,
  called: string,
  kind: string,
): Readonly<Record<string, unknown>> {
  const text = file.metadata.get(called);
  if (text === undefined) throw new Error(`it is not ${kind}: its header has no metadata "${called}"`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('its metadata is not JSON');
  }
  return record(value, 'metadata');
}

/** A tensor of 32-bit floats, all of them numbers. */
export function floats(file: SafetensorsFile, name: string, ...shape: readonly number[]): Float32Array {
  const numbers = new Float32Array(file.read(file.tensor(name, 'F32', shape)).buffer);
  if (!numbers.every(Number.isFinite)) throw new Error(notNumbers(name));
  return numbers;
}

/** A tensor of 16-bit floats, all of them numbers, as they are stored. */
export function halfFloats(file: SafetensorsFile, name: string, ...shape: readonly number[]): Uint16Array {
  const halves = new Uint16Array(file.read(file.tensor(name, 'F16', shape)).buffer);
  if (halves.some((half) => (half & 0x7c00) === 0x7c00)) throw new Error(notNumbers(name));
  return halves;
}

/** The number a 16-bit float stands for. */
export function halfFloat(half: number): number {
  // Its exponent and fraction are a 32-bit float's too, but for what the exponent is counted from.
  bits[0] = (half & 0x7fff) << 13;
  const size = single[0]! * 2 ** 112;
  return half & 0x8000 ? -size : size;
}

const bits = new Uint32Array(1);
const single = new Float32Array(bits.buffer);

export function readNorm(file: SafetensorsFile, name: string, length: number): Norm {
  return {
    gain: floats(file, `${name}.gain`, length),
    bias: floats(file, `${name}.bias`, length),
  };
}

/** SHA-256 in hexadecimal, read in parts, so that the file is never in memory as a whole. */
export function digestOf(path: string): string {
  const hash = createHash('sha256');
  const part = new Uint8Array(1 << 18);
  const descriptor = openSync(path, 'r');
  try {
    for (let got = 1; got > 0;) {
      got = readSync(descriptor, part);
      hash.update(part.subarray(0, got));
    }
  } finally {
    closeSync(descriptor);
  }
  return hash.digest('hex');
}

export function record(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`its ${what} is not a JSON object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

export function finite(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new Error(`its ${what} is not a number`);
  return value;
}

export function whole(value: unknown, what: string, least: number, most: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw new Error(`its ${what} is not a whole number from ${least} to ${most}`);
  }
  return value;
}

/** Requires the format this version reads, 1. */
export function requireFormat(value: unknown): void {
  if (value !== 1) throw new Error(`its format is ${JSON.stringify(value)}; this version reads 1`);
}

function notNumbers(name: string): string {
  return `its tensor "${name}" has values that are not numbers`;
}
