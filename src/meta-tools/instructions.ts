import type { View } from '../callers/view.ts';

/**
 * What a client puts before a model: our short guidance, then each upstream's own instructions, unchanged (with
 * several, under one heading line each). `maxCharacters` bounds the upstreams' part; what is cut is said.
 * Ours stays well below the 2,048 characters at which clients cut, so that the start of theirs still fits.
 */
export function instructionsText(
  instructions: View['instructions'],
  options: { readonly maxCharacters: number; readonly maxBatchCalls: number },
): string {
  const ours = [
    'This server gives access to many tools without loading them all.',
    'Find one with search_tools; what it returns can be called at once.',
    'Call tools marked readOnly with call_read_tool' +
      (options.maxBatchCalls > 0 ? ' (several independent ones with call_read_tools)' : '') +
      ', all others with call_write_tool. Names and arguments are those search_tools or describe_tool gave.',
  ].join(' ');
  if (instructions.length === 0 || options.maxCharacters === 0) return ours;
  const isAlone = instructions.length === 1;
  const theirs = instructions
    .map(({ upstream, text }) => (isAlone ? text : `# ${upstream}\n${text}`))
    .join('\n\n');
  return `${ours}\n\n${cut(theirs, options.maxCharacters)}`;
}

function cut(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  // Never between the halves of a surrogate pair.
  const isSplit = /[\uD800-\uDBFF]/.test(text.charAt(maxCharacters - 1));
  const kept = text.slice(0, isSplit ? maxCharacters - 1 : maxCharacters);
  return `${kept}\n[Cut here: the servers' instructions are ${text.length} characters long; maxInstructions is ${maxCharacters}.]`;
}
