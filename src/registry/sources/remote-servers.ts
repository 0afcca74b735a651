import { listedServer } from '../listed-server.ts';
import type { ListedServer } from '../listed-server.ts';
import { descriptionIn, idIn, isObject, listIn, nameIn, rawText, webUrlIn } from '../loose.ts';
import { transportName } from '../server-json.ts';
import { pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';
import { slugOf } from '../text.ts';

/** remote-mcp-servers.com: here `url` is the endpoint, and `auth` says how one signs in, which is kept as a tag. */
export const remoteServers: RegistrySource = {
  hasTags: true,
  isAddable: true,
  async *pages(_query, reach) {
    yield pageOf(listIn(await reach.json(new URL(reach.serversUrl)), 'servers', 'data'), readItem);
  },
};

function readItem(item: unknown): ListedServer | undefined {
  if (!isObject(item)) return undefined;
  const id = idIn(item, 'id', 'name');
  const url = rawText(item, 'url');
  if (id === undefined || url === undefined) return undefined;
  const auth = rawText(item, 'auth');
  return listedServer({
    id,
    name: nameIn(item, 'name') ?? id,
    description: descriptionIn(item, 'description'),
    sourceUrl: webUrlIn(item, 'sourceCodeUrl', 'repository'),
    remotes: [
      {
        transport: transportName(rawText(item, 'transport')) ?? 'streamable-http',
        url,
        variables: [],
        headers: [],
      },
    ],
    tags: auth === undefined ? [] : [slugOf(`auth ${auth}`)],
    notes: auth?.toLowerCase() === 'oauth' ? ['it asks you to sign in (OAuth)'] : [],
  });
}
