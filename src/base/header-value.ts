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

/** The value behind a header written by `encodeHeaderValue`; undefined when its Base64 is not valid. */
export function decodeHeaderValue(header: string): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/i.exec(header)?.[1];
  if (encoded === undefined) return header;
  const bytes = Buffer.from(encoded, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
    ? bytes.toString('utf8')
    : undefined;
}
