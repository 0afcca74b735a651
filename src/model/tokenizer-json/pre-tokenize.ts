import { readRanges } from './code-points.ts';
import type { PreTokenizerStep } from './read-spec.ts';
import { OF_WORDS, PUNCTUATION } from './unicode-tables.ts';

/**
 * Cuts a normalised text into what the model cuts further, none of them empty. `isFirst` says whether the text is
 * the beginning of all, not what follows an added token.
 */
export function preTokenize(steps: readonly PreTokenizerStep[], text: string, isFirst: boolean): string[] {
  let parts = text === '' ? [] : [text];
  for (const step of steps)
    parts = parts.flatMap((part) => cut(step, part, isFirst)).filter((part) => part !== '');
  return parts;
}

function cut(step: PreTokenizerStep, text: string, isFirst: boolean): string[] {
  switch (step.kind) {
    case 'bert':
      return bertWords(text);
    case 'whitespace':
      return runsOf(text);
    case 'whitespace_split':
      return text.split(/\p{White_Space}+/u);
    case 'metaspace': {
      const { replacement, prepend, split } = step;
      let out = text.replaceAll(' ', replacement);
      const isWanted = prepend === 'always' || (prepend === 'first' && isFirst);
      if (isWanted && !out.startsWith(replacement)) out = replacement + out;
      if (!split) return [out];
      const [before = '', ...after] = out.split(replacement);
      return [before, ...after.map((part) => replacement + part)];
    }
  }
}

const isPunctuation = readRanges(PUNCTUATION);

function bertWords(text: string): string[] {
  const words: string[] = [];
  for (const run of text.split(/\p{White_Space}+/u)) {
    let word = '';
    for (const character of run) {
      if (!isPunctuation(character.codePointAt(0) ?? 0)) {
        word += character;
        continue;
      }
      words.push(word, character);
      word = '';
    }
    words.push(word);
  }
  return words;
}

const isOfWord = readRanges(OF_WORDS);

/** Runs of characters of words, and runs of what is neither of a word nor white space. */
function runsOf(text: string): string[] {
  const runs: string[] = [];
  for (const part of text.split(/\p{White_Space}+/u)) {
    let run = '';
    let wasOfWord = false;
    for (const character of part) {
      const isNow = isOfWord(character.codePointAt(0) ?? 0);
      if (isNow !== wasOfWord) {
        runs.push(run);
        run = '';
      }
      run += character;
      wasOfWord = isNow;
    }
    runs.push(run);
  }
  return runs;
}
