import type { Norm } from './weights.ts';

/** The steps of both encoders' bodies in plain JavaScript, for one row of numbers at a time. */

/** A linear step: `outputs` rows of `inputs` 8-bit weights, each row with a scale and a bias. */
export interface Linear {
  readonly outputs: number;
  readonly inputs: number;
  readonly weights: Int8Array;
  readonly scales: Float32Array;
  readonly biases: Float32Array;
}

export function apply(
  { outputs, inputs, weights, scales, biases }: Linear,
  input: Float32Array,
): Float32Array {
  const out = new Float32Array(outputs);
  for (let output = 0, at = 0; output < outputs; output++) {
    let sum = 0;
    for (let i = 0; i < inputs; i++, at++) sum += weights[at]! * input[i]!;
    out[output] = sum * scales[output]! + biases[output]!;
  }
  return out;
}

export function normalized(numbers: Float32Array, { gain, bias }: Norm, epsilon: number): Float32Array {
  const mean = numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const variance = numbers.reduce((a, b) => a + (b - mean) ** 2, 0) / numbers.length;
  const factor = 1 / Math.sqrt(variance + epsilon);
  return numbers.map((number, i) => (number - mean) * factor * gain[i]! + bias[i]!);
}

export function rectified(numbers: Float32Array): Float32Array {
  return numbers.map((number) => Math.max(0, number));
}

export function added(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((number, i) => number + b[i]!);
}
