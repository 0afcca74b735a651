import { freshTermOf, termOf, termsOf } from './analyzer.ts';
import type { RankingConstants } from './fields.ts';
import { FUNCTION_WORDS, type LatinLanguage } from './function-words.ts';
import { LATIN_LANGUAGES, languageOf, usersOf } from './language.ts';
import { synonymsOf } from './synonyms.ts';
import type { ExplainedWord, TermKind } from './tool-index.ts';
import { scanWords, type Script } from './words.ts';

/** One term that is looked up, with what it stands for. */
export interface QuestionTerm {
  /** The word of the question. */
  readonly word: string;
  readonly term: string;
  readonly kind: TermKind;
  /** 1 for the question's own words, less for what stands in for them; times √ of how often it is said. */
  readonly weight: number;
  /** What a tool that has the term may count as met: 1 for one of the question's words. */
  readonly met: number;
  /** The term's number in the pool's vocabulary. */
  readonly number: number;
  /** How many tools of the view have it. */
  readonly tools: number;
  /**
   * By how many tools its rarity is counted: a synonym is no rarer than the word it stands for, or "run" would
   * be found best where a rare word for it is.
   */
  readonly rarityTools: number;
}

export interface ReadQuestion {
  readonly terms: readonly QuestionTerm[];
  readonly words: readonly ExplainedWord[];
  /** Words that were not looked up. */
  readonly ignored: readonly string[];
}

/** What a question is read against: the words of one view, and nothing else of the pool. */
export interface Lexicon {
  readonly languages: readonly LatinLanguage[];
  find(term: string): { readonly number: number; readonly tools: number } | undefined;
  /** Terms of the view within `most` edits, nearest first, then the commonest, then by spelling. */
  near(word: string, most: number): readonly NearTerm[];
}

export interface NearTerm {
  readonly number: number;
  readonly tools: number;
  readonly term: string;
  readonly distance: number;
}

// A question is a sentence or two; what lies beyond is an agent's whole plan, and would only cost time.
const LONGEST_QUESTION = 4_000;
const MOST_WORDS = 64;
const MOST_NEAR_WORDS = 3;

/** Reads a question: by which terms of the view each of its words can be met. */
export function readQuestion(question: string, lexicon: Lexicon, constants: RankingConstants): ReadQuestion {
  const words = wordsOf(question, lexicon);
  const isContent = contentOf(words);
  const asked = new Map<string, Asked>();
  const ignored: string[] = [];
  words.forEach((word, i) => {
    if (isContent[i] === true) addKeys(asked, word);
    else ignored.push(word.text);
  });
  const reader = new Reader(lexicon, constants, ignored);
  // The question's own words first: what stands in for a word must not take the place of another one.
  const unknown = [...asked.values()].filter((word) => !reader.own(word));
  for (const word of unknown) reader.unknown(word);
  for (const word of asked.values()) reader.synonyms(word);
  reader.joined(words);
  return reader;
}

interface Word {
  readonly text: string;
  readonly script: Script;
}

interface Asked extends Word {
  /** The term under English or under the script's own stemmer. */
  readonly key: string;
  times: number;
  /** How many tools of the view have it, once that is known. */
  tools: number;
}

/** Text without spaces has several keys. */
function addKeys(asked: Map<string, Asked>, { text, script }: Word): void {
  for (const key of termsOf(text, script, 'english')) {
    const known = asked.get(key);
    if (known) known.times++;
    else if (asked.size < MOST_WORDS) asked.set(key, { text, script, key, times: 1, tools: 0 });
  }
}

function wordsOf(question: string, lexicon: Lexicon): readonly Word[] {
  const words: Word[] = [];
  scanWords(
    question.length > LONGEST_QUESTION ? question.slice(0, LONGEST_QUESTION) : question,
    (text, script, isWhole) => {
      if (!isWhole) words.push({ text, script });
      // `GitHub` is one word where the view knows it as one, else the two it was written with.
      else if (lexicon.find(termOf(text, script, 'english')) !== undefined)
        words.splice(-2, 2, { text, script });
    },
  );
  return words;
}

/** Which words are looked up: all but function words; all of them when there are no others. */
function contentOf(words: readonly Word[]): readonly boolean[] {
  const users = words.map(({ text }) => usersOf(text));
  const language = LATIN_LANGUAGES.indexOf(languageOf(users));
  const grammar = 1 | (1 << language);
  const isContent = users.map((bits) => (bits & grammar) === 0);
  return isContent.includes(true) ? isContent : words.map(() => true);
}

class Reader implements ReadQuestion {
  readonly terms: QuestionTerm[] = [];
  readonly words: ExplainedWord[] = [];
  readonly ignored: readonly string[];
  readonly #taken = new Set<number>();
  readonly #lexicon: Lexicon;
  readonly #constants: RankingConstants;

  constructor(lexicon: Lexicon, constants: RankingConstants, ignored: readonly string[]) {
    this.ignored = ignored;
    this.#lexicon = lexicon;
    this.#constants = constants;
  }

  #add(asked: Asked, term: string, kind: TermKind, weight: number, found = this.#lexicon.find(term)): number {
    if (found === undefined || this.#taken.has(found.number)) return 0;
    this.#taken.add(found.number);
    this.terms.push({
      word: asked.text,
      term,
      kind,
      weight: asked.times === 1 ? weight : weight * Math.sqrt(asked.times),
      met: weight,
      number: found.number,
      tools: found.tools,
      rarityTools: kind === 'synonym' ? Math.max(found.tools, asked.tools) : found.tools,
    });
    return found.tools;
  }

  /** A word under English, and in a view with tools in other languages under those. */
  own(asked: Asked): boolean {
    asked.tools = this.#add(asked, asked.key, 'word', 1);
    if (asked.script === 'latin') {
      for (const language of this.#lexicon.languages) {
        asked.tools += this.#add(asked, termOf(asked.text, 'latin', language), 'word', 1);
      }
    }
    if (asked.tools > 0) this.words.push({ word: asked.text, known: 1, tools: asked.tools });
    return asked.tools > 0;
  }

  unknown(asked: Asked): void {
    let known = 0;
    if (asked.script !== 'cjk' && asked.script !== 'unspaced' && !/\d/.test(asked.key)) {
      known = this.#split(asked) || this.#near(asked);
    }
    this.words.push({ word: asked.text, known, tools: 0 });
  }

  /** `webpage` → `web` and `page`, where the view knows both and not the whole. */
  #split(asked: Asked): number {
    const { text } = asked;
    for (let at = text.length - 3; at >= 3; at--) {
      const head = freshTermOf(text.slice(0, at), asked.script, 'english');
      const first = this.#lexicon.find(head);
      if (first === undefined) continue;
      const tail = freshTermOf(text.slice(at), asked.script, 'english');
      const second = this.#lexicon.find(tail);
      if (second === undefined) continue;
      this.#add(asked, head, 'split', this.#constants.joinedWeight, first);
      this.#add(asked, tail, 'split', this.#constants.joinedWeight, second);
      return 0.6;
    }
    return 0;
  }

  #near(asked: Asked): number {
    const { length } = asked.key;
    if (length < 4) return 0;
    const near = this.#lexicon.near(asked.key, length >= 8 ? 2 : 1).slice(0, MOST_NEAR_WORDS);
    for (const found of near)
      this.#add(asked, found.term, 'near', this.#constants.nearWordWeight / found.distance, found);
    return near.length > 0 ? 0.6 / near[0]!.distance : 0;
  }

  synonyms(asked: Asked): void {
    for (const synonym of synonymsOf(asked.key))
      this.#add(asked, synonym, 'synonym', this.#constants.synonymWeight);
  }

  /** "file system" → `filesystem`, "log in" → `login`: looked up beside the two words. */
  joined(words: readonly Word[]): void {
    for (let i = 1; i < Math.min(words.length, MOST_WORDS); i++) {
      const [first, second] = [words[i - 1]!, words[i]!];
      if (first.script !== 'latin' || second.script !== 'latin') continue;
      if (FUNCTION_WORDS.english.has(first.text)) continue;
      if (FUNCTION_WORDS.english.has(second.text) && !PARTICLES.has(second.text)) continue;
      const text = first.text + second.text;
      const key = freshTermOf(text, 'latin', 'english');
      this.#add(
        { text, script: 'latin', key, times: 1, tools: 0 },
        key,
        'joined',
        this.#constants.joinedWeight,
      );
    }
  }
}

/** Function words that end compounds: login, setup, checkout, payoff. */
const PARTICLES: ReadonlySet<string> = new Set(['in', 'up', 'out', 'off', 'on', 'over', 'down']);
