import { commandWords, commonFlags, PROGRAMS } from './words.ts';
import type { FlagValueKind, FlagWord } from './words.ts';

/** For zsh: to be sourced, or saved as `_mcpproxy` in a folder of `$fpath`. */
export function zshCompletion(): string {
  const commands = commandWords();
  const own = commands.filter(({ flags }) => flags.length > 0);
  const withOperands = commands.filter(({ operands }) => operands.length > 0);
  return `#compdef ${PROGRAMS.join(' ')}
# Completions of mcpproxy for zsh. Load them with: source <(mcpproxy completion zsh)
_mcpproxy() {
  local context state state_descr line word
  typeset -A opt_args
  local -a commands flags own
  commands=(
${commands.map(({ name, sentence }) => `    ${quotedWord(`${name}:${sentence}`)}`).join('\n')}
  )
  flags=(
${commonFlags().map(flagSpec).join('\n')}
  )
  own=(
${(commands.find(({ name }) => name === 'serve')?.flags ?? []).map(flagSpec).join('\n')}
  )
  for word in "\${words[@]:1}"; do
    case "$word" in
${own.map(({ name, flags }) => `      ${name}) own=(\n${flags.map((flag) => `    ${flagSpec(flag)}`).join('\n')}\n      ) ;;`).join('\n')}
    esac
  done
  _arguments -C -S "\${flags[@]}" "\${own[@]}" '1: :->command' '*: :->operand' && return
  case "$state" in
    command) _describe -t commands command commands ;;
    operand)
      case "\${line[1]}" in
${withOperands.map(({ name, operands }) => `        ${name}) compadd -- ${operands.join(' ')} ;;`).join('\n')}
      esac
      ;;
  esac
}
if [[ "\${funcstack[1]}" == _mcpproxy ]]; then
  _mcpproxy "$@"
elif (( $+functions[compdef] )); then
  compdef _mcpproxy ${PROGRAMS.join(' ')}
fi`;
}

/** `'--config[The file]:FILE:_files'`, once for each spelling. */
function flagSpec({ long, short, value, sentence }: FlagWord): string {
  const about = `[${sentence.replaceAll(/[[\]\\]/g, (mark) => `\\${mark}`)}]${valueSpec(value)}`;
  const spellings = short === undefined ? [long] : [short, long];
  const others = short === undefined ? '' : `(${spellings.join(' ')})`;
  return spellings
    .map(
      (each) =>
        `    ${quotedWord(`${others}${each}${value === 'none' ? '' : each === long ? '=' : '+'}${about}`)}`,
    )
    .join('\n');
}

function valueSpec(value: FlagValueKind): string {
  switch (value) {
    case 'none':
      return '';
    case 'any':
      return ':value: ';
    case 'file':
      return ':file:_files';
    case 'folder':
      return ':folder:_files -/';
    default:
      return `:value:(${value.join(' ')})`;
  }
}

function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
