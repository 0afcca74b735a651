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
  // Four sums, because each addition waits for the one before it; all lengths are multiples of 4.
  for (let output = 0, at = 0; output < outputs; output++) {
    let [a, b, c, d] = [0, 0, 0, 0];
    for (let i = 0; i < inputs; i += 4, at += 4) {
      a += weights[at]! * input[i]!;
      b += weights[at + 1]! * input[i + 1]!;
      c += weights[at + 2]! * input[i + 2]!;
      d += weights[at + 3]! * input[i + 3]!;
    }
    out[output] = (a + b + (c + d)) * scales[output]! + biases[output]!;
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
