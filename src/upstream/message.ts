import { depthOf, rawAt } from '../base/json-text.ts';
import { isJsonObject } from '../base/json-value.ts';
import type { JsonObject } from '../catalog/tool.ts';
import type { RawParams, RawResult, ResultHead } from './upstream.ts';

/** What came from an upstream, seen for what it is. `raw` texts are cut from the message as it arrived. */
export type InboundMessage =
  | { readonly kind: 'result'; readonly id: string | number; readonly result: RawResult }
  | {
      readonly kind: 'error';
      readonly id: string | number | null;
      readonly code: number;
      readonly message: string;
      readonly raw: string;
    }
  | {
      readonly kind: 'notification';
      readonly method: string;
      readonly params: JsonObject;
      readonly parsed: JsonObject;
    }
  | {
      readonly kind: 'request';
      readonly id: string | number;
      readonly method: string;
      readonly parsed: JsonObject;
    }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Far beyond any message somebody wrote; code that walks a value by recursion ends long after. */
const MAX_DEPTH = 500;

/** Whether a message is nested so deep that what reads it by recursion (schemas, JSON writers) would end in a bug. */
export function isEndless(text: string): boolean {
  return depthOf(text) > MAX_DEPTH;
}

/** Reads one JSON-RPC 2.0 message; anything else is `invalid` with a reason, never an exception. */
export function readMessage(text: string): InboundMessage {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { kind: 'invalid', reason: 'not JSON' };
  }
  if (!isJsonObject(parsed) || parsed['jsonrpc'] !== '2.0')
    return { kind: 'invalid', reason: 'not a JSON-RPC message' };
  const { id, method } = parsed;
  const isId = typeof id === 'string' || typeof id === 'number';
  if (typeof method === 'string') {
    if (isEndless(text)) return { kind: 'invalid', reason: 'nested too deep' };
    if (isId) return { kind: 'request', id, method, parsed };
    const params = isJsonObject(parsed['params']) ? parsed['params'] : {};
    return { kind: 'notification', method, params, parsed };
  }
  const error = parsed['error'];
  if (isJsonObject(error)) {
    return {
      kind: 'error',
      id: isId ? id : null,
      code: typeof error['code'] === 'number' ? error['code'] : 0,
      message: typeof error['message'] === 'string' ? error['message'] : 'unknown error',
      raw: rawAt(text, ['error']) ?? '{}',
    };
  }
  const result = parsed['result'];
  if (!isId || !isJsonObject(result))
    return { kind: 'invalid', reason: 'neither a result, an error nor a request' };
  return { kind: 'result', id, result: { raw: rawAt(text, ['result']) ?? '{}', head: headOf(result) } };
}

function headOf(result: JsonObject): ResultHead {
  const { isError, resultType, structuredContent, ttlMs } = result;
  return {
    isError: isError === true,
    ...(typeof resultType === 'string' ? { resultType } : {}),
    hasPlainStructuredContent: structuredContent !== undefined && !isJsonObject(structuredContent),
    ...(typeof ttlMs === 'number' && ttlMs >= 0 ? { ttlMs } : {}),
  };
}

/** The text of a JSON-RPC request. */
export function requestText(id: string, method: string, params: RawParams): string {
  const members = Object.entries(params).map(([name, raw]) => `${JSON.stringify(name)}:${raw}`);
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":{${members.join(',')}}}`;
}

/**
 * The text of our answer to a peer's request: `ping` gets its result, everything else (sampling, elicitation, roots,
 * anything new) an error that says why, at once.
 */
export function answerText(id: string | number, method: string): string {
  if (method === 'ping') return JSON.stringify({ jsonrpc: '2.0', id, result: {} });
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    error: { code: METHOD_NOT_FOUND, message: refusalOf(method) },
  });
}

export const METHOD_NOT_FOUND = -32601;

/** Why a peer's request is not served. */
export function refusalOf(method: string): string {
  return `${method} is not supported: this client is a proxy that serves many callers and answers no requests of its servers.`;
}
