import { ProxyError, UpstreamRejection } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import { openDeadline } from '../base/deadline.ts';
import type { DropCause } from '../base/observer.ts';
import { elementsOf, membersOf, skipSpace } from '../base/json-text.ts';
import type { Tool } from '../catalog/tool.ts';
import { KnownTools } from './known-tools.ts';
import type { Peer, RequestContext, Upstream } from './upstream.ts';

/** An entry of a listing that could not be kept. */
export interface DroppedTool {
  readonly name: string;
  readonly reason: string;
  readonly cause: DropCause;
}

/** What one upstream returned for one credential scope: every page, or there is no listing. */
export interface Listing {
  readonly tools: readonly Tool[];
  /** Entries that could not be kept, each with why. */
  readonly dropped: readonly DroppedTool[];
  /** The upstream's own instructions, unchanged. */
  readonly instructions?: string;
  /** How long the upstream allows keeping it, in milliseconds. */
  readonly ttlMs?: number;
}

/** Shared by all upstreams and callers: it holds what definitions say, not who has them. */
const known = new KnownTools();

/**
 * Lists an upstream's tools on our own leg: every page, whatever a tool's schema looks like. An empty string is a
 * cursor like any other (MCP, server/utilities/pagination). A cursor given twice, too many pages or tools, or too
 * long a time end it with an error; a partial listing is never returned.
 */
export async function listTools(
  upstream: Upstream,
  context: Pick<RequestContext, 'scope' | 'credential' | 'signal'>,
  limits: Limits,
): Promise<Listing> {
  const { connectMs = limits.connectTimeoutMs } = upstream;
  const deadline = openDeadline(context.signal, connectMs + limits.listTimeoutMs);
  try {
    const whole: RequestContext = {
      ...context,
      signal: deadline.signal,
      timeoutMs: limits.listTimeoutMs,
      maxMs: limits.listTimeoutMs,
    };
    const peer = await upstream.peer(whole);
    try {
      return await walk(upstream, peer, whole, limits);
    } catch (thrown) {
      if (!(thrown instanceof CursorRefused)) throw thrown;
    }
    return await walk(upstream, peer, whole, limits).catch((thrown: unknown) => {
      throw thrown instanceof CursorRefused ? thrown.rejection : thrown;
    });
  } catch (thrown) {
    // The time for the whole listing ran out within some request of it, which only saw itself cancelled.
    if (!deadline.expired()) throw thrown;
    throw new ProxyError(
      'upstream_timeout',
      `Upstream '${upstream.name}' did not list its tools within ${limits.listTimeoutMs} ms (limit listTimeoutMs).`,
      { upstream: upstream.name, outcome: 'unknown', cause: thrown },
    );
  } finally {
    deadline.dispose();
  }
}

/**
 * The upstream no longer takes a cursor it gave: the list changed, or it was started anew. Asked again from the first
 * page (MCP, server/utilities/pagination: an invalid cursor is answered with invalid params).
 */
class CursorRefused extends Error {
  readonly rejection: UpstreamRejection;

  constructor(rejection: UpstreamRejection) {
    super(rejection.message);
    this.rejection = rejection;
  }
}

const INVALID_PARAMS = -32602;

/** All pages, from the first. */
async function walk(upstream: Upstream, peer: Peer, whole: RequestContext, limits: Limits): Promise<Listing> {
  const tools = new Map<string, Tool>();
  const dropped: DroppedTool[] = [];
  const seen = new Set<string>();
  let ttlMs: number | undefined;
  let cursor: string | undefined;
  let position = 0;
  let bytes = 0;
  for (let page = 1; ; page++) {
    const params = cursor === undefined ? {} : { cursor: JSON.stringify(cursor) };
    const { raw, head } = await upstream.request('tools/list', params, whole).catch((thrown: unknown) => {
      const isRefused =
        cursor !== undefined && thrown instanceof UpstreamRejection && thrown.rpcCode === INVALID_PARAMS;
      throw isRefused ? new CursorRefused(thrown) : thrown;
    });
    bytes += Buffer.byteLength(raw);
    if (bytes > limits.maxListBytes) {
      throw tooLong(upstream.name, `more than ${limits.maxListBytes} bytes of tools (limit maxListBytes)`);
    }
    const members = membersOf(raw, skipSpace(raw, 0));
    const list = members.get('tools');
    if (list === undefined || raw[list.start] !== '[') {
      throw new ProxyError(
        'upstream_invalid',
        `Upstream '${upstream.name}' answered tools/list without a tools array.`,
        {
          upstream: upstream.name,
        },
      );
    }
    for (const { start, end } of elementsOf(raw, list.start)) {
      const text = raw.slice(start, end);
      const { read, badHeader } = known.read(text, position++);
      if (read.kind === 'dropped') dropped.push({ name: read.name, reason: read.reason, cause: 'invalid' });
      else if (isLarger(text, limits.maxToolBytes)) {
        const reason = `its definition is larger than ${limits.maxToolBytes} bytes (limit maxToolBytes)`;
        dropped.push({ name: read.tool.name, reason, cause: 'too_large' });
      } else if (badHeader !== undefined && peer.era === 'modern')
        dropped.push({ name: read.tool.name, reason: badHeader, cause: 'invalid' });
      else if (tools.has(read.tool.name))
        dropped.push({
          name: read.tool.name,
          reason: 'listed twice; the first counts',
          cause: 'duplicate',
        });
      else tools.set(read.tool.name, read.tool);
    }
    if (head.ttlMs !== undefined) ttlMs = Math.min(ttlMs ?? head.ttlMs, head.ttlMs);
    if (tools.size > limits.maxListTools) {
      throw tooLong(upstream.name, `more than ${limits.maxListTools} tools (limit maxListTools)`);
    }
    const cursorText = members.get('nextCursor');
    const next: unknown =
      cursorText === undefined ? undefined : JSON.parse(raw.slice(cursorText.start, cursorText.end));
    if (typeof next !== 'string') break;
    if (seen.has(next)) {
      throw new ProxyError(
        'listing_cursor_repeated',
        `Upstream '${upstream.name}' gave the same tools/list cursor twice, after ${page} pages and ${tools.size} tools.`,
        { upstream: upstream.name },
      );
    }
    if (page >= limits.maxListPages) {
      throw tooLong(upstream.name, `more than ${limits.maxListPages} pages (limit maxListPages)`);
    }
    seen.add(next);
    cursor = next;
  }
  return {
    tools: [...tools.values()],
    dropped,
    ...(peer.instructions === undefined ? {} : { instructions: peer.instructions }),
    ...(ttlMs === undefined ? {} : { ttlMs }),
  };
}

/** UTF-8 takes at most so many bytes for a unit of a JavaScript string. */
const MOST_BYTES_A_UNIT = 3;

function isLarger(text: string, maxBytes: number): boolean {
  return text.length * MOST_BYTES_A_UNIT > maxBytes && Buffer.byteLength(text) > maxBytes;
}

function tooLong(upstream: string, what: string): ProxyError {
  return new ProxyError('listing_too_long', `Upstream '${upstream}' lists ${what}.`, { upstream });
}
