import { added, apply, normalized, rectified, type Linear } from '../plain-steps.ts';
import type { Tensor } from '../safetensors.ts';
import { missing, unit, type Body } from './body.ts';
import { BASE_WIDTH, HEADS, WIDTH, type EnglishFile, type Step, type Transformer } from './english-file.ts';

/** The body in plain JavaScript: where there is no WebAssembly SIMD, and what the kernel is held to in tests. */
export function plainBody(file: EnglishFile, maxRows: number): Body {
  const read = new Map<Tensor, Int8Array>();
  const linear = (step: Step): Linear => {
    let weights = read.get(step.weights);
    if (weights === undefined) {
      weights = new Int8Array(step.outputs * step.inputs);
      file.readWeights(step, new Uint8Array(weights.buffer));
      read.set(step.weights, weights);
    }
    return { ...step, weights };
  };
  const words = layersOf(file.transformer, linear);
  const reach = file.reach === undefined ? undefined : linear(file.reach);
  const entry =
    file.entry === undefined
      ? undefined
      : {
          ...file.entry,
          linear: linear(file.entry.linear),
          hidden: linear(file.entry.hidden),
          out: linear(file.entry.out),
          layers: layersOf(file.entry.transformer, linear),
        };

  return {
    kind: 'plain',
    encode(rows, from) {
      if (rows.length === 0 || rows.length > maxRows * WIDTH) {
        throw new RangeError(`a text has 1 to ${maxRows} rows`);
      }
      if (from === 'words') return throughLayers(file.transformer, words, rows);
      if (entry === undefined) throw missing('entry');
      return throughLayers(entry.transformer, entry.layers, rows);
    },
    enter(rows) {
      if (entry === undefined) throw missing('entry');
      const { mean, deviation, linear, hidden, out } = entry;
      const entered = parts(rows, BASE_WIDTH).map((row) => {
        const input = row.map((number, i) => (number - mean[i]!) / deviation);
        return added(apply(linear, input), apply(out, rectified(apply(hidden, input))));
      });
      return joined(entered);
    },
    reach(vector) {
      if (reach === undefined) throw missing('reach');
      return unit(apply(reach, vector));
    },
  };
}

type Layers = readonly {
  readonly qkv: Linear;
  readonly out: Linear;
  readonly up: Linear;
  readonly down: Linear;
}[];

function layersOf({ layers }: Transformer, linear: (step: Step) => Linear): Layers {
  return layers.map(({ qkv, out, up, down }) => ({
    qkv: linear(qkv),
    out: linear(out),
    up: linear(up),
    down: linear(down),
  }));
}

function throughLayers(
  { epsilon, positions, embeddingNorm, layers }: Transformer,
  steps: Layers,
  rows: Float32Array,
): Float32Array {
  let xs = parts(rows, WIDTH).map((row, i) => {
    const at = positions.subarray(i * WIDTH, (i + 1) * WIDTH);
    return normalized(added(row, at), embeddingNorm, epsilon);
  });
  layers.forEach(({ attentionNorm, outputNorm }, i) => {
    const { qkv, out, up, down } = steps[i]!;
    const mixed = attention(xs.map((x) => apply(qkv, x)));
    const ys = xs.map((x, at) => normalized(added(x, apply(out, mixed[at]!)), attentionNorm, epsilon));
    xs = ys.map((y) => normalized(added(y, apply(down, apply(up, y).map(gelu))), outputNorm, epsilon));
  });
  return unit(xs.reduce(added));
}

/** Each position's mix of all positions' values, head by head. */
function attention(qkv: readonly Float32Array[]): readonly Float32Array[] {
  const size = WIDTH / HEADS;
  return qkv.map((asking) => {
    const mixed = new Float32Array(WIDTH);
    for (let head = 0; head < WIDTH; head += size) {
      const products = qkv.map((other) => {
        let sum = 0;
        for (let i = head; i < head + size; i++) sum += asking[i]! * other[WIDTH + i]!;
        return sum;
      });
      const most = Math.max(...products);
      const shares = products.map((product) => Math.exp(product - most));
      const all = shares.reduce((a, b) => a + b, 0);
      qkv.forEach((other, at) => {
        const share = shares[at]! / all;
        for (let i = head; i < head + size; i++) mixed[i]! += share * other[2 * WIDTH + i]!;
      });
    }
    return mixed;
  });
}

/** The exact GELU, by Abramowitz and Stegun 7.1.26: off by at most 5e-7. */
export function gelu(x: number): number {
  const size = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * size);
  const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const beyond = sum * Math.exp(-size * size);
  return Math.max(0, x) - (Math.abs(x) * beyond) / 2;
}

function parts(numbers: Float32Array, width: number): readonly Float32Array[] {
  return Array.from({ length: numbers.length / width }, (_, i) =>
    numbers.subarray(i * width, (i + 1) * width),
  );
}

function joined(rows: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(rows.length * WIDTH);
  rows.forEach((row, i) => all.set(row, i * WIDTH));
  return all;
}
