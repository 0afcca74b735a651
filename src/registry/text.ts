/**
 * Texts of others, made fit for a model and a terminal: one line, no control, bidirectional, zero-width or tag
 * characters (U+E0000 … spell words nobody sees), and no longer than they need to be.
 */
export function cleaned(text: string, maxLength: number): string {
  // What is cut off anyway is not worth reading: a text of megabytes would cost seconds.
  const line = text
    .slice(0, maxLength * 8)
    .replaceAll(/[\p{Cc}\s\u2028\u2029]+/gu, ' ')
    .replaceAll(/[\p{Cf}\p{Co}\p{Cs}\u3164\uFFA0]+/gu, '')
    .replaceAll(/ {2,}/g, ' ')
    .trim();
  if (line.length <= maxLength) return line;
  // Half a surrogate pair would be no character at all.
  return `${line.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

export const MAX_NAME = 100;
export const MAX_DESCRIPTION = 500;
export const MAX_ID = 200;

/** `Web & Search` → `web-search`, as tags are compared and shown. */
export function slugOf(text: string): string {
  return cleaned(text, 60)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}.]+/gu, '-')
    .replaceAll(/^-+|-+$/g, '');
}
