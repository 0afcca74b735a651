import { isObject, listIn, objectIn, rawText } from '../loose.ts';
import { readServerJson } from '../server-json.ts';
import { pageOf } from '../source.ts';
import type { RegistrySource, SourcePage, SourceReach } from '../source.ts';

const PAGE_SIZE = 100;
/** A question of many words is asked as at most this many; each answer is small. */
const MAX_ASKED_WORDS = 3;

/**
 * The generic registry API, v0.1 and v0, and what it looked like in July 2025. Its search looks at names alone and
 * takes one text, so each word is asked for and the answers are joined.
 */
export const generic: RegistrySource = {
  searches: 'names',
  hasTags: true,
  isAddable: true,
  async *pages(query, reach) {
    const words = [...new Set(query.words)].sort((a, b) => b.length - a.length).slice(0, MAX_ASKED_WORDS);
    const seen = new Set<string>();
    for (const word of words.length === 0 ? [undefined] : words) {
      for await (const page of walk(word, reach)) {
        const servers = page.servers.filter(({ id }) => !seen.has(id));
        for (const { id } of servers) seen.add(id);
        yield { ...page, servers };
      }
    }
  },
  async details(id, reach) {
    const url = new URL(reach.serversUrl);
    // The name holds a slash, which is part of it: %2F.
    url.pathname = `${url.pathname.replace(/\/+$/, '')}/${encodeURIComponent(id)}/versions/latest`;
    url.search = '';
    const read = readServerJson(await reach.json(url));
    return read === 'skip' ? undefined : read;
  },
};

async function* walk(word: string | undefined, reach: SourceReach): AsyncGenerator<SourcePage> {
  const cursors = new Set<string>();
  let cursor: string | undefined;
  do {
    const url = new URL(reach.serversUrl);
    url.searchParams.set('version', 'latest');
    url.searchParams.set('limit', String(PAGE_SIZE));
    if (word !== undefined) url.searchParams.set('search', word);
    if (cursor !== undefined) url.searchParams.set('cursor', cursor);
    const document = await reach.json(url);
    yield pageOf(listIn(document, 'servers', 'data'), readServerJson);
    cursor = cursorIn(document);
    // A cursor that comes back would be followed for ever.
    if (cursor !== undefined && cursors.has(cursor)) return;
    if (cursor !== undefined) cursors.add(cursor);
  } while (cursor !== undefined);
}

function cursorIn(document: unknown): string | undefined {
  if (!isObject(document)) return undefined;
  return rawText(objectIn(document['metadata']), 'nextCursor') ?? rawText(document, 'nextCursor', 'next');
}
