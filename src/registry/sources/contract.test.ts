import { describe, expect, it } from 'vitest';
import { startFixtureRegistry } from '../../../test/support/fixture-registry.ts';
import type { FixtureRegistry } from '../../../test/support/fixture-registry.ts';
import { whenDone } from '../../../test/support/cleanup.ts';
import { expectSoundAnswer } from '../../../test/support/entry-shape.ts';
import { PROTOCOL_FIXTURES } from '../../../test/support/registry-fixtures.ts';
import type { ProtocolFixture } from '../../../test/support/registry-fixtures.ts';
import { SOURCES } from '../protocol.ts';
import type { Protocol } from '../protocol.ts';
import { createServerFinder } from '../search-servers.ts';
import type { ServerFinder } from '../server-finder.ts';

/** A finder whose registry `fixture` speaks this protocol, as somebody would configure it. */
function finderOf(registry: FixtureRegistry, protocol: Protocol, path: string): ServerFinder {
  const finder = createServerFinder({
    registries: [
      {
        id: 'fixture',
        name: 'Fixture',
        serversUrl: `${registry.origin}${path}`,
        protocol,
        allowInsecure: true,
        allowPrivate: true,
      },
    ],
    registrySearch: true,
    checkServerRepo: false,
    limits: { registryAttemptMs: 2_000, registrySearchMs: 4_000, maxRegistryBytes: 16_777_216 },
    env: {},
    home: '/nonexistent',
    platform: 'linux',
    known: [],
  });
  whenDone(() => finder.close());
  return finder;
}

/** Serves the fixture's documents; the first whose path and query start so. */
async function serve(fixture: ProtocolFixture): Promise<{ registry: FixtureRegistry; finder: ServerFinder }> {
  const registry = await startFixtureRegistry();
  registry.routes.set('*', (_request, response, url) => {
    const asked = `${url.pathname}${url.search}`;
    const answer = fixture.answers.find(([start]) => asked.startsWith(start));
    const text = JSON.stringify(answer?.[1] ?? { error: 'not found' }).replaceAll('ORIGIN', registry.origin);
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(text);
  });
  return { registry, finder: finderOf(registry, fixture.protocol, fixture.path) };
}

describe.each(PROTOCOL_FIXTURES)('$protocol: $about', (fixture) => {
  it('reads every server, with every key there is and no endpoint nobody gave', async () => {
    const { finder } = await serve(fixture);
    const answer = await finder.search({ registry: 'fixture', limit: 50 });
    expect(answer.servers.map(({ id }) => id)).toEqual(fixture.expected.map(({ id }) => id));
    for (const [index, expected] of fixture.expected.entries()) {
      expect(answer.servers[index]).toMatchObject(expected);
    }
    expectSoundAnswer(answer);
    const given = JSON.stringify(fixture.answers);
    for (const entry of answer.servers) {
      expect(entry).toMatchObject({ registry: 'Fixture', registry_id: 'fixture' });
      if (entry.url !== null && entry.connectUrl === null) expect(given).toContain(entry.url);
    }
  });

  it('finds by a word, and finds nothing by another', async () => {
    const { finder } = await serve(fixture);
    const hit = await finder.search({ registry: 'FIXTURE', search: fixture.word });
    expect(hit.servers.map(({ id }) => id)).toContain(fixture.expected[0]?.id);
    const miss = await finder.search({ registry: 'fixture', search: 'zeppelin' });
    expect(miss).toMatchObject({ servers: [], matched: 0, returned: 0 });
  });

  it('takes an empty listing for what it is, and another document for none', async () => {
    const registry = await startFixtureRegistry();
    const finder = (): ServerFinder => finderOf(registry, fixture.protocol, fixture.path);
    for (const document of fixture.empty) {
      registry.routes.set(fixture.path, { json: document });
      expect(await finder().search({ registry: 'fixture' })).toMatchObject({ servers: [], matched: 0 });
    }
    for (const document of [{ hello: 'world' }, 'text', 7, null, { servers: 'none', results: {} }]) {
      registry.routes.set(fixture.path, { json: document });
      await expect(finder().search({ registry: 'fixture' })).rejects.toMatchObject({
        code: 'registry_invalid',
      });
    }
  });

  it('gives texts of strangers in one short, visible line', async () => {
    const registry = await startFixtureRegistry();
    const text = `\u202Eevil\u0007\n\n\u{E0041}\u{E0042}<b> ${'long '.repeat(200_000)}`;
    registry.routes.set('*', { json: fixture.hostile(text) });
    const { servers } = await finderOf(registry, fixture.protocol, fixture.path).search({
      registry: 'fixture',
    });
    const written = JSON.stringify(servers);
    expect(servers).toHaveLength(1);
    expect(written.length).toBeLessThan(3_000);
    expect(written).not.toMatch(/[\p{Cf}]|\\u202e|\\n|\\u0007/u);
  });
});

describe('the sources', () => {
  it('each have a fixture, but for the one that is built in', () => {
    const tried = new Set(PROTOCOL_FIXTURES.map(({ protocol }) => protocol));
    expect(Object.keys(SOURCES).filter((protocol) => !tried.has(protocol as Protocol))).toEqual([
      'builtin/reference',
    ]);
  });

  it('include one that is built in and asks nobody', async () => {
    const finder = createServerFinder({
      registries: [],
      registrySearch: true,
      checkServerRepo: false,
      limits: { registryAttemptMs: 1, registrySearchMs: 1_000, maxRegistryBytes: 1 },
      env: {},
      home: '/nonexistent',
      platform: 'linux',
    });
    const { servers } = await finder.search({ registry: 'reference', limit: 50 });
    expect(servers.map(({ launch }) => launch?.join(' '))).toEqual([
      'npx -y @modelcontextprotocol/server-filesystem@2026.8.31 {folder}',
      'npx -y @modelcontextprotocol/server-memory@2026.8.31',
      'npx -y @modelcontextprotocol/server-everything@2026.8.31',
      'npx -y @modelcontextprotocol/server-sequential-thinking@2026.8.31',
      'uvx mcp-server-fetch==2026.10.24',
      'uvx mcp-server-git==2026.10.19',
      'uvx mcp-server-time==2026.10.19',
    ]);
    expect((await finder.search({ registry: 'Reference Servers', tag: 'PyPI' })).matched).toBe(3);
    await finder.close();
  });
});
