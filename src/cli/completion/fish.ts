import { commandWords, commonFlags } from './words.ts';
import type { FlagValueKind, FlagWord } from './words.ts';

/** For fish 3 and later. */
export function fishCompletion(): string {
  const commands = commandWords();
  const names = commands.map(({ name }) => name).join(' ');
  const isBare = `not __fish_seen_subcommand_from ${names}`;
  const lines = [
    '# Completions of mcpproxy for fish. Load them with: mcpproxy completion fish | source',
    'complete -c mcpproxy -f',
    ...commonFlags().map((flag) => flagLine(flag, '')),
  ];
  for (const { name, sentence, flags, operands } of commands) {
    lines.push(`complete -c mcpproxy -n ${quotedWord(isBare)} -a ${name} -d ${quotedWord(sentence)}`);
    const isThis = `__fish_seen_subcommand_from ${name}`;
    for (const flag of flags) {
      lines.push(flagLine(flag, `-n ${quotedWord(isThis)} `));
      if (name === 'serve') lines.push(flagLine(flag, `-n ${quotedWord(isBare)} `));
    }
    if (operands.length > 0)
      lines.push(`complete -c mcpproxy -n ${quotedWord(isThis)} -a ${quotedWord(operands.join(' '))}`);
  }
  lines.push('complete -c mcp-toolsearch-proxy -w mcpproxy');
  return lines.join('\n');
}

function flagLine({ long, short, value, sentence }: FlagWord, condition: string): string {
  const names = `${short === undefined ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`;
  return `complete -c mcpproxy ${condition}${names}${valueOptions(value)} -d ${quotedWord(sentence)}`;
}

function valueOptions(value: FlagValueKind): string {
  switch (value) {
    case 'none':
      return '';
    case 'any':
      return ' -x';
    case 'file':
      return ' -r -F';
    case 'folder':
      return " -x -a '(__fish_complete_directories)'";
    default:
      return ` -x -a ${quotedWord(value.join(' '))}`;
  }
}

function quotedWord(text: string): string {
  return `'${text.replaceAll(/['\\]/g, (mark) => `\\${mark}`)}'`;
}
