import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../../test/support/cleanup.ts';
import { startFixtureRegistry } from '../../../test/support/fixture-registry.ts';
import type { FixtureRegistry } from '../../../test/support/fixture-registry.ts';
import { openGuardedFetch } from '../../net/guarded-fetch.ts';
import { createServerFinder } from '../search-servers.ts';
import type { ServerEntry } from '../server-entry.ts';
import { packageAddresses } from './addresses.ts';
import { createPackageLookup } from './lookup.ts';
import { candidateNames, isSameRepository } from './repository.ts';

const HOUR = 3_600_000;

/** Finds the one server a registry lists, with packages looked up at the fixture. */
async function detected(
  server: object,
  packages: Readonly<Record<string, object>>,
): Promise<{ entry: ServerEntry; registry: FixtureRegistry }> {
  const registry = await startFixtureRegistry({
    '/servers': { json: [server] },
    ...Object.fromEntries(Object.entries(packages).map(([path, json]) => [path, { json }])),
  });
  const finder = createServerFinder({
    registries: [
      { id: 'acme', serversUrl: `${registry.origin}/servers`, allowInsecure: true, allowPrivate: true },
    ],
    registrySearch: true,
    checkServerRepo: true,
    limits: { registryAttemptMs: 5_000, registrySearchMs: 10_000, maxRegistryBytes: 1_048_576 },
    env: {},
    home: '/nonexistent',
    platform: 'linux',
    packages: {
      npm: () => Promise.resolve(`${registry.origin}/npm/`),
      pypi: () => Promise.resolve({ url: `${registry.origin}/py`, authorization: undefined }),
    },
  });
  whenDone(() => finder.close());
  const { servers } = await finder.search({ registry: 'acme' });
  const [entry] = servers;
  if (entry === undefined) throw new Error('nothing was found');
  return { entry, registry };
}

const weather = {
  id: 'weather-service',
  name: 'Weather MCP Server',
  description: 'Provides weather data via MCP',
  url: 'https://weather.example.com/mcp',
  source_code_url: 'https://github.com/example/weather-mcp-server',
};

describe('the packages of a found server', () => {
  it('are found by the name of its repository, in the shape the brief prints', async () => {
    const { entry } = await detected(weather, {
      '/npm/weather-mcp-server/latest': {
        name: 'weather-mcp-server',
        version: '1.2.3',
        description: 'Weather MCP server package',
        repository: { type: 'git', url: 'git+https://github.com/Example/weather-mcp-server.git' },
      },
    });
    expect(entry).toMatchObject({
      id: 'weather-service',
      url: 'https://weather.example.com/mcp',
      source_code_url: 'https://github.com/example/weather-mcp-server',
      installCmd: 'npm install weather-mcp-server',
      launch: ['npx', '-y', 'weather-mcp-server@1.2.3'],
      repository_info: {
        npm: {
          type: 'npm',
          package_name: 'weather-mcp-server',
          version: '1.2.3',
          description: 'Weather MCP server package',
          install_cmd: 'npm install weather-mcp-server',
          exists: true,
          verified: true,
        },
        pypi: null,
      },
    });
    expect(entry.repository_info.npm?.url).toMatch(/\/package\/weather-mcp-server$/);
  });

  it('of somebody else under the same name are shown as that, and never as its command', async () => {
    const { entry } = await detected(weather, {
      '/npm/weather-mcp-server/latest': {
        name: 'weather-mcp-server',
        version: '6.6.6',
        repository: 'github:mallory/weather-mcp-server',
      },
      '/py/pypi/weather-mcp-server/json': {
        info: { name: 'weather-mcp-server', version: '1.0', summary: null },
      },
    });
    expect(entry).toMatchObject({ installCmd: null, launch: null });
    expect(entry.repository_info.npm).toMatchObject({ exists: true, verified: false, version: '6.6.6' });
    expect(entry.repository_info.pypi).toMatchObject({ exists: true, verified: false });
  });

  it('are found under the owner’s scope, and in the Python index by its links or its README', async () => {
    const scoped = await detected(weather, {
      '/npm/@example%2Fweather-mcp-server/latest': {
        name: '@example/weather-mcp-server',
        version: '2.0.0',
        mcpName: 'Weather MCP Server',
      },
    });
    expect(scoped.entry.repository_info.npm).toMatchObject({
      package_name: '@example/weather-mcp-server',
      verified: true,
    });
    for (const info of [
      { project_urls: { Source: 'https://github.com/example/weather-mcp-server/tree/main' } },
      { home_page: 'https://github.com/example/weather-mcp-server' },
      { description: '# Weather\n\nmcp-name: weather-service\n' },
    ]) {
      const { entry } = await detected(weather, {
        '/py/pypi/weather-mcp-server/json': {
          info: { name: 'Weather_MCP.Server', version: '1.4.0', ...info },
        },
      });
      expect(entry).toMatchObject({
        installCmd: 'pip install weather-mcp-server',
        launch: ['uvx', 'weather-mcp-server==1.4.0'],
        repository_info: { npm: null, pypi: { verified: true, version: '1.4.0' } },
      });
    }
  });

  it('that are declared are asked for by their own name and version, and nothing is guessed beside them', async () => {
    const { entry, registry } = await detected(
      {
        server: {
          name: 'com.acme/tide',
          repository: { url: 'https://github.com/acme/tide-mcp' },
          packages: [{ registryType: 'npm', identifier: '@acme/tide', version: '2.1.0' }],
        },
      },
      { '/npm/@acme%2Ftide/2.1.0': { name: '@acme/tide', version: '2.1.0', mcpName: 'com.acme/tide' } },
    );
    expect(entry.repository_info).toMatchObject({ npm: { verified: true }, pypi: null });
    expect(registry.requests).toEqual(['/servers', '/npm/@acme%2Ftide/2.1.0']);
  });

  it('give a declared package its version where the registry left it out, and say when there is none', async () => {
    const item = { name: 'tide', packages: [{ registryType: 'npm', identifier: 'tide-mcp' }] };
    const found = await detected(item, { '/npm/tide-mcp/latest': { name: 'tide-mcp', version: '3.0.0' } });
    expect(found.entry.launch).toEqual(['npx', '-y', 'tide-mcp@3.0.0']);
    const missing = await detected(item, {});
    expect(missing.entry).toMatchObject({
      launch: null,
      repository_info: { npm: { exists: false, verified: false } },
    });
  });

  it('that cannot be asked for leave the answer as it is', async () => {
    const { entry } = await detected(weather, {
      '/npm/weather-mcp-server/latest': 'not an object' as unknown as object,
    });
    expect(entry).toMatchObject({ url: 'https://weather.example.com/mcp', repository_info: { npm: null } });
  });
});

describe('what was looked up', () => {
  it('is kept six hours when found, half an hour when not, and not at all when nobody knows', async () => {
    let now = 1_000_000;
    const registry = await startFixtureRegistry({
      '/there/latest': { json: { name: 'there', version: '1.0.0' } },
      '/down/latest': { json: {}, status: 503 },
    });
    const fetch = openGuardedFetch();
    whenDone(() => fetch.close());
    const lookup = createPackageLookup({
      fetch,
      now: () => now,
      addresses: {
        npm: () => Promise.resolve(`${registry.origin}/`),
        pypi: () => Promise.resolve(undefined),
      },
    });
    const look = async (name: string): Promise<string> =>
      (await lookup.look('npm', name, undefined, new AbortController().signal)).kind;
    const asked = (name: string): number =>
      registry.requests.filter((path) => path.startsWith(`/${name}/`)).length;

    expect([await look('there'), await look('absent'), await look('down')]).toEqual([
      'found',
      'missing',
      'unknown',
    ]);
    now += HOUR / 2 - 1;
    await Promise.all(['there', 'absent', 'down'].map(look));
    expect(['there', 'absent', 'down'].map(asked)).toEqual([1, 1, 2]);
    now += 2;
    await Promise.all(['there', 'absent'].map(look));
    expect(['there', 'absent'].map(asked)).toEqual([1, 2]);
    now += 5.5 * HOUR - 3;
    await look('there');
    expect(asked('there')).toBe(1);
    now += 3;
    await look('there');
    expect(asked('there')).toBe(2);
  });
});

describe('where packages are looked up', () => {
  it('is what pip is configured to use, and no credential of it is in a URL', async () => {
    const home = mkdtempSync(join(tmpdir(), 'pip-'));
    whenDone(() => rmSync(home, { recursive: true, force: true }));
    const index = (env: Record<string, string>): ReturnType<ReturnType<typeof packageAddresses>['pypi']> =>
      packageAddresses({
        env: { XDG_CONFIG_HOME: join(home, 'none'), ...env },
        home,
        platform: 'linux',
      }).pypi();
    expect(await index({ PIP_INDEX_URL: 'https://ann:s%40fe@mirror.test/root/simple/' })).toEqual({
      url: 'https://mirror.test/root',
      authorization: `Basic ${Buffer.from('ann:s@fe').toString('base64')}`,
    });
    expect(await index({ PIP_NO_INDEX: '1' })).toBeUndefined();
    mkdirSync(join(home, 'config/pip'), { recursive: true });
    writeFileSync(join(home, 'config/pip/pip.conf'), '[global]\nindex-url = https://company.test/simple\n');
    expect(await index({ XDG_CONFIG_HOME: join(home, 'config') })).toMatchObject({
      url: 'https://company.test',
    });
    writeFileSync(join(home, 'own.conf'), '[global]\nno-index = true\n');
    expect(await index({ PIP_CONFIG_FILE: join(home, 'own.conf') })).toBeUndefined();
    // Where nothing is configured the index everybody uses is asked.
    expect((await index({ PIP_CONFIG_FILE: '/dev/null' }))?.url).toMatch(/^https:\/\//);
  });
});

describe('a repository', () => {
  it('is the same however it is written', () => {
    for (const written of [
      'https://github.com/acme/tide',
      'https://GitHub.com/Acme/Tide.git',
      'git+https://github.com/acme/tide.git#readme',
      'git+ssh://git@github.com/acme/tide.git',
      'git@github.com:acme/tide.git',
      'github:acme/tide',
      'acme/tide',
      'https://www.github.com/acme/tide/tree/main/srv',
    ]) {
      expect(isSameRepository(written, 'https://github.com/acme/tide'), written).toBe(true);
    }
    for (const other of [
      'https://gitlab.com/acme/tide',
      'https://github.com/acme/tides',
      'https://github.com/acme',
      'tide',
      '',
    ]) {
      expect(isSameRepository(other, 'https://github.com/acme/tide'), other).toBe(false);
    }
  });

  it('suggests names its packages may go by', () => {
    expect(candidateNames('https://github.com/Acme/Tide-MCP.git')).toEqual({
      npm: ['tide-mcp', '@acme/tide-mcp'],
      pypi: ['tide-mcp'],
    });
    expect(candidateNames('https://acme.test')).toEqual({ npm: [], pypi: [] });
  });
});
