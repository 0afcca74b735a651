import { isJsonObject } from '../base/json-value.ts';
import { membersOf, rawAt, skipSpace, withMemberFirst } from '../base/json-text.ts';
import type { Caller } from '../callers/caller.ts';
import type { Answer } from '../meta-tools/answer.ts';
import type { CallContext } from '../meta-tools/call-context.ts';
import type { MetaTools } from '../meta-tools/meta-tools.ts';
import { META, RPC, rpcErrorText } from './protocol.ts';

/** One `tools/call` request, read but not touched: the hot path never builds its arguments or its result. */
export interface ToolCallRequest {
  /** The JSON-RPC message's own text. */
  readonly text: string;
  readonly params: unknown;
  /** Generation of the client, as the message shows it. */
  readonly era: 'modern' | 'legacy';
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** Sends a notification belonging to this request; absent where the transport has no way. */
  readonly notify?: (text: string) => void;
}

/** The reply's text, or that the caller's credential was refused, which HTTP says with its own status. */
export type ToolCallReply =
  | { readonly kind: 'reply'; readonly text: string }
  | {
      readonly kind: 'unauthorized';
      readonly status: 401 | 403;
      readonly challenge: string | undefined;
      readonly text: string;
    };

/** Answers one call of a meta-tool, in the words of the client's generation. */
export async function answerToolCall(metaTools: MetaTools, request: ToolCallRequest): Promise<ToolCallReply> {
  const { text, params, era } = request;
  const message = membersOf(text, skipSpace(text, 0));
  const id = message.get('id');
  const idText = id === undefined ? 'null' : text.slice(id.start, id.end);
  const reply = (replyText: string): ToolCallReply => ({ kind: 'reply', text: replyText });
  if (!isJsonObject(params) || typeof params['name'] !== 'string') {
    return reply(
      rpcErrorText(idText, RPC.invalidParams, 'Invalid params: tools/call needs the name of a tool'),
    );
  }
  const paramsSpan = message.get('params');
  const paramsText = paramsSpan === undefined ? '{}' : text.slice(paramsSpan.start, paramsSpan.end);
  const given = rawAt(paramsText, ['arguments']) ?? '{}';
  const pending = metaTools.call(
    params['name'],
    given === 'null' ? '{}' : given,
    contextOf(request, params, paramsText),
  );
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
  return replyOf(await pending, idText, era);
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
  paramsText: string,
): CallContext {
  const meta = isJsonObject(params['_meta']) ? params['_meta'] : {};
  const { notify, era } = request;
  const { progressToken } = meta;
  const logLevel = meta[META.logLevel];
  const capabilities = meta[META.clientCapabilities];
  const metaText = rawAt(paramsText, ['_meta']);
  const inputResponses = rawAt(paramsText, ['inputResponses']);
  const requestState = rawAt(paramsText, ['requestState']);
  const wantsProgress = typeof progressToken === 'string' || typeof progressToken === 'number';
  return {
    caller: request.caller,
    signal: request.signal,
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

function notificationText(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params });
}
