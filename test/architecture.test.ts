import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Who may import whom: the drawing of ARCHITECTURE.md as a list. `*` is every room. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  base: [],
  catalog: [],
  search: ['catalog'],
  model: ['base', 'net', 'search'],
  net: ['base'],
  upstream: ['base', 'net', 'catalog'],
  roster: ['base', 'catalog', 'upstream'],
  callers: ['base', 'catalog', 'search', 'upstream', 'roster'],
  registry: ['base', 'net'],
  'meta-tools': ['base', 'catalog', 'search', 'upstream', 'callers', 'roster', 'registry'],
  observe: ['base'],
  server: ['base', 'meta-tools', 'callers', 'observe'],
  config: ['base', 'roster', 'registry'],
  cli: ['base', 'config', 'app', 'registry', 'model', 'observe'],
  app: [
    'base',
    'catalog',
    'search',
    'model',
    'net',
    'upstream',
    'roster',
    'callers',
    'registry',
    'meta-tools',
    'observe',
    'server',
    'config',
  ],
  bin: ['cli'],
  index: ['app', 'base', 'config', 'roster'],
};

/** Outside packages a room may use; every other room uses none. Node's own modules count as `node:`. */
const MAY_USE: Readonly<Record<string, readonly string[]>> = {
  base: ['node:'],
  catalog: ['fastest-levenshtein'],
  search: ['snowball-stemmers', '@orama/stemmers'],
  model: ['node:', 'proper-lockfile'],
  net: ['node:', 'undici', 'ipaddr.js'],
  registry: ['node:', 'lru-cache', 'fastest-levenshtein', 'ini', '@pnpm/npm-conf'],
  upstream: ['node:', '@modelcontextprotocol/client', 'eventsource-parser'],
  roster: ['node:'],
  callers: ['node:', 'lru-cache'],
  'meta-tools': ['node:', 'ajv', 'lru-cache'],
  observe: [
    'node:',
    'pino',
    'prom-client',
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
  ],
  server: ['node:', '@modelcontextprotocol/server'],
  config: ['node:', 'jsonc-parser', 'fastest-levenshtein', 'proper-lockfile'],
  cli: ['node:', 'cli-table3', 'fastest-levenshtein', '@modelcontextprotocol/client'],
  app: ['node:'],
};

/** `upstream` appears in `meta-tools` only as types; so do the roster's and the registry's records in `config`. */
const TYPES_ONLY: readonly (readonly [string, string])[] = [
  ['meta-tools', 'upstream'],
  ['config', 'roster'],
  ['config', 'registry'],
  ['app', 'config'],
];

const src = resolve(import.meta.dirname, '../src');

interface Import {
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  const from = roomOf(file);
  const found: Import[] = [];
  for (const match of text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|import\('([^']+)'\)/g,
  )) {
    const target = match[2] ?? match[3] ?? '';
    const isType = match[1] !== undefined;
    const to = target.startsWith('.') ? roomOf(resolve(dirname(file), target)) : packageOf(target);
    found.push({ file: relative(src, file), from, to, isType });
  }
  return found;
}

function roomOf(file: string): string {
  return (relative(src, file).split('/')[0] ?? '').replace(/\.ts$/, '');
}

function packageOf(name: string): string {
  if (name.startsWith('node:')) return 'node:';
  return `npm:${name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')}`;
}

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/\.(test|examples)\.ts$/.test(file) && !file.includes('test-'))
  .map((file) => join(src, file));
const imports = files.flatMap(importsOf);

describe('the house', () => {
  it('finds the imports it judges', () => {
    expect(imports.length).toBeGreaterThan(100);
    expect(imports.some(({ from, to }) => from === 'app' && to === 'callers')).toBe(true);
    expect(
      imports.some(({ from, to }) => from === 'server' && to === 'npm:@modelcontextprotocol/server'),
    ).toBe(true);
  });

  it('has no room that reaches into one it may not know', () => {
    const rooms = new Set(Object.keys(MAY_IMPORT));
    const wrong = imports
      .filter(({ from, to }) => rooms.has(to) && to !== from && !(MAY_IMPORT[from] ?? []).includes(to))
      .map(({ file, to }) => `${file} imports ${to}`);
    expect(wrong).toEqual([]);
    expect(imports.filter(({ from }) => !rooms.has(from)).map(({ file }) => file)).toEqual([]);
  });

  it('keeps outside packages in the rooms that may use them', () => {
    const wrong = imports
      .filter(({ to }) => to.startsWith('npm:') || to === 'node:')
      .filter(({ from, to }) => !(MAY_USE[from] ?? []).includes(to.replace('npm:', '')))
      .map(({ file, to }) => `${file} uses ${to}`);
    expect(wrong).toEqual([]);
  });

  it('shares only types where the drawing says so', () => {
    const wrong = imports
      .filter(({ from, to, isType }) => !isType && TYPES_ONLY.some(([a, b]) => a === from && b === to))
      .map(({ file, to }) => `${file} imports more than types of ${to}`);
    expect(wrong).toEqual([]);
  });
});

describe('ARCHITECTURE.md', () => {
  it('says of every room what is held here', () => {
    const page = readFileSync(resolve(src, '../ARCHITECTURE.md'), 'utf8');
    const rows = [...page.matchAll(/^\| `([\w-]+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \|$/gm)];
    const named = (cell = ''): string[] =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name).sort();
    const written = rows
      .filter(([, room]) => room !== 'app')
      .map(([, room, rooms, outside]) => [room, named(rooms), named(outside)]);
    const held = Object.entries(MAY_USE)
      .filter(([room]) => room !== 'app')
      .map(([room, outside]) => [room, [...(MAY_IMPORT[room] ?? [])].sort(), [...outside].sort()]);
    const inOrder = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort();
    expect(inOrder(written)).toEqual(inOrder(held));
  });
});
