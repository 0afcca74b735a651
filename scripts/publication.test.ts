import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { launchOf } from '../src/registry/launch.ts';
import { readServerJson } from '../src/registry/server-json.ts';
import { commandsIn, mistakesIn, wrongLinks } from './docs/check.ts';

const root = join(import.meta.dirname, '..');
const read = (name: string): string => readFileSync(join(root, name), 'utf8');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly mcpName: string;
  readonly workspaces?: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(read('package.json')) as Manifest;

describe('server.json', () => {
  const server = JSON.parse(read('server.json')) as Readonly<Record<string, unknown>> & {
    readonly packages: readonly Readonly<Record<string, unknown>>[];
  };

  it('is of the shape the official registry takes', () => {
    expect(Object.keys(server).sort()).toEqual([
      '$schema',
      'description',
      'name',
      'packages',
      'title',
      'version',
    ]);
    expect(server['$schema']).toBe(
      'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    );
    expect(server['name']).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(String(server['name']).length).toBeLessThanOrEqual(200);
    expect(String(server['description']).length).toBeLessThanOrEqual(100);
    expect(String(server['title']).length).toBeLessThanOrEqual(100);
    expect(server['version']).toBe(manifest.version);
    expect(server.packages).toHaveLength(1);
    expect(server.packages[0]).toMatchObject({
      registryType: 'npm',
      identifier: manifest.name,
      version: manifest.version,
      transport: { type: 'stdio' },
    });
    const [{ environmentVariables = [], packageArguments = [], runtimeArguments = [] } = {}] =
      server.packages as readonly Record<string, readonly Readonly<Record<string, string>>[]>[];
    for (const argument of [...packageArguments, ...runtimeArguments])
      expect(Object.keys(argument).sort()).toEqual(['type', 'value']);
    for (const variable of environmentVariables) expect(variable['name']).toMatch(/^MCPPROXY_[A-Z_]+$/);
  });

  it('is believed: the npm package and the image name the server back', () => {
    expect(manifest.mcpName).toBe(server['name']);
    expect(read('packaging/Dockerfile')).toContain(
      `io.modelcontextprotocol.server.name="${String(server['name'])}"`,
    );
  });

  it('gives whoever finds it the command that starts it, as our own search reads it', () => {
    const listed = readServerJson({ server });
    if (listed === undefined || listed === 'skip') throw new Error('it is not read');
    expect(listed.packages).toHaveLength(1);
    expect(launchOf(listed.packages[0]!).argv?.join(' ')).toBe(
      `npx -y mcp-toolsearch-proxy@${manifest.version} --stdio`,
    );
  });
});

describe('the versions', () => {
  it('agree, in whatever is published', () => {
    for (const folder of manifest.workspaces ?? []) {
      const own = JSON.parse(read(join(folder, 'package.json'))) as Manifest;
      // The weights change rarely and keep their own number; what depends on them names it.
      expect(manifest.dependencies[own.name] ?? own.version).toBe(own.version);
    }
  });
});

describe('llms.txt', () => {
  const text = read('llms.txt');

  it('leads to files that are there', () => {
    expect(wrongLinks([{ path: 'llms.txt', text }], (path) => existsSync(join(root, path)))).toEqual([]);
    expect(text).toMatch(/^# mcp-toolsearch-proxy\n\n> /);
  });

  it('quotes command lines the program understands', async () => {
    const commands = commandsIn(text.replaceAll(/^ {3}/gm, ''));
    expect(commands).toEqual(['--builtin search-tools renew a library loan', 'list-tools', '--stdio']);
    for (const command of commands) expect(await mistakesIn(command)).toEqual([]);
  });
});

describe('the documents', () => {
  it('name only npm scripts and mise tasks that are there', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
    const pages = [
      ...readdirSync(root),
      ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
    ].filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md');
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/\b(npm|mise) run (?:--silent )?([\w:-]+)/g)].map(([, by, name = '']) => ({
        page,
        by,
        name,
      })),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name }) => scripts[name] === undefined)).toEqual([]);
    const tasks = read('mise.toml');
    expect(
      named.filter(({ by, name }) => by === 'mise' && !tasks.includes(`run = "npm run ${name}"`)),
    ).toEqual([]);
  });
});
