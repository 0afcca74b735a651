// AssemblyScript, made into src/model/english/kernel-bytes.ts: a transformer's steps. What lies where in memory is
// decided by src/model/english/simd-body.ts; all addresses are multiples of 16.
//
// Positions come in blocks of four, weights in pairs of rows, and both are woven, eight numbers of each in turn, so that
// the innermost loop walks along two addresses. That is what it gains over rows and positions that lie apart: 27 to 30
// instead of 26 to 28 G multiply-adds a second (docs/benchmarks.md).
import { fold, halves, total } from './parts/rows';
export { normalize } from './parts/rows';

/**
 * Added to a float of at most 2²² in size it leaves the nearest whole number in the lowest bits: a quicker way there
 * than those SIMD has instructions for, which take care of larger ones.
 */
const ROUNDS: f32 = 12582912;
const ROUNDS_BITS: i32 = 0x4b400000;

/** Weaves `outputs` rows (even) of `length` 8-bit weights (a multiple of 8) in pairs, from `source` to `target`. */
export function weave(source: usize, target: usize, outputs: i32, length: i32): void {
  const row = <usize>length;
  for (let output = 0; output < outputs; output += 2, source += 2 * row) {
    for (let at: usize = 0; at < row; at += 8, target += 16) {
      store<u64>(target, load<u64>(source + at));
      store<u64>(target, load<u64>(source + row + at), 8);
    }
  }
}

/**
 * Writes `positions` rows of `count` numbers (a multiple of 8) as woven 16-bit integers of at most `limit`, and what
 * one step of each row is worth to `steps`: 0 when all its numbers are. The last block is filled up with zeros.
 */
export function quantize(numbers: usize, positions: i32, count: i32, limit: f32, out: usize, steps: usize): void {
  const bytes = <usize>count << 2;
  const whole = (positions + 3) & ~3;
  for (let position = 0; position < whole; position++, numbers += bytes) {
    let target = out + <usize>(position >> 2) * (<usize>count << 3) + (<usize>(position & 3) << 4);
    const end = target + (<usize>count << 3);
    if (position >= positions) {
      for (; target < end; target += 64) v128.store(target, i32x4.splat(0));
      store<f32>(steps + (<usize>position << 2), 0);
      continue;
    }
    let most = f32x4.splat(0);
    for (let at = numbers; at < numbers + bytes; at += 16) most = f32x4.pmax(most, f32x4.abs(v128.load(at)));
    const largest = max(
      max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
      max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
    );
    const factor = f32x4.splat(largest > 0 ? limit / largest : 0);
    for (let at = numbers; target < end; target += 64, at += 32) {
      const low = f32x4.add(f32x4.mul(v128.load(at), factor), f32x4.splat(ROUNDS));
      const high = f32x4.add(f32x4.mul(v128.load(at, 16), factor), f32x4.splat(ROUNDS));
      const bits = i32x4.splat(ROUNDS_BITS);
      v128.store(target, i16x8.narrow_i32x4_s(i32x4.sub(low, bits), i32x4.sub(high, bits)));
    }
    store<f32>(steps + (<usize>position << 2), largest / limit);
  }
}

/**
 * For each of `positions` woven inputs of `length` 16-bit numbers and each of `outputs` (a multiple of 4) rows of woven
 * 8-bit weights: the product of both, times the row's scale and the input's step, plus the row's bias. Then, when
 * `rectify` is 1, what is negative becomes 0. Then, when `residual` is not 0, the number of the same place there is
 * added. Outputs of a position lie together, as residuals do.
 *
 * Positions are rounded up to a multiple of 4, and what lies beyond is read and written too, but for one or two that are
 * over: these are taken by themselves.
 */
export function multiply(
  weights: usize,
  scales: usize,
  biases: usize,
  outputs: i32,
  length: i32,
  input: usize,
  steps: usize,
  positions: i32,
  out: usize,
  rectify: i32,
  residual: usize,
): void {
  const pair = <usize>length << 1;
  const block = <usize>length << 3;
  const step = <usize>outputs << 2;
  const over = positions & 3;
  const whole = over > 2 ? positions + 1 : positions - over;
  for (let output = 0; output < outputs; output += 4) {
    const w0 = weights + <usize>output * <usize>length;
    const w1 = w0 + pair;
    const place = <usize>output << 2;
    const factor = v128.load(scales + place);
    const bias = v128.load(biases + place);
    let x = input;
    let y = out + place;
    let r = residual === 0 ? 0 : residual + place;
    let s = steps;
    for (let position = 0; position < whole; position += 4, x += block, s += 16) {
      let p = i32x4.splat(0), q = p, t = p, u = p;
      let P = p, Q = p, T = p, U = p;
      for (let at = w0, from = x; at < w1; at += 16, from += 64) {
        const one = v128.load8x8_s(at);
        const two = v128.load8x8_s(at, 8);
        let numbers = v128.load(from);
        p = i32x4.add(p, i32x4.dot_i16x8_s(one, numbers));
        P = i32x4.add(P, i32x4.dot_i16x8_s(two, numbers));
        numbers = v128.load(from, 16);
        q = i32x4.add(q, i32x4.dot_i16x8_s(one, numbers));
        Q = i32x4.add(Q, i32x4.dot_i16x8_s(two, numbers));
        numbers = v128.load(from, 32);
        t = i32x4.add(t, i32x4.dot_i16x8_s(one, numbers));
        T = i32x4.add(T, i32x4.dot_i16x8_s(two, numbers));
        numbers = v128.load(from, 48);
        u = i32x4.add(u, i32x4.dot_i16x8_s(one, numbers));
        U = i32x4.add(U, i32x4.dot_i16x8_s(two, numbers));
      }
      const first0 = halves(p, P);
      const first1 = halves(q, Q);
      const first2 = halves(t, T);
      const first3 = halves(u, U);
      p = i32x4.splat(0), q = p, t = p, u = p;
      P = p, Q = p, T = p, U = p;
      for (let at = w1, from = x; at < w1 + pair; at += 16, from += 64) {
        const one = v128.load8x8_s(at);
        const two = v128.load8x8_s(at, 8);
        let numbers = v128.load(from);
        p = i32x4.add(p, i32x4.dot_i16x8_s(one, numbers));
        P = i32x4.add(P, i32x4.dot_i16x8_s(two, numbers));
        numbers = v128.load(from, 16);
        q = i32x4.add(q, i32x4.dot_i16x8_s(one, numbers));
        Q = i32x4.add(Q, i32x4.dot_i16x8_s(two, numbers));
        numbers = v128.load(from, 32);
        t = i32x4.add(t, i32x4.dot_i16x8_s(one, numbers));
        T = i32x4.add(T, i32x4.dot_i16x8_s(two, numbers));
        numbers = v128.load(from, 48);
        u = i32x4.add(u, i32x4.dot_i16x8_s(one, numbers));
        U = i32x4.add(U, i32x4.dot_i16x8_s(two, numbers));
      }
      finish(y, fold(first0, halves(p, P)), factor, load<f32>(s), bias, rectify, r);
      y += step;
      if (r !== 0) r += step;
      finish(y, fold(first1, halves(q, Q)), factor, load<f32>(s, 4), bias, rectify, r);
      y += step;
      if (r !== 0) r += step;
      finish(y, fold(first2, halves(t, T)), factor, load<f32>(s, 8), bias, rectify, r);
      y += step;
      if (r !== 0) r += step;
      finish(y, fold(first3, halves(u, U)), factor, load<f32>(s, 12), bias, rectify, r);
      y += step;
      if (r !== 0) r += step;
    }
    if (over === 0 || over === 3) continue;
    let p = i32x4.splat(0), q = p, t = p, u = p;
    let P = p, Q = p, T = p, U = p;
    if (over === 1) {
      for (let at: usize = 0, from = x; at < pair; at += 16, from += 64) {
        const numbers = v128.load(from);
        p = i32x4.add(p, i32x4.dot_i16x8_s(v128.load8x8_s(w0 + at), numbers));
        q = i32x4.add(q, i32x4.dot_i16x8_s(v128.load8x8_s(w0 + at, 8), numbers));
        t = i32x4.add(t, i32x4.dot_i16x8_s(v128.load8x8_s(w1 + at), numbers));
        u = i32x4.add(u, i32x4.dot_i16x8_s(v128.load8x8_s(w1 + at, 8), numbers));
      }
    } else {
      for (let at: usize = 0, from = x; at < pair; at += 16, from += 64) {
        const numbers = v128.load(from);
        const others = v128.load(from, 16);
        let row = v128.load8x8_s(w0 + at);
        p = i32x4.add(p, i32x4.dot_i16x8_s(row, numbers));
        P = i32x4.add(P, i32x4.dot_i16x8_s(row, others));
        row = v128.load8x8_s(w0 + at, 8);
        q = i32x4.add(q, i32x4.dot_i16x8_s(row, numbers));
        Q = i32x4.add(Q, i32x4.dot_i16x8_s(row, others));
        row = v128.load8x8_s(w1 + at);
        t = i32x4.add(t, i32x4.dot_i16x8_s(row, numbers));
        T = i32x4.add(T, i32x4.dot_i16x8_s(row, others));
        row = v128.load8x8_s(w1 + at, 8);
        u = i32x4.add(u, i32x4.dot_i16x8_s(row, numbers));
        U = i32x4.add(U, i32x4.dot_i16x8_s(row, others));
      }
      const next = r === 0 ? 0 : r + step;
      finish(y + step, fold(halves(P, Q), halves(T, U)), factor, load<f32>(s, 4), bias, rectify, next);
    }
    finish(y, fold(halves(p, q), halves(t, u)), factor, load<f32>(s), bias, rectify, r);
  }
}

@inline function finish(y: usize, sum: v128, factor: v128, step: f32, bias: v128, rectify: i32, residual: usize): void {
  let value = f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(sum), f32x4.mul(factor, f32x4.splat(step))), bias);
  if (rectify === 1) value = f32x4.pmax(f32x4.splat(0), value);
  if (residual !== 0) value = f32x4.add(value, v128.load(residual));
  v128.store(y, value);
}

/** The exact GELU of `count` numbers (a multiple of 4), in place: each times the normal distribution's integral up to it. */
export function gelu(numbers: usize, count: i32): void {
  const end = numbers + (<usize>count << 2);
  const zero = f32x4.splat(0);
  const one = f32x4.splat(1);
  for (let at = numbers; at < end; at += 16) {
    const x = v128.load(at);
    const size = f32x4.abs(x);
    // Abramowitz and Stegun 7.1.26, of size / √2, halved: the tail beyond it to 1e-7.
    const t = f32x4.div(one, f32x4.add(one, f32x4.mul(f32x4.splat(0.2316418882), size)));
    let tail = f32x4.add(f32x4.mul(t, f32x4.splat(0.5307027145)), f32x4.splat(-0.7265760135));
    tail = f32x4.add(f32x4.mul(tail, t), f32x4.splat(0.7107068705));
    tail = f32x4.add(f32x4.mul(tail, t), f32x4.splat(-0.142248368));
    tail = f32x4.mul(f32x4.add(f32x4.mul(tail, t), f32x4.splat(0.127414796)), t);
    tail = f32x4.mul(tail, exponential(f32x4.mul(f32x4.mul(size, size), f32x4.splat(-0.5))));
    v128.store(at, f32x4.sub(f32x4.pmax(zero, x), f32x4.mul(size, tail)));
  }
}

/**
 * e to the power of numbers of at most 0, wrong by at most 3e-7 of itself. Of those below −60 it is 1e-26, which is
 * nothing here; smaller ones would make products too small for a float's full form, which take a hundred times as long.
 */
@inline function exponential(power: v128): v128 {
  const x = f32x4.pmax(f32x4.splat(-60), power);
  const rounded = f32x4.add(f32x4.mul(x, f32x4.splat(1.44269504)), f32x4.splat(ROUNDS));
  const whole = f32x4.sub(rounded, f32x4.splat(ROUNDS));
  // ln 2 in two parts, the first with few enough digits that its product is exact.
  let rest = f32x4.sub(x, f32x4.mul(whole, f32x4.splat(0.693359375)));
  rest = f32x4.add(rest, f32x4.mul(whole, f32x4.splat(0.000212194440)));
  let sum = f32x4.add(f32x4.mul(rest, f32x4.splat(1.0 / 720)), f32x4.splat(1.0 / 120));
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(1.0 / 24));
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(1.0 / 6));
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(0.5));
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(1));
  sum = f32x4.add(f32x4.mul(sum, rest), f32x4.splat(1));
  const exponent = i32x4.shl(i32x4.add(rounded, i32x4.splat(127)), 23);
  return f32x4.mul(sum, exponent);
}

/**
 * Attention of `positions` positions among themselves, in `heads` heads of 32 numbers. Each position has its questions,
 * keys and values, of all heads, one after another at `input`; its mix of values goes to `out`. Questions are taken to
 * be divided by the root of 32 already. `room` is for 65 numbers of each position, their count rounded up to 4.
 */
export function attend(input: usize, positions: i32, heads: i32, room: usize, out: usize): void {
  const width = <usize>heads << 7;
  const stride = 3 * width;
  const whole = (positions + 3) & ~3;
  // A head's keys and values lie together here: apart, they get into each other's way in the cache.
  const keys = room;
  const values = keys + (<usize>whole << 7);
  const shares = values + (<usize>whole << 7);
  const end = shares + (<usize>whole << 2);
  for (let head = 0; head < heads; head++) {
    const questions = input + (<usize>head << 7);
    for (let position: usize = 0; position < <usize>positions; position++) {
      const from = questions + position * stride + width;
      const to = position << 7;
      for (let at: usize = 0; at < 128; at += 16) {
        v128.store(keys + to + at, v128.load(from + at));
        v128.store(values + to + at, v128.load(from + width + at));
      }
    }
    for (let position = 0; position < positions; position++) {
      const q = questions + <usize>position * stride;
      const q0 = v128.load(q);
      const q1 = v128.load(q, 16);
      const q2 = v128.load(q, 32);
      const q3 = v128.load(q, 48);
      const q4 = v128.load(q, 64);
      const q5 = v128.load(q, 80);
      const q6 = v128.load(q, 96);
      const q7 = v128.load(q, 112);
      let key = keys;
      for (let at = shares; at < end; at += 16, key += 512) {
        const a = product(key, q0, q1, q2, q3, q4, q5, q6, q7);
        const b = product(key + 128, q0, q1, q2, q3, q4, q5, q6, q7);
        const c = product(key + 256, q0, q1, q2, q3, q4, q5, q6, q7);
        const d = product(key + 384, q0, q1, q2, q3, q4, q5, q6, q7);
        v128.store(at, sums(sums(a, b), sums(c, d)));
      }
      for (let at = positions; at < whole; at++) store<f32>(shares + (<usize>at << 2), -1e30);
      const all = f32x4.splat(soften(shares, end));
      let v0 = f32x4.splat(0), v1 = v0, v2 = v0, v3 = v0, v4 = v0, v5 = v0, v6 = v0, v7 = v0;
      let value = values;
      for (let other: usize = 0; other < <usize>positions; other++, value += 128) {
        const share = v128.load32_splat(shares + (other << 2));
        v0 = f32x4.add(v0, f32x4.mul(share, v128.load(value)));
        v1 = f32x4.add(v1, f32x4.mul(share, v128.load(value, 16)));
        v2 = f32x4.add(v2, f32x4.mul(share, v128.load(value, 32)));
        v3 = f32x4.add(v3, f32x4.mul(share, v128.load(value, 48)));
        v4 = f32x4.add(v4, f32x4.mul(share, v128.load(value, 64)));
        v5 = f32x4.add(v5, f32x4.mul(share, v128.load(value, 80)));
        v6 = f32x4.add(v6, f32x4.mul(share, v128.load(value, 96)));
        v7 = f32x4.add(v7, f32x4.mul(share, v128.load(value, 112)));
      }
      const y = out + <usize>position * width + (<usize>head << 7);
      v128.store(y, f32x4.div(v0, all));
      v128.store(y, f32x4.div(v1, all), 16);
      v128.store(y, f32x4.div(v2, all), 32);
      v128.store(y, f32x4.div(v3, all), 48);
      v128.store(y, f32x4.div(v4, all), 64);
      v128.store(y, f32x4.div(v5, all), 80);
      v128.store(y, f32x4.div(v6, all), 96);
      v128.store(y, f32x4.div(v7, all), 112);
    }
  }
}

/** Four sums whose own sum is the product of 32 numbers at `key` with those given. */
@inline function product(
  key: usize,
  q0: v128,
  q1: v128,
  q2: v128,
  q3: v128,
  q4: v128,
  q5: v128,
  q6: v128,
  q7: v128,
): v128 {
  const a = f32x4.add(f32x4.mul(q0, v128.load(key)), f32x4.mul(q1, v128.load(key, 16)));
  const b = f32x4.add(f32x4.mul(q2, v128.load(key, 32)), f32x4.mul(q3, v128.load(key, 48)));
  const c = f32x4.add(f32x4.mul(q4, v128.load(key, 64)), f32x4.mul(q5, v128.load(key, 80)));
  const d = f32x4.add(f32x4.mul(q6, v128.load(key, 96)), f32x4.mul(q7, v128.load(key, 112)));
  return f32x4.add(f32x4.add(a, b), f32x4.add(c, d));
}

/** As `halves` and `fold`, of floats: neighbours' sums. */
@inline function sums(a: v128, b: v128): v128 {
  return f32x4.add(v128.shuffle<f32>(a, b, 0, 2, 4, 6), v128.shuffle<f32>(a, b, 1, 3, 5, 7));
}

/** Makes each number e to the power of it less the largest, and gives the sum of all. */
@inline function soften(from: usize, end: usize): f32 {
  let most = v128.load(from);
  for (let at = from + 16; at < end; at += 16) most = f32x4.pmax(most, v128.load(at));
  const largest = f32x4.splat(
    max(
      max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
      max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
    ),
  );
  let sum = f32x4.splat(0);
  for (let at = from; at < end; at += 16) {
    const power = exponential(f32x4.sub(v128.load(at), largest));
    v128.store(at, power);
    sum = f32x4.add(sum, power);
  }
  return total(sum);
}
