import { createDocumentPool, type Embedder } from '../src/search/index.ts';
import { byLanguage, type Measured } from '../src/search/measure.ts';
import { optionsFrom, type EvalOptions } from './arguments.ts';
import { withEarlierRanking } from './earlier-build.ts';
import { openEmbedderFor } from './embedder.ts';
import { OWN_SET, readSet, type EvaluationSet } from './evaluation-set.ts';
import { misspelt } from './misspell.ts';
import { embedSet, giveVectors, measure, measureModelAlone } from './rank.ts';
import { differenceTable, scoreTable, sidesTable } from './tables.ts';

const USAGE = `npm run eval -- [--data FOLDER]… [--embedder NAME] [--cap N] [--compare REF] [--misspelt]
                [--among FOLDER]… [--json]

  --data FOLDER      a folder with tools.jsonl and queries.jsonl; without it, our own set
  --embedder packed  the model of the program: recall@5 by words, by the model alone, and by both; packed-small its
                     first encoder alone; none words alone; FILE or FILE,SECOND other encoders' files; or a folder of
                     vectors made elsewhere (texts.jsonl and vectors.f32)
  --cap N            the first N questions of each set
  --compare REF      the same questions under the ranking of an earlier commit by words, question by question
  --misspelt         with half of all words of five letters and more misspelt once
  --among FOLDER     with that folder's tools in the catalog too; --among-most N takes the first N of them
  --json             one JSON line a set, language and ranking instead of tables`;

/** What a set's questions came to under each ranking. */
interface Sides {
  readonly words: readonly Measured[];
  readonly model?: readonly Measured[];
  readonly both?: readonly Measured[];
}

await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<void> {
  const options = optionsFrom(args);
  if (options === undefined) {
    console.error(USAGE);
    process.exitCode = 2;
    return;
  }
  const embedder = openEmbedderFor(options.embedder);
  const folders = options.data.length > 0 ? options.data : [OWN_SET];
  const now: { folder: string; set: EvaluationSet; sides: Sides }[] = [];
  for (const folder of folders) {
    const set = prepared(readSet(folder), options);
    const sides = await sidesOf(set, embedder);
    now.push({ folder, set, sides });
    print(folder, sides, options.json);
  }
  await embedder?.close();
  if (options.compare === undefined) return;
  await withEarlierRanking(options.compare, (earlierPool) => {
    for (const { folder, set, sides } of now) {
      const before = measure(earlierPool().openView(set.tools), set);
      console.log(
        `\n${folder}, this ranking by words minus that of ${options.compare}\n${differenceTable(before, sides.words)}`,
      );
    }
  });
}

function prepared(set: EvaluationSet, options: EvalOptions): EvaluationSet {
  const own = new Set(set.tools.map((tool) => tool.exposedName));
  const foreign = options.among
    .flatMap((folder) => readSet(folder).tools)
    .filter((tool) => !own.has(tool.exposedName))
    .slice(0, options.amongMost);
  const questions = set.questions.slice(0, options.cap);
  const grown = { questions, tools: [...set.tools, ...foreign] };
  return options.misspelt ? misspelt(grown) : grown;
}

async function sidesOf(set: EvaluationSet, embedder: Embedder | undefined): Promise<Sides> {
  const index = createDocumentPool().openView(set.tools);
  const words = measure(index, set);
  if (embedder === undefined) return { words };
  const vectors = await embedSet(set, embedder);
  giveVectors(index, vectors);
  return {
    words,
    model: measureModelAlone(set, vectors),
    both: measure(index, set, vectors.questions),
  };
}

function print(folder: string, sides: Sides, asJson: boolean): void {
  if (asJson) {
    for (const [ranking, measured] of Object.entries(sides) as [string, readonly Measured[]][])
      for (const row of byLanguage(measured)) console.log(JSON.stringify({ set: folder, ranking, ...row }));
    return;
  }
  const { words, model, both } = sides;
  if (model === undefined || both === undefined) {
    console.log(`\n${folder}, ranked by words\n${scoreTable(byLanguage(words))}`);
    return;
  }
  console.log(`\n${folder}, recall@5\n${sidesTable(words, model, both)}`);
  console.log(`\nby words and meaning\n${scoreTable(byLanguage(both))}`);
}
