/** A description in a search answer: enough to choose by, the rest is a `describe_tool` away. */
const SHORT = 140;

/**
 * The start of a description on one line, cut at the end of a sentence where one ends in reach, else at a word
 * with `…`.
 */
export function shortDescription(description: string): string {
  const line = description.replaceAll(/[\p{Cc}\u{E0000}-\u{E007F}\s]+/gu, ' ').trim();
  if (line.length <= SHORT) return line;
  const reach = line.slice(0, SHORT + 1);
  const sentence = /^.*[.!?。！？](?=\s|$|(?<=[。！？]))/u.exec(reach)?.[0];
  if (sentence !== undefined && sentence.length >= 20) return sentence;
  const word = reach.lastIndexOf(' ');
  // Text without spaces is cut between characters, never inside a surrogate pair.
  const cut =
    word > SHORT / 2 ? line.slice(0, word) : line.slice(0, isSurrogateHalf(line, SHORT) ? SHORT - 1 : SHORT);
  return `${cut.replace(/[\s,;:–-]+$/u, '')}…`;
}

function isSurrogateHalf(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
