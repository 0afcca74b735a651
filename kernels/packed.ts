// AssemblyScript, made into src/model/packed/kernel-bytes.ts. What lies where in memory is decided by
// src/model/packed/body.ts; all addresses are multiples of 16, all counts multiples of 16 where not said otherwise.

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
 * Four rows of weights meet three positions at a time: of the sizes tried the one that keeps most in registers.
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
  for (let output = 0; output < outputs; output += 4) {
    const w0 = weights + <usize>output * row;
    const w1 = w0 + row;
    const w2 = w1 + row;
    const w3 = w2 + row;
    const place = <usize>output << 2;
    const factor = f32x4.mul(v128.load(scales + place), f32x4.splat(scale));
    const bias = v128.load(biases + place);
    let position = 0;
    for (; position + 3 <= positions; position += 3) {
      const x0 = input + <usize>position * <usize>inputStep;
      const x1 = x0 + <usize>inputStep;
      const x2 = x1 + <usize>inputStep;
      let a00 = i32x4.splat(0), a01 = a00, a02 = a00, a03 = a00;
      let a10 = a00, a11 = a00, a12 = a00, a13 = a00;
      let a20 = a00, a21 = a00, a22 = a00, a23 = a00;
      for (let at: usize = 0; at < row; at += 8) {
        const v0 = v128.load(x0 + (at << 1));
        const v1 = v128.load(x1 + (at << 1));
        const v2 = v128.load(x2 + (at << 1));
        let w = v128.load_ext<i8>(w0 + at);
        a00 = i32x4.add(a00, i32x4.dot_i16x8_s(w, v0));
        a10 = i32x4.add(a10, i32x4.dot_i16x8_s(w, v1));
        a20 = i32x4.add(a20, i32x4.dot_i16x8_s(w, v2));
        w = v128.load_ext<i8>(w1 + at);
        a01 = i32x4.add(a01, i32x4.dot_i16x8_s(w, v0));
        a11 = i32x4.add(a11, i32x4.dot_i16x8_s(w, v1));
        a21 = i32x4.add(a21, i32x4.dot_i16x8_s(w, v2));
        w = v128.load_ext<i8>(w2 + at);
        a02 = i32x4.add(a02, i32x4.dot_i16x8_s(w, v0));
        a12 = i32x4.add(a12, i32x4.dot_i16x8_s(w, v1));
        a22 = i32x4.add(a22, i32x4.dot_i16x8_s(w, v2));
        w = v128.load_ext<i8>(w3 + at);
        a03 = i32x4.add(a03, i32x4.dot_i16x8_s(w, v0));
        a13 = i32x4.add(a13, i32x4.dot_i16x8_s(w, v1));
        a23 = i32x4.add(a23, i32x4.dot_i16x8_s(w, v2));
      }
      const y = out + <usize>position * <usize>outputStep + place;
      const r = residual === 0 ? 0 : residual + <usize>position * <usize>residualStep + place;
      finish(y, sums(a00, a01, a02, a03), factor, bias, rectify, r);
      finish(y + <usize>outputStep, sums(a10, a11, a12, a13), factor, bias, rectify, r === 0 ? 0 : r + <usize>residualStep);
      finish(y + 2 * <usize>outputStep, sums(a20, a21, a22, a23), factor, bias, rectify, r === 0 ? 0 : r + 2 * <usize>residualStep);
    }
    for (; position < positions; position++) {
      const x = input + <usize>position * <usize>inputStep;
      let a0 = i32x4.splat(0), a1 = a0, a2 = a0, a3 = a0;
      for (let at: usize = 0; at < row; at += 8) {
        const v = v128.load(x + (at << 1));
        a0 = i32x4.add(a0, i32x4.dot_i16x8_s(v128.load_ext<i8>(w0 + at), v));
        a1 = i32x4.add(a1, i32x4.dot_i16x8_s(v128.load_ext<i8>(w1 + at), v));
        a2 = i32x4.add(a2, i32x4.dot_i16x8_s(v128.load_ext<i8>(w2 + at), v));
        a3 = i32x4.add(a3, i32x4.dot_i16x8_s(v128.load_ext<i8>(w3 + at), v));
      }
      const y = out + <usize>position * <usize>outputStep + place;
      const r = residual === 0 ? 0 : residual + <usize>position * <usize>residualStep + place;
      finish(y, sums(a0, a1, a2, a3), factor, bias, rectify, r);
    }
  }
}

/** The four lanes of each, added up, in one vector. */
@inline function sums(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(
    v128.shuffle<i32>(a, b, 0, 2, 4, 6),
    v128.shuffle<i32>(a, b, 1, 3, 5, 7),
  );
  const cd = i32x4.add(
    v128.shuffle<i32>(c, d, 0, 2, 4, 6),
    v128.shuffle<i32>(c, d, 1, 3, 5, 7),
  );
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 2, 4, 6), v128.shuffle<i32>(ab, cd, 1, 3, 5, 7));
}

@inline function finish(y: usize, sum: v128, factor: v128, bias: v128, rectify: i32, residual: usize): void {
  let value = f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(sum), factor), bias);
  if (rectify === 1) value = f32x4.pmax(f32x4.splat(0), value);
  if (residual !== 0) value = f32x4.add(value, v128.load(residual));
  v128.store(y, value);
}

/**
 * Layer normalisation of `rows` rows of `count` numbers, in place: less their mean, over their deviation, times gain,
 * plus bias.
 */
export function normalize(numbers: usize, rows: i32, count: i32, gain: usize, bias: usize, epsilon: f32): void {
  const bytes = <usize>count << 2;
  for (let row = 0; row < rows; row++, numbers += bytes) {
    const mean = f32x4.splat(meanOf(numbers, bytes, count));
    const factor = f32x4.splat(inverseDeviation(numbers, bytes, count, mean, epsilon));
    for (let at: usize = 0; at < bytes; at += 16) {
      const unit = f32x4.mul(f32x4.sub(v128.load(numbers + at), mean), factor);
      v128.store(numbers + at, f32x4.add(f32x4.mul(unit, v128.load(gain + at)), v128.load(bias + at)));
    }
  }
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

@inline function meanOf(numbers: usize, bytes: usize, count: i32): f32 {
  let sum = f32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16) sum = f32x4.add(sum, v128.load(numbers + at));
  return total(sum) / <f32>count;
}

@inline function inverseDeviation(numbers: usize, bytes: usize, count: i32, mean: v128, epsilon: f32): f32 {
  let squares = f32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16) {
    const difference = f32x4.sub(v128.load(numbers + at), mean);
    squares = f32x4.add(squares, f32x4.mul(difference, difference));
  }
  return 1 / sqrt<f32>(total(squares) / <f32>count + epsilon);
}

@inline function total(lanes: v128): f32 {
  return (
    f32x4.extract_lane(lanes, 0) +
    f32x4.extract_lane(lanes, 1) +
    (f32x4.extract_lane(lanes, 2) + f32x4.extract_lane(lanes, 3))
  );
}
