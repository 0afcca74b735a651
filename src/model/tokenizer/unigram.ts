import { buildByteTrie, childOf } from './byte-trie.ts';
import type { ByteTrie } from './byte-trie.ts';

/**
 * Unigram segmentation: of all ways to cut a text into pieces of a vocabulary, the one whose log-probabilities add
 * up to the most. Exact, and with the arithmetic of the two libraries that define it, so that the pieces are theirs:
 * sentencepiece adds in single precision, Hugging Face's `tokenizers` in double.
 */

/** A vocabulary as it lies in files: no string is made of a piece. */
export interface UnigramVocabulary {
  /** The UTF-8 bytes of all pieces, one after another. */
  readonly bytes: Uint8Array;
  /** How many bytes each piece has; none is empty. */
  readonly lengths: ArrayLike<number>;
  /** The log-probability of each piece. */
  readonly scores: Float32Array | Float64Array;
}

/** A vocabulary whose trie was built before. */
export interface BuiltVocabulary {
  readonly trie: ByteTrie;
  /** The log-probability of each piece. */
  readonly scores: Float32Array | Float64Array;
}

export interface UnigramOptions {
  /** How path scores are added: `single` as sentencepiece does, `double` as Hugging Face does. */
  readonly precision: 'single' | 'double';
  /** Score of a character that no piece covers. Both libraries take the vocabulary's least score less 10: the default. */
  readonly unknownScore?: number;
}

/** In place of a piece's number: characters no piece covers, neighbours taken together. */
export const UNKNOWN_PIECE = -1;

/** The parts of a text in order; the arrays are the caller's. */
export interface Segmentation {
  /** Number of each part's piece in the vocabulary as it was given, or `UNKNOWN_PIECE`. */
  readonly pieces: Int32Array;
  /** Offset of the byte after each part, so the last is the text's length. */
  readonly ends: Int32Array;
  /** The whole path's score, unknown characters included. */
  readonly score: number;
}

/** The vocabulary of pieces that are strings, for files that keep them as such. */
export function unigramVocabulary(
  pieces: readonly string[],
  scores: Float32Array | Float64Array,
): UnigramVocabulary {
  const parts = pieces.map((piece) => Buffer.from(piece));
  return { bytes: Buffer.concat(parts), lengths: parts.map((part) => part.length), scores };
}

export class UnigramSegmenter {
  readonly #trie: ByteTrie;
  readonly #scores: Float32Array | Float64Array;
  readonly #isSingle: boolean;
  readonly #unknownScore: number;
  /** By byte offset: the best path's score up to here, where its last part starts, and that part's piece. */
  #best: Float64Array = new Float64Array(0);
  #starts: Int32Array = new Int32Array(0);
  #pieces: Int32Array = new Int32Array(0);

  /**
   * The vocabulary is best given in the order of its bytes; otherwise it is sorted first. Of a piece that appears
   * twice the later number counts.
   */
  constructor(vocabulary: UnigramVocabulary | BuiltVocabulary, options: UnigramOptions) {
    this.#trie = 'trie' in vocabulary ? vocabulary.trie : buildByteTrie(vocabulary.bytes, vocabulary.lengths);
    this.#scores = vocabulary.scores;
    this.#isSingle = options.precision === 'single';
    const unknown = options.unknownScore ?? leastOf(vocabulary.scores) - 10;
    this.#unknownScore = this.#isSingle ? Math.fround(unknown) : unknown;
  }

  /** Cuts `text`, which is valid UTF-8. Time and memory grow with its length, so long texts are cut off before. */
  segment(text: Uint8Array): Segmentation {
    this.#walk(text);
    return this.#path(text.length);
  }

  #walk(text: Uint8Array): void {
    const size = text.length;
    if (this.#best.length <= size) {
      const room = Math.max(1024, 2 * size);
      this.#best = new Float64Array(room);
      this.#starts = new Int32Array(room);
      this.#pieces = new Int32Array(room);
    }
    const best = this.#best;
    const starts = this.#starts;
    const pieces = this.#pieces;
    const scores = this.#scores;
    const isSingle = this.#isSingle;
    const trie = this.#trie;
    const { roots, pieceAt } = trie;
    best[0] = 0;
    starts.fill(-1, 0, size + 1);
    for (let start = 0; start < size;) {
      const before = best[start]!;
      const characterEnd = Math.min(size, start + characterBytes(text[start]!));
      let isCovered = false;
      let node = roots[text[start]!]!;
      for (let end = start + 1; node !== 0; end++) {
        const piece = pieceAt[node]!;
        if (piece >= 0) {
          const score = before + scores[piece]!;
          // Strictly greater: of equal paths the one found first stays, as in both libraries. sentencepiece compares
          // before it rounds (up to 0.2.1, by which models are made here; 0.2.3 rounds before, which only matters
          // where paths are equal but for rounding, such as "a" 400 times).
          if (starts[end] === -1 || score > best[end]!) {
            best[end] = isSingle ? Math.fround(score) : score;
            starts[end] = start;
            pieces[end] = piece;
          }
          isCovered ||= end === characterEnd;
        }
        if (end >= size) break;
        node = childOf(trie, node, text[end]!);
      }
      if (!isCovered) {
        const sum = before + this.#unknownScore;
        const score = isSingle ? Math.fround(sum) : sum;
        if (starts[characterEnd] === -1 || score > best[characterEnd]!) {
          best[characterEnd] = score;
          starts[characterEnd] = start;
          pieces[characterEnd] = UNKNOWN_PIECE;
        }
      }
      start = characterEnd;
    }
  }

  #path(size: number): Segmentation {
    const starts = this.#starts;
    const found = this.#pieces;
    let count = 0;
    for (let end = size, last = 0; end > 0; end = starts[end]!) {
      // `last` is never UNKNOWN_PIECE before the first part.
      if (!(found[end] === UNKNOWN_PIECE && last === UNKNOWN_PIECE)) count++;
      last = found[end]!;
    }
    const pieces = new Int32Array(count);
    const ends = new Int32Array(count);
    let at = count;
    for (let end = size, last = 0; end > 0; end = starts[end]!) {
      if (!(found[end] === UNKNOWN_PIECE && last === UNKNOWN_PIECE)) {
        at--;
        pieces[at] = found[end]!;
        ends[at] = end;
      }
      last = found[end]!;
    }
    return { pieces, ends, score: size === 0 ? 0 : this.#best[size]! };
  }
}

function leastOf(scores: Float32Array | Float64Array): number {
  let least = 0;
  for (const score of scores) least = Math.min(least, score);
  return least;
}

/** Bytes of the character that begins with `lead`; a byte that begins none stands for itself. */
function characterBytes(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
