import { openDeadline } from '../base/deadline.ts';
import { membersOf, skipSpace } from '../base/json-text.ts';
import { isJsonObject } from '../base/json-value.ts';
import type { HttpClient } from '../net/http-client.ts';

/** How an upstream's clients sign in: its OAuth protected resource metadata (RFC 9728), the text as it gave it. */
export type SignIn = (resource: string) => Promise<string | undefined>;

const WAIT_MS = 5_000;
const MAX_BYTES = 65_536;

/** Any stranger may ask for it, and it hardly ever changes. */
const KEEP_MS = 60_000;
const KEEP_NOTHING_MS = 5_000;

/**
 * Says how to sign in at the upstream behind `url`, as that upstream says it, with one change: `resource` is where the
 * asking client reaches us, because clients must refuse a document that is about another place than the one they
 * talk to (RFC 9728 §3.3). Asked without any credential; kept a minute; one question at a time.
 */
export function createSignIn(url: string, http: () => Promise<HttpClient>): SignIn {
  let known: { readonly until: number; readonly text: Promise<string | undefined> } | undefined;

  function ask(): Promise<string | undefined> {
    const now = performance.now();
    if (known !== undefined && now < known.until) return known.text;
    const text = metadataOf(url, http);
    const mine = { until: now + KEEP_MS, text };
    known = mine;
    void text.then((found) => {
      if (found === undefined && known === mine) known = { until: performance.now() + KEEP_NOTHING_MS, text };
    });
    return text;
  }

  return async (resource) => {
    const text = await ask();
    const span = text === undefined ? undefined : membersOf(text, skipSpace(text, 0)).get('resource');
    if (text === undefined || span === undefined) return undefined;
    return text.slice(0, span.start) + JSON.stringify(resource) + text.slice(span.end);
  };
}

/** The document at the place for this path, or else at the place for the whole origin; undefined where there is none. */
async function metadataOf(url: string, http: () => Promise<HttpClient>): Promise<string | undefined> {
  const { origin, pathname } = new URL(url);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const client = await http();
  for (const place of pathname === '/' ? [root] : [root + pathname, root]) {
    const text = await documentAt(place, client);
    if (text !== undefined) return text;
  }
  return undefined;
}

async function documentAt(url: string, http: HttpClient): Promise<string | undefined> {
  const deadline = openDeadline(undefined, WAIT_MS);
  try {
    const reply = await http.send({ method: 'GET', url, headers: { accept: 'application/json' }, deadline });
    const text = await reply.text(MAX_BYTES);
    if (reply.status !== 200) return undefined;
    const document: unknown = JSON.parse(text);
    return isJsonObject(document) && typeof document['resource'] === 'string' ? text : undefined;
  } catch {
    // Not there, not JSON, too large: the same to whoever wants to sign in.
    return undefined;
  } finally {
    deadline.dispose();
  }
}
