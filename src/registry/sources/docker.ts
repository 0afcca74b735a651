import { listedServer } from '../listed-server.ts';
import type { ListedServer } from '../listed-server.ts';
import { descriptionIn, isObject, listIn, momentIn, objectsIn, rawText, tagsIn } from '../loose.ts';
import { isPackageName } from '../package-name.ts';
import { nextPage, pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';

/** The images of Docker Hub's `mcp` namespace. It has no search of its own here; the whole of it is a page or two. */
export const docker: RegistrySource = {
  hasTags: true,
  isAddable: true,
  async *pages(_query, reach) {
    let url: URL | undefined = new URL(reach.serversUrl);
    url.searchParams.set('page_size', '100');
    while (url !== undefined) {
      const document: unknown = await reach.json(url);
      yield pageOf(listIn(document, 'results'), readImage);
      url = isObject(document) ? nextPage(document['next'], url) : undefined;
    }
  },
};

/** Images of the namespace that serve nothing: the gateway and the base everything is built on. */
const NO_SERVERS: ReadonlySet<string> = new Set(['docker-mcp-gateway', 'gateway', 'base']);

function readImage(item: unknown): ListedServer | undefined | 'skip' {
  if (!isObject(item)) return undefined;
  const name = rawText(item, 'name');
  if (name === undefined) return undefined;
  if (NO_SERVERS.has(name) || (item['status'] !== undefined && item['status'] !== 1)) return 'skip';
  const image = `${rawText(item, 'namespace') ?? 'mcp'}/${name}`;
  if (!isPackageName('oci', image)) return undefined;
  const [first] = objectsIn(item['images']);
  return listedServer({
    id: name,
    name,
    description:
      descriptionIn(item, 'description', 'shortDescription') ??
      (first === undefined ? undefined : descriptionIn(first, 'description')),
    packages: [
      {
        type: 'oci',
        identifier: image,
        version: undefined,
        runtime: 'docker',
        runtimeArgs: [],
        packageArgs: [],
        argInputs: [],
        env: [],
        transport: 'stdio',
      },
    ],
    tags: tagsIn(item['categories']),
    updatedAt: momentIn(item, 'lastUpdated'),
    createdAt: momentIn(item, 'dateRegistered'),
    notes: ['the listing names no version of the image; its latest would run'],
  });
}
