import { added, apply, normalized, rectified, type Linear } from '../plain-steps.ts';
import { unitTanh, type Body, type BodySize } from './body.ts';
import { BRANCH_LENGTH, BRANCHES, ROW_LENGTH } from './packed-file.ts';
import type { BodyWeights } from './packed-file.ts';

const PROJECTED = BRANCHES.length * BRANCH_LENGTH;
const JOINT = ROW_LENGTH + PROJECTED;

/** The body in plain JavaScript: where there is no WebAssembly SIMD, and what the kernel is held to in tests. */
export function plainBody(weights: BodyWeights, { maxRows, slots }: BodySize): Body {
  const rows = Array.from<Float32Array | undefined>({ length: slots });
  const projections = Array.from<Float32Array | undefined>({ length: slots });
  const { epsilon } = weights;

  return {
    kind: 'plain',
    load(slot, row) {
      rows[slot] = Float32Array.from(row);
      const projected = apply(weights.projection, row);
      projections[slot] = normalized(projected, weights.projectionNorm, epsilon);
    },
    encode(slots) {
      if (slots.length === 0 || slots.length > maxRows)
        throw new RangeError(`a text has 1 to ${maxRows} rows`);
      const branches = BRANCHES.map(({ width, left }, branch) => {
        const start = branch * BRANCH_LENGTH;
        const inputs = slots.map((slot) => projections[slot]!.subarray(start, start + BRANCH_LENGTH));
        const [first, second] = weights.convolutions[branch]!;
        return convolve(second, width, left, convolve(first, width, left, inputs));
      });
      const sum = new Float32Array(JOINT);
      slots.forEach((slot, i) => {
        const joint = new Float32Array(JOINT);
        joint.set(rows[slot]!);
        branches.forEach((branch, b) => joint.set(branch[i]!, ROW_LENGTH + b * BRANCH_LENGTH));
        const unit = normalized(joint, weights.jointNorm, epsilon);
        for (let at = 0; at < JOINT; at++) sum[at]! += unit[at]!;
      });
      const share = 1 / Math.sqrt(slots.length);
      const biases = weights.pool.biases.map((bias) => bias * slots.length * share);
      const pooled = apply(
        { ...weights.pool, biases },
        sum.map((number) => number * share),
      );
      const y0 = rectified(apply(weights.dense0, pooled));
      const y1 = rectified(added(apply(weights.skip1, pooled), apply(weights.dense1, y0)));
      const y2 = rectified(apply(weights.dense2, y1));
      return unitTanh(added(apply(weights.skip3, y1), apply(weights.dense3, y2)), epsilon);
    },
  };
}

/** For every input: its window through the step, rectified, plus the input. */
function convolve(
  step: Linear,
  width: number,
  left: number,
  inputs: readonly Float32Array[],
): readonly Float32Array[] {
  const window = new Float32Array(width * BRANCH_LENGTH);
  return inputs.map((input, at) => {
    for (let i = 0; i < width; i++) {
      const seen = inputs[at + i - left];
      if (seen === undefined) window.fill(0, i * BRANCH_LENGTH, (i + 1) * BRANCH_LENGTH);
      else window.set(seen, i * BRANCH_LENGTH);
    }
    return added(rectified(apply(step, window)), input);
  });
}
