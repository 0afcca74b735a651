import { isJsonObject } from '../base/json-value.ts';

/** Revisions of the newer generation that we serve; the SDK's own list is not public. */
export const MODERN_VERSIONS: readonly string[] = ['2026-07-28'];

/** Revisions of the older generation, newest first, as the SDK supports them (a test holds the two lists equal). */
export const LEGACY_VERSIONS: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07',
];

/** Every revision we serve; events name no others. */
export const KNOWN_VERSIONS: ReadonlySet<string> = new Set([...LEGACY_VERSIONS, ...MODERN_VERSIONS]);

/** Members of a request's `_meta` (MCP 2026-07-28, basic/index#_meta). */
export const META = {
  prefix: 'io.modelcontextprotocol/',
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const;

export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  invalidParams: -32602,
  internalError: -32603,
  /** Transport trouble of older revisions, which gave it no meaning of its own. */
  server: -32000,
} as const;

/** The text of a JSON-RPC error; `id` is JSON text. */
export function rpcErrorText(id: string, code: number, message: string, data?: unknown): string {
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}

/**
 * The error a message gets that no handler would understand, or undefined for a message that is as it should be: what
 * is no JSON-RPC 2.0 message (MCP allows strings and numbers as ids), and a handshake without its three parts.
 */
export function wrongMessage(message: unknown): string | undefined {
  const given = isJsonObject(message) ? message : {};
  const { id, method, jsonrpc, params } = given;
  const isId = typeof id === 'string' || typeof id === 'number';
  const idText = isId ? JSON.stringify(id) : 'null';
  const isRequest = typeof method === 'string' && (id === undefined || isId);
  const isReply =
    method === undefined && isId && (given['result'] !== undefined || given['error'] !== undefined);
  if (jsonrpc !== '2.0' || !(isRequest || isReply)) {
    return rpcErrorText(idText, RPC.invalidRequest, 'Invalid Request: not a JSON-RPC 2.0 message');
  }
  if (method !== 'initialize' || !isId) return undefined;
  const parts = isJsonObject(params) ? params : {};
  const isWhole =
    typeof parts['protocolVersion'] === 'string' &&
    isJsonObject(parts['capabilities']) &&
    isJsonObject(parts['clientInfo']);
  if (isWhole) return undefined;
  const needed = 'Invalid params: initialize needs protocolVersion, capabilities and clientInfo';
  return rpcErrorText(idText, RPC.invalidParams, needed);
}

/** Methods of MCP that clients send; events name no others. */
const METHODS: ReadonlySet<string> = new Set([
  'initialize',
  'server/discover',
  'ping',
  'tools/list',
  'tools/call',
  'logging/setLevel',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
]);

/** The method of a message for the operator: one that MCP has, `batch`, or `other`; never what a client made up. */
export function knownMethod(message: unknown): string {
  if (Array.isArray(message)) return 'batch';
  const method = isJsonObject(message) ? message['method'] : undefined;
  return typeof method === 'string' && METHODS.has(method) ? method : 'other';
}
