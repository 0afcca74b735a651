import { UNKNOWN_PIECE, type Segmentation } from '../tokenizer/unigram.ts';
import type { PackedFile, PackedVocabulary } from './packed-file.ts';

/** The rows a text becomes: begin, at most `limit` pieces, end. */
export interface Rows {
  /** Name of the vocabulary that won. */
  readonly vocabulary: string;
  /** Place of each row's vocabulary in the file, and the row there. */
  readonly rows: readonly (readonly [vocabulary: number, row: number])[];
}

type Source = Pick<PackedFile, 'charsmap' | 'vocabularies' | 'routing'>;

/**
 * Characters of a text that are read, for each piece that is kept: a piece has some 4 letters, so pieces are only
 * lost of texts of very long ones. The bound keeps a text of megabytes from holding up everybody.
 */
const CHARACTERS_A_PIECE = 32;

/**
 * Which vocabulary reads a text best, and the pieces it cuts it into. An added vocabulary wins when it explains the
 * lower-cased text, by log-probability a word, better than the base does by its margin; of several the best. All
 * other texts are cut by the base as they are written, as if nothing had been added.
 */
export function rowsOf(file: Source, written: string, limit: number): Rows {
  const text = cutOff(written, limit * CHARACTERS_A_PIECE);
  const [base, ...added] = file.vocabularies;
  const routed = added.length === 0 ? undefined : route(file, base, added, text);
  if (routed === undefined) {
    const { pieces } = base.segmenter.segment(file.charsmap.normalizeLongest(text));
    return finish(base, 0, partsOf(base, 0, pieces), limit);
  }
  const { vocabulary, place, lower, segmentation } = routed;
  const { wordMargin } = file.routing;
  const parts =
    wordMargin === undefined
      ? partsOf(vocabulary, place, segmentation.pieces)
      : mixed(file, vocabulary, place, lower, wordMargin);
  return finish(vocabulary, place, parts, limit);
}

interface Routed {
  readonly vocabulary: PackedVocabulary;
  readonly place: number;
  readonly lower: Uint8Array;
  readonly segmentation: Segmentation;
}

function route(
  { charsmap, routing }: Source,
  base: PackedVocabulary,
  added: readonly PackedVocabulary[],
  text: string,
): Routed | undefined {
  const lower = charsmap.normalizeLongest(text.toLowerCase());
  const words = Math.max(1, wordStarts(lower).length);
  const unknown = routing.unknownCharacterScore;
  const baseScore = scoreOf(base, base.segmenter.segment(lower), lower, unknown);
  let best: Routed | undefined;
  let greatest = Number.NEGATIVE_INFINITY;
  added.forEach((vocabulary, i) => {
    const segmentation = vocabulary.segmenter.segment(lower);
    const margin = (scoreOf(vocabulary, segmentation, lower, unknown) - baseScore) / words;
    if (margin > vocabulary.textMargin && margin > greatest) {
      greatest = margin;
      best = { vocabulary, place: i + 1, lower, segmentation };
    }
  });
  return best;
}

/** Each word by itself, in the base's pieces where those explain it better by `wordMargin`. */
function mixed(
  { vocabularies: [base], routing }: Source,
  vocabulary: PackedVocabulary,
  place: number,
  lower: Uint8Array,
  wordMargin: number,
): (readonly [number, number])[] {
  const unknown = routing.unknownCharacterScore;
  const starts = wordStarts(lower);
  return starts.flatMap((start, i) => {
    const word = lower.subarray(start, starts[i + 1]);
    const own = vocabulary.segmenter.segment(word);
    const theirs = base.segmenter.segment(word);
    const gain = scoreOf(base, theirs, word, unknown) - scoreOf(vocabulary, own, word, unknown);
    return gain > wordMargin ? partsOf(base, 0, theirs.pieces) : partsOf(vocabulary, place, own.pieces);
  });
}

/** The sum of the pieces' log-probabilities; each character no piece covers counts `unknown`. */
function scoreOf(
  { scores }: PackedVocabulary,
  { pieces, ends }: Segmentation,
  text: Uint8Array,
  unknown: number,
): number {
  let score = 0;
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i]!;
    if (piece !== UNKNOWN_PIECE) score += scores[piece]!;
    else score += unknown * charactersIn(text, i === 0 ? 0 : ends[i - 1]!, ends[i]!);
  }
  return score;
}

function charactersIn(text: Uint8Array, start: number, end: number): number {
  let count = 0;
  for (let at = start; at < end; at++) if ((text[at]! & 0xc0) !== 0x80) count++;
  return count;
}

/** Offsets of U+2581, with which every word of a normalised text begins. */
function wordStarts(text: Uint8Array): number[] {
  const starts: number[] = [];
  for (let at = 0; at + 2 < text.length; at++) {
    if (text[at] === 0xe2 && text[at + 1] === 0x96 && text[at + 2] === 0x81) starts.push(at);
  }
  return starts;
}

function partsOf(
  { unknownRow }: PackedVocabulary,
  place: number,
  pieces: Int32Array,
): (readonly [number, number])[] {
  return Array.from(pieces, (piece) => [place, piece === UNKNOWN_PIECE ? unknownRow : piece] as const);
}

function finish(
  { name, beginRow, endRow }: PackedVocabulary,
  place: number,
  parts: readonly (readonly [number, number])[],
  limit: number,
): Rows {
  return { vocabulary: name, rows: [[place, beginRow], ...parts.slice(0, limit), [place, endRow]] };
}

function cutOff(text: string, length: number): string {
  if (text.length <= length) return text;
  // Not between the halves of a surrogate pair.
  const isHalf = (text.charCodeAt(length - 1) & 0xfc00) === 0xd800;
  return text.slice(0, isHalf ? length - 1 : length);
}
