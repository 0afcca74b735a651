// AssemblyScript, made into the bytes of src/search/vector-kernel.ts. The layout is that of src/search/vector-matrix.ts.

/**
 * For each of `count` rows: the products of its 8-bit numbers with the 16-bit question, summed and made a similarity
 * by both scales. A row is its scale (f32, in the first of 16 bytes) and `length` numbers, a multiple of 16; the sum
 * stays within 32 bits for a question of at most 8,191 a number and 2,048 numbers.
 *
 * Four rows at a time share what is read of the question; the last few are taken with the last one repeated.
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
  const last = count - 1;
  for (let i = 0; i < count; i += 4) {
    const at1 = min(i + 1, last);
    const at2 = min(i + 2, last);
    const at3 = min(i + 3, last);
    const row0 = rowOf(rows, stride, numbers, i);
    const row1 = rowOf(rows, stride, numbers, at1);
    const row2 = rowOf(rows, stride, numbers, at2);
    const row3 = rowOf(rows, stride, numbers, at3);
    let sums0 = i32x4.splat(0);
    let sums1 = sums0;
    let sums2 = sums0;
    let sums3 = sums0;
    for (let at: usize = 0; at < <usize>length; at += 16) {
      const low = v128.load(question + (at << 1));
      const high = v128.load(question + (at << 1), 16);
      sums0 = i32x4.add(sums0, products(row0 + at, low, high));
      sums1 = i32x4.add(sums1, products(row1 + at, low, high));
      sums2 = i32x4.add(sums2, products(row2 + at, low, high));
      sums3 = i32x4.add(sums3, products(row3 + at, low, high));
    }
    keep(out, at3, row3, sums3, questionScale);
    keep(out, at2, row2, sums2, questionScale);
    keep(out, at1, row1, sums1, questionScale);
    keep(out, i, row0, sums0, questionScale);
  }
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function rowOf(rows: usize, stride: i32, numbers: usize, i: i32): usize {
  return rows + <usize>load<u32>(numbers + (<usize>i << 2)) * <usize>stride;
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function products(row: usize, low: v128, high: v128): v128 {
  const eights = v128.load(row, 16);
  return i32x4.add(
    i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(eights), low),
    i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(eights), high),
  );
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function keep(out: usize, i: i32, row: usize, sums: v128, questionScale: f32): void {
  const sum =
    i32x4.extract_lane(sums, 0) +
    i32x4.extract_lane(sums, 1) +
    i32x4.extract_lane(sums, 2) +
    i32x4.extract_lane(sums, 3);
  store<f32>(out + (<usize>i << 2), <f32>sum * load<f32>(row) * questionScale);
}
