import type { Output } from './output.ts';
import { printable } from './meta-answer.ts';

/** A table for people, as wide as their terminal; the last column takes what the others leave. */
export async function tableText(
  output: Output,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const cells = rows.map((row) => row.map((cell) => printable(cell)));
  // No more than half the width for names, however long somebody made them.
  const widest = (column: number): number =>
    Math.max(...[head, ...cells].map((row) => (row[column] ?? '').length)) + 2;
  const first = Math.min(widest(0), Math.floor(output.width / 2));
  const middle = head.slice(1, -1).map((_title, index) => widest(index + 1));
  const last = Math.max(20, output.width - [first, ...middle].reduce((sum, width) => sum + width, 0));
  const table = new Table({
    head: [...head],
    colWidths: [first, ...middle, last],
    wordWrap: true,
    wrapOnWordBoundary: true,
    style: { head: output.hasColour ? ['bold'] : [], border: [], 'padding-left': 0, 'padding-right': 2 },
    chars: Object.fromEntries(
      ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right']
        .concat(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
        .map((part) => [part, '']),
    ),
  });
  table.push(...cells.map((row) => [...row]));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** A description's first sentence, on one line. */
export function firstSentence(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return /^.{20,}?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
}
