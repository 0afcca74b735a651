import { termOf } from './analyzer.ts';
import { usersOf } from './language.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Tool texts repeat their words; the bound keeps a hostile catalog from growing the table. */
const MOST_WORDS = 8_192;

/**
 * What analysis needs to know of a word in Latin letters, by one look-up: its English term's number in the
 * vocabulary, and which languages use it as a function word. Nearly all the work of adding a document.
 */
export class WordTable {
  readonly #vocabulary: Vocabulary;
  readonly #numbers = new Map<string, number>();
  readonly #terms: number[] = [];
  readonly #users: number[] = [];

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** The number under which the word is kept until `clear`. */
  numberOf(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    const number = this.#terms.length;
    this.#terms.push(-1);
    this.#users.push(usersOf(word));
    this.#numbers.set(word, number);
    return number;
  }

  users(number: number): number {
    return this.#users[number]!;
  }

  /** The vocabulary's number for the word's English term; the term is added when it is new. */
  term(number: number, word: string): number {
    const known = this.#terms[number]!;
    if (known >= 0) return known;
    return (this.#terms[number] = this.#vocabulary.add(termOf(word, 'latin', 'english')));
  }

  get isFull(): boolean {
    return this.#terms.length >= MOST_WORDS;
  }

  clear(): void {
    this.#numbers.clear();
    this.#terms.length = 0;
    this.#users.length = 0;
  }
}
