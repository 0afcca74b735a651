import { listedServer } from '../listed-server.ts';
import type { ListedServer } from '../listed-server.ts';
import {
  descriptionIn,
  idIn,
  isObject,
  listIn,
  momentIn,
  nameIn,
  objectIn,
  rawText,
  tagsIn,
} from '../loose.ts';
import { pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';

const PAGE_SIZE = 200;

/** The Apify store. Its items are Actors, which Apify's own server runs: none is a server to add. */
export const apify: RegistrySource = {
  searches: 'everything',
  hasTags: true,
  isAddable: false,
  async *pages(query, reach) {
    for (let offset = 0; ; offset += PAGE_SIZE) {
      const url = new URL(reach.serversUrl);
      url.searchParams.set('limit', String(PAGE_SIZE));
      url.searchParams.set('offset', String(offset));
      if (query.words.length > 0) url.searchParams.set('search', query.words.join(' '));
      const document = await reach.json(url);
      const data = isObject(document) && isObject(document['data']) ? document['data'] : document;
      const items = listIn(data, 'items');
      yield pageOf(items, readItem);
      const total = objectIn(data)['total'];
      if (items.length === 0 || typeof total !== 'number' || offset + items.length >= total) return;
    }
  },
};

function readItem(item: unknown): ListedServer | undefined {
  if (!isObject(item)) return undefined;
  const name = idIn(item, 'name');
  if (name === undefined) return undefined;
  const owner = rawText(item, 'username');
  return listedServer({
    id: owner === undefined ? name : `${owner}/${name}`,
    name,
    title: nameIn(item, 'title'),
    description: descriptionIn(item, 'description'),
    tags: tagsIn(item['categories']),
    updatedAt: momentIn(objectIn(item['stats']), 'lastRunStartedAt'),
    notes: ['it is an Actor of Apify, not a server: Apify’s own MCP server runs it'],
  });
}
