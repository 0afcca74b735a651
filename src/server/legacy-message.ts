import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isJsonObject } from '../base/json-value.ts';
import { elementsOf, skipSpace } from '../base/json-text.ts';
import type { Caller } from '../callers/caller.ts';
import type { MetaTools } from '../meta-tools/meta-tools.ts';
import { createMcpServer, exchange } from './mcp-server.ts';
import { wrongMessage } from './protocol.ts';
import { answerToolCall } from './tool-call.ts';
import type { ToolCallReply } from './tool-call.ts';

export interface LegacyParts {
  readonly metaTools: MetaTools;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** The instructions for this caller, where the method wants them; may refuse the caller by throwing. */
  readonly instructions: (method: string) => Promise<string>;
}

/**
 * Answers one message of an older client without connection or session, `text` being its own text; undefined when
 * it gets no answer (a notification, or a reply to something we never asked).
 */
export async function answerLegacyMessage(
  text: string,
  message: unknown,
  parts: LegacyParts,
): Promise<ToolCallReply | undefined> {
  if (!isJsonObject(message) || typeof message['method'] !== 'string' || message['id'] === undefined)
    return undefined;
  const wrong = wrongMessage(message);
  if (wrong !== undefined) return { kind: 'reply', text: wrong };
  const { metaTools, caller, signal } = parts;
  const { method, params } = message;
  if (method === 'tools/call')
    return answerToolCall(metaTools, { text, params, era: 'legacy', caller, signal });
  const server = createMcpServer(() => metaTools.definitions, await parts.instructions(method));
  return {
    kind: 'reply',
    text: JSON.stringify(await exchange(server, message as unknown as JSONRPCMessage)),
  };
}

/** Answers a batch (MCP 2025-03-26 alone has them), all messages side by side; empty when none gets an answer. */
export async function answerBatch(
  text: string,
  messages: readonly unknown[],
  parts: LegacyParts,
): Promise<readonly ToolCallReply[]> {
  const spans = elementsOf(text, skipSpace(text, 0));
  const replies = await Promise.all(
    messages.map((message, n) =>
      answerLegacyMessage(text.slice(spans[n]?.start, spans[n]?.end), message, parts),
    ),
  );
  return replies.filter((reply) => reply !== undefined);
}
