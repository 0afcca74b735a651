import type { RankingConstants } from './fields.ts';
import type { DocumentCounts } from './meaning-port.ts';

/**
 * How words and meaning become one ranking: a tool's score by words times `wordsWeight`, plus how far its similarity
 * lies above the average of the view's documents, in standard deviations.
 *
 * The score by words needs no gate. It grows with what a question's words say (their rarity, how many of them one
 * tool has), so it decides where words know much and is silent where they know nothing. Similarities are set against
 * the view because their level differs by model, language and catalog. docs/search.md has what else was tried.
 */

/** The least share of a view's documents with a vector at which meaning helps more than it harms (docs/search.md). */
const LEAST_EMBEDDED = 0.25;

/**
 * What a score by words is multiplied by: `wordsWeight`, and more for a question that words answer so well that no
 * similarity should overrule them (a paragraph whose words stand in one tool).
 */
export function weightOfWords(best: number, constants: RankingConstants): number {
  return constants.wordsWeight * Math.max(1, best / constants.strongWords);
}

/** Whether so many of a view's documents have at least the first part of a vector that a question's is of use. */
export function canMean({ all, embedded: [first = 0] }: DocumentCounts): boolean {
  return first > 0 && first >= all * LEAST_EMBEDDED;
}

/** Similarities that vary less than this tell nothing apart: all documents are alike to the question. */
const LEAST_DEVIATION = 1e-6;

/** Similarities as standard deviations from their mean, in place; all 0 when they are all alike. */
export function standardize(similarities: Float32Array): void {
  const { length } = similarities;
  let sum = 0;
  for (let i = 0; i < length; i++) sum += fixed(similarities[i]!, 2 ** 30);
  const mean = sum / length;
  let squares = 0;
  for (let i = 0; i < length; i++) squares += fixed((similarities[i]! - mean) ** 2, 2 ** 30);
  const deviation = Math.sqrt(squares / length);
  if (!(deviation > LEAST_DEVIATION)) similarities.fill(0);
  else for (let i = 0; i < length; i++) similarities[i] = (similarities[i]! - mean) / deviation;
}

/**
 * Rounded to a whole number of parts, so that sums are exact and do not depend on the order of documents, which is
 * that of their arrival in the pool.
 */
function fixed(value: number, parts: number): number {
  return Math.round(value * parts) / parts;
}

/**
 * Guesses, in place, the standing of documents without a vector from their words: by the line through the origin that
 * fits words and standing of the others best. At the average, a tool that words put first would fall behind every
 * tool with a vector.
 */
export function guessStanding(
  standing: Float32Array,
  words: (ordinal: number) => number,
  isEmbedded: (ordinal: number) => boolean,
): void {
  let [products, squares] = [0, 0];
  for (let ordinal = 0; ordinal < standing.length; ordinal++) {
    const score = words(ordinal);
    if (score === 0 || !isEmbedded(ordinal)) continue;
    products += fixed(score * standing[ordinal]!, 2 ** 16);
    squares += fixed(score * score, 2 ** 16);
  }
  const slope = squares === 0 ? 0 : Math.max(0, products / squares);
  for (let ordinal = 0; ordinal < standing.length; ordinal++)
    if (!isEmbedded(ordinal)) standing[ordinal] = slope * words(ordinal);
}
