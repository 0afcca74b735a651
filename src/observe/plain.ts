/** Longer texts of others (a reason, a tool's name) are cut: a line is for reading. */
const MAX_TEXT = 256;

/** On one line, without anything a terminal would obey, not endless. */
export function plain(text: string): string {
  // C0, C1, line and paragraph separators, and the marks that turn the direction of writing.
  const clean = text.replaceAll(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT - 1)}…` : clean;
}

/** A stack's lines, each made plain, so that no text in it can pass for a line of its own. */
export function stackLines(stack: string): string[] {
  return stack.split('\n').slice(0, 20).map(plain);
}
