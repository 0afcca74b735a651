import { ProxyError } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import { openDeadline } from '../base/deadline.ts';
import { elementsOf, membersOf, skipSpace } from '../base/json-text.ts';
import { mirroredParameters } from '../catalog/mirrored-parameter.ts';
import type { Tool } from '../catalog/tool.ts';
import { readTool } from './read-tool.ts';
import type { RequestContext, Upstream } from './upstream.ts';

/** What one upstream returned for one credential scope: every page, or there is no listing. */
export interface Listing {
  readonly tools: readonly Tool[];
  /** Entries that could not be kept, each with why. */
  readonly dropped: readonly { readonly name: string; readonly reason: string }[];
  /** The upstream's own instructions, unchanged. */
  readonly instructions?: string;
  /** How long the upstream allows keeping it, in milliseconds. */
  readonly ttlMs?: number;
}

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
  const deadline = openDeadline(context.signal, limits.connectTimeoutMs + limits.listTimeoutMs);
  try {
    const whole: RequestContext = {
      ...context,
      signal: deadline.signal,
      timeoutMs: limits.listTimeoutMs,
      maxMs: limits.listTimeoutMs,
    };
    const peer = await upstream.peer(whole);
    const tools = new Map<string, Tool>();
    const dropped: { name: string; reason: string }[] = [];
    const seen = new Set<string>();
    let ttlMs: number | undefined;
    let cursor: string | undefined;
    let position = 0;
    let bytes = 0;
    for (let page = 1; ; page++) {
      const params = cursor === undefined ? {} : { cursor: JSON.stringify(cursor) };
      const { raw, head } = await upstream.request('tools/list', params, whole);
      bytes += Buffer.byteLength(raw);
      if (bytes > limits.maxListBytes) {
        throw tooLong(upstream.name, `more than ${limits.maxListBytes} bytes of tools (limit maxListBytes)`);
      }
      const result = JSON.parse(raw) as { readonly [key: string]: unknown };
      const entries = result['tools'];
      if (!Array.isArray(entries)) {
        throw new ProxyError(
          'upstream_invalid',
          `Upstream '${upstream.name}' answered tools/list without a tools array.`,
          {
            upstream: upstream.name,
          },
        );
      }
      const tooLarge = largerThan(limits.maxToolBytes, raw);
      for (const [index, entry] of entries.entries()) {
        const read = readTool(entry, position++);
        const mirrored =
          read.kind === 'tool' && peer.era === 'modern'
            ? mirroredParameters(read.tool.inputSchema)
            : undefined;
        if (read.kind === 'dropped') dropped.push({ name: read.name, reason: read.reason });
        else if (tooLarge.has(index)) {
          const reason = `its definition is larger than ${limits.maxToolBytes} bytes (limit maxToolBytes)`;
          dropped.push({ name: read.tool.name, reason });
        } else if (mirrored?.kind === 'invalid')
          dropped.push({ name: read.tool.name, reason: mirrored.reason });
        else if (tools.has(read.tool.name))
          dropped.push({ name: read.tool.name, reason: 'listed twice; the first counts' });
        else tools.set(read.tool.name, read.tool);
      }
      if (head.ttlMs !== undefined) ttlMs = Math.min(ttlMs ?? head.ttlMs, head.ttlMs);
      if (tools.size > limits.maxListTools) {
        throw tooLong(upstream.name, `more than ${limits.maxListTools} tools (limit maxListTools)`);
      }
      const next = result['nextCursor'];
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

/** Which tools of a page are larger than allowed, by their place; nearly every page is smaller as a whole. */
function largerThan(maxBytes: number, raw: string): ReadonlySet<number> {
  if (raw.length * MOST_BYTES_A_UNIT <= maxBytes) return new Set();
  const tools = membersOf(raw, skipSpace(raw, 0)).get('tools');
  const spans = tools === undefined ? [] : elementsOf(raw, tools.start);
  return new Set(
    spans.flatMap(({ start, end }, index) =>
      (end - start) * MOST_BYTES_A_UNIT > maxBytes && Buffer.byteLength(raw.slice(start, end)) > maxBytes
        ? [index]
        : [],
    ),
  );
}

/** UTF-8 takes at most so many bytes for a unit of a JavaScript string. */
const MOST_BYTES_A_UNIT = 3;

function tooLong(upstream: string, what: string): ProxyError {
  return new ProxyError('listing_too_long', `Upstream '${upstream}' lists ${what}.`, { upstream });
}
