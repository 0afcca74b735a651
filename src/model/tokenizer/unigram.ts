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
  constructor(vocabulary: UnigramVocabulary, options: UnigramOptions) {
    this.#trie = buildByteTrie(vocabulary.bytes, vocabulary.lengths);
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
    const { roots, firstChild, labels, pieceAt } = this.#trie;
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
          const sum = before + scores[piece]!;
          const score = isSingle ? Math.fround(sum) : sum;
          // Strictly greater: of equal paths the one found first stays, as in both libraries.
          if (starts[end] === -1 || score > best[end]!) {
            best[end] = score;
            starts[end] = start;
            pieces[end] = piece;
          }
          isCovered ||= end === characterEnd;
        }
        if (end >= size) break;
        node = childOf(firstChild, labels, node, text[end]!);
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

/**
 * A trie over bytes in flat arrays. Node 0 is the root and never a child, so 0 also means "none". The children of
 * `node` are `firstChild[node]` up to `firstChild[node + 1]`, in the order of their labels.
 */
interface ByteTrie {
  /** The root's children by label. */
  readonly roots: Int32Array;
  readonly firstChild: Int32Array;
  readonly labels: Uint8Array;
  /** Number of the piece that ends at a node, or −1. */
  readonly pieceAt: Int32Array;
}

function childOf(firstChild: Int32Array, labels: Uint8Array, node: number, label: number): number {
  let low = firstChild[node]!;
  let high = firstChild[node + 1]!;
  while (high - low > 8) {
    const middle = (low + high) >> 1;
    if (labels[middle]! <= label) low = middle;
    else high = middle;
  }
  for (; low < high; low++) if (labels[low] === label) return low;
  return 0;
}

function buildByteTrie(bytes: Uint8Array, lengths: ArrayLike<number>): ByteTrie {
  const count = lengths.length;
  const offsets = new Int32Array(count + 1);
  for (let i = 0; i < count; i++) offsets[i + 1] = offsets[i]! + lengths[i]!;
  if (offsets[count] !== bytes.length) throw new RangeError('the pieces and their lengths do not agree');
  const order = bytewiseOrder(bytes, offsets);
  const nodes = countNodes(bytes, offsets, order);

  const firstChild = new Int32Array(nodes + 1);
  const labels = new Uint8Array(nodes);
  const pieceAt = new Int32Array(nodes).fill(-1);
  // Breadth first, so that children lie together: each node stands for a run of the sorted pieces.
  const runStart = new Int32Array(nodes);
  const runEnd = new Int32Array(nodes);
  runEnd[0] = count;
  let made = 1;
  let depth = 0;
  let levelEnd = 1;
  for (let node = 0; node < nodes; node++) {
    if (node === levelEnd) {
      depth++;
      levelEnd = made;
    }
    firstChild[node] = made;
    let at = runStart[node]!;
    const end = runEnd[node]!;
    for (; at < end && lengthOf(order[at]!) === depth; at++) pieceAt[node] = order[at]!;
    while (at < end) {
      const label = bytes[offsets[order[at]!]! + depth]!;
      labels[made] = label;
      runStart[made] = at;
      while (at < end && bytes[offsets[order[at]!]! + depth] === label) at++;
      runEnd[made++] = at;
    }
  }
  firstChild[nodes] = made;

  const roots = new Int32Array(256);
  for (let node = firstChild[0]!; node < firstChild[1]!; node++) roots[labels[node]!] = node;
  return { roots, firstChild, labels, pieceAt };

  function lengthOf(piece: number): number {
    return offsets[piece + 1]! - offsets[piece]!;
  }
}

/** The numbers of the pieces in the order of their bytes; equal pieces in the order given. */
function bytewiseOrder(bytes: Uint8Array, offsets: Int32Array): Int32Array {
  const count = offsets.length - 1;
  const order = Int32Array.from({ length: count }, (_, i) => i);
  let isSorted = true;
  for (let i = 1; i < count && isSorted; i++) isSorted = compare(i - 1, i) <= 0;
  return isSorted ? order : order.sort((a, b) => compare(a, b) || a - b);

  function compare(a: number, b: number): number {
    const endA = offsets[a + 1]!;
    const endB = offsets[b + 1]!;
    let atA = offsets[a]!;
    let atB = offsets[b]!;
    for (; atA < endA && atB < endB; atA++, atB++) {
      if (bytes[atA] !== bytes[atB]) return bytes[atA]! - bytes[atB]!;
    }
    return endA - atA - (endB - atB);
  }
}

/** One node for every prefix that the piece before does not have too, and the root. */
function countNodes(bytes: Uint8Array, offsets: Int32Array, order: Int32Array): number {
  let nodes = 1;
  for (let i = 0; i < order.length; i++) {
    const start = offsets[order[i]!]!;
    const length = offsets[order[i]! + 1]! - start;
    if (length <= 0) throw new RangeError('a piece is empty');
    let shared = 0;
    if (i > 0) {
      const before = offsets[order[i - 1]!]!;
      const most = Math.min(length, offsets[order[i - 1]! + 1]! - before);
      while (shared < most && bytes[start + shared] === bytes[before + shared]) shared++;
    }
    nodes += length - shared;
  }
  return nodes;
}
