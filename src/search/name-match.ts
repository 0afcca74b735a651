import { termsOf } from './analyzer.ts';
import { scanWords } from './words.ts';

/** A part of a question that reads like a tool's name, ready to compare. */
export interface NamePiece {
  readonly text: string;
  readonly words: readonly string[];
  /** The term by which tools with such a name are found. */
  readonly lastTerm: string;
  /** The piece is written as one identifier, so the end of a longer name is meant as well. */
  readonly isIdentifier: boolean;
}

export type NameMatch = 'exact' | 'suffix';

const MOST_PIECES = 16;
const LONGEST_PIECE = 200;
/** A sentence of more words is no name. */
const MOST_WORDS = 8;
const LONGEST_QUESTION = 4_000;
const IDENTIFIER = /[\p{L}\p{N}](?:[_:./-]|(?<=\p{Ll})(?=\p{Lu}))+[\p{L}\p{N}]/u;

/**
 * The parts of a question that may name a tool: the whole question ("create issue"), and each part between
 * spaces, commas or quotes that is written as an identifier (`create_issue`, `github:createIssue`).
 */
export function namePieces(question: string): readonly NamePiece[] {
  if (question.length > LONGEST_QUESTION) return [];
  const whole = question.trim();
  const parts = whole.split(' ', MOST_WORDS + 1).length;
  const pieces: NamePiece[] = [];
  if (parts <= MOST_WORDS && whole.length <= LONGEST_PIECE) addPiece(pieces, whole, parts === 1);
  if (parts === 1 && !/[,;]/.test(whole)) return pieces;
  if (!IDENTIFIER.test(whole)) return pieces;
  for (const part of whole.split(/[\s,;"'`()[\]]+/u)) {
    if (part.length <= LONGEST_PIECE && IDENTIFIER.test(part)) addPiece(pieces, part, true);
  }
  return pieces;
}

function addPiece(pieces: NamePiece[], text: string, isIdentifier: boolean): void {
  if (pieces.length >= MOST_PIECES) return;
  let lastTerm = '';
  scanWords(text, (word, script, isWhole) => {
    if (!isWhole) lastTerm = termsOf(word, script, 'english').at(-1) ?? '';
  });
  if (lastTerm !== '') pieces.push({ text, words: nameWords(text), lastTerm, isIdentifier });
}

/** The words of a name as they are written, so that `createIssue`, `create-issue` and "Create issue" are one. */
export function nameWords(name: string): readonly string[] {
  const words: string[] = [];
  scanWords(name, (word, _, isWhole) => {
    if (!isWhole) words.push(word);
  });
  return words;
}

/**
 * Whether a piece names a tool: `exact` when it is the exposed name, the own name, the part of the own name
 * after a gateway's `__`, or any of these behind the upstream's name (`server:tool`, `server__tool`);
 * `suffix` when an identifier of two words or more ends the own name.
 */
export function matchName(
  piece: NamePiece,
  tool: { readonly name: string; readonly exposedName: string; readonly upstream: string },
): NameMatch | undefined {
  if (!mayEndAlike(tool.name, piece.text)) return undefined;
  const own = nameWords(tool.name);
  if (equals(piece.words, own) || equals(piece.words, nameWords(tool.exposedName))) return 'exact';
  const cut = tool.name.lastIndexOf('__');
  const short = cut > 0 ? nameWords(tool.name.slice(cut + 2)) : own;
  if (cut > 0 && equals(piece.words, short)) return 'exact';
  for (const name of [own, short]) {
    if (
      name.length > 0 &&
      endsWith(piece.words, name) &&
      equals(piece.words.slice(0, -name.length), nameWords(tool.upstream))
    ) {
      return 'exact';
    }
  }
  return piece.isIdentifier && piece.words.length > 1 && endsWith(own, piece.words) ? 'suffix' : undefined;
}

/**
 * Whether two names, read from their ends without case and separators, agree until one of them ends; true
 * when in doubt. A common last word has thousands of tools, and this dismisses nearly all of them unread.
 */
function mayEndAlike(a: string, b: string): boolean {
  let i = a.length - 1;
  let j = b.length - 1;
  for (;;) {
    while (i >= 0 && isSeparator(a.charCodeAt(i))) i--;
    while (j >= 0 && isSeparator(b.charCodeAt(j))) j--;
    if (i < 0 || j < 0) return true;
    const [left, right] = [a.charCodeAt(i), b.charCodeAt(j)];
    if (left > 127 || right > 127) return true;
    if (left !== right && (left | 32) !== (right | 32)) return false;
    i--;
    j--;
  }
}

function isSeparator(code: number): boolean {
  return code < 48 || (code > 57 && code < 65) || (code > 90 && code < 97) || (code > 122 && code < 128);
}

function equals(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((word, i) => word === b[i]);
}

function endsWith(words: readonly string[], end: readonly string[]): boolean {
  return words.length >= end.length && equals(words.slice(words.length - end.length), end);
}
