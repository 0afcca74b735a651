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
  tagsIn,
  webUrlIn,
} from '../loose.ts';
import { pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';
import { endpointIn } from './default.ts';

/**
 * mcp.run's servlets. Others made an endpoint up from the slug; here one is given only when the payload carries it.
 */
export const mcprun: RegistrySource = {
  hasTags: false,
  isAddable: false,
  async *pages(_query, reach) {
    yield pageOf(
      listIn(await reach.json(new URL(reach.serversUrl)), 'servlets', 'servers', 'data'),
      readItem,
    );
  },
};

function readItem(item: unknown): ListedServer | undefined {
  if (!isObject(item)) return undefined;
  const id = idIn(item, 'slug', 'id', 'name');
  if (id === undefined) return undefined;
  const meta = objectIn(item['meta']);
  const remotes = endpointIn(item, 'if-it-looks-so');
  return listedServer({
    id,
    name: nameIn(item, 'name', 'slug') ?? id,
    description: descriptionIn(meta, 'description') ?? descriptionIn(item, 'description'),
    sourceUrl: webUrlIn(item, 'sourceCodeUrl', 'repository') ?? webUrlIn(meta, 'sourceCodeUrl', 'repository'),
    remotes,
    tags: tagsIn(item['tags'], meta['tags']),
    updatedAt: momentIn(item, 'updatedAt', 'modifiedAt'),
    createdAt: momentIn(item, 'createdAt'),
    notes: remotes.length === 0 ? ['its registry names no endpoint; look it up on its page'] : [],
  });
}
