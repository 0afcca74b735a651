import { COMMANDS } from '../../src/cli/command.ts';
import { EXIT_CODES } from '../../src/cli/exit-code.ts';
import { block, code, page, table, WRITTEN } from './markdown.ts';
import { SAMPLE_TOOLS } from './try.ts';
import type { Try } from './try.ts';

/** Typed at the shell, in front of the sample catalog; arguments with spaces are in quotes. */
const EXAMPLES: readonly { readonly before: string; readonly args: readonly string[] }[] = [
  {
    before:
      'Finding a tool, as a model would. Words make one query; several quoted phrases are a query each.',
    args: ['--builtin', 'search-tools', 'renew a library loan', '--limit', '3'],
  },
  {
    before: 'Why these, and in this order:',
    args: ['--builtin', 'explain', 'renew a library loan', '--limit', '3'],
  },
  {
    before: 'Calling one that reads:',
    args: ['--builtin', 'call-tool', 'ferry__next_departure', '{"from": "town pier"}'],
  },
  {
    before: 'One that may change something asks first. Where nobody can be asked, it wants `--yes`:',
    args: ['--builtin', 'call-tool', 'library__renew_loan', '{"loan_id": "L-2040"}'],
  },
  {
    before: 'A slip of the pen gets the nearest words, whether in a command, a flag or a key of the file:',
    args: ['serach-tools', 'boats'],
  },
];

/** `docs/commands.md`. */
export async function commandsPage(attempt: Try): Promise<string> {
  const shown: string[] = [];
  for (const { before, args } of EXAMPLES) {
    const { code: status, stdout, stderr } = await attempt.program(args);
    const typed = ['mcpproxy', ...args].map((arg) => (/[\s{]/.test(arg) ? `'${arg}'` : arg)).join(' ');
    const ended = status === 0 ? [] : [`$ echo $?\n${status}`];
    shown.push(before, block('console', [`$ ${typed}`, `${stdout}${stderr}`.trimEnd(), ...ended].join('\n')));
  }
  return page(
    '# At the shell',
    WRITTEN,
    block('sh', 'mcpproxy --builtin search-tools "renew a library loan"'),
    `${code('mcpproxy')} and ${code('mcp-toolsearch-proxy')} are the same program. ${code('mcpproxy -h')} lists everything, ${code('mcpproxy help search-tools')} one command.`,
    table(
      ['Command', 'What it does'],
      Object.values(COMMANDS).map(({ usage, sentence }) => [code(`mcpproxy ${usage}`), sentence]),
    ),
    `Every command takes every setting, too; see [configuration.md](configuration.md). ${code('--builtin')} puts a catalog of ${SAMPLE_TOOLS} invented tools behind the proxy, in the place of the configured servers: enough to try all of this without any.`,
    '## Examples',
    ...shown,
    '## For scripts',
    `Results go to stdout, everything else to stderr. ${code('-o json')} (or ${code('--json')}) prints one JSON value and nothing else there; ${code('-q')} leaves notes and progress out. Off a terminal nothing asks: what would have been asked is an error that names the flag to give, as it is on a terminal with ${code('--no-input')}. Colours and the line that counts the seconds are for terminals only, and ${code('NO_COLOR')} turns the colours off.`,
    table(
      ['Exit code', 'Meaning'],
      Object.values(EXIT_CODES).map(({ code: number, meaning }) => [String(number), meaning]),
    ),
    '## Completions',
    'Put the line of your shell into the file it reads when it starts.',
    table(
      ['Shell', 'File', 'Line'],
      [
        ['bash', '`~/.bashrc`', '`eval "$(mcpproxy completion bash)"`'],
        ['zsh', '`~/.zshrc`, after `compinit`', '`source <(mcpproxy completion zsh)`'],
        ['fish', '`~/.config/fish/config.fish`', '`mcpproxy completion fish \\| source`'],
        ['PowerShell', '`$PROFILE`', '`mcpproxy completion powershell \\| Out-String \\| Invoke-Expression`'],
      ],
    ),
    'They know the commands, the flags of each, and the values of those that have only a few. The bash ones are tried in a real bash by our tests; the others are checked by their shell where it is installed.',
  );
}
