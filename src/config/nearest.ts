/**
 * The candidates a misspelt word was most likely meant to be, nearest first, at most three. Letters' case and the
 * separators `-` and `_` do not count, and a longer name that starts with the word (`batch`: `batch-size`) is near.
 */
async function nearest(word: string, candidates: readonly string[]): Promise<string[]> {
  // Only a mistake needs the library, and start-up is counted in milliseconds.
  const { distance } = await import('fastest-levenshtein');
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_\s]/g, '');
  const wanted = plain(word);
  if (wanted === '') return [];
  const reach = wanted.length < 4 ? 1 : wanted.length < 8 ? 2 : 3;
  return candidates
    .map((candidate) => {
      const name = plain(candidate);
      const isStart = wanted.length >= 4 && (name.startsWith(wanted) || wanted.startsWith(name));
      return { candidate, far: Math.min(distance(wanted, name), isStart ? reach : Infinity) };
    })
    .filter(({ far }) => far <= reach)
    .sort((a, b) => a.far - b.far || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** ` Did you mean --listen?`, or nothing when no candidate is near; to be put after a sentence. */
export async function didYouMean(word: string, candidates: readonly string[]): Promise<string> {
  const near = await nearest(word, candidates);
  if (near.length === 0) return '';
  const last = near.pop() ?? '';
  return ` Did you mean ${near.length === 0 ? last : `${near.join(', ')} or ${last}`}?`;
}
