/** How a text is told to be English: a number for each of its pieces, and one for each letter outside ASCII. */
export interface EnglishTest {
  /** For each row how much more often it stands in English than in other languages in Latin letters: log-odds. */
  readonly evidence: Int8Array;
  /** What one step of it is worth. */
  readonly scale: number;
  readonly bias: number;
  readonly accent: number;
}

/** Letters are counted up to here; questions are shorter. In UTF-16 units. */
const READ = 2_000;

/**
 * Whether the second encoder, which knows English alone, should be asked about a text's own words, of which these are
 * the rows. Meant for texts in Latin letters; a wrong answer costs little.
 */
export function isEnglish(
  { evidence, scale, bias, accent }: EnglishTest,
  rows: readonly number[],
  text: string,
): boolean {
  const sum = rows.reduce((sum, row) => sum + evidence[row]!, 0);
  const accents = text.slice(0, READ).match(/(?!\p{ASCII})\p{L}/gu)?.length ?? 0;
  return scale * sum + bias + accent * accents > 0;
}
