import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDocumentPool } from '../src/search/index.ts';
import { scoresOf, type Measured } from '../src/search/measure.ts';
import { HAS_PACKED_MODEL, openEmbedderFor } from './embedder.ts';
import { readSet, type EvaluationSet } from './evaluation-set.ts';
import { misspelt } from './misspell.ts';
import { embedSet, giveVectors, measure } from './rank.ts';

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
/** By words and meaning, with the packed model; of the first 500 questions. */
const FUSED_FLOORS: Readonly<Record<string, number>> = {
  'mcpproxy-rel1': 0.9,
  'mcpproxy-live': 0.89,
  'mcpproxy-live-de': 0.82,
  'mcpproxy-live-lt': 0.74,
  'livemcp-step': 0.75,
  'livemcp-task': 0.45,
  'gtc-mcp': 0.93,
  'gtc-k8s': 0.95,
  metatool: 0.77,
  bfcl: 0.84,
  sealtools: 0.9,
};
const MOST_QUESTIONS = 500;
/** However weak the model is on a set, meaning may not cost more than this of what words find. */
const MOST_LOST_BY_MEANING = 0.005;
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

for (const [name, floor] of Object.entries(FUSED_FLOORS)) {
  const folder = join(data, name);
  test.skipIf(data === '' || !existsSync(folder) || !HAS_PACKED_MODEL)(
    `${name} has a recall@5 of ${floor} by words and meaning, no worse than by words`,
    { timeout: 300_000 },
    async () => {
      const whole = readSet(folder);
      const set = { ...whole, questions: whole.questions.slice(0, MOST_QUESTIONS) };
      const embedder = openEmbedderFor('packed')!;
      const vectors = await embedSet(set, embedder);
      await embedder.close();
      const index = createDocumentPool().openView(set.tools);
      giveVectors(index, vectors);
      const fused = mean(measure(index, set, vectors.questions));
      expect(fused).toBeGreaterThanOrEqual(floor);
      expect(fused).toBeGreaterThanOrEqual(recall5(set) - MOST_LOST_BY_MEANING);
    },
  );
}

function recall5(set: EvaluationSet): number {
  return mean(measure(createDocumentPool().openView(set.tools), set));
}

function mean(measured: readonly Measured[]): number {
  const scores = measured.map((one) => scoresOf(one).recall5);
  return scores.reduce((sum, one) => sum + one, 0) / scores.length;
}
