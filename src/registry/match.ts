import { DERIVED_TAGS } from './entry.ts';
import type { ServerEntry } from './server-entry.ts';
import { slugOf } from './text.ts';

/** A query's words, in lower case; a server has to have them all, anywhere in its texts. */
export function wordsOf(search: string | undefined): readonly string[] {
  return [
    ...new Set(
      (search ?? '')
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== ''),
    ),
  ].slice(0, 20);
}

export function hasWords(entry: ServerEntry, words: readonly string[]): boolean {
  const text = `${entry.name}\n${entry.title ?? ''}\n${entry.description ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export function hasTag(entry: ServerEntry, tag: string | undefined): boolean {
  return tag === undefined || entry.tags.includes(tag);
}

export function tagOf(tag: string | undefined): string | undefined {
  const slug = tag === undefined ? '' : slugOf(tag);
  return slug === '' ? undefined : slug;
}

export function isDerivedTag(tag: string): boolean {
  return DERIVED_TAGS.some((each) => each === tag);
}

/** Best first: the very name, names that begin so, names with every word, then the rest, each in its registry's order. */
export function ranked<T extends { readonly entry: ServerEntry }>(
  found: readonly T[],
  words: readonly string[],
): readonly T[] {
  if (words.length === 0) return found;
  const whole = words.join(' ');
  const rank = ({ entry }: T): number => {
    const names = [entry.name, entry.title ?? '', entry.name.slice(entry.name.lastIndexOf('/') + 1)].map(
      (name) => name.toLowerCase(),
    );
    if (names.includes(whole)) return 0;
    if (names.some((name) => name.startsWith(whole))) return 1;
    if (names.some((name) => words.every((word) => name.includes(word)))) return 2;
    return names.some((name) => words.some((word) => name.includes(word))) ? 3 : 4;
  };
  return found
    .map((each) => [rank(each), each] as const)
    .sort(([a], [b]) => a - b)
    .map(([, each]) => each);
}
