import { readRanges } from './code-points.ts';
import { OF_WORDS } from './unicode-tables.ts';
import type { AddedToken } from './read-spec.ts';

/** A stretch of a text: an added token's id, or text to be cut further. */
export type Stretch = { readonly id: number } | { readonly text: string; readonly isFirst: boolean };

/** Finds tokens as they stand: the leftmost, and of several there the longest. */
export function addedTokenFinder(
  tokens: readonly AddedToken[],
  contentOf: (token: AddedToken) => string,
): (text: string, isFirst: boolean) => Stretch[] {
  const byContent = new Map<string, AddedToken>();
  for (const token of tokens) {
    const content = contentOf(token);
    if (content !== '') byContent.set(content, token);
  }
  if (byContent.size === 0) return (text, isFirst) => (text === '' ? [] : [{ text, isFirst }]);
  const expression = new RegExp(
    [...byContent.keys()]
      .sort((a, b) => b.length - a.length)
      .map((content) => content.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`))
      .join('|'),
    'gu',
  );
  return (text, isFirst) => {
    const stretches: Stretch[] = [];
    let done = 0;
    for (const match of text.matchAll(expression)) {
      const token = byContent.get(match[0]);
      if (token === undefined) continue;
      let start = match.index;
      let stop = start + match[0].length;
      if (token.isSingleWord && isWithinWord(text, start, stop)) continue;
      if (token.stripsLeft)
        start = Math.max(done, start - (SPACE_END.exec(text.slice(0, start))?.[0].length ?? 0));
      if (token.stripsRight) stop += SPACE_START.exec(text.slice(stop))?.[0].length ?? 0;
      if (done < start) stretches.push({ text: text.slice(done, start), isFirst: isFirst && done === 0 });
      stretches.push({ id: token.id });
      done = stop;
    }
    if (done < text.length) stretches.push({ text: text.slice(done), isFirst: isFirst && done === 0 });
    return stretches;
  };
}

const isOfWord = readRanges(OF_WORDS);

function isWithinWord(text: string, start: number, stop: number): boolean {
  const before = /.$/su.exec(text.slice(Math.max(0, start - 2), start))?.[0].codePointAt(0);
  const after = text.codePointAt(stop);
  return (before !== undefined && isOfWord(before)) || (after !== undefined && isOfWord(after));
}

const SPACE_END = /(?<!\p{White_Space})\p{White_Space}+$/u;
const SPACE_START = /^\p{White_Space}+/u;
