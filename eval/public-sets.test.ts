import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDocumentPool } from '../src/search/index.ts';
import { scoresOf } from '../src/search/measure.ts';
import { readSet, type EvaluationSet } from './evaluation-set.ts';
import { misspelt } from './misspell.ts';
import { measure } from './rank.ts';

/**
 * Floors of recall@5 by words on public questions. The data are others' and not kept here: the tests run when
 * `EVAL_DATA` names a folder with one folder per set, in the format of `eval/set`.
 */
const FLOORS: Readonly<Record<string, number>> = {
  'mcpproxy-rel1': 0.82,
  'livemcp-step': 0.69,
  'mcpproxy-live': 0.74,
  'gtc-mcp': 0.91,
  'gtc-k8s': 0.87,
  sealtools: 0.87,
  metatool: 0.64,
  bfcl: 0.84,
};
const MOST_LOST_BY_MISSPELLING = 0.06;

const data = process.env['EVAL_DATA'] ?? '';

for (const [name, floor] of Object.entries(FLOORS)) {
  const folder = join(data, name);
  test.skipIf(data === '' || !existsSync(folder))(
    `${name} keeps a recall@5 of ${floor}`,
    { timeout: 60_000 },
    () => {
      const set = readSet(folder);
      const recall = recall5(set);
      expect(recall).toBeGreaterThanOrEqual(floor);
      if (name === 'livemcp-step' || name === 'gtc-mcp') {
        expect(recall5(misspelt(set))).toBeGreaterThanOrEqual(recall - MOST_LOST_BY_MISSPELLING);
      }
    },
  );
}

function recall5(set: EvaluationSet): number {
  const scores = measure(createDocumentPool().openView(set.tools), set).map((one) => scoresOf(one).recall5);
  return scores.reduce((sum, one) => sum + one, 0) / scores.length;
}
