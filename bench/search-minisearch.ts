import MiniSearch from 'minisearch';
import { termsOf } from '../src/search/analyzer.ts';
import { FIELDS, RANKING } from '../src/search/fields.ts';
import { FUNCTION_WORDS } from '../src/search/function-words.ts';
import type { IndexedTool } from '../src/search/index.ts';
import { toolText } from '../src/search/tool-text.ts';
import { scanWords } from '../src/search/words.ts';

/** MiniSearch over the same fields and terms, weighted as ours are. */
export function miniSearchOf(tools: readonly IndexedTool[], limit: number): (question: string) => unknown {
  const index = new MiniSearch<{ readonly id: number }>({
    fields: [...FIELDS],
    tokenize: terms,
    processTerm: (term) => term,
    searchOptions: { boost: RANKING.weight, tokenize: questionTerms, combineWith: 'OR' },
  });
  index.addAll(
    tools.map((tool, id) => {
      const text = toolText(tool);
      return { id, ...Object.fromEntries(FIELDS.map((field) => [field, text[field].join(' ')])) };
    }),
  );
  return (question) => index.search(question).slice(0, limit);
}

function terms(text: string): string[] {
  const found: string[] = [];
  scanWords(text, (word, script) => found.push(...termsOf(word, script, 'english')));
  return found;
}

function questionTerms(question: string): string[] {
  const found: string[] = [];
  scanWords(question, (word, script) => {
    if (!FUNCTION_WORDS.english.has(word)) found.push(...termsOf(word, script, 'english'));
  });
  return found;
}
