import { Layout, openKernel, type KernelMemory } from '../kernel-memory.ts';
import type { Linear } from '../plain-steps.ts';
import type { Norm } from '../weights.ts';
import { unitTanh, type Body, type BodySize } from './body.ts';
import { PACKED_KERNEL } from './kernel-bytes.ts';
import { BRANCH_LENGTH, BRANCHES, ROW_LENGTH } from './packed-file.ts';
import type { BodyWeights } from './packed-file.ts';

/** The body in WebAssembly SIMD, 8-bit weights times 16-bit inputs; undefined where that cannot be had. */
export function simdBody(weights: BodyWeights, size: BodySize): Body | undefined {
  const kernel = openKernel(PACKED_KERNEL) as Kernel | undefined;
  return kernel === undefined ? undefined : bodyOf(kernel, weights, size);
}

/** What kernels/packed.ts exports; every address is in bytes. */
interface Kernel extends KernelMemory {
  quantize(numbers: number, count: number, limit: number, out: number): number;
  multiply(
    weights: number,
    scales: number,
    biases: number,
    outputs: number,
    length: number,
    input: number,
    inputStep: number,
    scale: number,
    positions: number,
    out: number,
    outputStep: number,
    rectify: number,
    residual: number,
    residualStep: number,
  ): void;
  normalize(numbers: number, rows: number, count: number, gain: number, bias: number, epsilon: number): void;
  normalizedSum(
    numbers: number,
    rows: number,
    count: number,
    gain: number,
    bias: number,
    epsilon: number,
    out: number,
  ): void;
}

const PROJECTED = BRANCHES.length * BRANCH_LENGTH;
const JOINT = ROW_LENGTH + PROJECTED;
const SLOT_BYTES = 4 * (ROW_LENGTH + PROJECTED);
/** Rows of zeros around a branch's inputs: what a window sees beyond the text. */
const MARGIN = 2;

/** Where a linear step's parts lie in the kernel's memory. */
interface Placed {
  readonly outputs: number;
  readonly inputs: number;
  readonly weights: number;
  readonly scales: number;
  readonly biases: number;
  /** Largest 16-bit input with which no sum of products leaves 32 bits. */
  readonly limit: number;
}

function bodyOf(kernel: Kernel, weights: BodyWeights, { maxRows, slots }: BodySize): Body {
  // The kernel takes positions four at a time and works on what lies beyond the last.
  const rows = Math.ceil(maxRows / 4) * 4;
  const memory = new Layout();
  const steps = placeAll(memory, weights);
  const slotsAt = memory.take(slots * SLOT_BYTES);
  const halvesAt = memory.take(2 * Math.max((rows + 2 * MARGIN + 4) * BRANCH_LENGTH, JOINT));
  const branchAt = memory.take(4 * rows * BRANCH_LENGTH);
  const hiddenAt = memory.take(4 * rows * BRANCH_LENGTH);
  const jointAt = memory.take(4 * rows * JOINT);
  const sumAt = memory.take(4 * JOINT);
  const lines = Array.from({ length: 5 }, () => memory.take(4 * Math.max(ROW_LENGTH, steps.dense0.outputs)));
  const [pooled, y0, y1, y2, z] = lines as [number, number, number, number, number];
  memory.settle(kernel);
  const bytes = new Uint8Array(kernel.memory.buffer);
  const numbers = new Float32Array(kernel.memory.buffer);

  /** One input through one linear step. */
  function apply(step: Placed, input: number, out: number, rectify: boolean, biases = step.biases): void {
    const scale = kernel.quantize(input, step.inputs, step.limit, halvesAt);
    const { outputs, inputs } = step;
    const bias = biases;
    const isRectified = rectify ? 1 : 0;
    kernel.multiply(
      step.weights,
      step.scales,
      bias,
      outputs,
      inputs,
      halvesAt,
      0,
      scale,
      1,
      out,
      0,
      isRectified,
      0,
      0,
    );
  }

  /** A convolution of `count` rows at `input`, rectified and added to them, into `out`. */
  function convolve(
    step: Placed,
    left: number,
    count: number,
    input: number,
    out: number,
    outStep: number,
  ): void {
    const rowBytes = 2 * BRANCH_LENGTH;
    const first = halvesAt + MARGIN * rowBytes;
    const scale = kernel.quantize(input, count * BRANCH_LENGTH, step.limit, first);
    bytes.fill(0, halvesAt, first);
    bytes.fill(0, first + count * rowBytes, first + (count + MARGIN) * rowBytes);
    const { outputs, inputs } = step;
    const from = first - left * rowBytes;
    const residualStep = 4 * BRANCH_LENGTH;
    kernel.multiply(
      step.weights,
      step.scales,
      step.biases,
      outputs,
      inputs,
      from,
      rowBytes,
      scale,
      count,
      out,
      outStep,
      1,
      input,
      residualStep,
    );
  }

  return {
    kind: 'simd',
    load(slot, row) {
      const at = slotsAt + slot * SLOT_BYTES;
      numbers.set(row, at / 4);
      const projected = at + 4 * ROW_LENGTH;
      apply(steps.projection, at, projected, false);
      const { gain, bias } = steps.projectionNorm;
      kernel.normalize(projected, 1, PROJECTED, gain, bias, weights.epsilon);
    },
    encode(slots) {
      const count = slots.length;
      if (count === 0 || count > maxRows) throw new RangeError(`a text has 1 to ${maxRows} rows`);
      slots.forEach((slot, i) => {
        const at = slotsAt + slot * SLOT_BYTES;
        bytes.copyWithin(jointAt + i * 4 * JOINT, at, at + 4 * ROW_LENGTH);
      });
      BRANCHES.forEach(({ left }, branch) => {
        slots.forEach((slot, i) => {
          const at = slotsAt + slot * SLOT_BYTES + 4 * (ROW_LENGTH + branch * BRANCH_LENGTH);
          bytes.copyWithin(branchAt + i * 4 * BRANCH_LENGTH, at, at + 4 * BRANCH_LENGTH);
        });
        const [first, second] = steps.convolutions[branch]!;
        convolve(first, left, count, branchAt, hiddenAt, 4 * BRANCH_LENGTH);
        const out = jointAt + 4 * (ROW_LENGTH + branch * BRANCH_LENGTH);
        convolve(second, left, count, hiddenAt, out, 4 * JOINT);
      });
      const { gain, bias } = steps.jointNorm;
      kernel.normalizedSum(jointAt, count, JOINT, gain, bias, weights.epsilon, sumAt);
      // The bias counts once for every row, and both are divided by the root of their number.
      const share = 1 / Math.sqrt(count);
      for (let i = 0; i < JOINT; i++) numbers[sumAt / 4 + i]! *= share;
      for (let i = 0; i < ROW_LENGTH; i++) {
        numbers[pooled / 4 + i] = weights.pool.biases[i]! * count * share;
      }
      apply(steps.pool, sumAt, z, false, pooled);
      apply(steps.dense0, z, y0, true);
      apply(steps.skip1, z, y1, false);
      apply(steps.dense1, y0, y1, true, y1);
      apply(steps.dense2, y1, y2, true);
      apply(steps.skip3, y1, z, false);
      apply(steps.dense3, y2, z, false, z);
      return unitTanh(numbers.subarray(z / 4, z / 4 + ROW_LENGTH), weights.epsilon);
    },
  };
}

function placeAll(memory: Layout, weights: BodyWeights) {
  const linear = (step: Linear): Placed => ({
    outputs: step.outputs,
    inputs: step.inputs,
    weights: memory.put(step.weights),
    scales: memory.put(step.scales),
    biases: memory.put(step.biases),
    limit: Math.min(32_767, Math.floor(2 ** 31 / (128 * step.inputs)) - 1),
  });
  const norm = ({ gain, bias }: Norm): { readonly gain: number; readonly bias: number } => ({
    gain: memory.put(gain),
    bias: memory.put(bias),
  });
  return {
    projection: linear(weights.projection),
    projectionNorm: norm(weights.projectionNorm),
    convolutions: weights.convolutions.map(([first, second]) => [linear(first), linear(second)] as const),
    jointNorm: norm(weights.jointNorm),
    pool: linear(weights.pool),
    dense0: linear(weights.dense0),
    skip1: linear(weights.skip1),
    dense1: linear(weights.dense1),
    dense2: linear(weights.dense2),
    skip3: linear(weights.skip3),
    dense3: linear(weights.dense3),
  };
}
