import { createDocumentPool } from '../src/search/index.ts';
import { byLanguage, type Measured } from '../src/search/measure.ts';
import { optionsFrom, type EvalOptions } from './arguments.ts';
import { withEarlierRanking } from './earlier-build.ts';
import { OWN_SET, readSet, type EvaluationSet } from './evaluation-set.ts';
import { misspelt } from './misspell.ts';
import { measure } from './rank.ts';
import { differenceTable, scoreTable } from './tables.ts';

const USAGE = `npm run eval -- [--data FOLDER]… [--compare REF] [--misspelt] [--among FOLDER]… [--json]

  --data FOLDER   a folder with tools.jsonl and queries.jsonl; without it, our own set
  --compare REF   the same questions under the ranking of an earlier commit, question by question
  --misspelt      with half of all words of five letters and more misspelt once
  --among FOLDER  with that folder's tools in the catalog too; --among-most N takes the first N of them
  --json          one JSON line a set and language instead of tables`;

await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<void> {
  const options = optionsFrom(args);
  if (options === undefined) {
    console.error(USAGE);
    process.exitCode = 2;
    return;
  }
  const folders = options.data.length > 0 ? options.data : [OWN_SET];
  const now = folders.map((folder) => {
    const set = prepared(readSet(folder), options);
    return { folder, set, measured: lexical(set) };
  });
  for (const { folder, measured } of now) {
    const rows = byLanguage(measured);
    if (options.json)
      for (const row of rows) console.log(JSON.stringify({ set: folder, ranking: 'words', ...row }));
    else console.log(`\n${folder}, ranked by words\n${scoreTable(rows)}`);
  }
  if (options.compare === undefined) return;
  await withEarlierRanking(options.compare, (earlierPool) => {
    for (const { folder, set, measured } of now) {
      const before = measure(earlierPool().openView(set.tools), set);
      console.log(
        `\n${folder}, this ranking minus that of ${options.compare}\n${differenceTable(before, measured)}`,
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
  const grown = { ...set, tools: [...set.tools, ...foreign] };
  return options.misspelt ? misspelt(grown) : grown;
}

function lexical(set: EvaluationSet): readonly Measured[] {
  return measure(createDocumentPool().openView(set.tools), set);
}
