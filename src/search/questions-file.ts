import type { Measured } from './measure.ts';

/** A question whose right tools are known. */
export interface Question {
  readonly id: string;
  readonly text: string;
  /** `en` when the file does not say. */
  readonly language: string;
  /** Names of the right tools, as search answers give them. */
  readonly relevant: readonly string[];
}

export interface QuestionsFile {
  readonly questions: readonly Question[];
  /** What is wrong, by line; such lines are left out. */
  readonly problems: readonly { readonly line: number; readonly problem: string }[];
}

/**
 * Reads questions, one JSON object a line: `{"query": "…", "relevant": ["tool_name"]}`, where `id` and `lang`
 * may be given too. Empty lines and lines that begin with `#` or `//` are skipped.
 */
export function readQuestionsFile(text: string): QuestionsFile {
  const questions: Question[] = [];
  const problems: { line: number; problem: string }[] = [];
  text.split('\n').forEach((line, i) => {
    if (/^\s*(?:$|#|\/\/)/.test(line)) return;
    const read = questionOf(line, i + 1);
    if (typeof read === 'string') problems.push({ line: i + 1, problem: read });
    else questions.push(read);
  });
  return { questions, problems };
}

function questionOf(line: string, number: number): Question | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'is not JSON';
  }
  if (typeof value !== 'object' || value === null) return 'is not an object';
  const { query, relevant, lang, id } = value as Record<'query' | 'relevant' | 'lang' | 'id', unknown>;
  if (typeof query !== 'string' || query.trim() === '') return '`query` must be the question, as text';
  const names = typeof relevant === 'string' ? [relevant] : relevant;
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => typeof name === 'string')) {
    return '`relevant` must list the names of the right tools';
  }
  return {
    id: typeof id === 'string' ? id : String(number),
    text: query,
    language: typeof lang === 'string' ? lang : 'en',
    relevant: names,
  };
}

/** What an answer, given as tool names best first, is worth for a question. */
export function measureAnswer(question: Question, names: readonly string[]): Measured {
  const relevant = new Set(question.relevant);
  const ranks = names.flatMap((name, rank) => (relevant.has(name) ? [rank] : []));
  return { id: question.id, language: question.language, relevant: relevant.size, ranks };
}
