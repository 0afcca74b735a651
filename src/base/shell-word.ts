/** A word as a POSIX shell takes it for one word, whatever is in it. */
export function shellWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  // What a terminal would obey is written as an escape, so that what is read is what is run.
  if (/[\p{Cc}\p{Cf}]/u.test(word)) return `$'${Array.from(word, escaped).join('')}'`;
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function escaped(character: string): string {
  if (character === "'" || character === '\\') return `\\${character}`;
  if (!/[\p{Cc}\p{Cf}]/u.test(character)) return character;
  return [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}
