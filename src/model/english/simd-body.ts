import { Layout, openKernel, type KernelMemory } from '../kernel-memory.ts';
import type { Tensor } from '../safetensors.ts';
import type { Norm } from '../weights.ts';
import { missing, unit, type Body } from './body.ts';
import { BASE_WIDTH, HEADS, INNER, WIDTH } from './english-file.ts';
import type { EnglishFile, Step, Transformer } from './english-file.ts';
import { ENGLISH_KERNEL } from './kernel-bytes.ts';

/** The body in WebAssembly SIMD, 8-bit weights times 16-bit inputs; undefined where that cannot be had. */
export function simdBody(file: EnglishFile, maxRows: number): Body | undefined {
  const kernel = openKernel(ENGLISH_KERNEL) as Kernel | undefined;
  return kernel === undefined ? undefined : bodyOf(kernel, file, maxRows);
}

/** What kernels/english.ts exports; every address is in bytes. */
interface Kernel extends KernelMemory {
  weave(source: number, target: number, outputs: number, length: number): void;
  quantize(
    numbers: number,
    positions: number,
    count: number,
    limit: number,
    out: number,
    steps: number,
  ): void;
  multiply(
    weights: number,
    scales: number,
    biases: number,
    outputs: number,
    length: number,
    input: number,
    steps: number,
    positions: number,
    out: number,
    rectify: number,
    residual: number,
  ): void;
  gelu(numbers: number, count: number): void;
  attend(input: number, positions: number, heads: number, room: number, out: number): void;
  normalize(numbers: number, rows: number, count: number, gain: number, bias: number, epsilon: number): void;
}

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

interface PlacedNorm {
  readonly gain: number;
  readonly bias: number;
}

interface PlacedTransformer {
  readonly epsilon: number;
  readonly positions: Float32Array;
  readonly embeddingNorm: PlacedNorm;
  readonly layers: readonly {
    readonly qkv: Placed;
    readonly out: Placed;
    readonly attentionNorm: PlacedNorm;
    readonly up: Placed;
    readonly down: Placed;
    readonly outputNorm: PlacedNorm;
  }[];
}

function bodyOf(kernel: Kernel, file: EnglishFile, maxRows: number): Body {
  const memory = new Layout();
  const steps = new Steps(memory);
  const words = steps.transformer(file.transformer);
  const reachStep = file.reach === undefined ? undefined : steps.place(file.reach);
  const entry =
    file.entry === undefined
      ? undefined
      : {
          ...file.entry,
          linear: steps.place(file.entry.linear),
          hidden: steps.place(file.entry.hidden),
          out: steps.place(file.entry.out),
          transformer: steps.transformer(file.entry.transformer),
        };
  // The kernel takes positions four at a time and works on what lies beyond the last.
  const rows = Math.ceil(maxRows / 4) * 4;
  const xAt = memory.take(4 * rows * WIDTH);
  const yAt = memory.take(4 * rows * WIDTH);
  const mixedAt = memory.take(4 * rows * WIDTH);
  const qkvAt = memory.take(4 * rows * 3 * WIDTH);
  const wovenAt = memory.take(2 * rows * INNER);
  const stepsAt = memory.take(4 * rows);
  const roomAt = memory.take(4 * rows * (2 * (WIDTH / HEADS) + 1));
  // Weights come by here too, on their way to their place.
  const innerAt = memory.take(Math.max(4 * rows * INNER, steps.largest));
  memory.settle(kernel);
  const numbers = new Float32Array(kernel.memory.buffer);
  for (const [step, address] of steps.weights) {
    const bytes = step.outputs * step.inputs;
    file.readWeights(step, new Uint8Array(kernel.memory.buffer, innerAt, bytes));
    kernel.weave(innerAt, address, step.outputs, step.inputs);
  }

  /** So many rows of numbers through a linear step; `residual` is added when it is not 0. */
  function apply(step: Placed, count: number, input: number, out: number, residual = 0): void {
    kernel.quantize(input, count, step.inputs, step.limit, wovenAt, stepsAt);
    multiply(step, count, out, false, residual);
  }

  /** The same of what was woven before. */
  function multiply(step: Placed, count: number, out: number, rectify: boolean, residual: number): void {
    const { weights, scales, biases, outputs, inputs } = step;
    const one = rectify ? 1 : 0;
    kernel.multiply(weights, scales, biases, outputs, inputs, wovenAt, stepsAt, count, out, one, residual);
  }

  function checked(rows: Float32Array, width: number): number {
    const count = rows.length / width;
    if (!Number.isInteger(count) || count === 0 || count > maxRows) {
      throw new RangeError(`a text has 1 to ${maxRows} rows`);
    }
    return count;
  }

  function through(
    { epsilon, positions, embeddingNorm, layers }: PlacedTransformer,
    rows: Float32Array,
  ): Float32Array {
    const count = checked(rows, WIDTH);
    const normalize = (at: number, { gain, bias }: PlacedNorm): void =>
      kernel.normalize(at, count, WIDTH, gain, bias, epsilon);
    const first = xAt / 4;
    for (let i = 0; i < rows.length; i++) numbers[first + i] = rows[i]! + positions[i]!;
    normalize(xAt, embeddingNorm);
    for (const { qkv, out, attentionNorm, up, down, outputNorm } of layers) {
      apply(qkv, count, xAt, qkvAt);
      kernel.attend(qkvAt, count, HEADS, roomAt, mixedAt);
      apply(out, count, mixedAt, yAt, xAt);
      normalize(yAt, attentionNorm);
      apply(up, count, yAt, innerAt);
      kernel.gelu(innerAt, count * INNER);
      apply(down, count, innerAt, xAt, yAt);
      normalize(xAt, outputNorm);
    }
    const sum = new Float32Array(WIDTH);
    for (let row = 0; row < count; row++) {
      for (let i = 0; i < WIDTH; i++) sum[i]! += numbers[first + row * WIDTH + i]!;
    }
    return unit(sum);
  }

  return {
    kind: 'simd',
    encode(rows, from) {
      if (from === 'words') return through(words, rows);
      if (entry === undefined) throw missing('entry');
      return through(entry.transformer, rows);
    },
    enter(rows) {
      if (entry === undefined) throw missing('entry');
      const count = checked(rows, BASE_WIDTH);
      const { mean, deviation, linear, hidden, out } = entry;
      const first = innerAt / 4;
      for (let i = 0; i < rows.length; i++) {
        numbers[first + i] = (rows[i]! - mean[i % BASE_WIDTH]!) / deviation;
      }
      apply(linear, count, innerAt, yAt);
      multiply(hidden, count, qkvAt, true, 0);
      apply(out, count, qkvAt, xAt, yAt);
      return numbers.slice(xAt / 4, xAt / 4 + count * WIDTH);
    },
    reach(vector) {
      if (reachStep === undefined) throw missing('reach');
      numbers.set(vector, innerAt / 4);
      apply(reachStep, 1, innerAt, xAt);
      return unit(numbers.slice(xAt / 4, xAt / 4 + WIDTH));
    },
  };
}

/** Gives steps and norms their places; weights that several steps share have one. */
class Steps {
  /** One step of each weights, and where they go. */
  readonly weights: (readonly [step: Step, address: number])[] = [];
  /** Bytes of the largest weights. */
  largest = 0;
  readonly #memory: Layout;
  readonly #addresses = new Map<Tensor, number>();

  constructor(memory: Layout) {
    this.#memory = memory;
  }

  place(step: Step): Placed {
    const { outputs, inputs, scales, biases } = step;
    return {
      outputs,
      inputs,
      weights: this.#addressOf(step),
      scales: this.#memory.put(scales),
      biases: this.#memory.put(biases),
      limit: Math.min(32_767, Math.floor(2 ** 31 / (128 * inputs)) - 1),
    };
  }

  transformer({ epsilon, positions, embeddingNorm, layers }: Transformer): PlacedTransformer {
    return {
      epsilon,
      positions,
      embeddingNorm: this.#norm(embeddingNorm),
      layers: layers.map(({ qkv, out, attentionNorm, up, down, outputNorm }) => ({
        qkv: this.place(qkv),
        out: this.place(out),
        attentionNorm: this.#norm(attentionNorm),
        up: this.place(up),
        down: this.place(down),
        outputNorm: this.#norm(outputNorm),
      })),
    };
  }

  #norm({ gain, bias }: Norm): PlacedNorm {
    return { gain: this.#memory.put(gain), bias: this.#memory.put(bias) };
  }

  #addressOf(step: Step): number {
    const known = this.#addresses.get(step.weights);
    if (known !== undefined) return known;
    const bytes = step.outputs * step.inputs;
    const address = this.#memory.take(bytes);
    this.#addresses.set(step.weights, address);
    this.weights.push([step, address]);
    this.largest = Math.max(this.largest, bytes);
    return address;
  }
}
