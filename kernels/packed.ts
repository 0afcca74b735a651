// AssemblyScript, made into src/model/packed/kernel-bytes.ts. What lies where in memory is decided by
// src/model/packed/body.ts; all addresses are multiples of 16, all counts multiples of 16 where not said otherwise.
import { fold, halves, inverseDeviation, meanOf } from './parts/rows';
export { normalize } from './parts/rows';

/**
 * Writes `count` numbers as 16-bit integers of at most `limit`, and gives what one step of them is worth: 0 when all
 * numbers are.
 */
export function quantize(numbers: usize, count: i32, limit: f32, out: usize): f32 {
  let most = f32x4.splat(0);
  const end = numbers + (<usize>count << 2);
  for (let at = numbers; at < end; at += 16) most = f32x4.pmax(most, f32x4.abs(v128.load(at)));
  const largest = max(
    max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
    max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
  );
  const factor = f32x4.splat(largest > 0 ? limit / largest : 0);
  for (let at = numbers; at < end; at += 32, out += 16) {
    const low = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(at), factor)));
    const high = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(at, 16), factor)));
    v128.store(out, i16x8.narrow_i32x4_s(low, high));
  }
  return largest / limit;
}

/**
 * For each of `positions` inputs of `length` 16-bit numbers, `inputStep` bytes apart (they may overlap), and each of
 * `outputs` (a multiple of 4) rows of 8-bit weights: the product of both, times `scale` and the row's own, plus its
 * bias. Then, when `rectify` is 1, what is negative becomes 0. Then, when `residual` is not 0, the number of the same
 * place there is added. Outputs and residuals lie `outputStep` and `residualStep` bytes apart.
 *
 * More than one position is rounded up to a multiple of 4, and what lies beyond is read and written too: two rows of
 * weights meet four positions at a time, which keeps all sums in registers (the sizes tried: docs/benchmarks.md).
 */
export function multiply(
  weights: usize,
  scales: usize,
  biases: usize,
  outputs: i32,
  length: i32,
  input: usize,
  inputStep: i32,
  scale: f32,
  positions: i32,
  out: usize,
  outputStep: i32,
  rectify: i32,
  residual: usize,
  residualStep: i32,
): void {
  const row = <usize>length;
  const step = <usize>outputStep;
  const back = residual === 0 ? 0 : <usize>residualStep;
  for (let output = 0; output < outputs; output += 4) {
    const w0 = weights + <usize>output * row;
    const w1 = w0 + row;
    const w2 = w1 + row;
    const w3 = w2 + row;
    const place = <usize>output << 2;
    const factor = f32x4.mul(v128.load(scales + place), f32x4.splat(scale));
    const bias = v128.load(biases + place);
    if (positions === 1) {
      let a0 = i32x4.splat(0), a1 = a0, a2 = a0, a3 = a0;
      for (let at: usize = 0; at < row; at += 16) {
        const low = v128.load(input + (at << 1));
        const high = v128.load(input + (at << 1), 16);
        a0 = i32x4.add(a0, dot(v128.load(w0 + at), low, high));
        a1 = i32x4.add(a1, dot(v128.load(w1 + at), low, high));
        a2 = i32x4.add(a2, dot(v128.load(w2 + at), low, high));
        a3 = i32x4.add(a3, dot(v128.load(w3 + at), low, high));
      }
      finish(out + place, fold(halves(a0, a1), halves(a2, a3)), factor, bias, rectify, residual === 0 ? 0 : residual + place);
      continue;
    }
    for (let position = 0; position < positions; position += 4) {
      const x0 = input + <usize>position * <usize>inputStep;
      const x1 = x0 + <usize>inputStep;
      const x2 = x1 + <usize>inputStep;
      const x3 = x2 + <usize>inputStep;
      let p0 = i32x4.splat(0), q0 = p0, r0 = p0, s0 = p0;
      let P0 = p0, Q0 = p0, R0 = p0, S0 = p0;
      for (let at: usize = 0; at < row; at += 16) {
        const one = v128.load(w0 + at);
        const two = v128.load(w1 + at);
        const oneLow = i16x8.extend_low_i8x16_s(one);
        const oneHigh = i16x8.extend_high_i8x16_s(one);
        const twoLow = i16x8.extend_low_i8x16_s(two);
        const twoHigh = i16x8.extend_high_i8x16_s(two);
        const pLow = v128.load(x0 + (at << 1));
        const pHigh = v128.load(x0 + (at << 1), 16);
        p0 = i32x4.add(p0, i32x4.add(i32x4.dot_i16x8_s(oneLow, pLow), i32x4.dot_i16x8_s(oneHigh, pHigh)));
        P0 = i32x4.add(P0, i32x4.add(i32x4.dot_i16x8_s(twoLow, pLow), i32x4.dot_i16x8_s(twoHigh, pHigh)));
        const qLow = v128.load(x1 + (at << 1));
        const qHigh = v128.load(x1 + (at << 1), 16);
        q0 = i32x4.add(q0, i32x4.add(i32x4.dot_i16x8_s(oneLow, qLow), i32x4.dot_i16x8_s(oneHigh, qHigh)));
        Q0 = i32x4.add(Q0, i32x4.add(i32x4.dot_i16x8_s(twoLow, qLow), i32x4.dot_i16x8_s(twoHigh, qHigh)));
        const rLow = v128.load(x2 + (at << 1));
        const rHigh = v128.load(x2 + (at << 1), 16);
        r0 = i32x4.add(r0, i32x4.add(i32x4.dot_i16x8_s(oneLow, rLow), i32x4.dot_i16x8_s(oneHigh, rHigh)));
        R0 = i32x4.add(R0, i32x4.add(i32x4.dot_i16x8_s(twoLow, rLow), i32x4.dot_i16x8_s(twoHigh, rHigh)));
        const sLow = v128.load(x3 + (at << 1));
        const sHigh = v128.load(x3 + (at << 1), 16);
        s0 = i32x4.add(s0, i32x4.add(i32x4.dot_i16x8_s(oneLow, sLow), i32x4.dot_i16x8_s(oneHigh, sHigh)));
        S0 = i32x4.add(S0, i32x4.add(i32x4.dot_i16x8_s(twoLow, sLow), i32x4.dot_i16x8_s(twoHigh, sHigh)));
      }
      const first0 = halves(p0, P0);
      const first1 = halves(q0, Q0);
      const first2 = halves(r0, R0);
      const first3 = halves(s0, S0);
      let p1 = i32x4.splat(0), q1 = p1, r1 = p1, s1 = p1;
      let P1 = p1, Q1 = p1, R1 = p1, S1 = p1;
      for (let at: usize = 0; at < row; at += 16) {
        const one = v128.load(w2 + at);
        const two = v128.load(w3 + at);
        const oneLow = i16x8.extend_low_i8x16_s(one);
        const oneHigh = i16x8.extend_high_i8x16_s(one);
        const twoLow = i16x8.extend_low_i8x16_s(two);
        const twoHigh = i16x8.extend_high_i8x16_s(two);
        const pLow = v128.load(x0 + (at << 1));
        const pHigh = v128.load(x0 + (at << 1), 16);
        p1 = i32x4.add(p1, i32x4.add(i32x4.dot_i16x8_s(oneLow, pLow), i32x4.dot_i16x8_s(oneHigh, pHigh)));
        P1 = i32x4.add(P1, i32x4.add(i32x4.dot_i16x8_s(twoLow, pLow), i32x4.dot_i16x8_s(twoHigh, pHigh)));
        const qLow = v128.load(x1 + (at << 1));
        const qHigh = v128.load(x1 + (at << 1), 16);
        q1 = i32x4.add(q1, i32x4.add(i32x4.dot_i16x8_s(oneLow, qLow), i32x4.dot_i16x8_s(oneHigh, qHigh)));
        Q1 = i32x4.add(Q1, i32x4.add(i32x4.dot_i16x8_s(twoLow, qLow), i32x4.dot_i16x8_s(twoHigh, qHigh)));
        const rLow = v128.load(x2 + (at << 1));
        const rHigh = v128.load(x2 + (at << 1), 16);
        r1 = i32x4.add(r1, i32x4.add(i32x4.dot_i16x8_s(oneLow, rLow), i32x4.dot_i16x8_s(oneHigh, rHigh)));
        R1 = i32x4.add(R1, i32x4.add(i32x4.dot_i16x8_s(twoLow, rLow), i32x4.dot_i16x8_s(twoHigh, rHigh)));
        const sLow = v128.load(x3 + (at << 1));
        const sHigh = v128.load(x3 + (at << 1), 16);
        s1 = i32x4.add(s1, i32x4.add(i32x4.dot_i16x8_s(oneLow, sLow), i32x4.dot_i16x8_s(oneHigh, sHigh)));
        S1 = i32x4.add(S1, i32x4.add(i32x4.dot_i16x8_s(twoLow, sLow), i32x4.dot_i16x8_s(twoHigh, sHigh)));
      }
      let y = out + <usize>position * step + place;
      let r = residual === 0 ? 0 : residual + <usize>position * back + place;
      finish(y, fold(first0, halves(p1, P1)), factor, bias, rectify, r);
      y += step;
      r += back;
      finish(y, fold(first1, halves(q1, Q1)), factor, bias, rectify, r);
      y += step;
      r += back;
      finish(y, fold(first2, halves(r1, R1)), factor, bias, rectify, r);
      y += step;
      r += back;
      finish(y, fold(first3, halves(s1, S1)), factor, bias, rectify, r);
    }
  }
}

@inline function dot(weights: v128, low: v128, high: v128): v128 {
  return i32x4.add(
    i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(weights), low),
    i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(weights), high),
  );
}

@inline function finish(y: usize, sum: v128, factor: v128, bias: v128, rectify: i32, residual: usize): void {
  let value = f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(sum), factor), bias);
  if (rectify === 1) value = f32x4.pmax(f32x4.splat(0), value);
  if (residual !== 0) value = f32x4.add(value, v128.load(residual));
  v128.store(y, value);
}

/** The sum, over all rows, of the same without changing them; gain and bias are applied once, to the sum. */
export function normalizedSum(
  numbers: usize,
  rows: i32,
  count: i32,
  gain: usize,
  bias: usize,
  epsilon: f32,
  out: usize,
): void {
  const bytes = <usize>count << 2;
  memory.fill(out, 0, bytes);
  for (let row = 0; row < rows; row++, numbers += bytes) {
    const mean = f32x4.splat(meanOf(numbers, bytes, count));
    const factor = f32x4.splat(inverseDeviation(numbers, bytes, count, mean, epsilon));
    for (let at: usize = 0; at < bytes; at += 16) {
      const unit = f32x4.mul(f32x4.sub(v128.load(numbers + at), mean), factor);
      v128.store(out + at, f32x4.add(v128.load(out + at), unit));
    }
  }
  const times = f32x4.splat(<f32>rows);
  for (let at: usize = 0; at < bytes; at += 16) {
    const scaled = f32x4.mul(v128.load(out + at), v128.load(gain + at));
    v128.store(out + at, f32x4.add(scaled, f32x4.mul(times, v128.load(bias + at))));
  }
}
