/**
 * How words and meaning become one ranking: a tool's score by words times `wordsWeight`, plus how far its similarity
 * lies above the average of the view's documents, in standard deviations.
 *
 * The score by words needs no gate. It grows with what a question's words say (their rarity, how many of them one
 * tool has), so it decides where words know much and is silent where they know nothing. Similarities are set against
 * the view because their level differs by model, language and catalog. docs/search.md has what else was tried.
 */

/** The least share of a view's documents with a vector that meaning may speak for. */
const LEAST_EMBEDDED = 0.5;

/** Whether so many of a view's documents have a vector that a question's vector is of use. */
export function canMean({ all, embedded }: { readonly all: number; readonly embedded: number }): boolean {
  return embedded > 0 && embedded >= all * LEAST_EMBEDDED;
}

/** Similarities that vary less than this tell nothing apart: all documents are alike to the question. */
const LEAST_DEVIATION = 1e-6;

/** Similarities as standard deviations from their mean, in place; all 0 when they are all alike. */
export function standardize(similarities: Float32Array): void {
  const { length } = similarities;
  let sum = 0;
  for (let i = 0; i < length; i++) sum += similarities[i]!;
  const mean = sum / length;
  let squares = 0;
  for (let i = 0; i < length; i++) squares += (similarities[i]! - mean) ** 2;
  const deviation = Math.sqrt(squares / length);
  if (!(deviation > LEAST_DEVIATION)) similarities.fill(0);
  else for (let i = 0; i < length; i++) similarities[i] = (similarities[i]! - mean) / deviation;
}
