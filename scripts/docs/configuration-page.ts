import { LIMITS } from '../../src/base/limits.ts';
import { defaultConfigPath } from '../../src/config/default-path.ts';
import {
  flagOf,
  placesOf,
  SETTING_NAMES,
  settingOf,
  snakeCase,
  variableOf,
} from '../../src/config/settings.ts';
import type { SettingName } from '../../src/config/settings.ts';
import { REGISTRY_KEYS } from '../../src/config/registry-entry.ts';
import type { RegistryKey } from '../../src/config/registry-entry.ts';
import { ENTRY_KEYS, IGNORED_KEYS, INEFFECTIVE_KEYS } from '../../src/config/upstream-entry.ts';
import type { EntryKey } from '../../src/config/upstream-entry.ts';
import { CLI_FLAGS, settingShape } from '../../src/cli/command-line.ts';
import { COMMANDS } from '../../src/cli/command.ts';
import { defaultText } from '../../src/cli/help.ts';
import { knownFacts } from '../../src/registry/known-facts.ts';
import { block, code, page, table, WRITTEN } from './markdown.ts';
import type { Try } from './try.ts';

const EXAMPLE = `{
  // Comments and trailing commas are allowed.
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "."],
      "description": "notes and reports"
    },
    "issues": {
      "url": "https://mcp.example.com/mcp",
      "headers": { "Authorization": "Bearer \${env:ISSUES_TOKEN}" }
    },
    "old one": { "command": "old-server", "disabled": true }
  },
  "writeTools": ["files__move_*"],
  "searchSchemas": 5
}`;

const MISTAKEN = `{
  "mcpServer": {},
  "searchSchemas": "three",
  "writeTools": ["files *"]
}`;

/** What each key of a server's entry means. */
const ENTRY_MEANINGS: Readonly<Record<EntryKey, string>> = {
  name: 'The name, in the array form; in the object form the key is the name.',
  description: 'A few words on what the server is for. The model reads them, so they help it search.',
  command: 'The program to start; it speaks MCP on stdin and stdout.',
  args: 'Its arguments, one text each.',
  env: 'Variables it is started with, beside the few every program needs (`PATH`, `HOME` and the like).',
  cwd: "The folder it is started in; a relative one is taken from the file's folder.",
  url: 'The MCP endpoint of a server reached over HTTP, instead of `command`.',
  headers: 'Sent with every request to it.',
  type: '`stdio`, `http` (also `streamable-http`) or `sse`; not needed, as `command` and `url` say the same, and a URL is tried as `http` and, where that is refused, as `sse`.',
  start:
    '`eager` (with the proxy, and again when it crashed; the default) or `lazy` (when its tools are first searched or called).',
  idleStopMs:
    'Stops the command after this many milliseconds without a call; the next one starts it again. `0` is never. Default: `300000` for a lazy one, else `0`.',
  auth: "`own` (these headers; the default) or `forward` (each caller's own `Authorization`, and no other header).",
  origin:
    '`agent` stands at a server that an agent added: its tools count as writes until you approve it. Without the line (or with `config`) it is yours.',
  allowPrivate: '`true`: a server that an agent added may be at an address of your own network.',
  enabled: '`false` leaves the server out.',
  disabled: '`true` leaves the server out.',
};

const REGISTRIES = `{
  "registries": [
    {
      "id": "acme",
      "name": "Servers of Acme",
      "servers_url": "https://registry.acme.example/v0/servers",
      "protocol": "modelcontextprotocol/registry",
      "apiKeyEnv": "ACME_REGISTRY_KEY"
    },
    { "id": "smithery", "enabled": false }
  ]
}`;

/** What each key of a registry's entry means. */
const REGISTRY_MEANINGS: Readonly<Record<RegistryKey, string>> = {
  id: 'What searches call it. The id of one that ships changes that one.',
  name: 'What people call it.',
  url: 'A page about it, for people.',
  serversUrl: 'The address of its listing.',
  protocol: 'What the listing speaks; where it is not given, or none we know, a general reader tries.',
  enabled: '`false`: it is never asked.',
  allowInsecure: '`true`: it may be on plain http.',
  allowPrivate: '`true`: it may be at an address of your own network.',
  apiKeyEnv: 'The name of the variable that holds its key; never the key itself.',
};

/** `docs/configuration.md`. */
export async function configurationPage(attempt: Try): Promise<string> {
  const mistaken = await attempt.program(['--config', 'mcpproxy.json', '--listen', 'localhost'], MISTAKEN);
  return page(
    '# Configuration',
    WRITTEN,
    block(
      'sh',
      'mcpproxy --config mcpproxy.json\nmcpproxy --upstream https://gateway.example.com/mcp --search-schemas 5\nMCPPROXY_SEARCH_SCHEMAS=5 mcpproxy --config mcpproxy.json --stdio',
    ),
    'A setting can be given in three places: as a flag, as a variable of the environment, and as a key of the configuration file. A flag beats a variable, a variable beats the file, the file beats the default. Long flags take one dash or two (`-upstream`, `--upstream`), and may stand anywhere.',
    'Without `--config` the file is read from:',
    table(
      ['System', 'File'],
      [
        ['Linux, macOS', code(defaultConfigPath({ env: {}, home: '~', platform: 'linux' }))],
        ['the same with `XDG_CONFIG_HOME`', code('$XDG_CONFIG_HOME/mcpproxy/config.json')],
        ['Windows', code(defaultConfigPath({ env: { APPDATA: '%APPDATA%' }, home: '', platform: 'win32' }))],
      ],
    ),
    'It need not exist. One that does is watched while the proxy serves: changes of its servers take effect without a restart, and a file with mistakes leaves everything as it was.',
    '## The file',
    block('jsonc', EXAMPLE),
    'Keys are written as here, or in snake case (`write_tools`, `search_schemas`). `$schema` and `inputs` are left to other programs.',
    "For the server of `--upstream`, the variable `MCPPROXY_UPSTREAM_TOKEN` holds your bearer token where you are its only caller: in commands such as `list-tools` and `search-tools`, and over stdio. It is no setting, so it stands in no file. Over HTTP it is not used: each caller's own `Authorization` header goes there.",
    '`${env:NAME}` in `env`, `headers`, `args`, `command`, `cwd` and `url` stands for a variable of the environment the proxy runs in. It is looked up when the server is started, and the file keeps the reference. A server whose variable is missing is not started, and every answer says why its tools are not there.',
    '### Servers',
    'Files of other clients are read as they are: `mcpServers` (also `mcp_servers`, or `servers` as VS Code calls it) holds an object of servers by name, or an array of servers with a `name` each.',
    table(
      ['Key', 'Also read as', 'Meaning'],
      (Object.entries(ENTRY_KEYS) as [EntryKey, readonly string[]][]).map(([key, names]) => [
        code(key),
        names.slice(1).map(code).join(', '),
        ENTRY_MEANINGS[key],
      ]),
    ),
    `Keys that concern another client's own screens and approvals are passed over: ${[...IGNORED_KEYS].map(code).join(', ')}. Keys that would change something there and change nothing here are named in a note when the proxy starts: ${[...INEFFECTIVE_KEYS].map(code).join(', ')}. Any other key is named too, with the one it may have been meant to be.`,
    '### Registries',
    'Registries of MCP servers that `mcpproxy search-servers --list-registries` shall know beside those that ship, and changes of those ([discovery.md](discovery.md#your-own-registries) says more):',
    block('json', REGISTRIES),
    table(
      ['Key', 'Also read as', 'Meaning'],
      (Object.entries(REGISTRY_KEYS) as [RegistryKey, readonly string[]][]).map(([key, names]) => [
        code(key),
        names.slice(1).map(code).join(', '),
        REGISTRY_MEANINGS[key],
      ]),
    ),
    `Protocols: ${knownFacts().protocols.map(code).join(', ')}. Of a registry that ships only ${code('enabled')}, ${code('allowInsecure')} and ${code('apiKeyEnv')} can be set.`,
    '### Mistakes',
    'All mistakes are said at once, each with where it came from, and the program ends with exit code 78. With this file:',
    block('json', MISTAKEN),
    block('console', `$ mcpproxy --config mcpproxy.json --listen localhost\n${mistaken.stderr}`),
    '## Settings',
    settingsTable(SETTING_NAMES.filter((name) => !isLimit(name))),
    '## Limits',
    'Every limit is a setting like the others; [limits.md](limits.md) says what happens when one is reached.',
    settingsTable(SETTING_NAMES.filter(isLimit)),
    '## Flags that are no settings',
    'They say how one run of a command behaves.',
    table(
      ['Flag', 'Commands', 'What it does'],
      Object.entries(CLI_FLAGS).map(([name, flag]) => [
        [
          ...('short' in flag ? [code(`-${flag.short}`)] : []),
          code(`--${name}${'shape' in flag ? ` ${flag.shape}` : ''}`),
        ].join(', '),
        commandsWith(name),
        flag.sentence,
      ]),
    ),
  );
}

function isLimit(name: SettingName): boolean {
  return Object.hasOwn(LIMITS, name);
}

function settingsTable(names: readonly SettingName[]): string {
  return table(
    ['Key', 'Flag', 'Variable', 'Default', 'What it does'],
    names.map((name) => {
      const shape = settingShape(name);
      const isInFile = placesOf(name).includes('file');
      return [
        isInFile ? [name, ...(snakeCase(name) === name ? [] : [snakeCase(name)])].map(code).join(', ') : '–',
        code(`${flagOf(name)}${shape === '' ? '' : ` ${shape}`}`),
        code(variableOf(name)),
        defaultText(name).replace(/^default /, ''),
        settingOf(name).sentence,
      ];
    }),
  );
}

function commandsWith(flag: string): string {
  const owners = Object.keys(COMMANDS).filter((name) => COMMANDS[name]?.flags.some((each) => each === flag));
  return owners.length === 0 ? 'all' : owners.map(code).join(', ');
}
