import { FUNCTION_WORDS, type LatinLanguage } from './function-words.ts';

/** Languages in Latin letters that have a stemmer; the order is the number a document keeps. English is 0. */
export const LATIN_LANGUAGES = Object.keys(FUNCTION_WORDS) as readonly LatinLanguage[];

/** For each function word the languages that use it, one bit each. */
const USERS: ReadonlyMap<string, number> = usersOfWords();

function usersOfWords(): ReadonlyMap<string, number> {
  const users = new Map<string, number>();
  LATIN_LANGUAGES.forEach((language, bit) => {
    for (const word of FUNCTION_WORDS[language]) users.set(word, (users.get(word) ?? 0) | (1 << bit));
  });
  return users;
}

/** The languages that use `word` as a function word, one bit each in the order of `LATIN_LANGUAGES`. */
export function usersOf(word: string): number {
  return USERS.get(word) ?? 0;
}

/**
 * The Latin-letter language of a text, by the `usersOf` its words; English unless another language clearly
 * has more.
 *
 * Only a tool's own text is asked, or a question's function words: guessing the language of short questions
 * goes wrong every fifth time (measured), so a question's words are looked up under every language of the view.
 */
export function languageOf(users: readonly number[]): LatinLanguage {
  let any = 0;
  for (const bits of users) any |= bits;
  if ((any & ~1) === 0) return 'english';
  const hits = new Uint16Array(LATIN_LANGUAGES.length);
  for (const one of users) {
    for (let bits = one; bits !== 0; bits &= bits - 1) hits[31 - Math.clz32(bits & -bits)]!++;
  }
  let best = 0;
  for (let i = 1; i < hits.length; i++) if (hits[i]! > hits[best]!) best = i;
  return best > 0 && hits[best]! >= 2 && hits[best]! > 1.5 * hits[0]! ? LATIN_LANGUAGES[best]! : 'english';
}
