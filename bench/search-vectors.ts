import { cpus } from 'node:os';
import { numbersFrom } from '../src/search/measure.ts';
import { VectorMatrix } from '../src/search/vector-matrix.ts';
import { printTable, quantile } from './numbers.ts';

/**
 * What comparing a question with every tool costs: `npm run bench -- search-vectors [SIZE…]`, at 1,000, 10,000 and
 * 100,000 tools of 256, 384 and 512 numbers, on the kernel and in plain JavaScript. Random vectors; the median of many
 * rounds, and the quickest, because the others measure the machine's other work too.
 */
const DIMENSIONS = [256, 384, 512];
const ROUNDS = 60;

export function run(args: readonly string[]): void {
  const given = args.filter((arg) => /^\d+$/.test(arg)).map(Number);
  const sizes = given.length > 0 ? given : [1_000, 10_000, 100_000];
  console.log(
    `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.versions.node}\n`,
  );
  const rows = sizes.flatMap((size) => DIMENSIONS.map((dimensions) => rowOf(size, dimensions)));
  printTable(
    [
      'tools',
      'numbers',
      'kernel, median',
      'quickest',
      'plain JavaScript, median',
      'keep a vector',
      'memory a tool',
    ],
    rows,
  );
}

function rowOf(size: number, dimensions: number): readonly string[] {
  const random = numbersFrom(size + dimensions);
  const vector = (): Float32Array => {
    const raw = Float32Array.from({ length: dimensions }, () => random() - 0.5);
    const length = Math.hypot(...raw);
    return raw.map((number) => number / length);
  };
  const vectors = Array.from({ length: Math.min(size, 5_000) }, vector);
  const matrices = [true, false].map((useKernel) => {
    const matrix = new VectorMatrix(dimensions, useKernel);
    const began = performance.now();
    for (let row = 0; row < size; row++) matrix.set(row, vectors[row % vectors.length]!);
    return { matrix, keepMicros: ((performance.now() - began) * 1_000) / size };
  });
  const documents = Int32Array.from({ length: size }, (_, row) => row);
  const found = new Float32Array(size);
  const [kernel, plain] = matrices.map(({ matrix }) => {
    const rounds = matrix.isFast ? Math.max(ROUNDS, 2_000_000 / size) : Math.max(5, 200_000 / size);
    for (let i = 0; i < rounds / 4; i++) matrix.similarities(vectors[0]!, documents, found);
    return Array.from({ length: rounds }, (_, i) => {
      const began = performance.now();
      matrix.similarities(vectors[i % vectors.length]!, documents, found);
      return (performance.now() - began) * 1_000;
    });
  });
  return [
    size.toLocaleString('en'),
    String(dimensions),
    micros(quantile(kernel!, 0.5)),
    micros(Math.min(...kernel!)),
    micros(quantile(plain!, 0.5)),
    micros(matrices[0]!.keepMicros),
    `${dimensions + 17} bytes`,
  ];
}

function micros(value: number): string {
  return value >= 1_000 ? `${(value / 1_000).toFixed(2)} ms` : `${value.toFixed(0)} µs`;
}
