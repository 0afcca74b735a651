import { lookup } from 'node:dns/promises';
import { homedir } from 'node:os';
import { afterAll, describe, expect, it } from 'vitest';
import { createServerFinder } from '../../src/registry/search-servers.ts';
import { KNOWN_REGISTRIES } from '../../src/registry/known.ts';
import { expectSoundAnswer } from '../support/entry-shape.ts';

/**
 * What the contract says of fixtures, asked of the real registries: `npm run test:live`. A registry that cannot be
 * reached from here, or whose key is not in the environment, is skipped.
 */
const finder = createServerFinder({
  registries: [],
  registrySearch: true,
  checkServerRepo: false,
  limits: { registryAttemptMs: 30_000, registrySearchMs: 60_000, maxRegistryBytes: 16_777_216 },
  env: process.env,
  home: homedir(),
  platform: process.platform,
});
afterAll(() => finder.close());

const reachable = await Promise.all(
  finder.registries
    .filter(({ searchable, key_required, key_present }) => searchable && (!key_required || key_present))
    .map(async ({ id }) => {
      const url = KNOWN_REGISTRIES.find((row) => row.id === id)?.serversUrl ?? '';
      if (url.startsWith('builtin:')) return { id, isThere: true };
      return {
        id,
        isThere: await lookup(new URL(url).hostname).then(
          () => true,
          () => false,
        ),
      };
    }),
);

describe.each(reachable)('$id', ({ id, isThere }) => {
  it.skipIf(!isThere)('lists servers in our shape', { timeout: 90_000 }, async () => {
    const answer = await finder.search({ registry: id, limit: 50 });
    expectSoundAnswer(answer);
    expect(answer.returned).toBeGreaterThan(0);
  });

  it.skipIf(!isThere)('finds nothing by a word nobody uses', { timeout: 90_000 }, async () => {
    const answer = await finder.search({ registry: id, search: 'qzxv-zeppelin-nobody' });
    expect(answer.servers).toEqual([]);
  });
});
