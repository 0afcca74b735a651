import { describe, expect, it } from 'vitest';
import type { HouseEvent } from '../base/observer.ts';
import { whenDone } from '../../test/support/cleanup.ts';
import { startFixtureRegistry } from '../../test/support/fixture-registry.ts';
import type { FixtureRegistry } from '../../test/support/fixture-registry.ts';
import { KNOWN_REGISTRIES } from './known.ts';
import type { ConfiguredRegistry } from './registries.ts';
import { createServerFinder } from './search-servers.ts';
import type { ServerFinder, ServerFinderOptions } from './server-finder.ts';

function finderOf(
  registries: readonly ConfiguredRegistry[],
  more: Partial<ServerFinderOptions> = {},
): ServerFinder {
  const finder = createServerFinder({
    registries,
    registrySearch: true,
    checkServerRepo: false,
    limits: { registryAttemptMs: 5_000, registrySearchMs: 15_000, maxRegistryBytes: 16_777_216 },
    env: {},
    home: '/nonexistent',
    platform: 'linux',
    known: KNOWN_REGISTRIES.filter(
      ({ serversUrl }) => serversUrl === undefined || serversUrl.startsWith('builtin:'),
    ),
    ...more,
  });
  whenDone(() => finder.close());
  return finder;
}

const at = (registry: FixtureRegistry, more: Partial<ConfiguredRegistry> = {}): ConfiguredRegistry => ({
  id: 'acme',
  name: 'Acme Servers',
  serversUrl: `${registry.origin}/servers`,
  allowInsecure: true,
  allowPrivate: true,
  ...more,
});

const server = (name: string, more: object = {}): object => ({ id: name, name, ...more });

describe('each reading of a registry', () => {
  it('is told of: which, how it went, and nothing of what was looked for', async () => {
    const events: HouseEvent[] = [];
    const dead = { id: 'dead', name: 'Dead', serversUrl: 'http://127.0.0.1:9/servers' };
    const acme = await startFixtureRegistry({ '/servers': { json: [server('weather')] } });
    const finder = finderOf([at(acme), { ...at(acme), ...dead }], {
      observer: (event) => events.push(event),
    });
    await finder.search({ registry: 'acme', search: 'weather' });
    // Kept for a minute: not read again.
    await finder.search({ registry: 'acme', search: 'weather' });
    await expect(finder.search({ registry: 'dead', search: 'weather' })).rejects.toThrow("'dead'");
    expect(events).toEqual([
      { kind: 'registry', registry: 'acme', ms: expect.any(Number) as number },
      {
        kind: 'registry',
        registry: 'dead',
        code: 'registry_unavailable',
        ms: expect.any(Number) as number,
      },
    ]);
  });
});

describe('choosing a registry', () => {
  it('goes by id or name, letters’ case not counting, also by an older id', async () => {
    const finder = finderOf([]);
    for (const name of ['reference', 'REFERENCE', ' Reference Servers ']) {
      expect((await finder.search({ registry: name })).servers).toHaveLength(7);
    }
    await expect(finder.search({ registry: 'glama-mcp-server' })).rejects.toThrow(
      "Registry 'Glama' has no servers endpoint",
    );
  });

  it('says which there are when none is named, and which is near when the name is wrong', async () => {
    const finder = finderOf([]);
    await expect(finder.search({})).rejects.toMatchObject({ code: 'registry_not_found' });
    await expect(finder.search({})).rejects.toThrow('Name a registry to search, or "all": reference.');
    await expect(finder.search({ registry: 'refrence' })).rejects.toThrow(
      "Registry with ID 'refrence' not found. Did you mean reference?",
    );
    await expect(finder.search({ registry: 'zz-nothing-like-it' })).rejects.toThrow('Known are reference.');
  });

  it('answers what is list-only, switched off, or short of a key with what to do', async () => {
    const registry = await startFixtureRegistry({ '/servers': { json: [] } });
    const finder = finderOf([
      at(registry, { id: 'off', enabled: false }),
      at(registry, { id: 'locked', apiKeyEnv: 'ACME_KEY' }),
    ]);
    const codes = async (id: string): Promise<unknown> =>
      finder
        .search({ registry: id })
        .catch((error: { code: string; message: string }) => [error.code, error.message]);
    expect(await codes('glama')).toEqual([
      'registry_has_no_servers',
      "Registry 'Glama' has no servers endpoint; browse it at https://glama.ai/mcp/servers.",
    ]);
    expect(await codes('off')).toContain('registry_disabled');
    expect(await codes('locked')).toEqual([
      'registry_key_missing',
      "Registry 'locked' needs a key: set the environment variable ACME_KEY.",
    ]);
    expect(registry.requests).toEqual([]);
  });

  it('asks nobody at all where searching is switched off', async () => {
    const finder = finderOf([], { registrySearch: false });
    await expect(finder.search({ registry: 'reference' })).rejects.toMatchObject({
      code: 'registry_disabled',
    });
  });

  it('sends a key to its own registry only, and never shows it', async () => {
    const registry = await startFixtureRegistry({ '/servers': { json: [server('tide')] } });
    const other = await startFixtureRegistry({ '/servers': { json: [] } });
    const finder = finderOf([at(registry, { apiKeyEnv: 'ACME_KEY' }), at(other, { id: 'other' })], {
      env: { ACME_KEY: 'k-3141' },
    });
    const answer = await finder.search({ registry: 'all' });
    expect(registry.headers[0]?.authorization).toBe('Bearer k-3141');
    expect(other.headers[0]?.authorization).toBeUndefined();
    expect(JSON.stringify([answer, finder.registries])).not.toContain('k-3141');
    registry.routes.set('/servers', { json: {}, status: 401 });
    const again = finderOf([at(registry, { apiKeyEnv: 'ACME_KEY' })], { env: { ACME_KEY: 'k-3141' } });
    await expect(again.search({ registry: 'acme' })).rejects.toMatchObject({ code: 'registry_key_missing' });
  });

  it('lists what each can do', () => {
    const finder = finderOf([at({ origin: 'http://127.0.0.1:9' } as FixtureRegistry)]);
    expect(finder.registries.find(({ id }) => id === 'acme')).toMatchObject({
      origin: 'config',
      searchable: true,
      insecure: true,
      addable: true,
      key_required: false,
    });
    expect(finder.registries.find(({ id }) => id === 'glama')).toMatchObject({
      searchable: false,
      addable: false,
    });
  });

  it('lets no configuration move a registry that ships', async () => {
    const registry = await startFixtureRegistry({ '/servers': { json: [] } });
    const finder = finderOf([at(registry, { id: 'reference' })]);
    expect((await finder.search({ registry: 'reference' })).servers).toHaveLength(7);
    expect(registry.connections()).toBe(0);
  });
});

describe('a search', () => {
  it('wants every word, in name, title or description, and puts names first', async () => {
    const registry = await startFixtureRegistry({
      '/servers': {
        json: [
          server('other', { description: 'Weather forecasts for tides' }),
          server('forecast', { title: 'Weather', description: null }),
          server('Weather Forecast'),
          server('weather', { description: 'no other word' }),
        ],
      },
    });
    const finder = finderOf([at(registry)]);
    const found = async (search: string): Promise<string[]> =>
      (await finder.search({ registry: 'acme', search })).servers.map(({ name }) => name);
    expect(await found('WEATHER forecast')).toEqual(['Weather Forecast', 'forecast', 'other']);
    expect(await found('weather')).toEqual(['forecast', 'weather', 'Weather Forecast', 'other']);
    expect(await found('zeppelin')).toEqual([]);
    expect(registry.requests).toHaveLength(1);
  });

  it('filters by tags of the registry and by labels of ours, and says when there are none', async () => {
    const registry = await startFixtureRegistry({
      '/servers': {
        json: [
          server('a', { tags: ['Finance & Money'], url: 'https://a.test/mcp' }),
          server('b', { packageRegistry: 'npm', packageName: 'b-mcp' }),
        ],
      },
      '/apps.json': { json: [] },
    });
    const finder = finderOf([
      at(registry),
      at(registry, { id: 'apps', protocol: 'custom/fleur', serversUrl: `${registry.origin}/apps.json` }),
    ]);
    const found = async (tag: string): Promise<string[]> =>
      (await finder.search({ registry: 'acme', tag })).servers.map(({ id }) => id);
    expect(await found('finance-money')).toEqual(['a']);
    expect(await found('Finance & Money')).toEqual(['a']);
    expect(await found('remote')).toEqual(['a']);
    expect(await found('NPM')).toEqual(['b']);
    expect(await found('local')).toEqual(['b']);
    const none = await finder.search({ registry: 'apps', tag: 'finance' });
    expect(none.warnings.join(' ')).toContain('gives its servers no tags');
  });

  it.each([
    [undefined, 10, false],
    [0, 10, true],
    [-1, 10, true],
    [1, 1, false],
    [10, 10, false],
    [50, 50, false],
    [51, 50, true],
    [1000, 50, true],
    [2.5, 2, true],
    [Number.NaN, 10, true],
  ])('with limit %s shows %s', async (limit, shown, isSaid) => {
    const registry = await startFixtureRegistry({
      '/servers': { json: Array.from({ length: 60 }, (_, n) => server(`s${n}`)) },
    });
    const answer = await finderOf([at(registry)]).search({
      registry: 'acme',
      ...(limit === undefined ? {} : { limit }),
    });
    expect(answer).toMatchObject({ returned: shown, matched: 60, truncated: true });
    expect(answer.servers).toHaveLength(shown);
    expect(answer.warnings.some((warning) => warning.startsWith('limit '))).toBe(isSaid);
  });

  it('names the next step when exactly one is found, in a form that can be pasted', async () => {
    const registry = await startFixtureRegistry({
      '/servers': {
        json: [
          server('weather', { name: 'WeatherInfo', url: 'https://weather.mcp.run/mcp/' }),
          server('evil', { name: 'x"; rm -rf ~; "$(id)`id`', url: 'https://evil.test/mcp' }),
          server('worse', { url: 'https://evil.test/mcp?a=$(id)' }),
          server('tool', { packageRegistry: 'npm', packageName: 'tool-mcp', version: '1.0.0' }),
          server('nothing'),
        ],
      },
    });
    const finder = finderOf([at(registry)]);
    const next = async (search: string): Promise<string | undefined> =>
      (await finder.search({ registry: 'acme', search })).next;
    const add = (flags: string): string =>
      `Found 1 server. Run \`mcpproxy upstream_servers add ${flags}\` to add it.`;
    expect(await next('weather')).toBe(add('--name WeatherInfo --url https://weather.mcp.run/mcp/'));
    expect(await next('rm')).toBe(add(`--name 'x rm -rf  idid' --url https://evil.test/mcp`));
    expect(await next('worse')).toBe(add(`--name worse --url 'https://evil.test/mcp?a=$(id)'`));
    expect(await next('tool')).toBe(add('--registry acme --id tool'));
    expect(await next('nothing')).toBeUndefined();
  });

  it('stops asking a registry that searches itself as soon as there is enough', async () => {
    const registry = await startFixtureRegistry({
      '/servers': (_request, response, url) => {
        const page = Number(url.searchParams.get('cursor') ?? 0);
        const servers = Array.from({ length: 100 }, (_, n) => ({
          server: { name: `com.acme/tide-${page}-${n}` },
        }));
        response.end(JSON.stringify({ servers, metadata: { nextCursor: String(page + 1) } }));
      },
    });
    const finder = finderOf([at(registry, { protocol: 'modelcontextprotocol/registry' })]);
    const answer = await finder.search({ registry: 'acme', search: 'tide' });
    expect(registry.requests).toEqual(['/servers?version=latest&limit=100&search=tide']);
    expect(answer).toMatchObject({ returned: 10, truncated: true });
    // Nothing fits: twenty pages are read, and that is said.
    const none = await finder.search({ registry: 'acme', tag: 'nope' });
    expect(registry.requests).toHaveLength(21);
    expect(none.warnings.join(' ')).toContain('only the first 2000 servers were read');
  });

  it('asks for each word where a registry takes one text and looks at names', async () => {
    const registry = await startFixtureRegistry({
      '/servers': (_request, response, url) => {
        const all = [
          { server: { name: 'com.acme/tide', description: 'tables of harbours' } },
          { server: { name: 'com.acme/tables', description: 'furniture' } },
        ];
        const word = url.searchParams.get('search') ?? '';
        response.end(JSON.stringify({ servers: all.filter(({ server: { name } }) => name.includes(word)) }));
      },
    });
    const finder = finderOf([at(registry, { protocol: 'modelcontextprotocol/registry' })]);
    const { servers, warnings } = await finder.search({ registry: 'acme', search: 'tide tables' });
    expect(servers.map(({ name }) => name)).toEqual(['com.acme/tide']);
    expect(warnings.join(' ')).toContain('searches names only');
  });
});

describe('finding one server by its id', () => {
  it('asks a registry for it by name, where it can, and reads its listing where it cannot', async () => {
    const registry = await startFixtureRegistry({
      '/v0.1/servers/com.acme%2Ftide/versions/latest': {
        json: { server: { name: 'com.acme/tide', remotes: [{ type: 'sse', url: 'https://tide.test/sse' }] } },
      },
      '/servers': { json: [server('moon', { url: 'https://moon.test/mcp' })] },
    });
    const finder = finderOf([
      at(registry),
      at(registry, {
        id: 'generic',
        name: 'Generic',
        protocol: 'modelcontextprotocol/registry',
        serversUrl: `${registry.origin}/v0.1/servers`,
      }),
    ]);
    expect(await finder.find('generic', 'com.acme/tide')).toMatchObject({
      url: 'https://tide.test/sse',
      transport: 'sse',
    });
    expect(registry.requests).toEqual(['/v0.1/servers/com.acme%2Ftide/versions/latest']);
    expect(await finder.find('acme', 'moon')).toMatchObject({ url: 'https://moon.test/mcp' });
    for (const [name, id] of [
      ['generic', 'com.acme/none'],
      ['acme', 'none'],
    ] as const) {
      await expect(finder.find(name, id)).rejects.toMatchObject({ code: 'server_not_found' });
    }
    await expect(finder.find('glama', 'x')).rejects.toMatchObject({ code: 'registry_has_no_servers' });
  });
});

describe('time and trouble', () => {
  it('keeps an answer a minute, an old one a day in place of an error, and asks once for many', async () => {
    let now = 1_750_000_000_000;
    const registry = await startFixtureRegistry({ '/servers': { json: [server('tide')] } });
    const finder = finderOf([at(registry)], { now: () => now });
    const search = (): ReturnType<ServerFinder['search']> => finder.search({ registry: 'acme' });
    const [first, second] = await Promise.all([search(), search(), search()]);
    expect(registry.requests).toHaveLength(1);
    expect(first).toMatchObject({ source: 'live', asOf: new Date(now).toISOString() });
    expect(second.source).toBe('live');
    now += 59_000;
    expect(await search()).toMatchObject({ source: 'cache', asOf: first.asOf });
    expect(registry.requests).toHaveLength(1);
    now += 2_000;
    registry.routes.set('/servers', { json: {}, status: 404 });
    const stale = await search();
    expect(stale).toMatchObject({ source: 'stale', asOf: first.asOf, returned: 1 });
    expect(stale.warnings.join(' ')).toContain('cannot be read now');
    now += 25 * 3_600_000;
    await expect(search()).rejects.toMatchObject({ code: 'registry_unavailable' });
  });

  it('lets one go without those who wait for the same', async () => {
    const registry = await startFixtureRegistry({
      '/servers': (_request, response) => void setTimeout(() => response.end('[{"id":"tide"}]'), 200),
    });
    const finder = finderOf([at(registry)]);
    const gone = new AbortController();
    const left = finder.search({ registry: 'acme' }, { signal: gone.signal });
    const stays = finder.search({ registry: 'acme' });
    gone.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect((await stays).returned).toBe(1);
    expect(registry.requests).toHaveLength(1);
  });

  it('keeps the pages it has when a later one fails, and says so', async () => {
    const registry = await startFixtureRegistry({
      '/servers': (_request, response, url) => {
        if (url.searchParams.has('cursor')) response.writeHead(404).end();
        else
          response.end(
            JSON.stringify({
              servers: [{ server: { name: 'com.acme/tide' } }],
              metadata: { nextCursor: 'b' },
            }),
          );
      },
    });
    const finder = finderOf([at(registry, { protocol: 'modelcontextprotocol/registry' })]);
    for (let n = 0; n < 2; n++) {
      const answer = await finder.search({ registry: 'acme' });
      expect(answer).toMatchObject({ returned: 1, truncated: true, source: 'live' });
      expect(answer.warnings.join(' ')).toContain('Incomplete');
    }
    // What is incomplete is not kept.
    expect(registry.requests).toHaveLength(4);
  });

  it.each([
    ['an answer that never comes', () => undefined, 'registry_unavailable'],
    ['a page instead of data', { html: true }, 'registry_invalid'],
    ['another host', { location: 'https://elsewhere.test/servers' }, 'registry_invalid'],
    ['this machine', { location: 'http://127.0.0.1:1/servers' }, 'registry_invalid'],
    ['500 for ever', { status: 500 }, 'registry_unavailable'],
    ['410', { status: 410 }, 'registry_unavailable'],
    ['a wait of an hour', { status: 429, retryAfter: '3600' }, 'registry_unavailable'],
    ['20 MiB', { large: true }, 'registry_invalid'],
  ] as const)('ends in time with %s, and names it', async (_what, does, code) => {
    const registry = await startFixtureRegistry();
    registry.routes.set('*', (_request, response) => {
      if (typeof does === 'function') return;
      if ('html' in does)
        response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Hello');
      else if ('location' in does) response.writeHead(307, { location: does.location }).end();
      else if ('large' in does) response.end(`[${' '.repeat(20 * 1_048_576)}]`);
      else if ('retryAfter' in does)
        response.writeHead(does.status, { 'retry-after': does.retryAfter }).end();
      else response.writeHead(does.status).end('{}');
    });
    const began = performance.now();
    const limits = { registryAttemptMs: 5_000, registrySearchMs: 15_000, maxRegistryBytes: 16_777_216 };
    const hurried = { ...limits, registryAttemptMs: 200, registrySearchMs: 900 };
    const finder = finderOf([at(registry)], { limits: typeof does === 'function' ? hurried : limits });
    const failed = finder.search({ registry: 'acme' });
    await expect(failed).rejects.toMatchObject({ code });
    await expect(failed).rejects.toThrow(/^Registry 'acme' /);
    expect(performance.now() - began).toBeLessThan(9_000);
  });

  it('asks all side by side, joins one server listed twice, and names who failed', async () => {
    const registry = await startFixtureRegistry({
      '/a': {
        json: [server('tide', { url: 'https://tide.test/mcp', description: 'first' }), server('moon')],
      },
      '/b': { json: [server('acme-tide', { url: 'https://tide.test/mcp/' })] },
      '/c': {
        json: [
          server('org/sea', { repository: 'https://github.com/acme/all' }),
          server('org/sky', { repository: 'https://github.com/acme/all' }),
        ],
      },
      '/d': {
        json: [
          server('other/sea', {
            repository: 'git@github.com:acme/all.git',
            sourceUrl: 'https://github.com/Acme/All.git',
          }),
        ],
      },
    });
    const finder = finderOf(
      ['a', 'b', 'c', 'd', 'broken'].map((id) =>
        at(registry, { id, name: id, serversUrl: `${registry.origin}/${id}` }),
      ),
      { known: [] },
    );
    const answer = await finder.search({ registry: 'ALL' });
    expect(answer.servers.map(({ id }) => id)).toEqual(['tide', 'moon', 'org/sea', 'org/sky']);
    expect(answer.servers[0]?.notes).toEqual(['also listed by b as acme-tide']);
    expect(answer.servers[2]?.notes).toEqual(['also listed by d as other/sea']);
    expect(answer.warnings).toEqual(["Not searched: Registry 'broken' answered 404."]);
  });
});

describe('what strangers list', () => {
  it('is left out where it leads to this machine or a private network, unless the operator said so', async () => {
    const urls = [
      'http://127.0.0.1:9/mcp',
      'http://[::ffff:7f00:1]/mcp',
      'http://0177.0.0.1/mcp',
      'http://localhost/mcp',
      'https://169.254.169.254/mcp',
      'javascript:alert(1)',
      'file:///etc/passwd',
      'wss://morse.test/mcp',
      'https://user:pass@x.test/mcp',
      'https://x.test/mcp"; rm -rf ~',
    ];
    const registry = await startFixtureRegistry({
      '/servers': {
        json: {
          servers: urls.map((url, n) => ({
            server: { name: `com.acme/s${n}`, remotes: [{ type: 'streamable-http', url }] },
          })),
        },
      },
    });
    const { entryOf } = await import('./entry.ts');
    const { readServerJson } = await import('./server-json.ts');
    const { Registries } = await import('./registries.ts');
    const strange = new Registries([at(registry, { allowPrivate: false })]).find('acme');
    for (const [n, url] of urls.entries()) {
      const read = readServerJson({
        server: { name: `com.acme/s${n}`, remotes: [{ type: 'streamable-http', url }] },
      });
      if (read === undefined || read === 'skip') throw new Error('not read');
      const entry = entryOf(read, strange);
      expect([entry.url, entry.connectUrl], url).toEqual([null, null]);
      expect(entry.notes, url).toHaveLength(1);
    }
    const { servers } = await finderOf([at(registry)]).search({ registry: 'acme' });
    expect(servers.map(({ url }) => url).filter((url) => url !== null)).toEqual([
      'http://127.0.0.1:9/mcp',
      'http://[::ffff:7f00:1]/mcp',
      'http://0177.0.0.1/mcp',
      'http://localhost/mcp',
    ]);
    expect(registry.requests).toHaveLength(1);
  });

  it('is bounded, however much of it there is', async () => {
    const many = (n: number, one: (n: number) => object): object[] =>
      Array.from({ length: n }, (_, at) => one(at));
    const registry = await startFixtureRegistry({
      '/servers': {
        json: [
          {
            name: 'huge',
            packages: many(5_000, (n) => ({
              registryType: 'npm',
              identifier: `p${n}`,
              version: '1.0.0',
              environmentVariables: many(n === 0 ? 5_000 : 0, (m) => ({
                name: `V${m}`,
                description: 'd'.repeat(1_000),
              })),
              packageArguments: many(n === 1 ? 5_000 : 1, () => ({ type: 'positional', value: 'a' })),
            })),
            remotes: many(5_000, (n) => ({ type: 'sse', url: `https://r${n}.test/sse` })),
          },
        ],
      },
    });
    const { servers } = await finderOf([at(registry)]).search({ registry: 'acme' });
    expect(JSON.stringify(servers).length).toBeLessThan(100_000);
    expect(servers[0]?.alternatives).toHaveLength(39);
    expect(servers[0]?.notes?.join(' ')).toContain('p1 has arguments no command line should have');
  });

  it('makes no command of names and versions no package can have', async () => {
    const { launchOf } = await import('./launch.ts');
    const launch = (type: string, identifier: string, version?: string): readonly string[] | null =>
      launchOf({
        type,
        identifier,
        version,
        runtime: undefined,
        runtimeArgs: [],
        packageArgs: [],
        argInputs: [],
        env: [{ name: 'KEY', required: true, secret: true, default: null, choices: null }],
        transport: 'stdio',
      }).argv;
    for (const name of [
      '-rf',
      '../x',
      'a b',
      'a;id',
      '$(id)',
      'https://evil.test/x.tgz',
      'git+ssh://x',
      '@a/b/c',
    ]) {
      for (const type of ['npm', 'pypi', 'oci', 'nuget'])
        expect(launch(type, name, '1.0.0'), `${type} ${name}`).toBeNull();
    }
    for (const version of ['latest', '^1.0.0', '1.x || 2', '--version', undefined]) {
      expect(launch('npm', 'tide', version)).toBeNull();
    }
    expect(launch('npm', '@acme/tide', '1.2.3')).toEqual(['npx', '-y', '@acme/tide@1.2.3']);
    expect(launch('pypi', 'acme-tide', '1.2.3')).toEqual(['uvx', 'acme-tide==1.2.3']);
    expect(launch('nuget', 'Acme.Tide', '1.2.3')).toEqual(['dnx', 'Acme.Tide@1.2.3', '--yes']);
    expect(launch('oci', 'ghcr.io/acme/tide:1.2.3', '1.2.3')).toEqual([
      'docker',
      'run',
      '-i',
      '--rm',
      '-e',
      'KEY',
      'ghcr.io/acme/tide:1.2.3',
    ]);
    expect(launch('oci', 'localhost:5000/tide', '1.2.3')).toContain('localhost:5000/tide:1.2.3');
    expect(launch('mcpb', 'https://acme.test/tide.mcpb')).toBeNull();
  });
});
