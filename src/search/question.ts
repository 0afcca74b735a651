import { termsOf } from './analyzer.ts';
import type { RankingConstants } from './fields.ts';
import { FUNCTION_WORDS, type LatinLanguage } from './function-words.ts';
import { languageOf } from './language.ts';
import { synonymsOf } from './synonyms.ts';
import { scanWords, type Script } from './words.ts';

/** How a term came to stand for a word of the question. */
export type TermKind = 'word' | 'synonym' | 'near' | 'joined' | 'split';

/** One term by which a word of the question may be met. */
export interface Alternative {
  /** The term's number in the pool's vocabulary. */
  readonly number: number;
  readonly term: string;
  readonly kind: TermKind;
  readonly weight: number;
}

/** One thing the question asks for: a tool meets it by the alternative that scores best. */
export interface Concept {
  readonly word: string;
  readonly alternatives: readonly Alternative[];
  /** √ of how often the question says it. */
  readonly weight: number;
  /** 1 for a word the view knows, less for a near word, 0 for an unknown one; undefined: not counted in coverage. */
  readonly known: number | undefined;
}

/** What a question is read against: the words of one view, and nothing else of the pool. */
export interface Lexicon {
  readonly languages: readonly LatinLanguage[];
  /** The term's number if a document of the view has it. */
  find(term: string): number | undefined;
  /** Terms of the view within `most` edits, nearest first, then the commonest, then by spelling. */
  near(word: string, most: number): readonly { readonly number: number; readonly term: string; readonly distance: number }[];
}

// A question is a sentence or two; what lies beyond is an agent's whole plan, and would only cost time.
const LONGEST_QUESTION = 4_000;
const MOST_CONCEPTS = 64;
const MOST_NEAR_WORDS = 3;

/** Reads a question: which concepts it holds and by which terms of the view each can be met. */
export function readQuestion(question: string, lexicon: Lexicon, constants: RankingConstants): readonly Concept[] {
  const words = contentWords(question, lexicon);
  const concepts = new Map<string, { word: Word; times: number }>();
  for (const word of words) {
    for (const key of word.keys) {
      const known = concepts.get(key);
      if (known) known.times++;
      else if (concepts.size < MOST_CONCEPTS) concepts.set(key, { word, times: 1 });
    }
  }
  const asked = new Set(concepts.keys());
  const read: Concept[] = [];
  for (const [key, { word, times }] of concepts) read.push(...conceptsOf(key, word, Math.sqrt(times), asked, lexicon, constants));
  for (const joined of joinedNeighbours(question)) {
    if (asked.has(joined.term)) continue;
    const number = lexicon.find(joined.term);
    if (number === undefined) continue;
    asked.add(joined.term);
    const alternative = { number, term: joined.term, kind: 'joined', weight: constants.joinedWeight } as const;
    read.push({ word: joined.word, alternatives: [alternative], weight: 1, known: undefined });
  }
  return read;
}

interface Word {
  readonly text: string;
  readonly script: Script;
  /** The terms under English and scripts' own stemmers; several for text without spaces. */
  readonly keys: readonly string[];
}

function contentWords(question: string, lexicon: Lexicon): readonly Word[] {
  const words: Word[] = [];
  scanWords(question.slice(0, LONGEST_QUESTION), (text, script, isWhole) => {
    const word = { text, script, keys: termsOf(text, script, 'english') };
    if (!isWhole) words.push(word);
    // `GitHub` is one word where the view knows it as one, else the two it was written with.
    else if (lexicon.find(word.keys[0]!) !== undefined) words.splice(-2, 2, word);
  });
  const language = languageOf(words.map((word) => word.text));
  const english = FUNCTION_WORDS.english;
  const own = FUNCTION_WORDS[language];
  const content = words.filter(({ text }) => !english.has(text) && !own.has(text));
  return content.length > 0 ? content : words;
}

function conceptsOf(
  key: string,
  word: Word,
  weight: number,
  asked: ReadonlySet<string>,
  lexicon: Lexicon,
  constants: RankingConstants,
): readonly Concept[] {
  const alternatives: Alternative[] = [];
  const add = (term: string, kind: TermKind, alternativeWeight: number): void => {
    const number = lexicon.find(term);
    if (number === undefined || alternatives.some((other) => other.number === number)) return;
    alternatives.push({ number, term, kind, weight: alternativeWeight });
  };

  add(key, 'word', 1);
  if (word.script === 'latin') {
    for (const language of lexicon.languages) add(termsOf(word.text, 'latin', language)[0]!, 'word', 1);
  }
  let known = alternatives.length > 0 ? 1 : 0;
  const isSpaced = word.script !== 'cjk' && word.script !== 'unspaced';
  if (known === 0 && isSpaced) {
    const halves = splitInTwo(word.text, lexicon);
    if (halves !== undefined) {
      return halves.map(({ term, number, text }) => ({
        word: text,
        alternatives: [{ number, term, kind: 'split', weight: constants.joinedWeight }],
        weight,
        known: undefined,
      }));
    }
    const length = key.length;
    if (length >= 4 && !/\d/.test(key)) {
      const near = lexicon.near(key, length >= 8 ? 2 : 1).slice(0, MOST_NEAR_WORDS);
      for (const { term, distance } of near) {
        if (!asked.has(term)) add(term, 'near', constants.nearWordWeight / distance);
        known = Math.max(known, 0.6 / distance);
      }
    }
  }
  for (const synonym of synonymsOf(key)) if (!asked.has(synonym)) add(synonym, 'synonym', constants.synonymWeight);
  return [{ word: word.text, alternatives, weight, known }];
}

/** `webpage` → `web` + `page`, where the view knows both and not the whole. */
function splitInTwo(
  word: string,
  lexicon: Lexicon,
): readonly { readonly term: string; readonly number: number; readonly text: string }[] | undefined {
  for (let at = word.length - 3; at >= 3; at--) {
    const halves: { term: string; number: number; text: string }[] = [];
    for (const text of [word.slice(0, at), word.slice(at)]) {
      const term = termsOf(text, 'latin', 'english')[0]!;
      const number = lexicon.find(term);
      if (number === undefined) break;
      halves.push({ term, number, text });
    }
    if (halves.length === 2) return halves;
  }
  return undefined;
}

/** "file system" → `filesystem`, "log in" → `login`: looked up beside the two words, also over function words. */
function joinedNeighbours(question: string): readonly { readonly word: string; readonly term: string }[] {
  const joined: { word: string; term: string }[] = [];
  let previous: string | undefined;
  scanWords(question.slice(0, LONGEST_QUESTION), (text, script, isWhole) => {
    if (isWhole) return;
    if (script === 'latin' && previous !== undefined && joined.length < MOST_CONCEPTS) {
      const word = previous + text;
      joined.push({ word, term: termsOf(word, 'latin', 'english')[0]! });
    }
    previous = script === 'latin' ? text : undefined;
  });
  return joined;
}
