/** Said at the top of every page that is written by a program. */
export const WRITTEN = '<!-- Written by `npm run docs` from the tables of the program; edit those. -->';

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll(/(?<!\\)\|/g, '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

export function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

export const json = (value: unknown): string => block('json', JSON.stringify(value, undefined, 2));

export const code = (text: string): string => `\`${text}\``;

/** A page of these parts, an empty line between them. */
export const page = (...parts: readonly string[]): string => `${parts.join('\n\n')}\n`;
