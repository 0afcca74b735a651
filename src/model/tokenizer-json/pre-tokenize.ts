import { readRanges } from './code-points.ts';
import type { PreTokenizerStep } from './read-spec.ts';
import { PUNCTUATION } from './unicode-tables.ts';

/**
 * Cuts a normalised text into what the model cuts further, none of them empty. `isFirst` says whether the text is
 * the beginning of all, not what follows an added token.
 */
export function preTokenize(steps: readonly PreTokenizerStep[], text: string, isFirst: boolean): string[] {
  let parts = text === '' ? [] : [text];
  let startsFirst = isFirst;
  for (const step of steps) {
    const [before = ''] = parts;
    parts = parts
      .flatMap((part, index) => cut(step, part, startsFirst && index === 0))
      .filter((part) => part !== '');
    // White space that was cut away in front was the beginning.
    if (step.kind !== 'metaspace') startsFirst &&= before.startsWith(parts[0] ?? '');
  }
  return parts;
}

function cut(step: PreTokenizerStep, text: string, isFirst: boolean): string[] {
  switch (step.kind) {
    case 'bert':
      return bertWords(text);
    case 'whitespace':
      // Words, and runs of what is neither of a word nor white space.
      return (
        text.match(
          /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu,
        ) ?? []
      );
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
