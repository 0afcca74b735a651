import { listedServer } from '../listed-server.ts';
import type { ListedServer } from '../listed-server.ts';
import { descriptionIn, idIn, isObject, listIn, nameIn, objectsIn, rawText, webUrlIn } from '../loose.ts';
import { readPackage, readServerJson, transportName } from '../server-json.ts';
import { nextPage, pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';
import { generic } from './generic.ts';

/**
 * PulseMCP: v0.1 is the generic registry API; v0beta, retired, had items of its own, whose `url` is a web page.
 * A listing configured at a v0beta address is read as that.
 */
export const pulse: RegistrySource = {
  searches: 'names',
  keyHeader: 'x-api-key',
  // Keys of its administrators name whose view is read.
  ownHeader: { name: 'x-tenant-id', variable: 'PULSEMCP_TENANT_ID' },
  hasTags: true,
  isAddable: true,
  async *pages(query, reach) {
    if (!reach.serversUrl.includes('/v0beta/')) {
      yield* generic.pages(query, reach);
      return;
    }
    let url: URL | undefined = new URL(reach.serversUrl);
    url.searchParams.set('count_per_page', '1000');
    if (query.words.length > 0) url.searchParams.set('query', query.words.join(' '));
    while (url !== undefined) {
      const document: unknown = await reach.json(url);
      yield pageOf(listIn(document, 'servers', 'data'), readItem);
      url = isObject(document) ? nextPage(document['next'], url) : undefined;
    }
  },
  details: (id, reach) =>
    reach.serversUrl.includes('/v0beta/')
      ? Promise.resolve(undefined)
      : (generic.details?.(id, reach) ?? Promise.resolve(undefined)),
};

function readItem(item: unknown): ListedServer | undefined | 'skip' {
  if (!isObject(item)) return undefined;
  if (isObject(item['server'])) return readServerJson(item);
  const id = idIn(item, 'name');
  if (id === undefined) return undefined;
  const notes: string[] = [];
  return listedServer({
    id,
    name: nameIn(item, 'name') ?? id,
    description: descriptionIn(
      item,
      'shortDescription',
      'description',
      'EXPERIMENTAL_ai_generated_description',
    ),
    sourceUrl: webUrlIn(item, 'sourceCodeUrl'),
    packages: readPackage(
      { registryType: item['package_registry'], identifier: item['package_name'] },
      notes,
    ),
    remotes: objectsIn(item['remotes']).flatMap((remote) => {
      const url = rawText(remote, 'urlDirect');
      if (url === undefined) return [];
      const transport = transportName(rawText(remote, 'transport')) ?? 'streamable-http';
      return [{ transport, url, variables: [], headers: [] }];
    }),
    notes,
  });
}
