/** The terms of a pool, numbered from 0 in order of arrival. Which of them a view has, the view says. */
export class Vocabulary {
  readonly #numbers = new Map<string, number>();
  readonly #terms: string[] = [];
  /** Terms by length, for near words. */
  readonly #byLength: Group[] = [];

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
    const kept = detached(term);
    this.#terms.push(kept);
    this.#numbers.set(kept, number);
    (this.#byLength[kept.length] ??= new Group()).add(number, lettersOf(kept));
    return number;
  }

  term(number: number): string {
    return this.#terms[number]!;
  }

  /**
   * The terms within `most` edits (insert, delete, replace, swap neighbours) of `word`, with their distance.
   * Exact, without an index: of 32 classes of letters a replacement changes at most two and an insertion one,
   * which leaves few terms to compare.
   */
  near(word: string, most: number): readonly { readonly number: number; readonly distance: number }[] {
    const letters = lettersOf(word);
    const pattern = new Pattern(word);
    const found: { number: number; distance: number }[] = [];
    for (let length = Math.max(3, word.length - most); length <= word.length + most; length++) {
      const group = this.#byLength[length];
      if (group === undefined) continue;
      const mostClasses = 2 * most - Math.abs(length - word.length);
      for (let i = 0; i < group.size; i++) {
        if (bitCount(group.letters[i]! ^ letters) > mostClasses) continue;
        const number = group.numbers[i]!;
        const term = this.#terms[number]!;
        // Short words have chance neighbours by the dozen; people rarely miss the first letter.
        if (word.length < 5 && term.charCodeAt(0) !== word.charCodeAt(0)) continue;
        if (pattern.atLeast(term) > most) continue;
        const distance = editDistance(word, term, most);
        if (distance <= most) found.push({ number, distance });
      }
    }
    return found;
  }
}

/**
 * One word compared with many: Hyyrö's bit-parallel form of the distance below, a handful of operations for
 * each letter. Letters that share their last seven bits count as equal, so the answer may be too low, never
 * too high.
 */
class Pattern {
  static readonly #masks = new Int32Array(128);
  readonly #word: string;

  constructor(word: string) {
    this.#word = word;
    Pattern.#masks.fill(0);
    for (let i = 0; i < Math.min(word.length, 31); i++) Pattern.#masks[word.charCodeAt(i) & 127]! |= 1 << i;
  }

  /** A lower bound of the distance; 0 for words too long for one machine word. */
  atLeast(term: string): number {
    const { length } = this.#word;
    if (length > 31) return 0;
    const masks = Pattern.#masks;
    const last = 1 << (length - 1);
    let [plus, minus, diagonal, before] = [-1, 0, 0, 0];
    let distance = length;
    for (let i = 0; i < term.length; i++) {
      const equal = masks[term.charCodeAt(i) & 127]!;
      const swapped = ((~diagonal & equal) << 1) & before;
      diagonal = ((((equal & plus) + plus) | 0) ^ plus) | equal | minus | swapped;
      const rising = minus | ~(diagonal | plus);
      const falling = diagonal & plus;
      if ((rising & last) !== 0) distance++;
      if ((falling & last) !== 0) distance--;
      const risingNext = (rising << 1) | 1;
      plus = (falling << 1) | ~(diagonal | risingNext);
      minus = diagonal & risingNext;
      before = equal;
    }
    return distance;
  }
}

class Group {
  size = 0;
  numbers = new Int32Array(16);
  letters = new Int32Array(16);

  add(number: number, letters: number): void {
    if (this.size === this.numbers.length) {
      const room = Math.ceil(this.size * 1.5);
      const [numbers, masks] = [new Int32Array(room), new Int32Array(room)];
      numbers.set(this.numbers);
      masks.set(this.letters);
      [this.numbers, this.letters] = [numbers, masks];
    }
    this.numbers[this.size] = number;
    this.letters[this.size++] = letters;
  }
}

/** V8 lets a slice of 13 characters or more keep its whole parent alive, here a tool's description. */
function detached(term: string): string {
  return term.length < 13 ? term : Array.from(term).join('');
}

/** Which letters a word has, one bit for each of 32 classes. */
function lettersOf(word: string): number {
  let letters = 0;
  for (let i = 0; i < word.length; i++) letters |= 1 << (word.charCodeAt(i) & 31);
  return letters;
}

function bitCount(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

let beforeLast = new Uint16Array(64);
let last = new Uint16Array(64);
let row = new Uint16Array(64);

/**
 * Optimal string alignment distance of two words of at most 60 units; anything above `most` may be answered
 * with any number above it.
 */
export function editDistance(a: string, b: string, most: number): number {
  if (a.length > 60 || b.length > 60) return most + 1;
  for (let j = 0; j <= b.length; j++) last[j] = j;
  for (let i = 1; i <= a.length; i++) {
    row[0] = i;
    let least = i;
    const letter = a.charCodeAt(i - 1);
    for (let j = 1; j <= b.length; j++) {
      const other = b.charCodeAt(j - 1);
      let cost = last[j - 1]! + (letter === other ? 0 : 1);
      if (last[j]! + 1 < cost) cost = last[j]! + 1;
      if (row[j - 1]! + 1 < cost) cost = row[j - 1]! + 1;
      if (i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other) {
        if (beforeLast[j - 2]! + 1 < cost) cost = beforeLast[j - 2]! + 1;
      }
      row[j] = cost;
      if (cost < least) least = cost;
    }
    if (least > most) return most + 1;
    const spare = beforeLast;
    beforeLast = last;
    last = row;
    row = spare;
  }
  return last[b.length]!;
}
