import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VectorMatrix } from './vector-matrix.ts';

const dimensions = fc.integer({ min: 1, max: 70 });

function vectors(count: number): fc.Arbitrary<readonly Float32Array[]> {
  return dimensions.chain((length) =>
    fc.array(
      fc
        .array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: length, maxLength: length })
        .map((numbers) => Float32Array.from(numbers)),
      { minLength: 2, maxLength: count },
    ),
  );
}

function similarities(matrix: VectorMatrix, question: Float32Array, rows: readonly number[]): number[] {
  const out = new Float32Array(rows.length);
  matrix.similarities(question, Int32Array.from(rows), out);
  return [...out];
}

test('the kernel and plain JavaScript give the same numbers to the last bit, near the exact ones', () => {
  fc.assert(
    fc.property(vectors(40), (given) => {
      const [question, ...documents] = given as [Float32Array, ...Float32Array[]];
      const fast = new VectorMatrix(question.length);
      const plain = new VectorMatrix(question.length, false);
      documents.forEach((vector, row) => {
        fast.set(row * 3, vector);
        plain.set(row * 3, vector);
      });
      const rows = documents.map((_, row) => row * 3).toReversed();
      const found = similarities(fast, question, rows);
      expect(found).toEqual(similarities(plain, question, rows));
      rows.forEach((row, i) => {
        const vector = documents[row / 3]!;
        const exact = vector.reduce((sum, number, k) => sum + number * question[k]!, 0);
        const largest = Math.max(...vector.map(Math.abs));
        const sum = question.reduce((all, number) => all + Math.abs(number), 0);
        expect(Math.abs(found[i]! - exact)).toBeLessThanOrEqual((largest / 127) * sum * 0.52 + 1e-3);
      });
    }),
    { numRuns: 300 },
  );
});

test('runs on the kernel here', () => {
  expect(new VectorMatrix(8).isFast).toBe(true);
  expect(new VectorMatrix(8, false).isFast).toBe(false);
});

test('answers for more rows than fit in one step, and after its memory grew', () => {
  const matrix = new VectorMatrix(16);
  const plain = new VectorMatrix(16, false);
  const vector = (row: number): Float32Array => {
    const raw = Array.from({ length: 16 }, (_, i) => Math.sin((row % 97) * 7 + i * (1 + row)));
    return Float32Array.from(raw, (number) => number / Math.hypot(...raw));
  };
  for (let row = 0; row < 5_000; row++) {
    matrix.set(row, vector(row));
    plain.set(row, vector(row));
  }
  const rows = Array.from({ length: 5_000 }, (_, row) => row);
  const found = similarities(matrix, vector(4_321), rows);
  expect(found).toEqual(similarities(plain, vector(4_321), rows));
  expect(found.indexOf(Math.max(...found))).toBe(4_321);
});

test('keeps vectors where renumbering puts them and forgets the others', () => {
  for (const useKernel of [true, false]) {
    const matrix = new VectorMatrix(3, useKernel);
    matrix.set(0, Float32Array.of(1, 0, 0));
    matrix.set(2, Float32Array.of(0, 1, 0));
    matrix.set(3, Float32Array.of(0, 0, 1));
    const next = matrix.renumbered(Int32Array.of(-1, 0, 1, 2));
    expect([0, 1, 2, 3].map((row) => next.has(row))).toEqual([false, true, true, false]);
    expect(similarities(next, Float32Array.of(0, 0.5, 1), [1, 2])).toEqual([
      expect.closeTo(0.5, 3),
      expect.closeTo(1, 3),
    ]);
    expect(next.version).not.toBe(matrix.version);
  }
});

test('a zero vector is like nothing, and wrong lengths are told', () => {
  const matrix = new VectorMatrix(2);
  matrix.set(0, Float32Array.of(0, 0));
  matrix.set(1, Float32Array.of(1, 0));
  expect(similarities(matrix, Float32Array.of(1, 1), [0, 1])[0]).toBe(0);
  expect(similarities(matrix, Float32Array.of(0, 0), [0, 1])).toEqual([0, 0]);
  expect(() => matrix.set(2, Float32Array.of(1, 2, 3))).toThrow(RangeError);
  expect(() => similarities(matrix, Float32Array.of(1), [0])).toThrow(RangeError);
  expect(() => new VectorMatrix(0)).toThrow(RangeError);
  expect(() => new VectorMatrix(2_049)).toThrow(RangeError);
});
