// What kernels share: sums across lanes, and layer normalisation. All addresses and counts of bytes are multiples of 16.

/** The lanes of both added up to two each: a, a, b, b. */
@inline export function halves(a: v128, b: v128): v128 {
  return i32x4.add(v128.shuffle<i32>(a, b, 0, 2, 4, 6), v128.shuffle<i32>(a, b, 1, 3, 5, 7));
}

/** Two such vectors added up to one lane each. */
@inline export function fold(ab: v128, cd: v128): v128 {
  return i32x4.add(v128.shuffle<i32>(ab, cd, 0, 2, 4, 6), v128.shuffle<i32>(ab, cd, 1, 3, 5, 7));
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

@inline export function meanOf(numbers: usize, bytes: usize, count: i32): f32 {
  let sum = f32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16) sum = f32x4.add(sum, v128.load(numbers + at));
  return total(sum) / <f32>count;
}

@inline export function inverseDeviation(numbers: usize, bytes: usize, count: i32, mean: v128, epsilon: f32): f32 {
  let squares = f32x4.splat(0);
  for (let at: usize = 0; at < bytes; at += 16) {
    const difference = f32x4.sub(v128.load(numbers + at), mean);
    squares = f32x4.add(squares, f32x4.mul(difference, difference));
  }
  return 1 / sqrt<f32>(total(squares) / <f32>count + epsilon);
}

@inline export function total(lanes: v128): f32 {
  return (
    f32x4.extract_lane(lanes, 0) +
    f32x4.extract_lane(lanes, 1) +
    (f32x4.extract_lane(lanes, 2) + f32x4.extract_lane(lanes, 3))
  );
}
