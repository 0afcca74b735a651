import type { CliFlagName } from './command-line.ts';
import type { Context } from './context.ts';

/** One command: what the help says of it, what it takes, and where its code is loaded from when it is needed. */
export interface Command {
  readonly usage: string;
  readonly sentence: string;
  /** How many operands it takes. */
  readonly operands: { readonly min: number; readonly max: number; readonly called: string };
  /** Whether what stands after `--` is a command line of its own. */
  readonly takesRest?: true;
  /** Flags of its own, beside the global ones. */
  readonly flags: readonly CliFlagName[];
  /** Whether it runs on the configuration; one that does not is not stopped by a broken file. */
  readonly needsConfig: boolean;
  readonly load: () => Promise<(context: Context) => Promise<number>>;
}

/** Every command, in the order the help lists them. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  serve: {
    usage: 'serve',
    sentence:
      'Serve MCP over HTTP, or on stdin and stdout with --stdio. This is what happens without a command.',
    operands: { min: 0, max: 0, called: 'operands' },
    flags: ['builtin'],
    needsConfig: true,
    load: async () => (await import('./serve.ts')).serve,
  },
  'list-tools': {
    usage: 'list-tools',
    sentence: 'List every tool of every upstream.',
    operands: { min: 0, max: 0, called: 'operands' },
    flags: ['builtin'],
    needsConfig: true,
    load: async () => (await import('./list-tools.ts')).listTools,
  },
  'search-tools': {
    usage: 'search-tools QUERY… [--limit N] [--no-schemas]',
    sentence:
      'Find tools by what they can do. Words make one query; several quoted phrases are a query each.',
    operands: { min: 1, max: Infinity, called: 'a query' },
    flags: ['limit', 'no-schemas', 'builtin'],
    needsConfig: true,
    load: async () => (await import('./search-tools.ts')).searchTools,
  },
  explain: {
    usage: 'explain QUERY… [--limit N]',
    sentence: 'Show why tools stand where they stand in the answer to a query.',
    operands: { min: 1, max: Infinity, called: 'a query' },
    flags: ['limit', 'builtin'],
    needsConfig: true,
    load: async () => (await import('./explain.ts')).explain,
  },
  eval: {
    usage: 'eval --questions FILE',
    sentence:
      'Measure the search with questions whose right tools are known: recall@1, 5, 10 and what was missed.',
    operands: { min: 0, max: 0, called: 'operands' },
    flags: ['questions', 'builtin'],
    needsConfig: true,
    load: async () => (await import('./eval.ts')).evaluate,
  },
  'describe-tool': {
    usage: 'describe-tool NAME…',
    sentence: 'Show the full description and the schemas of tools.',
    operands: { min: 1, max: 10, called: "a tool's name" },
    flags: ['builtin'],
    needsConfig: true,
    load: async () => (await import('./describe-tool.ts')).describeTool,
  },
  'call-tool': {
    usage: 'call-tool NAME [JSON | -] [--yes]',
    sentence:
      'Call a tool with a JSON object of arguments, also from stdin. One that may change anything asks first.',
    operands: { min: 1, max: 2, called: "a tool's name" },
    flags: ['yes', 'builtin'],
    needsConfig: true,
    load: async () => (await import('./call-tool.ts')).callTool,
  },
  'search-servers': {
    usage: 'search-servers --registry ID [--search WORDS] [--tag TAG] [--limit N] | --list-registries',
    sentence: 'Find MCP servers in registries. Starts no server of yours.',
    operands: { min: 0, max: 0, called: 'operands' },
    flags: ['registry', 'search', 'tag', 'limit', 'list-registries', 'verbose'],
    needsConfig: true,
    load: async () => (await import('./search-servers.ts')).searchServers,
  },
  upstream_servers: {
    usage: 'upstream_servers add|list|update|approve|remove|… [NAME]',
    sentence:
      'Manage the servers of the configuration file (also: upstream): list; add --url URL, --registry R --id I or -- COMMAND ARGS…; update NAME JSON; enable, disable, remove, approve, refresh, restart, logs NAME. Secrets are asked for, hidden, or given as ${env:NAME}.',
    operands: { min: 1, max: 3, called: 'an operation: add, list, update, approve, remove, …' },
    takesRest: true,
    flags: [
      'name',
      'url',
      'registry',
      'id',
      'header',
      'env',
      'input',
      'description',
      'enabled',
      'local',
      'unverified',
      'yes',
    ],
    needsConfig: true,
    load: async () => (await import('./upstream-servers.ts')).upstreamServers,
  },
  'fetch-model': {
    usage: 'fetch-model [NAME | FOLDER] [--url BASE] --model-dir DIR',
    sentence:
      'Get an embedding model into a folder: potion-multilingual-128M (when no name is given), potion-retrieval-32M or potion-base-8M, checked against pinned digests; or any Model2Vec model.',
    operands: { min: 0, max: 1, called: "a model's name" },
    flags: ['url'],
    needsConfig: true,
    load: async () => (await import('./fetch-model.ts')).fetchModelCommand,
  },
  demo: {
    usage: 'demo [--builtin]',
    sentence:
      'Show it at work in front of real MCP servers, or of several hundred invented tools; needs no configuration and leaves nothing behind.',
    operands: { min: 0, max: 0, called: 'operands' },
    flags: ['builtin'],
    needsConfig: false,
    load: async () => (await import('./demo.ts')).demo,
  },
  completion: {
    usage: 'completion bash|zsh|fish|powershell',
    sentence: 'Print the completions of a shell, for it to load when it starts.',
    operands: { min: 1, max: 1, called: 'a shell' },
    flags: [],
    needsConfig: false,
    load: async () => (await import('./completion/completion.ts')).completion,
  },
};
