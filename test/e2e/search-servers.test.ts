import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { searchServersWith } from '../../src/cli/search-servers.ts';
import { openGuardedFetch } from '../../src/net/guarded-fetch.ts';
import { createServerFinder } from '../../src/registry/search-servers.ts';
import { whenDone } from '../support/cleanup.ts';
import { startFixtureRegistry, type FixtureRegistry } from '../support/fixture-registry.ts';
import { forwardRecord, httpRecord, startProgram, startProxy } from '../support/proxy.ts';
import { startStub, stubTool } from '../support/stub-upstream.ts';

const WEATHER = [
  {
    slug: 'weather',
    name: 'WeatherInfo',
    description: 'Provides real-time weather data',
    url: 'https://weather.mcp.run/mcp/',
    source_code_url: 'https://github.com/mcprun/weather-service',
    updated_at: '2025-05-01T12:00:00Z',
  },
  {
    slug: 'weather-forecast',
    name: 'ForecastPro',
    meta: { description: '7-day weather forecast tool' },
    url: 'https://forecast.mcp.run/mcp/',
    source_code_url: 'https://github.com/mcprun/forecast-pro',
    updated_at: '2025-04-20T08:30:00Z',
  },
  { slug: 'other', name: 'Other', meta: { description: 'Something else' } },
];

/** Registries that ship, served by a fixture: each host's requests arrive under `/<host>/…`. */
async function shippedAtFixture(
  routes: Parameters<typeof startFixtureRegistry>[0],
): Promise<{ run: (line: string) => Promise<Ran>; fixture: FixtureRegistry }> {
  const fixture = await startFixtureRegistry(routes);
  const real = openGuardedFetch();
  whenDone(() => real.close());
  const run = async (line: string): Promise<Ran> => {
    const finder = createServerFinder({
      registries: [],
      registrySearch: true,
      checkServerRepo: false,
      limits: { registryAttemptMs: 5_000, registrySearchMs: 10_000, maxRegistryBytes: 16_777_216 },
      env: { SMITHERY_API_KEY: 'k', PULSEMCP_API_KEY: 'k', PULSEMCP_TENANT_ID: 'team' },
      home: '/nonexistent',
      platform: 'linux',
      fetch: {
        get: (request) => {
          const { host, pathname, search } = new URL(request.url);
          const url = `${fixture.origin}/${host}${pathname}${search}`;
          return real.get({ ...request, url, rules: { allowInsecure: true, allowPrivate: true } });
        },
        close: () => Promise.resolve(),
      },
    });
    const typed = await parseCommandLine(words(line));
    expect(typed.mistakes).toEqual([]);
    let stdout = '';
    let stderr = '';
    const code = await searchServersWith(finder, {
      line: typed,
      loaded: undefined,
      canAsk: false,
      output: {
        isJson: typed.flags.has('json') || typed.flags.get('output') === 'json',
        isQuiet: false,
        hasColour: false,
        width: 100,
        print: (text) => {
          stdout += `${text}\n`;
          return Promise.resolve();
        },
        note: (text) => void (stderr += `${text}\n`),
        error: (text) => void (stderr += `${text}\n`),
        progress: () => () => undefined,
        hasStatus: false,
        status: () => undefined,
      },
    });
    return { code, stdout, stderr };
  };
  return { run, fixture };
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line as printed, without the program's name, taken apart as a shell does it. */
function words(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(1);
}

describe('the command lines of the brief, as printed', () => {
  it('mcpproxy search-servers --registry mcprun --search weather', async () => {
    const { run } = await shippedAtFixture({ '/www.mcp.run/api/servlets': { json: WEATHER } });
    const table = await run('mcpproxy search-servers --registry mcprun --search weather');
    expect(table.code).toBe(0);
    expect(table.stdout).toContain(
      'WeatherInfo  [MCP Run]\n    Provides real-time weather data\n    https://weather.mcp.run/mcp/',
    );
    const { stdout, stderr } = await run(
      'mcpproxy search-servers --registry mcprun --search weather -o json',
    );
    expect(JSON.parse(stdout)).toMatchObject([
      {
        registry: 'MCP Run',
        id: 'weather',
        name: 'WeatherInfo',
        description: 'Provides real-time weather data',
        url: 'https://weather.mcp.run/mcp/',
        source_code_url: 'https://github.com/mcprun/weather-service',
        updatedAt: '2025-05-01T12:00:00Z',
      },
      {
        registry: 'MCP Run',
        id: 'weather-forecast',
        name: 'ForecastPro',
        description: '7-day weather forecast tool',
        url: 'https://forecast.mcp.run/mcp/',
        source_code_url: 'https://github.com/mcprun/forecast-pro',
        updatedAt: '2025-04-20T08:30:00Z',
      },
    ]);
    expect(stderr).not.toContain('Found 1 server');
    const one = await run('mcpproxy search-servers -r "MCP Run" -s WeatherInfo');
    expect(one.stderr).toContain(
      'Found 1 server. Run `mcpproxy upstream_servers add --name WeatherInfo --url https://weather.mcp.run/mcp/` to add it.',
    );
    const none = await run('mcpproxy search-servers -r mcprun -s zeppelin');
    expect(none).toMatchObject({
      code: 0,
      stdout: 'No servers found for registry MCP Run and query zeppelin.\n',
    });
    expect(await run('mcpproxy search-servers -r mcprun -s zeppelin --json')).toMatchObject({
      stdout: '[]\n',
    });
  });

  it('mcpproxy search-servers --registry pulse --tag finance --limit 5', async () => {
    const meta = (tags: string[]): object => ({
      'io.modelcontextprotocol.registry/publisher-provided': { tags },
    });
    const servers = Array.from({ length: 9 }, (_, n) => ({
      server: { name: `com.acme/fund-${n}` },
      _meta: meta(n % 2 === 0 ? ['Finance'] : ['sport']),
    }));
    const { run, fixture } = await shippedAtFixture({
      '/api.pulsemcp.com/v0.1/servers': { json: { servers } },
    });
    const { stdout } = await run('mcpproxy search-servers --registry pulse --tag finance --limit 5 --json');
    expect(JSON.parse(stdout)).toHaveLength(5);
    expect(fixture.headers[0]).toMatchObject({ 'x-api-key': 'k', 'x-tenant-id': 'team' });
    expect(fixture.headers[0]?.authorization).toBeUndefined();
  });

  it('mcpproxy search-servers --registry smithery --search "database" --limit 20', async () => {
    const servers = [{ qualifiedName: '@acme/db', displayName: 'DB', description: 'A database' }];
    const { run, fixture } = await shippedAtFixture({
      '/registry.smithery.ai/servers': { json: { servers, pagination: { currentPage: 1, totalPages: 1 } } },
      '/registry.smithery.ai/servers/@acme/db': {
        json: { qualifiedName: '@acme/db', deploymentUrl: 'https://server.smithery.test/db/mcp' },
      },
    });
    const { stdout } = await run(
      'mcpproxy search-servers --registry smithery --search "database" --limit 20 -o json',
    );
    expect(JSON.parse(stdout)).toMatchObject([
      { id: '@acme/db', url: 'https://server.smithery.test/db/mcp' },
    ]);
    expect(fixture.requests[0]).toContain('q=database');
    expect(fixture.headers[0]?.authorization).toBe('Bearer k');
    expect(fixture.headers[0]?.['x-tenant-id']).toBeUndefined();
  });

  it('mcpproxy search-servers --list-registries', async () => {
    const { run, fixture } = await shippedAtFixture({});
    const { stdout } = await run('mcpproxy search-servers --list-registries');
    for (const id of ['official', 'mcprun', 'pulse', 'smithery', 'docker-mcp-catalog', 'glama', 'zapier'])
      expect(stdout).toMatch(new RegExp(`^${id} `, 'm'));
    const listed = JSON.parse(
      (await run('mcpproxy search-servers --list-registries --json')).stdout,
    ) as object[];
    expect(listed.length).toBeGreaterThanOrEqual(33);
    expect(listed[0]).toMatchObject({ id: 'official', searchable: true, addable: true });
    expect(await run('mcpproxy search-servers')).toMatchObject({ code: 2 });
    expect(fixture.requests).toEqual([]);
  });
});

describe('the program, configured as a user would', () => {
  it('finds servers of a registry in its own network, with their packages, and ends as documented', async () => {
    const fixture = await startFixtureRegistry({
      '/v0/servers': {
        json: {
          servers: [
            {
              id: 'weather-service',
              name: 'Weather MCP Server',
              description: 'Provides weather data via MCP',
              url: 'http://127.0.0.1:9/mcp',
              source_code_url: 'https://github.com/example/weather-mcp-server',
            },
          ],
        },
      },
      '/npm/weather-mcp-server/latest': {
        json: {
          name: 'weather-mcp-server',
          version: '1.2.3',
          repository: { url: 'https://github.com/example/weather-mcp-server' },
        },
      },
    });
    const config = {
      check_server_repo: true,
      registries: [
        {
          id: 'modelcontextprotocol-official',
          name: 'Model Context Protocol Registry',
          description: 'Official community-driven registry of MCP servers.',
          url: fixture.origin,
          servers_url: `${fixture.origin}/v0/servers`,
          tags: ['official'],
          protocol: 'no-such/protocol',
          allow_insecure: true,
          allowPrivate: true,
        },
      ],
    };
    const env = {
      npm_config_registry: `${fixture.origin}/npm/`,
      PIP_INDEX_URL: `${fixture.origin}/py/simple`,
    };
    const run = async (...args: string[]): Promise<Ran> => {
      const running = await startProgram(['search-servers', ...args], { config, env });
      return { code: Number(await running.exited), stdout: running.stdout(), stderr: running.stderr() };
    };
    const found = await run(
      '-r',
      'modelcontextprotocol-official',
      '-s',
      'weather',
      '-o',
      'json',
      '-l',
      '51',
      '-v',
    );
    expect(found.code, found.stderr).toBe(0);
    expect(JSON.parse(found.stdout)).toMatchObject([
      {
        id: 'weather-service',
        url: 'http://127.0.0.1:9/mcp',
        installCmd: 'npm install weather-mcp-server',
        repository_info: { npm: { exists: true, verified: true, version: '1.2.3' }, pypi: null },
        registry: 'Model Context Protocol Registry',
        registry_id: 'modelcontextprotocol-official',
      },
    ]);
    expect(found.stderr).toContain('is not one we know, so the default parser reads it.');
    expect(found.stderr).toContain('limit 51 is outside 1 to 50; 50 was used.');
    expect(found.stderr).toContain(`GET ${fixture.origin}/v0/servers`);
    expect(fixture.requests).toContain('/py/pypi/weather-mcp-server/json');

    const unknown = await run('-r', 'pulze');
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain("Registry with ID 'pulze' not found. Did you mean pulse?");
    expect(unknown.stderr).toContain('(registry_not_found)');
    expect((await run()).code).toBe(2);
    expect((await run('-r', 'reference', '-l', 'many')).code).toBe(2);
  });

  it('says which keys of a registry cannot be used, before anything is asked', async () => {
    const registries = [
      { id: 'official', servers_url: 'https://evil.test/servers' },
      { id: 'plain', servers_url: 'http://127.0.0.1:9/servers' },
      { id: 'key', servers_url: 'https://ann:secret@acme.test/servers' },
      { name: 'nameless' },
      { id: 'all', servers_url: 'https://acme.test/servers' },
    ];
    const running = await startProgram(['search-servers', '-r', 'plain'], { config: { registries } });
    expect(await running.exited).toBe(78);
    const said = running.stderr();
    expect(said).toContain('registries[0] redefines "official", which ships with the program');
    expect(said).toContain('registries[1].servers_url is plain http');
    expect(said).toContain('registries[2].servers_url holds credentials');
    expect(said).toContain('registries[3] has no id');
    expect(said).toContain('registries[4].id "all" cannot be used');
    expect(said).not.toContain('secret');
  });
});

describe('search_servers', () => {
  const registriesAt = (fixture: FixtureRegistry) => [
    {
      id: 'acme',
      name: 'Acme',
      serversUrl: `${fixture.origin}/servers`,
      allowInsecure: true,
      allowPrivate: true,
    },
  ];

  it('answers a model with the same entries, and with what it has to know of them', async () => {
    const fixture = await startFixtureRegistry({
      '/servers': { json: [{ id: 'tide', name: 'Tide', url: 'https://tide.test/mcp' }, { id: 'moon' }] },
    });
    const stub = await startStub({ tools: [stubTool('echo')] });
    const running = await startProxy({
      upstreams: [httpRecord('harbour', stub)],
      discovery: true,
      registries: registriesAt(fixture),
    });
    const answer = await running.call('search_servers', { registry: 'Acme', search: 'tide', limit: '5' });
    expect(answer.isError).toBeUndefined();
    expect(answer.structuredContent).toMatchObject({
      servers: [{ id: 'tide', url: 'https://tide.test/mcp', registry: 'Acme', registry_id: 'acme' }],
      matched: 1,
      returned: 1,
      truncated: false,
      source: 'live',
      warnings: [],
      next: 'Found 1 server. Run `mcpproxy upstream_servers add --name Tide --url https://tide.test/mcp` to add it.',
    });
    expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual(answer.structuredContent);
    const none = await running.call('search_servers', { registry: 'acme', search: 'zeppelin' });
    expect(none.structuredContent).toMatchObject({ servers: [], matched: 0, source: 'cache' });
    for (const [args, text] of [
      [{}, 'Name a registry to search, or "all": official, '],
      [{ registry: 'acmee' }, 'Did you mean acme?'],
      [{ registry: 'glama' }, 'has no servers endpoint'],
      [{ registry: null, search: 'tide' }, 'Name a registry'],
    ] as const) {
      const refused = await running.call('search_servers', args);
      expect(refused).toMatchObject({ isError: true });
      expect(refused.content[0]?.text).toContain(text);
    }
    expect(fixture.requests).toHaveLength(1);
  });

  it('reports the pages it reads as progress to a client that asked for it', async () => {
    const fixture = await startFixtureRegistry({
      '/servers': (_request, response, url) => {
        const page = Number(url.searchParams.get('cursor') ?? 0);
        const servers = [{ server: { name: `com.acme/s${page}` } }];
        const metadata = page < 2 ? { nextCursor: String(page + 1) } : {};
        setTimeout(() => response.end(JSON.stringify({ servers, metadata })), 20);
      },
    });
    const [first] = registriesAt(fixture);
    const running = await startProxy({
      discovery: true,
      registries: first === undefined ? [] : [{ ...first, protocol: 'modelcontextprotocol/registry' }],
    });
    const reply = await fetch(running.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'search_servers', arguments: { registry: 'acme' }, _meta: { progressToken: 'p' } },
      }),
    });
    const text = await reply.text();
    const notices = [
      ...text.matchAll(/"progress":(\d),"message":"([^"]+)"|"message":"([^"]+)","progress":(\d)/g),
    ];
    expect(notices.length, text).toBe(3);
    expect(text).toContain('Acme: 2 pages read');
    expect(text).toContain('com.acme/s2');
  });

  it('is offered only where discovery is on, also to callers of a gateway, whose credential it never sends', async () => {
    const fixture = await startFixtureRegistry({ '/servers': { json: [{ id: 'tide' }] } });
    const stub = await startStub({ tools: [stubTool('echo')] });
    const registries = registriesAt(fixture);
    const names = async (changes: Parameters<typeof startProxy>[0]): Promise<string[]> => {
      const running = await startProxy({ registries, ...changes });
      const reply = await running.raw('modern', { authorization: 'Bearer caller' }).request('tools/list', {});
      return (JSON.parse(reply.result ?? '') as { tools: { name: string }[] }).tools.map(({ name }) => name);
    };
    const gateway = [forwardRecord(stub)];
    expect(await names({ upstreams: gateway })).not.toContain('search_servers');
    expect(await names({ upstreams: gateway, discovery: true })).toContain('search_servers');
    expect(await names({ upstreams: gateway, discovery: true, registrySearch: false })).not.toContain(
      'search_servers',
    );
    const running = await startProxy({ upstreams: gateway, registries, discovery: true });
    await running.call('search_servers', { registry: 'acme' }, { authorization: 'Bearer caller' });
    expect(fixture.requests).toEqual(['/servers']);
    expect(fixture.headers[0]?.authorization).toBeUndefined();
  });
});
