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
    const first = classOf(text.charCodeAt(i));
    if (first === SEPARATOR) {
      i++;
      continue;
    }
    const start = i++;
    // Nearly every word is small letters, perhaps after one capital; those need no division.
    let isPlain = first !== BEYOND_ASCII;
    let isAscii = isPlain;
    for (; i < text.length; i++) {
      const unit = classOf(text.charCodeAt(i));
      if (unit === SEPARATOR) break;
      if (unit > LOWER) {
        isPlain = false;
        if (unit === BEYOND_ASCII) isAscii = false;
      }
    }
    if (isPlain) emitAscii(text, start, i, sink, false);
    else if (isAscii) splitAscii(text, start, i, sink);
    else splitUnicode(text.slice(start, i), sink);
    if (isPossessive(text, i)) i += 2;
  }
}

const SEPARATOR = 0;
const DIGIT = 1;
const LOWER = 2;
const UPPER = 3;
const BEYOND_ASCII = 4;

const ASCII_CLASSES = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  return code >= 48 && code <= 57 ? DIGIT : SEPARATOR;
});

/** Everything beyond ASCII may be part of a word but the typographic apostrophe and the spaces. */
function classOf(code: number): number {
  if (code < 128) return ASCII_CLASSES[code]!;
  const separates = code === 0x2019 || code === 0xa0 || (code >= 0x2000 && code <= 0x206f) || code === 0x3000;
  return separates ? SEPARATOR : BEYOND_ASCII;
}

function isPossessive(text: string, at: number): boolean {
  const apostrophe = text.charCodeAt(at);
  if (apostrophe !== 39 && apostrophe !== 0x2019) return false;
  const s = text.charCodeAt(at + 1);
  return (s === 115 || s === 83) && classOf(text.charCodeAt(at + 2) || 0) === SEPARATOR;
}

function splitAscii(text: string, start: number, end: number, sink: WordSink): void {
  let from = start;
  let parts = 0;
  let previous = classOf(text.charCodeAt(start));
  let hasLetter = previous !== DIGIT;
  for (let i = start + 1; i < end; i++) {
    const current = classOf(text.charCodeAt(i));
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
  if (parts === 1 && classOf(text.charCodeAt(start)) === UPPER) emitAscii(text, start, end, sink, true);
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
  const next = at + 1 < end ? classOf(text.charCodeAt(at + 1)) : UPPER;
  return next === LOWER && !(text.charCodeAt(at + 1) === 115 && at + 2 === end);
}

function emitAscii(text: string, from: number, to: number, sink: WordSink, isWhole: boolean): void {
  sink(text.slice(from, Math.min(to, from + LONGEST_WORD)).toLowerCase(), 'latin', isWhole);
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
