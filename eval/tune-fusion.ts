import { RANKING, Weighing } from '../src/search/fields.ts';
import { scoresOf } from '../src/search/measure.ts';
import { Pool } from '../src/search/pool.ts';
import { openEmbedderFor } from './embedder.ts';
import { readSet, type EvaluationSet } from './evaluation-set.ts';
import { embedSet, giveVectors, measure } from './rank.ts';

/**
 * Chooses what a score by words counts beside meaning, and the second part of vectors beside the first, without letting
 * a question choose its own: `node dist-eval/eval/tune-fusion.js EMBEDDER CAP FAMILY=FOLDER[,FOLDER]…`. A setting is
 * worth ½ recall@5 + ½ nDCG@10, averaged over a set's languages, a family's sets, then families. For every family the
 * setting that is best on all the others is reported on it: that is what may be claimed.
 */
const WEIGHTS = [0.08, 0.1, 0.12, 0.15, 0.18, 0.22];

/** Times what the model's file says of the second part; without one they are all the same. */
const SHARES = [0, 0.5, 0.75, 1, 1.5, 2];

interface Setting {
  readonly wordsWeight: number;
  readonly share: number;
}

const [embedderName, cap, ...families] = process.argv.slice(2);
const embedder = openEmbedderFor(embedderName!);
if (embedder === undefined) throw new Error('there is nothing to fuse words with');
const SETTINGS: readonly Setting[] = (embedder.parts === undefined ? [1] : SHARES).flatMap((share) =>
  WEIGHTS.map((wordsWeight) => ({ wordsWeight, share })),
);

interface Worth {
  /** ½ recall@5 + ½ nDCG@10. */
  readonly worth: number;
  readonly recall5: number;
}

/** For each family what each setting is worth. */
const worths: { readonly name: string; readonly bySetting: readonly Worth[] }[] = [];
for (const family of families) {
  const [name, folders] = family.split('=') as [string, string];
  const sets = folders.split(',').map(readSet);
  const bySet: (readonly Worth[])[] = [];
  for (const set of sets) bySet.push(await worthOfSet(set));
  worths.push({ name, bySetting: SETTINGS.map((_, i) => meanOf(bySet.map((set) => set[i]!))) });
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
  return SETTINGS.map(({ wordsWeight, share }) => {
    const view = pool.openView(set.tools, new Weighing({ ...RANKING, wordsWeight }));
    const measured = measure(
      view,
      set,
      vectors.questions.map((vector) => withShare(vector, share, vectors.parts[0]!)),
    );
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

/** The question's vector with so much of all but its first part. */
function withShare(vector: Float32Array, share: number, first: number): Float32Array {
  return vector.map((number, i) => (i < first ? number : share * number));
}

function bestWithout(left: number): number {
  const total = (setting: number): number =>
    worths.reduce((sum, { bySetting }, i) => (i === left ? sum : sum + bySetting[setting]!.worth), 0);
  return SETTINGS.reduce((best, _, setting) => (total(setting) > total(best) ? setting : best), 0);
}

function nameOf({ wordsWeight, share }: Setting): string {
  return `words ${wordsWeight}, second ${share}`;
}

const leftOut = worths.map(({ name, bySetting }, i) => {
  const chosen = bestWithout(i);
  const { recall5, worth } = bySetting[chosen]!;
  console.log(`${name}: chosen without it ${nameOf(SETTINGS[chosen]!)}, recall@5 ${recall5.toFixed(4)}`);
  return { recall5, worth };
});
console.log(`on those left out: recall@5 ${meanOf(leftOut).recall5.toFixed(4)}`);
console.log(`on all: ${nameOf(SETTINGS[bestWithout(-1)]!)}`);
SETTINGS.forEach((setting, i) => {
  const { recall5, worth } = meanOf(worths.map(({ bySetting }) => bySetting[i]!));
  console.log(`${nameOf(setting)}: recall@5 ${recall5.toFixed(4)}, worth ${worth.toFixed(4)}`);
});
await embedder.close();
