import { numbersFrom } from '../src/search/measure.ts';
import type { EvaluationSet } from './evaluation-set.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/**
 * The set with half of all words of five letters and more misspelt once: a letter dropped, doubled, replaced,
 * or swapped with the next. The same words in every run.
 */
export function misspelt(set: EvaluationSet): EvaluationSet {
  const random = numbersFrom(5);
  const questions = set.questions.map((question) => ({
    ...question,
    text: question.text.replace(/\p{L}{5,}/gu, (word) =>
      random() < 0.5 ? misspeltWord(word, random) : word,
    ),
  }));
  return { ...set, questions };
}

function misspeltWord(word: string, random: () => number): string {
  // The first letter stays: people rarely miss it.
  const at = 1 + Math.floor(random() * (word.length - 2));
  const [before, letter, after] = [word.slice(0, at), word[at]!, word.slice(at + 1)];
  switch (Math.floor(random() * 4)) {
    case 0:
      return before + after;
    case 1:
      return before + letter + letter + after;
    case 2:
      return before + LETTERS[Math.floor(random() * LETTERS.length)]! + after;
    default:
      return before + after[0]! + letter + after.slice(1);
  }
}
