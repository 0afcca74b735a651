import { listedServer } from '../listed-server.ts';
import type { ListedRemote, ListedServer } from '../listed-server.ts';
import {
  booleanIn,
  descriptionIn,
  idIn,
  isObject,
  listIn,
  momentIn,
  nameIn,
  objectIn,
  objectsIn,
  rawText,
} from '../loose.ts';
import { transportName } from '../server-json.ts';
import { pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';

const PAGE_SIZE = 50;

/** Smithery: searched by meaning, with a key. The endpoint is only in the details of one server. */
export const smithery: RegistrySource = {
  searches: 'everything',
  hasTags: false,
  isAddable: true,
  async *pages(query, reach) {
    let page = 1;
    for (;;) {
      const url = new URL(reach.serversUrl);
      if (query.words.length > 0) url.searchParams.set('q', query.words.join(' '));
      url.searchParams.set('page', String(page));
      url.searchParams.set('pageSize', String(PAGE_SIZE));
      const document = await reach.json(url);
      yield pageOf(listIn(document, 'servers'), readItem);
      const pages = isObject(document) ? objectIn(document['pagination'])['totalPages'] : undefined;
      if (typeof pages !== 'number' || page >= pages) return;
      page++;
    }
  },
  needsDetails: true,
  async details(id, reach) {
    const url = new URL(reach.serversUrl);
    // The slash of @owner/name is one of the path here, and the @ stands as it is.
    url.pathname = `${url.pathname.replace(/\/+$/, '')}/${id.split('/').map(encodeURIComponent).join('/').replaceAll('%40', '@')}`;
    url.search = '';
    return readItem(await reach.json(url));
  },
};

function readItem(item: unknown): ListedServer | undefined {
  if (!isObject(item)) return undefined;
  const id = idIn(item, 'qualifiedName');
  if (id === undefined) return undefined;
  return listedServer({
    id,
    name: nameIn(item, 'displayName', 'qualifiedName') ?? id,
    description: descriptionIn(item, 'description'),
    remotes: remotesIn(item),
    createdAt: momentIn(item, 'createdAt'),
    notes: booleanIn(item, 'isDeployed') === false ? ['Smithery does not host it'] : [],
  });
}

function remotesIn(item: Readonly<Record<string, unknown>>): readonly ListedRemote[] {
  const connections = objectsIn(item['connections']).flatMap((connection) => {
    const url = rawText(connection, 'deploymentUrl', 'url');
    const transport = transportName(rawText(connection, 'type'));
    return url === undefined || transport === 'stdio'
      ? []
      : [{ transport: transport ?? 'streamable-http', url, variables: [], headers: [] }];
  });
  if (connections.length > 0) return connections;
  const url = rawText(item, 'deploymentUrl');
  return url === undefined ? [] : [{ transport: 'streamable-http', url, variables: [], headers: [] }];
}
