/** The parts of a tool that are ranked apart; the order is the order of the counts in a posting. */
export const FIELDS = [
  'name',
  'title',
  'server',
  'lead',
  'rest',
  'parameter',
  'parameterText',
  'choice',
] as const;

export type Field = (typeof FIELDS)[number];

/** What the ranking may be tuned by. `docs/search.md` says how these were chosen. */
export interface RankingConstants {
  /** What one occurrence in the field counts. */
  readonly weight: Readonly<Record<Field, number>>;
  /** How much a long field is discounted, 0 (not at all) to 1 (in proportion to its length). */
  readonly lengthShare: Readonly<Record<Field, number>>;
  /** Where repeated occurrences stop to count (BM25's k1; scales with the weights). */
  readonly saturation: number;
  /** A tool's score is multiplied by the number of the question's words it has, to this power. */
  readonly matchedExponent: number;
  readonly synonymWeight: number;
  readonly joinedWeight: number;
  /** For an unknown word's near word at edit distance d: this divided by d. */
  readonly nearWordWeight: number;
  /** What a score by words counts beside one standard deviation of similarity, where meaning takes part. */
  readonly wordsWeight: number;
  /** From this score by words of the best tool on, words count in proportion to it. */
  readonly strongWords: number;
}

/**
 * Chosen by 420 tried settings over seven families of public data, leave-one-family-out: on the family left
 * out, ½ recall@5 + ½ nDCG@10 rose by 1.6 points on average (−1.8 to +7.8). The optimum is flat: values that
 * did not matter were set back towards the middle.
 */
export const RANKING: RankingConstants = {
  weight: {
    name: 2.4,
    title: 3,
    server: 4.5,
    lead: 2.4,
    rest: 0.48,
    parameter: 0.56,
    parameterText: 0.24,
    choice: 3,
  },
  lengthShare: {
    name: 0.9,
    title: 0.8,
    server: 1,
    lead: 0.75,
    rest: 0.44,
    parameter: 0.34,
    parameterText: 1,
    choice: 0.54,
  },
  saturation: 5,
  matchedExponent: 0.24,
  synonymWeight: 0.4,
  joinedWeight: 0.3,
  nearWordWeight: 0.25,
  // Chosen apart (`eval/tune-fusion.ts`): .12 to .18 whichever of seven families is left out.
  wordsWeight: 0.15,
  // Between 55 and 90 nothing moves but Seal-Tools, whose paragraphs of 25 words words alone answer best.
  strongWords: 65,
};

/** Ranking constants as the inner loops want them; shared by all views that rank alike. */
export class Weighing {
  readonly constants: RankingConstants;
  /** In the order of fields. */
  readonly weights: Float64Array;
  readonly #metFactors: number[] = [];

  constructor(constants: RankingConstants) {
    this.constants = constants;
    this.weights = Float64Array.from(FIELDS, (field) => constants.weight[field]);
  }

  /** The factor for a tool that meets so many tenths of a word: their number ^ `matchedExponent`, 1 up to one word. */
  metFactor(tenths: number): number {
    return (this.#metFactors[tenths] ??= Math.max(1, tenths / 10) ** this.constants.matchedExponent);
  }
}
