import { printable } from './meta-answer.ts';
import type { Output } from './output.ts';

/** Prints what happens as it happens: numbered steps, and beneath each what was sent and what came back. */
export interface Transcript {
  title(text: string, below: string): Promise<void>;
  step(text: string): Promise<void>;
  /** A call as the client sends it. */
  sent(tool: string, args: unknown): Promise<void>;
  /** Text that came back, `maxLines` of it at most (JSON on one line); what is left out is said. */
  got(text: string, maxLines: number): Promise<void>;
  line(text: string): Promise<void>;
}

const INDENT = '   ';
const BOLD = '1';
const DIM = '2';

export function createTranscript(output: Output): Transcript {
  const width = Math.min(output.width, 110);
  const style = (code: string, text: string): string =>
    output.hasColour ? `\u001b[${code}m${text}\u001b[0m` : text;
  // With -o json the transcript is not the result, and stdout is the result's.
  const print = (text: string): Promise<void> => {
    if (!output.isJson) return output.print(text);
    output.note(text);
    return Promise.resolve();
  };
  const cut = (text: string): string => (text.length > width ? `${text.slice(0, width - 1)}…` : text);
  let steps = 0;
  return {
    title: async (text, below) => {
      await print(style(BOLD, text));
      await print(style(DIM, below));
    },
    step: (text) => print(`\n${style(BOLD, cut(`${++steps}. ${text}`))}`),
    sent: async (tool, args) => {
      for (const line of inTwoLines(`→ ${tool} ${JSON.stringify(args)}`, width)) await print(line);
    },
    got: async (text, maxLines) => {
      const lines = linesOf(printable(text));
      for (const line of lines.slice(0, maxLines)) {
        for (const part of inTwoLines(`← ${line}`, width)) await print(style(DIM, part));
      }
      const more = lines.length - maxLines;
      if (more > 0) await print(style(DIM, `${INDENT}  (and ${more} more line${more === 1 ? '' : 's'})`));
    },
    line: (text) => print(cut(`${INDENT}${printable(text)}`)),
  };
}

function linesOf(text: string): string[] {
  try {
    return [JSON.stringify(JSON.parse(text))];
  } catch {
    return text.split('\n').filter((line) => line.trim() !== '');
  }
}

/** The text, indented, on one line or two; what does not fit even then ends in an ellipsis. */
function inTwoLines(text: string, width: number): string[] {
  const room = width - INDENT.length;
  if (text.length <= room) return [INDENT + text];
  // At a space when there is one late enough, otherwise in the middle of a word, as JSON has few.
  const space = text.lastIndexOf(' ', room);
  const end = space > room * 0.6 ? space : room;
  const rest = text.slice(end).trimStart();
  const short = rest.length > room - 2 ? `${rest.slice(0, room - 3)}…` : rest;
  return [INDENT + text.slice(0, end), `${INDENT}  ${short}`];
}
