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
  webUrlIn,
} from '../loose.ts';
import { pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';

/** mcpindex: the best 250 by quality in one page. `installs.remote` is the endpoint; `url` is a web page. */
export const mcpindex: RegistrySource = {
  hasTags: true,
  isAddable: true,
  async *pages(_query, reach) {
    const url = new URL(reach.serversUrl);
    url.searchParams.set('limit', '250');
    yield pageOf(listIn(await reach.json(url), 'servers', 'data'), readItem);
  },
};

function readItem(item: unknown): ListedServer | undefined {
  if (!isObject(item)) return undefined;
  const id = idIn(item, 'slug', 'name');
  if (id === undefined) return undefined;
  const remote = rawText(objectIn(item['installs']), 'remote');
  return listedServer({
    id,
    name: nameIn(item, 'name', 'slug') ?? id,
    title: nameIn(item, 'title'),
    description: descriptionIn(item, 'description'),
    sourceUrl: webUrlIn(item, 'repository', 'sourceCodeUrl', 'repoUrl'),
    remotes:
      remote === undefined ? [] : [{ transport: 'streamable-http', url: remote, variables: [], headers: [] }],
    tags: tagsIn(item['category'], item['tags']),
    updatedAt: momentIn(item, 'updatedAt'),
    createdAt: momentIn(item, 'createdAt'),
  });
}
