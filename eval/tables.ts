import {
  byLanguage,
  pairedDifference,
  SCORE_NAMES,
  scoresOf,
  type Estimate,
  type LanguageScores,
  type Measured,
} from '../src/search/measure.ts';

const TITLES = {
  recall1: 'recall@1',
  recall5: 'recall@5',
  recall10: 'recall@10',
  mrr: 'MRR',
  ndcg: 'nDCG@10',
} as const;

/** One line a language: n, then every score with its 95 % interval. */
export function scoreTable(rows: readonly LanguageScores[]): string {
  return table([
    ['language', 'n', ...SCORE_NAMES.map((name) => TITLES[name])],
    ...rows.map((row) => [
      row.language,
      String(row.questions),
      ...SCORE_NAMES.map((name) => share(row.scores[name])),
    ]),
  ]);
}

/**
 * One line a language: recall@5 by words, by the model alone, by both, and what both gain over words in points, each
 * with its 95 % interval.
 */
export function sidesTable(
  words: readonly Measured[],
  model: readonly Measured[],
  both: readonly Measured[],
): string {
  const columns = [words, model, both].map(byLanguage);
  const rows = columns[0]!.map(({ language, questions }, row) => {
    const fives = [words, both].map((measured) =>
      measured.filter((one) => one.language === language).map((one) => scoresOf(one).recall5),
    );
    return [
      language,
      String(questions),
      ...columns.map((rowsOfColumn) => share(rowsOfColumn[row]!.scores.recall5)),
      points(pairedDifference(fives[0]!, fives[1]!)),
    ];
  });
  return table([['language', 'n', 'words', 'model', 'both', 'both − words'], ...rows]);
}

/** One line a language: how many questions changed, then every paired difference in points with its 95 % interval. */
export function differenceTable(before: readonly Measured[], after: readonly Measured[]): string {
  const languages = [...new Set(after.map((one) => one.language))];
  const rows = languages.map((language) => {
    const pairs = after.flatMap((one, i) =>
      one.language === language ? [{ before: scoresOf(before[i]!), now: scoresOf(one) }] : [],
    );
    const changed = pairs.filter(({ before, now }) =>
      SCORE_NAMES.some((name) => before[name] !== now[name]),
    ).length;
    const differences = SCORE_NAMES.map((name) =>
      points(
        pairedDifference(
          pairs.map(({ before }) => before[name]),
          pairs.map(({ now }) => now[name]),
        ),
      ),
    );
    return [language, String(pairs.length), String(changed), ...differences];
  });
  return table([['language', 'n', 'changed', ...SCORE_NAMES.map((name) => TITLES[name])], ...rows]);
}

function share({ mean, low, high }: Estimate): string {
  const short = (value: number): string => value.toFixed(3).replace(/^0/, '');
  return `${short(mean)} [${short(low)}–${short(high)}]`;
}

function points({ mean, low, high }: Estimate): string {
  const short = (value: number): string => `${value > 0 ? '+' : ''}${(value * 100).toFixed(1)}`;
  return `${short(mean)} [${short(low)}, ${short(high)}]`;
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
