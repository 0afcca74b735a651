/** Visible ASCII, with spaces inside only: what a header value may hold as it is (RFC 9110 §5.5). */
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * A value for an `Mcp-Name` header: as it is where that is safe, otherwise `=?base64?…?=` over its UTF-8 bytes
 * (MCP 2026-07-28, basic/transports, standard request headers).
 */
export function encodeHeaderValue(value: string): string {
  if (PLAIN.test(value) && !value.startsWith('=?')) return value;
  return `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}
