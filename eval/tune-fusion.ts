import { RANKING, Weighing } from '../src/search/fields.ts';
import { scoresOf } from '../src/search/measure.ts';
import { Pool } from '../src/search/pool.ts';
import { openEmbedderFor } from './embedder.ts';
import { readSet, type EvaluationSet } from './evaluation-set.ts';
import { embedSet, giveVectors, measure } from './rank.ts';

/**
 * Chooses what a score by words counts beside meaning without letting a question choose its own: `node
 * dist-eval/eval/tune-fusion.js EMBEDDER CAP FAMILY=FOLDER[,FOLDER]…`. A weight is worth ½ recall@5 + ½ nDCG@10,
 * averaged over a set's languages, a family's sets, then families. For every family the weight that is best on all
 * the others is reported on it: that is what may be claimed.
 */
const WEIGHTS = [0.06, 0.08, 0.1, 0.12, 0.15, 0.18, 0.22, 0.27, 0.33];

const [embedderName, cap, ...families] = process.argv.slice(2);
const embedder = openEmbedderFor(embedderName!);
if (embedder === undefined) throw new Error('there is nothing to fuse words with');

interface Worth {
  /** ½ recall@5 + ½ nDCG@10. */
  readonly worth: number;
  readonly recall5: number;
}

/** For each family what each weight is worth. */
const worths: { readonly name: string; readonly byWeight: readonly Worth[] }[] = [];
for (const family of families) {
  const [name, folders] = family.split('=') as [string, string];
  const sets = folders.split(',').map(readSet);
  const bySet: (readonly Worth[])[] = [];
  for (const set of sets) bySet.push(await worthOfSet(set));
  worths.push({ name, byWeight: WEIGHTS.map((_, i) => meanOf(bySet.map((set) => set[i]!))) });
}

async function worthOfSet(whole: EvaluationSet): Promise<readonly Worth[]> {
  const languages = [...new Set(whole.questions.map(({ language }) => language))];
  const set = {
    ...whole,
    questions: languages.flatMap((language) =>
      whole.questions.filter((question) => question.language === language).slice(0, Number(cap)),
    ),
  };
  const pool = new Pool(RANKING, 1_000_000);
  const vectors = await embedSet(set, embedder!);
  giveVectors(pool.openView(set.tools), vectors);
  return WEIGHTS.map((wordsWeight) => {
    const view = pool.openView(set.tools, new Weighing({ ...RANKING, wordsWeight }));
    const measured = measure(view, set, vectors.questions);
    view.close();
    return meanOf(
      languages.map((language) => {
        const scores = measured.filter((one) => one.language === language).map(scoresOf);
        return meanOf(scores.map(({ recall5, ndcg }) => ({ worth: (recall5 + ndcg) / 2, recall5 })));
      }),
    );
  });
}

function meanOf(all: readonly Worth[]): Worth {
  const sum = (of: keyof Worth): number => all.reduce((total, one) => total + one[of], 0) / all.length;
  return { worth: sum('worth'), recall5: sum('recall5') };
}

function bestWithout(left: number): number {
  const total = (weight: number): number =>
    worths.reduce((sum, { byWeight }, i) => (i === left ? sum : sum + byWeight[weight]!.worth), 0);
  return WEIGHTS.reduce((best, _, weight) => (total(weight) > total(best) ? weight : best), 0);
}

worths.forEach(({ name, byWeight }, i) => {
  const chosen = bestWithout(i);
  const all = byWeight.map(({ recall5 }, weight) => `${WEIGHTS[weight]}: ${recall5.toFixed(3)}`).join('  ');
  console.log(
    `${name}: chosen without it ${WEIGHTS[chosen]}, recall@5 ${byWeight[chosen]!.recall5.toFixed(3)}  (${all})`,
  );
});
console.log(`on all: ${WEIGHTS[bestWithout(-1)]}`);
WEIGHTS.forEach((weight, i) => {
  const mean = meanOf(worths.map(({ byWeight }) => byWeight[i]!));
  console.log(`${weight}: recall@5 ${mean.recall5.toFixed(4)}, worth ${mean.worth.toFixed(4)}`);
});
await embedder.close();
