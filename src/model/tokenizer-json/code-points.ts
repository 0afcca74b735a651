/** Whether a code point is in the ranges of a text as `unicode-tables.ts` holds it. */
export function readRanges(text: string): (codePoint: number) => boolean {
  const firsts: number[] = [];
  const lasts: number[] = [];
  let at = 0;
  for (const range of text.split(' ')) {
    const [distance = '', more = '0'] = range.split('.');
    const first = at + parseInt(distance, 36);
    at = first + parseInt(more, 36);
    firsts.push(first);
    lasts.push(at);
  }
  return (codePoint) => {
    let low = 0;
    let high = firsts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((firsts[middle] ?? 0) <= codePoint) low = middle + 1;
      else high = middle;
    }
    return low > 0 && codePoint <= (lasts[low - 1] ?? -1);
  };
}
