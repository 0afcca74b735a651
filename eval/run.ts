import { createDocumentPool } from '../src/search/index.ts';
import { byLanguage } from '../src/search/measure.ts';
import { measure } from './rank.ts';
import { readSet } from './set.ts';

for (const folder of process.argv.slice(2)) {
  const set = readSet(folder);
  const index = createDocumentPool().openView(set.tools);
  const t = performance.now();
  const rows = byLanguage(measure(index, set));
  const us = ((performance.now() - t) * 1000) / set.questions.length;
  for (const row of rows)
    console.log(folder.split('/').at(-1), row.language, row.questions, Object.entries(row.scores).map(([k, v]) => `${k} ${v.mean.toFixed(3)}`).join(' '), us.toFixed(0), 'us');
}
