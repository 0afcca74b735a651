import type { ListedServer } from './listed-server.ts';

/** What is looked for, for registries that can look themselves. */
export interface SourceQuery {
  /** The words, in lower case; none means everything. A server must have them all: the caller sees to it again. */
  readonly words: readonly string[];
  readonly tag: string | undefined;
}

export interface SourcePage {
  readonly servers: readonly ListedServer[];
  /** Items of the page that could not be read. */
  readonly unreadable: number;
}

/** What a source is given to work with. */
export interface SourceReach {
  /** The registry's listing, as configured. */
  readonly serversUrl: string;
  /** Gets one document, through the guard, with the registry's key, to the registry's own host. */
  json(url: URL): Promise<unknown>;
}

/**
 * One registry protocol. A source knows how to ask and how to read; hosts, keys, deadlines, retries, caches, limits,
 * filtering and ordering are the caller's. It must read what it does not know without failing, throw
 * `UnrecognisedShape` for a document that is no listing at all, and give no endpoint that the registry did not give.
 */
export interface RegistrySource {
  /** Its listing, page by page; whoever reads may stop at any page. */
  pages(query: SourceQuery, reach: SourceReach): AsyncGenerator<SourcePage>;
  /** Looks one server up by id. Absent: its registry cannot; the listing has to be read. */
  details?(id: string, reach: SourceReach): Promise<ListedServer | undefined>;
  /** Its listing leaves out what a server is reached or run by; the details have it. */
  readonly needsDetails?: boolean;
  /** What of a server its registry's own search looks at. Absent: it has none, and we read its whole listing. */
  readonly searches?: 'names' | 'everything';
  /** The header its registry wants a key in. Absent: `Authorization`, as a bearer. */
  readonly keyHeader?: string;
  /** A header beside the key, and the environment variable its value is taken from when that is set. */
  readonly ownHeader?: { readonly name: string; readonly variable: string };
  /** Whether its servers have tags beside the labels we derive. */
  readonly hasTags: boolean;
  /** Whether what it lists can be added: it gives endpoints or packages. */
  readonly isAddable: boolean;
  /** Set when no source confirms the shape it reads. */
  readonly isUnconfirmed?: boolean;
}

/** Reads each item of a page; what gives undefined is counted. */
export function pageOf(
  items: readonly unknown[],
  read: (item: unknown) => ListedServer | undefined | 'skip',
): SourcePage {
  const servers: ListedServer[] = [];
  let unreadable = 0;
  for (const item of items) {
    const server = read(item);
    if (server === undefined) unreadable++;
    else if (server !== 'skip') servers.push(server);
  }
  return { servers, unreadable };
}

/** The next page's address, when it stays on the host of the one before; a listing never leads elsewhere. */
export function nextPage(next: unknown, before: URL): URL | undefined {
  if (typeof next !== 'string' || !URL.canParse(next, before.href)) return undefined;
  const url = new URL(next, before);
  return url.host === before.host && url.protocol === before.protocol && url.href !== before.href
    ? url
    : undefined;
}
