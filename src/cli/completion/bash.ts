import { commandWords, commonFlags, PROGRAMS } from './words.ts';
import type { FlagValueKind, FlagWord } from './words.ts';

/** For bash 3.2 (that of macOS) and later; needs nothing that bash does not bring. */
export function bashCompletion(): string {
  const common = commonFlags();
  const commands = commandWords();
  const flags = new Map(
    [...common, ...commands.flatMap((command) => command.flags)].map((flag) => [flag.long, flag]),
  );
  const withValue = [...flags.values()].filter(({ value }) => value !== 'none');
  const names = commands.map(({ name }) => name);
  return `# Completions of mcpproxy for bash. Load them with: eval "$(mcpproxy completion bash)"
_mcpproxy() {
  local IFS=$' \\t\\n'
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command= words= own= i
  COMPREPLY=()
  # "--output=js" reaches us in three words.
  if [[ $word == '=' ]]; then
    word=
  elif [[ $before == '=' ]]; then
    before="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  # Long flags take one dash, too.
  [[ $before == -[a-z][a-z]* ]] && before="-$before"
  [[ $word == -[a-z]* ]] && word="-$word"
  case "$before" in
${withValue.map(valueCase).join('\n')}
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${withValue.flatMap(spellings).join('|')}) ((i++)) ;;
      -*) ;;
      *) command="\${COMP_WORDS[i]}"; break ;;
    esac
  done
  case "$command" in
    '') words='${names.join(' ')}' own='${longs(commands.find(({ name }) => name === 'serve')?.flags ?? [])}' ;;
${commands.map(({ name, flags: own, operands }) => `    ${name}) words='${operands.join(' ')}' own='${longs(own)}' ;;`).join('\n')}
  esac
  if [[ $word == -* ]]; then
    words="${longs(common)} $own"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _mcpproxy ${PROGRAMS.join(' ')}`;
}

function valueCase(flag: FlagWord): string {
  return `    ${spellings(flag).join('|')}) ${valueAction(flag.value)}; return ;;`;
}

function valueAction(value: FlagValueKind): string {
  if (value === 'any' || value === 'none') return ':';
  const filenames = `compopt -o filenames 2>/dev/null; IFS=$'\\n'`;
  if (value === 'file') return `${filenames}; COMPREPLY=($(compgen -f -- "$word"))`;
  if (value === 'folder') return `${filenames}; COMPREPLY=($(compgen -d -- "$word"))`;
  return `COMPREPLY=($(compgen -W '${value.join(' ')}' -- "$word"))`;
}

function spellings({ long, short }: FlagWord): string[] {
  return short === undefined ? [long] : [short, long];
}

function longs(flags: readonly FlagWord[]): string {
  return flags.map(({ long }) => long).join(' ');
}
