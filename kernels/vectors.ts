// AssemblyScript, made into the bytes of src/search/vector-kernel.ts. The layout is that of src/search/vector-matrix.ts.

/**
 * For each of `count` rows: the products of its 8-bit numbers with the 16-bit question, summed and made a similarity
 * by both scales. A row is its scale (f32, in the first of 16 bytes) and `length` numbers, a multiple of 16; the sum
 * stays within 32 bits for a question of at most 8,191 a number and 2,048 numbers.
 */
export function similarities(
  rows: usize,
  stride: i32,
  numbers: usize,
  count: i32,
  question: usize,
  length: i32,
  questionScale: f32,
  out: usize,
): void {
  for (let i = 0; i < count; i++) {
    const row = rows + <usize>load<u32>(numbers + (<usize>i << 2)) * <usize>stride;
    const first = row + 16;
    let even = i32x4.splat(0);
    let odd = i32x4.splat(0);
    for (let at = 0; at < length; at += 16) {
      const eights = v128.load(first + <usize>at);
      const asked = question + (<usize>at << 1);
      even = i32x4.add(even, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(eights), v128.load(asked)));
      odd = i32x4.add(odd, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(eights), v128.load(asked, 16)));
    }
    const sums = i32x4.add(even, odd);
    const sum =
      i32x4.extract_lane(sums, 0) +
      i32x4.extract_lane(sums, 1) +
      i32x4.extract_lane(sums, 2) +
      i32x4.extract_lane(sums, 3);
    store<f32>(out + (<usize>i << 2), <f32>sum * load<f32>(row) * questionScale);
  }
}
