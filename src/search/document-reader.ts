import { termsOf } from './analyzer.ts';
import { FIELDS } from './fields.ts';
import { FUNCTION_WORDS, type LatinLanguage } from './function-words.ts';
import { LATIN_LANGUAGES, languageOf } from './language.ts';
import type { ToolText } from './tool-text.ts';
import type { Vocabulary } from './vocabulary.ts';
import { WordTable } from './word-table.ts';
import { scanWords, type Script } from './words.ts';

/** Counts are four bits wide. */
const MOST_COUNTED = 15;
const LONGEST_LENGTH = 65_535;
const NOT_LATIN = -1;
/** Fields of running text, where function words are not indexed; a name like `who_is` keeps them. */
const IS_PROSE = FIELDS.map((field) => field === 'lead' || field === 'rest' || field === 'parameterText');

/** Makes tools' texts into terms and counts. After `read`, the results are in its fields until the next. */
export class DocumentReader {
  /** The document's terms, by number in the vocabulary. */
  terms: number[] = [];
  /** Field lengths in terms. */
  readonly lengths = new Uint16Array(FIELDS.length);
  /** The language of the document's sentences, as a place in `LATIN_LANGUAGES`. */
  language = 0;

  readonly #vocabulary: Vocabulary;
  readonly #table: WordTable;
  #counts = new Int32Array(256);
  readonly #words: string[] = [];
  readonly #scripts: Script[] = [];
  /** The word's number in the table, or `NOT_LATIN`. */
  readonly #numbers: number[] = [];

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
    this.#table = new WordTable(vocabulary);
  }

  read(text: ToolText): void {
    for (const term of this.terms) this.#counts[term] = 0;
    this.terms.length = 0;
    this.#words.length = 0;
    this.#scripts.length = 0;
    this.#numbers.length = 0;
    if (this.#table.isFull) this.#table.clear();

    const ends = FIELDS.map((field) => {
      for (const piece of text[field]) scanWords(piece, this.#take);
      return this.#words.length;
    });
    const language = this.#languageOf(ends[FIELDS.indexOf('server')]!);
    this.language = LATIN_LANGUAGES.indexOf(language);
    let from = 0;
    for (let field = 0; field < FIELDS.length; field++) {
      // Names are English in any catalog; the language is that of the sentences.
      const length = this.#count(field, from, ends[field]!, IS_PROSE[field]! ? language : 'english');
      this.lengths[field] = Math.min(length, LONGEST_LENGTH);
      from = ends[field]!;
    }
  }

  /** Forgets what only speeds up a run of documents; a catalog is read at once and then seldom. */
  rest(): void {
    this.#table.clear();
  }

  /** A term's counts in the document that was read, four bits a field. */
  countsOf(term: number): number {
    return this.#counts[term]!;
  }

  readonly #take = (word: string, script: Script): void => {
    this.#words.push(word);
    this.#scripts.push(script);
    this.#numbers.push(script === 'latin' ? this.#table.numberOf(word) : NOT_LATIN);
  };

  #languageOf(from: number): LatinLanguage {
    const users: number[] = [];
    for (let i = from; i < this.#numbers.length; i++) {
      const number = this.#numbers[i]!;
      const bits = number === NOT_LATIN ? 0 : this.#table.users(number);
      if (bits !== 0) users.push(bits);
    }
    return languageOf(users);
  }

  #count(field: number, from: number, to: number, language: LatinLanguage): number {
    const isProse = IS_PROSE[field]!;
    let length = 0;
    for (let i = from; i < to; i++) {
      const number = this.#numbers[i]!;
      if (number !== NOT_LATIN && language === 'english') {
        if (isProse && (this.#table.users(number) & 1) === 1) continue;
        this.#add(this.#table.term(number, this.#words[i]!), field);
        length++;
        continue;
      }
      const word = this.#words[i]!;
      if (isProse && (FUNCTION_WORDS.english.has(word) || FUNCTION_WORDS[language].has(word))) continue;
      for (const term of termsOf(word, this.#scripts[i]!, language)) {
        this.#add(this.#vocabulary.add(term), field);
        length++;
      }
    }
    return length;
  }

  #add(term: number, field: number): void {
    if (term >= this.#counts.length) {
      const wider = new Int32Array(Math.ceil(term * 1.5));
      wider.set(this.#counts);
      this.#counts = wider;
    }
    const before = this.#counts[term]!;
    if (before === 0) this.terms.push(term);
    const shift = field * 4;
    if (((before >>> shift) & MOST_COUNTED) < MOST_COUNTED) this.#counts[term] = before + (1 << shift);
  }
}
