/** What decides how a word is made into terms. */
export type Script = 'latin' | 'cyrillic' | 'greek' | 'arabic' | 'cjk' | 'unspaced' | 'other';

/**
 * Receives one word, in lower case; `script` is that of its first letter. `isWhole` marks a word written in
 * two humps, given after its two parts.
 */
export type WordSink = (word: string, script: Script, isWhole: boolean) => void;

/** Longer words are cut: they are base64, digests or text without spaces, and would only fill the vocabulary. */
const LONGEST_WORD = 40;

/**
 * Hands every word of `text` to `sink`: identifiers are split at case changes and separators
 * (`createIssue`, `HTTPServer`, `list_files`), an English possessive is dropped, and text that puts no
 * spaces between words comes as one run per script, for the analyzer to divide.
 *
 * A brand written in two humps (`GitHub`) is given whole after its parts, because people type it in lower case.
 */
export function scanWords(text: string, sink: WordSink): void {
  let i = 0;
  while (i < text.length) {
    const code = text.charCodeAt(i);
    if (!isWordUnit(code)) {
      i++;
      continue;
    }
    const start = i;
    let isAscii = true;
    for (; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (!isWordUnit(unit)) break;
      if (unit > 127) isAscii = false;
    }
    if (isAscii) splitAscii(text, start, i, sink);
    else splitUnicode(text.slice(start, i), sink);
    if (isPossessive(text, i)) i += 2;
  }
}

/** ASCII letters and digits, and everything beyond ASCII but the typographic apostrophe and common spaces. */
function isWordUnit(code: number): boolean {
  if (code < 128) return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57);
  return code !== 0x2019 && code !== 0xa0 && !(code >= 0x2000 && code <= 0x206f) && code !== 0x3000;
}

function isPossessive(text: string, at: number): boolean {
  const apostrophe = text.charCodeAt(at);
  if (apostrophe !== 39 && apostrophe !== 0x2019) return false;
  const s = text.charCodeAt(at + 1);
  return (s === 115 || s === 83) && !isWordUnit(text.charCodeAt(at + 2) || 0);
}

const DIGIT = 0;
const LOWER = 1;
const UPPER = 2;

function asciiClass(code: number): number {
  if (code >= 97) return LOWER;
  return code >= 65 ? UPPER : DIGIT;
}

function splitAscii(text: string, start: number, end: number, sink: WordSink): void {
  let from = start;
  let parts = 0;
  let previous = asciiClass(text.charCodeAt(start));
  let hasLetter = previous !== DIGIT;
  for (let i = start + 1; i < end; i++) {
    const current = asciiClass(text.charCodeAt(i));
    if (isBoundary(text, from, i, end, previous, current, hasLetter)) {
      emitAscii(text, from, i, sink, false);
      parts++;
      from = i;
      hasLetter = false;
    }
    if (current !== DIGIT) hasLetter = true;
    previous = current;
  }
  emitAscii(text, from, end, sink, false);
  if (parts === 1 && asciiClass(text.charCodeAt(start)) === UPPER) emitAscii(text, start, end, sink, true);
}

function isBoundary(
  text: string,
  from: number,
  at: number,
  end: number,
  previous: number,
  current: number,
  hasLetter: boolean,
): boolean {
  if (current !== UPPER) return false;
  // `iPhone`, `eBay` stay whole; `v1Api` is divided, `2FA` is not.
  if (previous === LOWER) return at - from > 1;
  if (previous === DIGIT) return hasLetter;
  // `HTTPServer` is divided before the S, but not `URLs`.
  const next = at + 1 < end ? asciiClass(text.charCodeAt(at + 1)) : UPPER;
  return next === LOWER && !(text.charCodeAt(at + 1) === 115 && at + 2 === end);
}

function emitAscii(text: string, from: number, to: number, sink: WordSink, isWhole: boolean): void {
  const word = text.slice(from, Math.min(to, from + LONGEST_WORD)).toLowerCase();
  sink(word, 'latin', isWhole);
}

const CJK_SET = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々`;
const UNSPACED_SET = String.raw`\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`;
const RUN = new RegExp(
  `[${CJK_SET}]+|[${UNSPACED_SET}]+|(?:(?![${CJK_SET}${UNSPACED_SET}])[\\p{L}\\p{N}\\p{M}])+`,
  'gu',
);
const CJK = new RegExp(`^[${CJK_SET}]`, 'u');
const UNSPACED = new RegExp(`^[${UNSPACED_SET}]`, 'u');
const HUMP = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})/u;

function splitUnicode(chunk: string, sink: WordSink): void {
  for (const [run] of chunk.normalize('NFKC').matchAll(RUN)) {
    const script = scriptOf(run);
    if (script === 'cjk' || script === 'unspaced') sink(run.slice(0, 400), script, false);
    else for (const part of run.split(HUMP)) sink(part.slice(0, LONGEST_WORD).toLowerCase(), script, false);
  }
}

function scriptOf(run: string): Script {
  if (CJK.test(run)) return 'cjk';
  if (UNSPACED.test(run)) return 'unspaced';
  const code = run.codePointAt(0) ?? 0;
  if (code < 0x250 || (code >= 0x1e00 && code < 0x1f00)) return 'latin';
  if (code >= 0x400 && code < 0x530) return 'cyrillic';
  if ((code >= 0x370 && code < 0x400) || (code >= 0x1f00 && code < 0x2000)) return 'greek';
  if (code >= 0x600 && code < 0x780) return 'arabic';
  return 'other';
}
