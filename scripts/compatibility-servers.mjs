// @ts-check

/**
 * The servers of the compatibility run, each in the very version that was looked at. A question is what a person
 * would ask; a call is harmless and stays on this machine, or is left out with the reason.
 *
 * @typedef {object} Scratch folders and files made for the run, thrown away after it
 * @property {string} folder an ordinary folder with two text files, one program and a folder of notes
 * @property {string} repository a Git repository with one commit
 * @property {string} file a file that does not exist yet, for servers that keep one
 *
 * @typedef {object} Server
 * @property {'npm' | 'pypi'} registry
 * @property {string} package
 * @property {string} version
 * @property {string} program the program of the package that is started
 * @property {(scratch: Scratch) => string[]} [args]
 * @property {(scratch: Scratch) => Record<string, string>} [env]
 * @property {(scratch: Scratch) => Record<string, string>} [madeUp] what it is given after it refused to start bare:
 *   keys nobody issued, never used in a call
 * @property {boolean} [newerNode] it says it needs a newer Node than the proxy does
 * @property {string} question
 * @property {{ readonly tool: string, readonly args: (scratch: Scratch) => object } | string} call the harmless
 *   call, or why there is none
 */

const NEEDS_NETWORK = 'its tools reach the network';
const NEEDS_ACCOUNT = 'needs an account';

/** @type {readonly Server[]} */
export const SERVERS = [
  {
    registry: 'npm',
    package: '@modelcontextprotocol/server-everything',
    version: '2026.8.31',
    program: 'mcp-server-everything',
    question: 'repeat what I said',
    call: { tool: 'echo', args: () => ({ message: 'good morning' }) },
  },
  {
    registry: 'npm',
    package: '@modelcontextprotocol/server-filesystem',
    version: '2026.8.31',
    program: 'mcp-server-filesystem',
    args: ({ folder }) => [folder],
    question: 'what is in this folder?',
    call: { tool: 'list_directory', args: ({ folder }) => ({ path: folder }) },
  },
  {
    registry: 'npm',
    package: '@modelcontextprotocol/server-memory',
    version: '2026.8.31',
    program: 'mcp-server-memory',
    env: ({ file }) => ({ MEMORY_FILE_PATH: file }),
    question: 'what do you remember?',
    call: { tool: 'read_graph', args: () => ({}) },
  },
  {
    registry: 'npm',
    package: '@modelcontextprotocol/server-sequential-thinking',
    version: '2026.8.31',
    program: 'mcp-server-sequential-thinking',
    question: 'think a problem through step by step',
    call: {
      tool: 'sequentialthinking',
      args: () => ({
        thought: 'Start with the smallest case.',
        nextThoughtNeeded: false,
        thoughtNumber: 1,
        totalThoughts: 1,
      }),
    },
  },
  {
    registry: 'npm',
    package: '@playwright/mcp',
    version: '0.0.83',
    program: 'playwright-mcp',
    args: () => ['--headless', '--isolated'],
    question: 'take a screenshot of the page',
    call: { tool: 'browser_close', args: () => ({}) },
  },
  {
    registry: 'npm',
    package: 'chrome-devtools-mcp',
    version: '1.11.0',
    program: 'chrome-devtools-mcp',
    args: () => ['--headless', '--isolated', '--no-usage-statistics'],
    question: 'why does my page load slowly?',
    call: { tool: 'list_pages', args: () => ({}) },
  },
  {
    registry: 'npm',
    package: '@upstash/context7-mcp',
    version: '4.1.1',
    program: 'context7-mcp',
    question: 'documentation of a library',
    call: NEEDS_NETWORK,
  },
  {
    registry: 'npm',
    package: 'firecrawl-mcp',
    version: '3.26.0',
    program: 'firecrawl-mcp',
    newerNode: true,
    madeUp: () => ({ FIRECRAWL_API_KEY: 'made-up-key' }),
    question: 'read a web page as markdown',
    call: NEEDS_ACCOUNT,
  },
  {
    registry: 'npm',
    package: 'tavily-mcp',
    version: '0.2.22',
    program: 'tavily-mcp',
    madeUp: () => ({ TAVILY_API_KEY: 'made-up-key' }),
    question: 'search the web for news',
    call: NEEDS_ACCOUNT,
  },
  {
    registry: 'npm',
    package: 'exa-mcp-server',
    version: '3.4.1',
    program: 'exa-mcp-server',
    madeUp: () => ({ EXA_API_KEY: 'made-up-key' }),
    question: 'find articles about a company',
    call: NEEDS_NETWORK,
  },
  {
    registry: 'npm',
    package: '@brave/brave-search-mcp-server',
    version: '2.1.4',
    program: 'brave-search-mcp-server',
    madeUp: () => ({ BRAVE_API_KEY: 'made-up-key' }),
    question: 'find pictures of lighthouses',
    call: NEEDS_ACCOUNT,
  },
  {
    registry: 'npm',
    package: '@modelcontextprotocol/server-github',
    version: '2025.4.8',
    program: 'mcp-server-github',
    question: 'open a ticket about a bug',
    call: NEEDS_ACCOUNT,
  },
  {
    registry: 'npm',
    package: '@azure/mcp',
    version: '2.0.5',
    program: 'azmcp',
    args: () => ['server', 'start', '--mode', 'all'],
    env: () => ({ AZURE_MCP_COLLECT_TELEMETRY: 'false' }),
    question: 'which storage accounts do I have?',
    call: NEEDS_ACCOUNT,
  },
  {
    registry: 'npm',
    package: '@notionhq/notion-mcp-server',
    version: '2.5.2',
    program: 'notion-mcp-server',
    madeUp: () => ({ NOTION_TOKEN: 'ntn_made_up' }),
    question: 'add a page to my workspace',
    call: NEEDS_ACCOUNT,
  },
  {
    registry: 'npm',
    package: '@sentry/mcp-server',
    version: '0.39.0',
    program: 'sentry-mcp',
    newerNode: true,
    madeUp: () => ({ SENTRY_ACCESS_TOKEN: 'made-up-token' }),
    question: 'which errors happened most this week?',
    call: NEEDS_ACCOUNT,
  },
  {
    registry: 'npm',
    package: '@supabase/mcp-server-supabase',
    version: '0.13.0',
    program: 'mcp-server-supabase',
    madeUp: () => ({ SUPABASE_ACCESS_TOKEN: 'sbp_made_up' }),
    question: 'run a query on my database',
    call: NEEDS_ACCOUNT,
  },
  {
    registry: 'npm',
    package: 'mcp-server-kubernetes',
    version: '4.1.7',
    program: 'mcp-server-kubernetes',
    question: 'why does my pod not start?',
    call: { tool: 'ping', args: () => ({}) },
  },
  {
    registry: 'npm',
    package: 'mongodb-mcp-server',
    version: '3.0.4',
    program: 'mongodb-mcp-server',
    env: () => ({ MDB_MCP_TELEMETRY: 'disabled' }),
    question: 'how many documents are in a collection?',
    call: { tool: 'list-connections', args: () => ({}) },
  },
  {
    registry: 'npm',
    package: '@eslint/mcp',
    version: '0.3.13',
    program: 'mcp',
    question: 'check my code for mistakes',
    call: { tool: 'lint-files', args: ({ folder }) => ({ filePaths: [`${folder}/program.js`] }) },
  },
  {
    registry: 'npm',
    package: '@antv/mcp-server-chart',
    version: '0.9.10',
    program: 'mcp-server-chart',
    question: 'draw a pie chart',
    call: NEEDS_NETWORK,
  },
  {
    registry: 'npm',
    package: '@wonderwhy-er/desktop-commander',
    version: '0.2.52',
    program: 'desktop-commander',
    question: 'list the files of a folder',
    call: { tool: 'list_directory', args: ({ folder }) => ({ path: folder }) },
  },
  {
    registry: 'npm',
    package: 'obsidian-mcp',
    version: '2.0.1',
    program: 'obsidian-mcp',
    newerNode: true,
    // As strict as it can be: it takes nobody who speaks an older protocol.
    args: ({ folder }) => ['serve', '--vault', `notes=${folder}/notes`, '--legacy', 'reject'],
    question: 'find a note by what is in it',
    call: { tool: 'obsidian_list_vaults', args: () => ({}) },
  },
  {
    registry: 'pypi',
    package: 'mcp-server-fetch',
    version: '2026.10.24',
    program: 'mcp-server-fetch',
    question: 'read a web page',
    call: NEEDS_NETWORK,
  },
  {
    registry: 'pypi',
    package: 'mcp-server-git',
    version: '2026.10.19',
    program: 'mcp-server-git',
    args: ({ repository }) => ['--repository', repository],
    question: 'what did I change since the last commit?',
    call: { tool: 'git_status', args: ({ repository }) => ({ repo_path: repository }) },
  },
  {
    registry: 'pypi',
    package: 'mcp-server-time',
    version: '2026.10.19',
    program: 'mcp-server-time',
    args: () => ['--local-timezone', 'Etc/UTC'],
    question: 'what time is it in Lisbon?',
    call: { tool: 'get_current_time', args: () => ({ timezone: 'Etc/UTC' }) },
  },
  {
    registry: 'pypi',
    package: 'mcp-server-sqlite',
    version: '2025.4.25',
    program: 'mcp-server-sqlite',
    args: ({ file }) => ['--db-path', file],
    question: 'which tables are there?',
    call: { tool: 'list_tables', args: () => ({}) },
  },
  {
    registry: 'pypi',
    package: 'mcp-server-calculator',
    version: '0.2.1',
    program: 'mcp-server-calculator',
    question: 'how much is 6 times 7?',
    call: { tool: 'calculate', args: () => ({ expression: '6 * 7' }) },
  },
  {
    registry: 'pypi',
    package: 'duckduckgo-mcp-server',
    version: '0.7.0',
    program: 'duckduckgo-mcp-server',
    question: 'search the web',
    call: NEEDS_NETWORK,
  },
];
