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
}

export const RANKING: RankingConstants = {
  weight: {
    name: 4,
    title: 4,
    server: 1.5,
    lead: 2,
    rest: 0.6,
    parameter: 0.8,
    parameterText: 0.35,
    choice: 0.8,
  },
  lengthShare: {
    name: 0.9,
    title: 0.9,
    server: 0.3,
    lead: 0.75,
    rest: 0.9,
    parameter: 0.2,
    parameterText: 0.2,
    choice: 0.75,
  },
  saturation: 2.5,
  matchedExponent: 0.2,
  synonymWeight: 0.2,
  joinedWeight: 0.8,
  nearWordWeight: 0.7,
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
