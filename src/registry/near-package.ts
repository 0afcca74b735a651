import { distance } from 'fastest-levenshtein';
import { pypiName } from './package-name.ts';

/** Packages of MCP servers that many people use, and that others would like to be taken for. */
const WELL_KNOWN: Readonly<Record<'npm' | 'pypi', readonly string[]>> = {
  npm: [
    '@modelcontextprotocol/server-everything',
    '@modelcontextprotocol/server-filesystem',
    '@modelcontextprotocol/server-memory',
    '@modelcontextprotocol/server-sequential-thinking',
    '@modelcontextprotocol/sdk',
    '@azure/mcp',
    '@brave/brave-search-mcp-server',
    '@elastic/mcp-server-elasticsearch',
    '@heroku/mcp-server',
    '@notionhq/notion-mcp-server',
    '@playwright/mcp',
    '@sentry/mcp-server',
    '@stripe/mcp',
    '@supabase/mcp-server-supabase',
    '@upstash/context7-mcp',
    'chrome-devtools-mcp',
    'exa-mcp-server',
    'figma-developer-mcp',
    'firecrawl-mcp',
    'mcp-remote',
    'mongodb-mcp-server',
    'obsidian-mcp',
    'postmark-mcp',
    'tavily-mcp',
  ],
  pypi: [
    'fastmcp',
    'mcp-proxy',
    'mcp-server-fetch',
    'mcp-server-git',
    'mcp-server-sqlite',
    'mcp-server-time',
  ],
};

/** The well-known package that a name is one letter away from (one more, less, other, or two swapped), if any. */
export function wellKnownNear(type: 'npm' | 'pypi', written: string): string | undefined {
  const name = type === 'pypi' ? pypiName(written) : written.toLowerCase();
  const known = WELL_KNOWN[type];
  if (known.includes(name)) return undefined;
  return known.find((each) => distance(each, name) === 1 || isSwapped(each, name));
}

function isSwapped(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  const at = a.split('').findIndex((letter, n) => letter !== b[n]);
  return (
    at !== -1 && a.slice(0, at) + (b[at] ?? '') + (a[at] ?? '') + a.slice(at + 2) === b && a[at + 1] === b[at]
  );
}
