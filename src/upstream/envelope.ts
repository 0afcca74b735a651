import { membersOf } from '../base/json-text.ts';
import type { Peer, RawParams, RequestContext } from './upstream.ts';

/** Keys of the per-request envelope (MCP 2026-07-28, basic/index#_meta). */
const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion';
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo';
const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** Members of a client's `_meta` that are about its own leg and must not travel on. */
const OWN_LEG = new Set([PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL, 'progressToken']);

/**
 * `params` with the `_meta` this peer needs: the client's own members as it wrote them, our progress token for calls
 * (also where the client wants no progress: it is the sign of life that lets a long call go on), and for a modern peer the envelope, which names us as the client and the asking client's
 * capabilities (an upstream must not ask for input the client cannot give).
 */
export function withMeta(
  params: RawParams,
  peer: Peer,
  context: RequestContext,
  ids: { readonly clientInfo: string; readonly progressToken: string; readonly isCall?: boolean },
): RawParams {
  const members: string[] = [];
  const text = context.meta;
  if (text !== undefined) {
    for (const [key, span] of membersOf(text, 0)) {
      if (!OWN_LEG.has(key)) members.push(`${JSON.stringify(key)}:${text.slice(span.start, span.end)}`);
    }
  }
  if (context.onProgress !== undefined || ids.isCall === true)
    members.push(`"progressToken":${JSON.stringify(ids.progressToken)}`);
  if (peer.era === 'modern') {
    members.push(
      `"${PROTOCOL_VERSION}":${JSON.stringify(peer.protocolVersion)}`,
      `"${CLIENT_INFO}":${ids.clientInfo}`,
      `"${CLIENT_CAPABILITIES}":${JSON.stringify(context.clientCapabilities ?? {})}`,
    );
    if (context.logLevel !== undefined) members.push(`"${LOG_LEVEL}":${JSON.stringify(context.logLevel)}`);
  }
  return members.length === 0 ? params : { ...params, _meta: `{${members.join(',')}}` };
}
