/** One question and where its right tools stood in the answer (from 0, best first). */
export interface Measured {
  readonly id: string;
  readonly language: string;
  /** How many tools are right. */
  readonly relevant: number;
  /** The ranks of those found, ascending. */
  readonly ranks: readonly number[];
}

export interface Scores {
  readonly recall1: number;
  readonly recall5: number;
  readonly recall10: number;
  /** 1 / rank of the first right tool, 0 when none was found. */
  readonly mrr: number;
  /** Of the first ten. */
  readonly ndcg: number;
}

export const SCORE_NAMES = [
  'recall1',
  'recall5',
  'recall10',
  'mrr',
  'ndcg',
] as const satisfies readonly (keyof Scores)[];

/** The scores of one question; recall@k is right tools within k / all right tools. */
export function scoresOf({ relevant, ranks }: Measured): Scores {
  const recall = (k: number): number => ranks.filter((rank) => rank < k).length / relevant;
  const gain = (rank: number): number => 1 / Math.log2(rank + 2);
  let ideal = 0;
  for (let rank = 0; rank < Math.min(relevant, 10); rank++) ideal += gain(rank);
  const found = ranks.filter((rank) => rank < 10).reduce((sum, rank) => sum + gain(rank), 0);
  const first = ranks[0];
  return {
    recall1: recall(1),
    recall5: recall(5),
    recall10: recall(10),
    mrr: first === undefined ? 0 : 1 / (first + 1),
    ndcg: found / ideal,
  };
}

/** A mean with its 95 % interval. */
export interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/**
 * The mean of values between 0 and 1 with a 95 % interval that holds for few and for extreme values too:
 * Wilson's, with the questions as trials (exact for recall with one right tool, careful for averages).
 */
export function estimate(values: readonly number[]): Estimate {
  const n = values.length;
  if (n === 0) return { mean: Number.NaN, low: Number.NaN, high: Number.NaN };
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  const z = 1.96;
  const centre = (mean + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((mean * (1 - mean)) / n + (z * z) / (4 * n * n));
  return {
    mean,
    low: Math.max(0, Math.min(mean, centre - half)),
    high: Math.min(1, Math.max(mean, centre + half)),
  };
}

export interface LanguageScores {
  readonly language: string;
  readonly questions: number;
  readonly scores: Readonly<Record<keyof Scores, Estimate>>;
}

/** Scores by language, in order of appearance. */
export function byLanguage(measured: readonly Measured[]): readonly LanguageScores[] {
  const groups = new Map<string, Measured[]>();
  for (const one of measured) {
    const group = groups.get(one.language);
    if (group) group.push(one);
    else groups.set(one.language, [one]);
  }
  return [...groups].map(([language, group]) => {
    const all = group.map(scoresOf);
    const of = (name: keyof Scores): Estimate => estimate(all.map((scores) => scores[name]));
    return {
      language,
      questions: group.length,
      scores: {
        recall1: of('recall1'),
        recall5: of('recall5'),
        recall10: of('recall10'),
        mrr: of('mrr'),
        ndcg: of('ndcg'),
      },
    };
  });
}

/**
 * The mean difference `after − before` of paired values, with a 95 % bootstrap interval. The numbers drawn
 * are the same in every run, so that a report can be repeated.
 */
export function pairedDifference(
  before: readonly number[],
  after: readonly number[],
  rounds = 2_000,
): Estimate {
  const differences = after.map((value, i) => value - before[i]!);
  const n = differences.length;
  if (n === 0) return { mean: Number.NaN, low: Number.NaN, high: Number.NaN };
  const random = numbersFrom(20_261_130);
  const means = Float64Array.from({ length: rounds }, () => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += differences[Math.floor(random() * n)]!;
    return sum / n;
  }).sort();
  const mean = differences.reduce((sum, value) => sum + value, 0) / n;
  return { mean, low: means[Math.floor(rounds * 0.025)]!, high: means[Math.ceil(rounds * 0.975) - 1]! };
}

/** A small generator (mulberry32) of numbers from 0 to 1 for repeatable draws; not for secrets. */
export function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
