import type { ToolIndex } from '../src/search/index.ts';
import type { Measured } from '../src/search/measure.ts';
import type { EvaluationSet, Question } from './evaluation-set.ts';

/** Asks every question of a set and notes where the right tools stood among the first ten. */
export function measure(index: ToolIndex, { tools, questions }: EvaluationSet): readonly Measured[] {
  return questions.map((question) => {
    const { matches } = index.search(question.text, { limit: 10 });
    return measured(
      question,
      matches.map(({ position }) => tools[position]!.exposedName),
    );
  });
}

/** What an answer, given as names in order, is worth. */
export function measured(question: Question, names: readonly string[]): Measured {
  const relevant = new Set(question.relevant);
  const ranks = names.flatMap((name, rank) => (relevant.has(name) ? [rank] : []));
  return { id: question.id, language: question.language, relevant: relevant.size, ranks };
}
