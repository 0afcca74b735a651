import type { ToolIndex } from '../src/search/index.ts';
import type { Measured } from '../src/search/measure.ts';
import { measureAnswer } from '../src/search/questions-file.ts';
import type { EvaluationSet } from './evaluation-set.ts';

/** Asks every question of a set and notes where the right tools stood among the first ten. */
export function measure(index: ToolIndex, { tools, questions }: EvaluationSet): readonly Measured[] {
  return questions.map((question) => {
    const { matches } = index.search(question.text, { limit: 10 });
    const names = matches.map(({ position }) => tools[position]!.exposedName);
    return measureAnswer(question, names);
  });
}
