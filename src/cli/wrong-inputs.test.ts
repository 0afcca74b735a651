import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../config/load.ts';
import { formatProblem } from '../config/problem.ts';
import { parseCommandLine } from './command-line.ts';

/**
 * What a person reads for each wrong input. `FILE` stands for the configuration file, `DIR` for the folder it is in;
 * a list of texts is what `said` gives: mistakes of the command line, else problems of the configuration.
 */
interface Wrong {
  readonly args?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly file?: string | Buffer;
  readonly says: readonly string[];
}

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'wrong-'));
  mkdirSync(join(dir, 'folder'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function said({ args = '', env = {}, file }: Omit<Wrong, 'says'>): Promise<string[]> {
  const argv = args === '' ? [] : args.split(' ').map((arg) => arg.replace('DIR', dir));
  if (file !== undefined) {
    writeFileSync(join(dir, 'config.json'), file);
    argv.push('--config', join(dir, 'config.json'));
  }
  const line = await parseCommandLine(argv);
  if (line.mistakes.length > 0) return [...line.mistakes];
  const loaded = await loadConfig({ flags: line.settings, env, cwd: dir, home: dir, platform: 'linux' });
  const problems = loaded.kind === 'invalid' ? loaded.problems : [];
  return problems.map((problem) =>
    formatProblem(problem).replaceAll(join(dir, 'config.json'), 'FILE').replaceAll(dir, 'DIR'),
  );
}

const server = (entry: string): string => `{"mcpServers":{"files":${entry}}}`;

const WRONG: Readonly<Record<string, Wrong>> = {
  'a misspelt command': {
    args: 'serach-tools files',
    says: ['there is no command "serach-tools". Did you mean search-tools?'],
  },
  'a command that does not exist': {
    args: 'frobnicate',
    says: ['there is no command "frobnicate".'],
  },
  'a misspelt flag': {
    args: '--upsteam https://a.example/mcp',
    says: ['there is no flag "--upsteam". Did you mean --upstream?'],
  },
  'a misspelt flag with one dash': {
    args: '-write-tool a',
    says: ['there is no flag "--write-tool". Did you mean --write-tools?'],
  },
  'a flag that is like none': {
    args: '--colour red',
    says: ['there is no flag "--colour".'],
  },
  'the start of a flag': {
    args: '--max-batch 3',
    says: ['there is no flag "--max-batch". Did you mean --max-batch-calls?'],
  },
  'several misspelt flags at once': {
    args: '--lisen :1 --stido',
    says: [
      'there is no flag "--lisen". Did you mean --listen?',
      'there is no flag "--stido". Did you mean --stdio?',
    ],
  },
  'a flag without its value': {
    args: '--listen',
    says: ['--listen needs a value: --listen HOST:PORT.'],
  },
  'a flag followed by another instead of its value': {
    args: '--upstream --stdio',
    says: [
      '--upstream needs a value, but "--stdio" follows; if that is the value, write --upstream=--stdio.',
    ],
  },
  'a switch with a value it cannot have': {
    args: '--stdio=maybe',
    says: ['--stdio: "maybe" is neither true nor false.'],
  },
  'a flag of another command': {
    args: 'list-tools --no-schemas',
    says: ['--no-schemas belongs to search-tools, not to list-tools.'],
  },
  'a flag of another command while serving': {
    args: '--yes',
    says: ['--yes belongs to call-tool and upstream_servers, not to serve.'],
  },
  'the sample catalog beside a server': {
    args: '--builtin --upstream https://a.example/mcp',
    says: ['--builtin and --upstream contradict each other; give one.'],
  },
  'the sample catalog for a command without tools': {
    args: 'completion bash --builtin',
    says: [
      '--builtin belongs to serve, list-tools, search-tools, explain, eval, describe-tool, call-tool and demo, not to completion.',
    ],
  },
  'completions of no shell': {
    args: 'completion',
    says: ['completion needs a shell: mcpproxy completion bash|zsh|fish|powershell'],
  },
  'completions of two shells': {
    args: 'completion bash zsh',
    says: ['completion takes at most 1 operand; "zsh" is one too many.'],
  },
  'an unknown output format': {
    args: 'list-tools -o yaml',
    says: ['--output: "yaml" is no format; give json or table.'],
  },
  'two output formats': {
    args: 'list-tools --json -o table',
    says: ['--json and --output table contradict each other; give one.'],
  },
  'a limit that is no number': {
    args: 'search-tools x --limit many',
    says: ['--limit: "many" is not a whole number from 1 to 25.'],
  },
  'a limit out of range': {
    args: 'search-tools x --limit 100',
    says: ['--limit: "100" is not a whole number from 1 to 25.'],
  },
  'a search without a query': {
    args: 'search-tools',
    says: ['search-tools needs a query: mcpproxy search-tools QUERY… [--limit N] [--no-schemas]'],
  },
  'a call without a name': {
    args: 'call-tool',
    says: ["call-tool needs a tool's name: mcpproxy call-tool NAME [JSON | -] [--yes]"],
  },
  'too many operands': {
    args: 'call-tool a {} more',
    says: ['call-tool takes at most 2 operands; "more" is one too many.'],
  },
  'operands where none are taken': {
    args: 'list-tools everything',
    says: ['list-tools takes no operands, but "everything" was given.'],
  },
  'a number that is a word': {
    args: '--max-batch-calls ten',
    says: ['--max-batch-calls: "ten" is not a whole number: give 0 to 100 (calls), such as 10.'],
  },
  'a number with a unit': {
    args: '--list-timeout-ms 30s',
    says: ['--list-timeout-ms: "30s" is not a whole number: give 1 to 2147483647 (ms), such as 30000.'],
  },
  'a number out of range': {
    args: '--search-schemas 26',
    says: ['--search-schemas: 26 is out of range: give 0 to 25 (matches), such as 3.'],
  },
  'a negative number': {
    args: '--max-instructions=-1',
    says: ['--max-instructions: -1 is out of range: give 0 to 1000000 (characters), such as 10000.'],
  },
  'a wait longer than a timer can hold': {
    args: '--drain-ms 9999999999',
    says: ['--drain-ms: 9999999999 is out of range: give 0 to 2147483647 (ms), such as 30000.'],
  },
  'a listen address without a port': {
    args: '--listen localhost',
    says: [
      '--listen: "localhost" is not an address to listen on; write HOST:PORT, :PORT or [IPV6]:PORT, such as 127.0.0.1:8080.',
    ],
  },
  'a listen address with a port too large': {
    args: '--listen 127.0.0.1:70000',
    says: [
      '--listen: "127.0.0.1:70000" has a port above 65535; write HOST:PORT, :PORT or [IPV6]:PORT, such as 127.0.0.1:8080.',
    ],
  },
  'a listen address with bare IPv6': {
    args: '--listen ::1:8080',
    says: [
      '--listen: "::1:8080" needs its IPv6 address in brackets; write HOST:PORT, :PORT or [IPV6]:PORT, such as 127.0.0.1:8080.',
    ],
  },
  'a listen address with a wrong host': {
    args: '--listen 127.0.0.300:80',
    says: [
      '--listen: "127.0.0.300:80" has a host that is neither a name nor an address; write HOST:PORT, :PORT or [IPV6]:PORT, such as 127.0.0.1:8080.',
    ],
  },
  'a listen address that is a URL': {
    args: '--listen http://127.0.0.1:8080',
    says: [
      '--listen: "http://127.0.0.1:8080" is not an address to listen on; write HOST:PORT, :PORT or [IPV6]:PORT, such as 127.0.0.1:8080.',
    ],
  },
  'an origin where a host name is wanted': {
    args: '--allowed-origins https://app.example.com',
    says: [
      '--allowed-origins: "https://app.example.com" is not a host name; give it without scheme, port or path, which would be app.example.com.',
    ],
  },
  'a host with a port': {
    args: '--allowed-hosts mcp.example.com:443',
    says: [
      '--allowed-hosts: "mcp.example.com:443" is not a host name; give it without scheme, port or path, which would be mcp.example.com.',
    ],
  },
  'a pattern with a space': {
    args: '--write-tools=files* db*',
    says: [
      `--write-tools: "files* db*" holds a space, which no tool's name does; separate names with commas.`,
    ],
  },
  'a URL without a scheme': {
    args: '--upstream gateway.example.com/mcp',
    says: ['--upstream: the URL has no https:// (or http://) in front; write the whole URL.'],
  },
  'a WebSocket URL': {
    args: '--upstream wss://gateway.example.com/mcp',
    says: [
      '--upstream: the URL is a WebSocket URL (wss:), which MCP does not use; give the http(s) endpoint.',
    ],
  },
  'a URL of another scheme': {
    args: '--upstream ftp://gateway.example.com/mcp',
    says: ['--upstream: the URL starts with ftp:, but only https: and http: can be called.'],
  },
  'a URL with a password': {
    args: '--upstream https://me:secret@gateway.example.com/mcp',
    says: [
      '--upstream: the URL holds a user name or password before its host; remove it, and give credentials as headers.',
    ],
  },
  'a URL with an impossible port': {
    args: '--upstream https://gateway.example.com:99999/mcp',
    says: ['--upstream: the URL is not valid; check its host and port.'],
  },
  "callers' credentials over plain http": {
    args: '--upstream http://gateway.example.com/mcp',
    says: [
      "--upstream: the upstream would get callers' credentials over plain http; give its https URL, or set insecureUpstream (--insecure-upstream) if the network between is yours.",
    ],
  },
  'two upstreams as flags': {
    args: '--upstream https://a.example/mcp --upstream https://b.example/mcp',
    says: [
      '--upstream: was given twice; give one, and write the others into mcpServers with "auth": "forward".',
    ],
  },
  'a configuration file that is not there': {
    args: '--config DIR/none.json',
    says: ['--config: there is no file DIR/none.json; create it or name another.'],
  },
  'a configuration file that is a folder': {
    args: '--config DIR/folder',
    says: ['DIR/folder: is a folder; name the file in it.'],
  },
  'a variable that is no number': {
    env: { MCPPROXY_MAX_INSTRUCTIONS: 'lots' },
    says: [
      'MCPPROXY_MAX_INSTRUCTIONS: "lots" is not a whole number: give 0 to 1000000 (characters), such as 10000.',
    ],
  },
  'a variable that is neither true nor false': {
    env: { MCPPROXY_STDIO: 'perhaps' },
    says: ['MCPPROXY_STDIO: "perhaps" is neither true nor false.'],
  },
  'a variable that names a missing file': {
    env: { MCPPROXY_CONFIG: 'none.json' },
    says: ['MCPPROXY_CONFIG: there is no file DIR/none.json; create it or name another.'],
  },
  'mistakes in three places at once': {
    args: '--listen nowhere',
    env: { MCPPROXY_MAX_LISTINGS: '0' },
    file: '{"searchSchemas":"three"}',
    says: [
      '--listen: "nowhere" is not an address to listen on; write HOST:PORT, :PORT or [IPV6]:PORT, such as 127.0.0.1:8080.',
      'MCPPROXY_MAX_LISTINGS: 0 is out of range: give 1 to 1000000 (listings), such as 5000.',
      'FILE:1:18: "searchSchemas": "three" is not a whole number: give 0 to 25 (matches), such as 3.',
    ],
  },
  'a limit larger than the one around it': {
    args: '--call-timeout-ms 2000000',
    says: ['--call-timeout-ms: callTimeoutMs (2000000) may not be larger than maxCallMs (1800000).'],
  },
  'an empty file': {
    file: '',
    says: ['FILE:1:1: the file is empty; the least it can hold is {}.'],
  },
  'a file with only a comment': {
    file: '// nothing yet',
    says: ['FILE:1:1: the file is empty; the least it can hold is {}.'],
  },
  'a file that is not JSON': {
    file: 'listen: ":8080"\n',
    says: ['FILE:1:1: this is not JSON; texts and keys go in double quotes.'],
  },
  'single quotes': {
    file: "{\n  'listen': ':8080'\n}",
    says: [
      'FILE:2:3: this is not JSON; texts and keys go in double quotes.',
      'FILE:3:1: a value is missing here.',
    ],
  },
  'a missing comma': {
    file: '{\n  "stdio": true\n  "listen": ":1"\n}',
    says: ['FILE:3:3: a comma is missing here.'],
  },
  'a file that breaks off': {
    file: '{ "mcpServers": {',
    says: ['FILE:1:18: a closing } is missing here.'],
  },
  'a file in UTF-16': {
    file: Buffer.from('\uFEFF{}', 'utf16le'),
    says: ['FILE: is written in UTF-16; save it as UTF-8.'],
  },
  'a list instead of an object': {
    file: '[]',
    says: ['FILE:1:1: the configuration must be an object: { "mcpServers": { … } }.'],
  },
  'a file nested too deeply': {
    file: '['.repeat(200) + ']'.repeat(200),
    says: ['FILE:1:1: the file nests deeper than 100 levels, which no configuration does.'],
  },
  'a misspelt key': {
    file: '{\n  "writeTool": ["a"]\n}',
    says: ['FILE:2:3: "writeTool" is no setting. Did you mean writeTools?'],
  },
  'a misspelt mcpServers': {
    file: '{"mcpServer":{}}',
    says: ['FILE:1:2: "mcpServer" is no setting. Did you mean mcpServers?'],
  },
  'a key with dashes': {
    file: '{"max-batch-calls":3}',
    says: ['FILE:1:2: "max-batch-calls" is no setting. Did you mean maxBatchCalls?'],
  },
  'a key that is like none': {
    file: '{"colour":"red"}',
    says: ['FILE:1:2: "colour" is no setting.'],
  },
  'a setting given twice in two spellings': {
    file: '{"maxBatchCalls":1,"max_batch_calls":2}',
    says: ['FILE:1:20: "max_batch_calls" is the same setting as "maxBatchCalls"; keep one.'],
  },
  'the file naming itself': {
    file: '{"config":"other.json"}',
    says: ['FILE:1:2: "config" cannot be set in the file it names; give --config or MCPPROXY_CONFIG.'],
  },
  'a text where a number is wanted': {
    file: '{\n\n  "searchSchemas": "3" }',
    says: ['FILE:3:20: "searchSchemas": "3" is not a whole number: give 0 to 25 (matches), such as 3.'],
  },
  'a text where a switch is wanted': {
    file: '{"stdio":"yes"}',
    says: ['FILE:1:10: "stdio": must be true or false, not "yes".'],
  },
  'a number where a list is wanted': {
    file: '{"writeTools":[1]}',
    says: ['FILE:1:15: "writeTools": must be a list of texts, such as ["files__*", "run_query"].'],
  },
  'servers that are no object': {
    file: '{"mcpServers":"files"}',
    says: ['FILE:1:15: mcpServers must be an object of servers by name, or a list of them, not a text.'],
  },
  'a server that is a text': {
    file: server('"npx files"'),
    says: ['FILE:1:24: mcpServers.files must be an object with a command or a url, not a text.'],
  },
  'a server without command and url': {
    file: server('{}'),
    says: ['FILE:1:16: mcpServers.files has neither a command nor a url; give the one that reaches it.'],
  },
  'a server with both': {
    file: server('{"command":"npx","url":"https://a.example/mcp"}'),
    says: ['FILE:1:16: mcpServers.files has both a command and a url; keep the one that reaches it.'],
  },
  'an empty command': {
    file: server('{"command":" "}'),
    says: ['FILE:1:35: mcpServers.files.command is empty; give the program to run.'],
  },
  'a command with its arguments as one list': {
    file: server('{"command":["npx","files"]}'),
    says: ['FILE:1:35: mcpServers.files.command must be text in quotes, not a list.'],
  },
  'arguments that are one text': {
    file: server('{"command":"npx","args":"-y files"}'),
    says: ['FILE:1:48: mcpServers.files.args must be a list, one text for each argument.'],
  },
  'an argument that is an object': {
    file: server('{"command":"npx","args":["-y",{}]}'),
    says: ['FILE:1:54: mcpServers.files.args[1] must be text in quotes, not an object.'],
  },
  'env that is a list': {
    file: server('{"command":"npx","env":["A=1"]}'),
    says: ['FILE:1:47: mcpServers.files.env must be an object of texts by name.'],
  },
  'a variable without a value': {
    file: server('{"command":"npx","env":{"TOKEN":null}}'),
    says: ['FILE:1:56: mcpServers.files.env.TOKEN must be text in quotes, not null.'],
  },
  'a variable name with an equals sign': {
    file: server('{"command":"npx","env":{"A=B":"1"}}'),
    says: ['FILE:1:48: mcpServers.files.env."A=B" is no name a variable can have.'],
  },
  'headers for a command': {
    file: server('{"command":"npx","headers":{"A":"b"}}'),
    says: [
      'FILE:1:16: mcpServers.files has headers, but a command is sent none; give it what it needs as env.',
    ],
  },
  'a header name with a space': {
    file: server('{"url":"https://a.example/mcp","headers":{"X Key":"b"}}'),
    says: ['FILE:1:66: mcpServers.files.headers."X Key" is no name a header can have.'],
  },
  'a header value with a line break': {
    file: server('{"url":"https://a.example/mcp","headers":{"X-Key":"a\\nb"}}'),
    says: ['FILE:1:74: mcpServers.files.headers.X-Key holds a line break, which no header can.'],
  },
  'an unknown type': {
    file: server('{"type":"websocket","url":"https://a.example/mcp"}'),
    says: ['FILE:1:32: mcpServers.files.type must be "stdio", "http" or "sse", not "websocket".'],
  },
  'a type that does not fit': {
    file: server('{"type":"stdio","url":"https://a.example/mcp"}'),
    says: ['FILE:1:16: mcpServers.files is of type stdio but has a url, not a command.'],
  },
  'a type that does not fit, of the first HTTP generation': {
    file: server('{"type":"sse","command":"npx"}'),
    says: ['FILE:1:16: mcpServers.files is of an HTTP type but has a command, not a url.'],
  },
  'an unknown auth': {
    file: server('{"url":"https://a.example/mcp","auth":"oauth"}'),
    says: [
      `FILE:1:62: mcpServers.files.auth must be "own" (its configured headers) or "forward" (the caller's Authorization).`,
    ],
  },
  'a command that is forwarded to': {
    file: server('{"command":"npx","auth":"forward"}'),
    says: [
      `FILE:1:16: mcpServers.files is a command with "auth": "forward"; only a server reached by url can be sent the caller's Authorization.`,
    ],
  },
  'headers on a forwarded server': {
    file: server('{"url":"https://a.example/mcp","auth":"forward","headers":{"A":"b"}}'),
    says: [
      `FILE:1:16: mcpServers.files has headers and "auth": "forward"; a forwarded server is sent the caller's Authorization and nothing else.`,
    ],
  },
  'a forwarded server over plain http': {
    file: server('{"url":"http://a.example/mcp","auth":"forward"}'),
    says: [
      "FILE:1:16: mcpServers.files would get callers' credentials over plain http; give its https URL, or set insecureUpstream (--insecure-upstream) if the network between is yours.",
    ],
  },
  'enabled and disabled at once': {
    file: server('{"command":"npx","enabled":true,"disabled":true}'),
    says: ['FILE:1:16: mcpServers.files says both enabled and disabled; keep one.'],
  },
  'disabled that is a text': {
    file: server('{"command":"npx","disabled":"no"}'),
    says: ['FILE:1:52: mcpServers.files.disabled must be true or false, not "no".'],
  },
  'two URLs in one server': {
    file: server('{"url":"https://a.example/mcp","httpUrl":"https://b.example/mcp"}'),
    says: ['FILE:1:55: mcpServers.files has both "url" and "httpUrl"; keep one.'],
  },
  'two servers of one name': {
    file: '{"mcpServers":{\n  "files":{"command":"a"},\n  "Files":{"command":"b"}\n}}',
    says: [`FILE:3:3: a server named "Files" was given before (letters' case does not count); rename one.`],
  },
  'a server in a list without a name': {
    file: '{"mcpServers":[{"command":"a"}]}',
    says: ['FILE:1:16: mcpServers[0] has no name; in a list each server needs one.'],
  },
  'an empty name': {
    file: '{"mcpServers":{"":{"command":"a"}}}',
    says: ['FILE:1:16: mcpServers."" has an empty name.'],
  },
  'two mistakes in one server and one in another': {
    file: '{"mcpServers":{\n  "a":{"command":"x","args":1,"env":2},\n  "b":{"url":"ws://b"}\n}}',
    says: [
      'FILE:2:29: mcpServers.a.args must be a list, one text for each argument.',
      'FILE:2:37: mcpServers.a.env must be an object of texts by name.',
      'FILE:3:14: mcpServers.b.url is a WebSocket URL (ws:), which MCP does not use; give the http(s) endpoint.',
    ],
  },
};

test.each(Object.entries(WRONG))('%s', async (_name, { says, ...input }) => {
  expect(await said(input)).toEqual(says);
});

test('values of env and headers, and URLs, are in no message', async () => {
  const secret = 's3cr3t-value';
  const files = [
    server(`{"command":"x","env":{"KEY":["${secret}"]},"headers":{"A":"${secret}"}}`),
    server(
      `{"url":"ftp://user:${secret}@host/?key=${secret}","headers":{"X":{"a":"${secret}"},"Y":"${secret}\\n"}}`,
    ),
    server(`{"url":"https://user:${secret}@host/${secret}"}`),
    server(`{"url":"http://remote/${secret}","auth":"forward","headers":{"Authorization":"${secret}"}}`),
    server(`{"url":"nonsense ${secret}"}`),
  ];
  for (const file of files) {
    const messages = await said({ file });
    expect(messages.length).toBeGreaterThan(0);
    expect(messages.join('\n')).not.toContain(secret);
  }
  const flag = await said({ args: `--upstream ftp://u:${secret}@h/${secret}` });
  expect(flag.join('\n')).not.toContain(secret);
});
