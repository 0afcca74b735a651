/** Revisions of the newer generation that we serve; the SDK's own list is not public. */
export const MODERN_VERSIONS: readonly string[] = ['2026-07-28'];

/** Members of a request's `_meta` (MCP 2026-07-28, basic/index#_meta). */
export const META = {
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
