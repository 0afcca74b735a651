import { BusyError } from '../base/errors.ts';
import { isJsonObject } from '../base/json-value.ts';
import { membersOf, skipSpace, withMemberFirst } from '../base/json-text.ts';
import type { Span } from '../base/json-text.ts';
import type { Caller } from '../callers/caller.ts';
import type { Answer } from '../meta-tools/answer.ts';
import type { CallContext } from '../meta-tools/call-context.ts';
import type { MetaTools } from '../meta-tools/meta-tools.ts';
import { KNOWN_VERSIONS, META, RPC, rpcErrorText } from './protocol.ts';

/** One `tools/call` request, read but not touched: the hot path never builds its arguments or its result. */
export interface ToolCallRequest {
  /** The JSON-RPC message's own text. */
  readonly text: string;
  readonly params: unknown;
  /** Generation of the client, as the message shows it. */
  readonly era: 'modern' | 'legacy';
  /** The version of MCP spoken, as the transport knows it; a newer client's message says its own. */
  readonly version?: string | undefined;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** Sends a notification belonging to this request; absent where the transport has no way. */
  readonly notify?: (text: string) => void;
}

/** The reply's text, or that the caller's credential was refused or too much is under way, for which HTTP has its own statuses. */
export type ToolCallReply =
  | { readonly kind: 'reply'; readonly text: string }
  | {
      readonly kind: 'unauthorized';
      readonly status: 401 | 403;
      readonly challenge: string | undefined;
      readonly text: string;
    }
  /** Too much is under way; nothing was sent. */
  | { readonly kind: 'busy'; readonly retryAfterS: number; readonly sentence: string; readonly text: string };

/** Answers one call of a meta-tool, in the words of the client's generation. */
export async function answerToolCall(metaTools: MetaTools, request: ToolCallRequest): Promise<ToolCallReply> {
  const { text, params, era } = request;
  const message = membersOf(text, skipSpace(text, 0));
  const id = message.get('id');
  const idText = id === undefined ? 'null' : text.slice(id.start, id.end);
  const reply = (replyText: string): ToolCallReply => ({ kind: 'reply', text: replyText });
  const name = isJsonObject(params) ? params['name'] : undefined;
  const members = membersOf(text, message.get('params')?.start ?? text.length);
  const given = textOf(text, members, 'arguments') ?? '{}';
  // A call without a name is one of no tool of ours; it is told of like one with a wrong name.
  const pending = metaTools.call(
    typeof name === 'string' ? name : '',
    given === 'null' ? '{}' : given,
    contextOf(request, isJsonObject(params) ? params : {}, members),
  );
  if (typeof name !== 'string') {
    return reply(
      rpcErrorText(idText, RPC.invalidParams, 'Invalid params: tools/call needs the name of a tool'),
    );
  }
  if (pending === undefined) {
    const names = metaTools.definitions.map((definition) => definition.name).join(', ');
    return reply(
      rpcErrorText(
        idText,
        RPC.invalidParams,
        `Unknown tool: this server's own tools are ${names}. Call the tools found with search_tools through call_read_tool or call_write_tool.`,
      ),
    );
  }
  try {
    return replyOf(await pending, idText, era);
  } catch (thrown) {
    if (!(thrown instanceof BusyError)) throw thrown;
    return busyReply(thrown, idText);
  }
}

export function busyReply({ message, retryAfterS }: BusyError, id: string): ToolCallReply {
  return { kind: 'busy', retryAfterS, sentence: message, text: rpcErrorText(id, RPC.server, message) };
}

function replyOf(answer: Answer, id: string, era: 'modern' | 'legacy'): ToolCallReply {
  switch (answer.kind) {
    case 'result':
      return { kind: 'reply', text: `{"jsonrpc":"2.0","id":${id},"result":${resultFor(era, answer)}}` };
    case 'error':
      return { kind: 'reply', text: `{"jsonrpc":"2.0","id":${id},"error":${answer.raw}}` };
    case 'unauthorized': {
      const { status, challenge, sentence } = answer;
      return { kind: 'unauthorized', status, challenge, text: rpcErrorText(id, RPC.server, sentence) };
    }
  }
}

/**
 * The result as this generation may have it. Newer clients need `resultType`, which older upstreams do not send;
 * older clients take only an object as `structuredContent` (wrapped as the SDK does it), and cannot be asked for
 * input. Everything else stays as the upstream sent it.
 */
function resultFor(era: 'modern' | 'legacy', answer: Extract<Answer, { kind: 'result' }>): string {
  const { raw, resultType } = answer;
  if (era === 'modern')
    return resultType === undefined ? withMemberFirst(raw, 'resultType', '"complete"') : raw;
  if (resultType !== undefined && resultType !== 'complete') {
    const text = `[upstream_unsupported] The tool answered '${resultType.slice(0, 40)}': it asks for something that this client's protocol version cannot give. Next: tell the user.`;
    return JSON.stringify({ content: [{ type: 'text', text }], isError: true });
  }
  if (!answer.hasPlainStructuredContent) return raw;
  const span = membersOf(raw, 0).get('structuredContent');
  if (span === undefined) return raw;
  return `${raw.slice(0, span.start)}{"result":${raw.slice(span.start, span.end)}}${raw.slice(span.end)}`;
}

function contextOf(
  request: ToolCallRequest,
  params: { readonly [key: string]: unknown },
  members: ReadonlyMap<string, Span>,
): CallContext {
  const meta = isJsonObject(params['_meta']) ? params['_meta'] : {};
  const { notify, era, text } = request;
  const { progressToken } = meta;
  const logLevel = meta[META.logLevel];
  const capabilities = meta[META.clientCapabilities];
  const claimed = meta[META.protocolVersion];
  const version = era === 'modern' && typeof claimed === 'string' ? claimed : request.version;
  const metaText = textOf(text, members, '_meta');
  const inputResponses = textOf(text, members, 'inputResponses');
  const requestState = textOf(text, members, 'requestState');
  const wantsProgress = typeof progressToken === 'string' || typeof progressToken === 'number';
  return {
    caller: request.caller,
    signal: request.signal,
    // Another text would be a client's own, and this becomes a label.
    ...(version !== undefined && KNOWN_VERSIONS.has(version) ? { protocolVersion: version } : {}),
    ...(notify !== undefined && wantsProgress
      ? {
          onProgress: (progress) =>
            notify(notificationText('notifications/progress', { ...progress, progressToken })),
        }
      : {}),
    ...(notify !== undefined && era === 'modern' && typeof logLevel === 'string'
      ? { logLevel, onLog: (log) => notify(notificationText('notifications/message', log)) }
      : {}),
    ...(era === 'modern' && isJsonObject(capabilities) ? { clientCapabilities: capabilities } : {}),
    ...(metaText?.startsWith('{') ? { meta: metaText } : {}),
    ...(inputResponses === undefined ? {} : { inputResponses }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}

function textOf(text: string, members: ReadonlyMap<string, Span>, name: string): string | undefined {
  const span = members.get(name);
  return span === undefined ? undefined : text.slice(span.start, span.end);
}

function notificationText(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}
