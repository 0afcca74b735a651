import { buildByteTrie, byteTrieOf } from '../tokenizer/byte-trie.ts';
import type { ByteTrie } from '../tokenizer/byte-trie.ts';
import { Fault, isRecord } from './json-fields.ts';
import type { TokenizerSpec } from './read-spec.ts';

/** The large parts of a tokenizer, as they are kept: made once from its JSON, which takes time and much memory. */
export interface Vocabulary {
  readonly trie: ByteTrie;
  /** Unigram's log-probability of each token id; empty for WordPiece. */
  readonly scores: Float64Array;
  /** The charsmaps of the normalizer's `precompiled` steps, by number. */
  readonly charsmaps: readonly Uint8Array[];
  /** How many tokens there are, added ones included. */
  readonly size: number;
  /** Whole part of the median length of all tokens, in code points. */
  readonly medianCharacters: number;
}

/** Largest id of a token; the largest vocabulary known has half a million. */
const MAX_TOKENS = 4_000_000;

/** Reads the vocabulary of a parsed `tokenizer.json` whose spec was read; throws a `Fault` that says what is wrong. */
export function readVocabulary(json: unknown, spec: TokenizerSpec): Vocabulary {
  const model = isRecord(json) && isRecord(json['model']) ? json['model'] : {};
  const pieces: string[] = [];
  const ids: number[] = [];
  let scores = new Float64Array(0);
  if (spec.model.kind === 'unigram') scores = readUnigram(model['vocab'], pieces, ids);
  else readWordPiece(model['vocab'], pieces, ids);
  if (pieces.length === 0) throw new Fault('its vocabulary is empty');

  const tokens = new Set(pieces);
  for (const { content, id } of spec.addedTokens) {
    if (id > MAX_TOKENS) throw new Fault(`an added token has the id ${id}`);
    tokens.add(content);
  }
  return {
    trie: trieOf(pieces, ids),
    scores,
    charsmaps: readCharsmaps(json),
    size: tokens.size,
    medianCharacters: Math.floor(medianOf([...tokens].map((token) => codePoints(token)))),
  };
}

function readUnigram(vocab: unknown, pieces: string[], ids: number[]): Float64Array<ArrayBuffer> {
  if (!Array.isArray(vocab) || vocab.length > MAX_TOKENS)
    throw new Fault('its vocabulary is not a list of pieces');
  const scores = new Float64Array(vocab.length);
  for (const [id, entry] of vocab.entries()) {
    const [piece, score]: unknown[] = Array.isArray(entry) ? entry : [];
    if (typeof piece !== 'string' || typeof score !== 'number' || !Number.isFinite(score)) {
      throw new Fault(`piece ${id} of its vocabulary is not a text with its score`);
    }
    scores[id] = score;
    pieces.push(piece);
    ids.push(id);
  }
  return scores;
}

function readWordPiece(vocab: unknown, pieces: string[], ids: number[]): void {
  if (!isRecord(vocab)) throw new Fault('its vocabulary is not an object of pieces');
  for (const [piece, id] of Object.entries(vocab)) {
    if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0 || id > MAX_TOKENS) {
      throw new Fault(`the piece ${JSON.stringify(piece)} of its vocabulary has no id`);
    }
    pieces.push(piece);
    ids.push(id);
  }
}

function trieOf(pieces: readonly string[], ids: readonly number[]): ByteTrie {
  // One run of bytes for all: half a million small buffers would take more memory than everything else.
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + 3 * piece.length, 0));
  const lengths: number[] = [];
  const numbers: number[] = [];
  const encoder = new TextEncoder();
  let end = 0;
  for (const [i, piece] of pieces.entries()) {
    // An empty piece never matches anything.
    if (piece === '') continue;
    const { written } = encoder.encodeInto(piece, bytes.subarray(end));
    end += written;
    lengths.push(written);
    numbers.push(ids[i] ?? 0);
  }
  const { firstChild, labels, pieceAt } = buildByteTrie(bytes.subarray(0, end), lengths);
  let largest = 0;
  for (const [node, piece] of pieceAt.entries()) {
    if (piece < 0) continue;
    const id = numbers[piece] ?? 0;
    pieceAt[node] = id;
    if (id > largest) largest = id;
  }
  return byteTrieOf(firstChild, labels, pieceAt, largest + 1);
}

function readCharsmaps(json: unknown): Uint8Array[] {
  const found: Uint8Array[] = [];
  const walk = (value: unknown): void => {
    if (!isRecord(value)) return;
    if (value['type'] === 'Precompiled') {
      const base64 = value['precompiled_charsmap'];
      if (typeof base64 !== 'string') throw new Fault('its Precompiled normalizer has no charsmap');
      found.push(new Uint8Array(Buffer.from(base64, 'base64')));
    }
    if (Array.isArray(value['normalizers'])) value['normalizers'].forEach(walk);
  };
  if (isRecord(json)) walk(json['normalizer']);
  return found;
}

export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function medianOf(lengths: number[]): number {
  const sorted = Int32Array.from(lengths).sort();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
