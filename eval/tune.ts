import { FIELDS, RANKING, Weighing, type Field, type RankingConstants } from '../src/search/fields.ts';
import { numbersFrom, scoresOf } from '../src/search/measure.ts';
import { Pool } from '../src/search/pool.ts';
import { readSet, type EvaluationSet } from './evaluation-set.ts';
import { measure } from './rank.ts';

/**
 * Chooses ranking constants without letting a question choose its own: `node dist-eval/eval/tune.js ROUNDS
 * CAP FAMILY=FOLDER[,FOLDER]…`. Settings are drawn around the present ones and then improved step by step;
 * each is worth ½ recall@5 + ½ nDCG@10, averaged over the sets of a family, then over families. For every
 * family the setting chosen on all the others is reported on it: that is what may be claimed.
 */
const [rounds, cap, ...families] = process.argv.slice(2);
const most = Number(cap);

interface Family {
  readonly name: string;
  readonly sets: readonly { readonly set: EvaluationSet; readonly pool: Pool }[];
}

const open: readonly Family[] = families.map((family) => {
  const [name, folders] = family.split('=') as [string, string];
  return { name, sets: folders.split(',').map(openSet) };
});

function openSet(folder: string): { set: EvaluationSet; pool: Pool } {
  const { tools, questions } = readSet(folder);
  const english = questions.filter(({ language }) => language === 'en');
  const step = Math.max(1, english.length / most);
  const chosen = english.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step));
  const pool = new Pool(RANKING, 1_000_000);
  pool.openView(tools);
  return { set: { tools, questions: chosen }, pool };
}

/** Per family ½ recall@5 + ½ nDCG@10. */
function worth(constants: RankingConstants): readonly number[] {
  const weighing = new Weighing(constants);
  return open.map(({ sets }) => {
    const each = sets.map(({ set, pool }) => {
      const view = pool.openView(set.tools, weighing);
      const scores = measure(view, set).map(scoresOf);
      view.close();
      return scores.reduce((sum, { recall5, ndcg }) => sum + recall5 / 2 + ndcg / 2, 0) / scores.length;
    });
    return each.reduce((sum, one) => sum + one, 0) / each.length;
  });
}

interface Tried {
  readonly constants: RankingConstants;
  readonly worth: readonly number[];
}

const random = numbersFrom(7);
const tried: Tried[] = [{ constants: RANKING, worth: worth(RANKING) }];

const SCALES = [0.5, 0.7, 0.85, 1.2, 1.4, 2] as const;

/** One to three constants changed. */
function varied(from: RankingConstants): RankingConstants {
  let next = from;
  for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes--) next = changedOnce(next);
  return next;
}

function changedOnce(from: RankingConstants): RankingConstants {
  const scale = SCALES[Math.floor(random() * SCALES.length)]!;
  const field: Field = FIELDS[Math.floor(random() * FIELDS.length)]!;
  const dice = random();
  if (dice < 0.45)
    return { ...from, weight: { ...from.weight, [field]: rounded(from.weight[field] * scale) } };
  if (dice < 0.7) {
    const share = Math.min(1, from.lengthShare[field] * scale);
    return { ...from, lengthShare: { ...from.lengthShare, [field]: rounded(share) } };
  }
  const names = ['saturation', 'matchedExponent', 'synonymWeight', 'joinedWeight', 'nearWordWeight'] as const;
  const name = names[Math.floor(random() * names.length)]!;
  return { ...from, [name]: rounded(from[name] * scale) };
}

function rounded(value: number): number {
  return Number(value.toPrecision(2));
}

function mean(values: readonly number[], without = -1): number {
  const kept = values.filter((_, i) => i !== without);
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}

function best(without: number): Tried {
  return tried.reduce((a, b) => (mean(b.worth, without) > mean(a.worth, without) ? b : a));
}

for (let round = 0; round < Number(rounds); round++) {
  // Every fold's best so far is a start for the next steps, so that no fold is only a by-product of another.
  const without = (round % (open.length + 1)) - 1;
  const constants = varied(best(without).constants);
  tried.push({ constants, worth: worth(constants) });
}

const start = tried[0]!;
open.forEach(({ name }, i) => {
  const chosen = best(i);
  console.log(
    `${name}: before ${start.worth[i]!.toFixed(4)}, chosen without it ${chosen.worth[i]!.toFixed(4)}`,
  );
});
const chosen = best(-1);
console.log(`all: ${mean(start.worth).toFixed(4)} → ${mean(chosen.worth).toFixed(4)}`);
console.log(JSON.stringify(chosen.constants, undefined, 2));
