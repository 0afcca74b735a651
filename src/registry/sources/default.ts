import { listedServer } from '../listed-server.ts';
import type { ListedRemote, ListedServer } from '../listed-server.ts';
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
  valueOf,
  webUrlIn,
} from '../loose.ts';
import type { Loose } from '../loose.ts';
import { readPackage, readServerJson, transportName } from '../server-json.ts';
import { pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';

/**
 * What `url` means in a listing: `endpoint` where the operator of the registry says so by configuring it;
 * `if-it-looks-so` in public listings, where it is often a web page.
 */
export type UrlMeaning = 'endpoint' | 'if-it-looks-so';

/**
 * The parser for registries of no protocol of their own: a list, bare or under `servers`, `data` or `items`, of
 * entries in our own shape or near it. An entry in the shape of a `server.json` is read as one.
 */
export const defaultSource: RegistrySource = plainSource({
  keys: ['servers', 'data', 'items'],
  url: 'endpoint',
  isAddable: true,
});

/** A source of one page of plain entries. */
export function plainSource(shape: {
  readonly keys: readonly string[];
  readonly url: UrlMeaning;
  readonly isAddable: boolean;
  readonly isUnconfirmed?: boolean;
}): RegistrySource {
  const read = (item: unknown): ListedServer | undefined | 'skip' => readPlain(item, shape.url);
  return {
    hasTags: true,
    isAddable: shape.isAddable,
    ...(shape.isUnconfirmed === true ? { isUnconfirmed: true } : {}),
    async *pages(_query, reach) {
      yield pageOf(listIn(await reach.json(new URL(reach.serversUrl)), ...shape.keys), read);
    },
  };
}

function readPlain(item: unknown, url: UrlMeaning): ListedServer | undefined | 'skip' {
  if (!isObject(item)) return undefined;
  if (isObject(item['server']) || Array.isArray(item['remotes']) || Array.isArray(item['packages'])) {
    return readServerJson(item);
  }
  const id = idIn(item, 'id', 'name', 'slug', 'qualifiedName');
  if (id === undefined) return undefined;
  const meta = objectIn(item['meta']);
  const notes: string[] = [];
  return listedServer({
    id,
    name: nameIn(item, 'name', 'displayName', 'title', 'slug', 'id') ?? id,
    title: nameIn(item, 'title', 'displayName'),
    description: descriptionIn(item, 'description', 'shortDescription') ?? descriptionIn(meta, 'description'),
    sourceUrl: sourceIn(item),
    remotes: endpointIn(item, url),
    packages: packageIn(item, notes),
    tags: tagsIn(item['tags'], item['categories'], item['category']),
    updatedAt: momentIn(item, 'updatedAt'),
    createdAt: momentIn(item, 'createdAt'),
    notes,
  });
}

function sourceIn(item: Loose): string | undefined {
  return (
    webUrlIn(item, 'sourceCodeUrl', 'sourceUrl', 'repositoryUrl', 'githubUrl', 'repository') ??
    webUrlIn(objectIn(item['repository']), 'url') ??
    (isCodeHost(rawText(item, 'url')) ? webUrlIn(item, 'url') : undefined)
  );
}

/** The endpoint of an entry, with the headers it says it needs. */
export function endpointIn(item: Loose, meaning: UrlMeaning): readonly ListedRemote[] {
  const said =
    rawText(item, 'mcpUrl', 'endpoint', 'connectUrl', 'remoteUrl') ??
    rawText(objectIn(item['installs']), 'remote');
  const plain = rawText(item, 'url');
  const isEndpoint = meaning === 'endpoint' ? !isCodeHost(plain) : looksLikeEndpoint(plain);
  const transport = transportName(rawText(item, 'transport', 'type')) ?? 'streamable-http';
  // A header the entry asks for, in our own shape or in a server.json's.
  const inputs = objectIn(valueOf(item, 'requiredInputs'))['headers'] ?? item['headers'];
  return [isEndpoint ? plain : undefined, said]
    .filter((url): url is string => url !== undefined)
    .filter((url, index, all) => all.indexOf(url) === index)
    .flatMap((url) => {
      const read = readServerJson({ name: 'x', remotes: [{ type: transport, url, headers: inputs }] });
      return read === undefined || read === 'skip' ? [] : read.remotes;
    });
}

function packageIn(item: Loose, notes: string[]): ListedServer['packages'] {
  for (const [type, key] of [
    ['npm', 'npm'],
    ['pypi', 'pypi'],
  ] as const) {
    const info = objectIn(objectIn(item['repository_info'])[key]);
    const identifier = rawText(info, 'packageName') ?? rawText(item, `${key}Package`);
    if (identifier !== undefined) {
      return readPackage({ registryType: type, identifier, version: info['version'] }, notes);
    }
  }
  const type = rawText(item, 'packageRegistry');
  const identifier = rawText(item, 'packageName');
  return type === undefined || identifier === undefined
    ? []
    : readPackage({ registryType: type, identifier, version: item['version'] }, notes);
}

const CODE_HOSTS: ReadonlySet<string> = new Set([
  'github.com',
  'gitlab.com',
  'bitbucket.org',
  'codeberg.org',
]);

function isCodeHost(url: string | undefined): boolean {
  return (
    url !== undefined && URL.canParse(url) && CODE_HOSTS.has(new URL(url).hostname.replace(/^www\./, ''))
  );
}

/** A path people do not give to web pages: `/mcp`, `/sse`, `/mcp/…`. */
function looksLikeEndpoint(url: string | undefined): boolean {
  if (url === undefined || !URL.canParse(url)) return false;
  return /\/(?:mcp|sse)\/?$/.test(new URL(url).pathname) || new URL(url).hostname.startsWith('mcp.');
}
