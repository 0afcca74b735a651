/** The terms of a pool, numbered from 0 in order of arrival. Which of them a view has, the view says. */
export class Vocabulary {
  readonly #numbers = new Map<string, number>();
  readonly #terms: string[] = [];
  /** Which letters a term has, one bit for each of 32 classes: tells far words from near ones without reading them. */
  #letters = new Uint32Array(1024);

  get size(): number {
    return this.#terms.length;
  }

  find(term: string): number | undefined {
    return this.#numbers.get(term);
  }

  add(term: string): number {
    const known = this.#numbers.get(term);
    if (known !== undefined) return known;
    const number = this.#terms.length;
    if (number === this.#letters.length) {
      const wider = new Uint32Array(number * 2);
      wider.set(this.#letters);
      this.#letters = wider;
    }
    this.#letters[number] = lettersOf(term);
    this.#terms.push(term);
    this.#numbers.set(term, number);
    return number;
  }

  term(number: number): string {
    return this.#terms[number]!;
  }

  /**
   * The terms within `most` edits (insert, delete, replace, swap neighbours) of `word`, with their distance.
   * Exact: the letters of two words at distance d differ in at most 2d classes.
   */
  near(word: string, most: number): readonly { readonly number: number; readonly distance: number }[] {
    const letters = lettersOf(word);
    const found: { number: number; distance: number }[] = [];
    for (let number = 0; number < this.#terms.length; number++) {
      if (bitCount(this.#letters[number]! ^ letters) > 2 * most) continue;
      const term = this.#terms[number]!;
      if (Math.abs(term.length - word.length) > most || term.length < 3) continue;
      const distance = editDistance(word, term, most);
      if (distance > 0 && distance <= most) found.push({ number, distance });
    }
    return found;
  }
}

function lettersOf(term: string): number {
  let letters = 0;
  for (let i = 0; i < term.length; i++) letters |= 1 << (term.charCodeAt(i) & 31);
  return letters >>> 0;
}

function bitCount(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return (((n + (n >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

/** Optimal string alignment distance; anything above `most` may be answered with any number above it. */
export function editDistance(a: string, b: string, most: number): number {
  const width = b.length + 1;
  let beforeLast = new Int32Array(width);
  let last = Int32Array.from({ length: width }, (_, j) => j);
  let row = new Int32Array(width);
  for (let i = 1; i <= a.length; i++) {
    row[0] = i;
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const same = a.charCodeAt(i - 1) === b.charCodeAt(j - 1);
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && a.charCodeAt(i - 1) === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === b.charCodeAt(j - 1);
      if (swapped) cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row[j] = cost;
      if (cost < least) least = cost;
    }
    if (least > most) return most + 1;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return last[b.length]!;
}
