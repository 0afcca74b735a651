import { createHash } from 'node:crypto';
import type { Tool } from '../catalog/tool.ts';
import type { Listing } from '../upstream/list-tools.ts';

/** A listing held by the pool; give it back with `release` once nobody serves it any more. */
export interface HeldListing {
  readonly listing: Listing;
  /** Equal for equal listings, and never used again for another. */
  readonly id: number;
}

interface Shared extends HeldListing {
  readonly key: string;
  /** What it takes beside its tools, in bytes. */
  readonly bytes: number;
  users: number;
}

interface SharedTool {
  readonly tool: Tool;
  readonly bytes: number;
  users: number;
}

/** Measured with Node 20: a parsed definition takes 1.3 times its JSON text, and its place in here 0.3 KB. */
const BYTES_PER_CHARACTER = 1.3;
const TOOL_BYTES = 300;
const LISTING_BYTES = 500;
const BYTES_PER_PLACE = 8;

/**
 * Tool definitions and listings, each kept once however many callers have them: definitions by digest, listings by
 * the digests in their order. Who may see what is not known here; a listing says it, and a listing is only ever
 * given to whom the upstream gave it.
 *
 * A definition two callers have in the same words but another order of keys is kept in the first one's order.
 */
export class ListingPool {
  readonly #tools = new Map<string, SharedTool>();
  readonly #listings = new Map<string, Shared>();
  readonly #onGone: (id: number, freedBytes: number) => void;
  #bytes = 0;
  #lastId = 0;

  /** `onGone` is told of each listing nobody serves any more, and how many bytes of definitions went with it. */
  constructor(onGone: (id: number, freedBytes: number) => void = () => undefined) {
    this.#onGone = onGone;
  }

  /** Estimated memory of everything held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many different definitions and listings are held. */
  get size(): { readonly tools: number; readonly listings: number } {
    return { tools: this.#tools.size, listings: this.#listings.size };
  }

  /** Takes a listing an upstream gave; the one handed back has the same content. */
  hold(upstream: string, { tools, dropped, instructions }: Listing): HeldListing {
    const key = keyOf(upstream, tools, dropped, instructions);
    let shared = this.#listings.get(key);
    if (shared === undefined) {
      const listing: Listing = {
        tools: tools.map((tool) => this.#holdTool(tool)),
        dropped,
        ...(instructions === undefined ? {} : { instructions }),
      };
      const texts = (instructions?.length ?? 0) + dropped.reduce((sum, { reason }) => sum + reason.length, 0);
      const bytes = LISTING_BYTES + tools.length * BYTES_PER_PLACE + texts * 2;
      shared = { listing, id: ++this.#lastId, key, bytes, users: 0 };
      this.#listings.set(key, shared);
      this.#bytes += bytes;
    }
    shared.users++;
    return shared;
  }

  /** Gives back what `hold` gave, once each time. */
  release(held: HeldListing): void {
    const shared = held as Shared;
    shared.users--;
    if (shared.users > 0) return;
    this.#listings.delete(shared.key);
    const before = this.#bytes;
    this.#bytes -= shared.bytes;
    for (const tool of shared.listing.tools) this.#releaseTool(tool);
    this.#onGone(shared.id, before - this.#bytes);
  }

  #holdTool(tool: Tool): Tool {
    let shared = this.#tools.get(tool.digest);
    if (shared === undefined) {
      const bytes = TOOL_BYTES + Math.ceil(JSON.stringify(tool).length * BYTES_PER_CHARACTER);
      shared = { tool, bytes, users: 0 };
      this.#tools.set(tool.digest, shared);
      this.#bytes += bytes;
    }
    shared.users++;
    return shared.tool;
  }

  #releaseTool({ digest }: Tool): void {
    const shared = this.#tools.get(digest);
    if (shared === undefined) throw new Error('a listing of the pool has tools of the pool');
    shared.users--;
    if (shared.users > 0) return;
    this.#tools.delete(digest);
    this.#bytes -= shared.bytes;
  }
}

/** Upstreams are part of it: what one lists must not be taken for what another does. */
function keyOf(
  upstream: string,
  tools: readonly Tool[],
  dropped: Listing['dropped'],
  instructions: string | undefined,
): string {
  const hash = createHash('sha256').update(JSON.stringify([upstream, instructions ?? null, dropped]));
  for (const { digest } of tools) hash.update(digest).update(' ');
  return hash.digest('base64url');
}
