import { isLoopbackHost } from './listen-address.ts';

/** The one form of `${…}` the house looks up; every other form stays as it is written. */
const REFERENCE = /\$\{env:[A-Za-z_][A-Za-z0-9_]*\}/g;

/**
 * What is wrong with an upstream's URL, or undefined. The sentence never holds the URL: keys travel in queries.
 * References inside are taken for something valid; what they resolve to is checked where the upstream is started.
 */
export function mistakeInUrl(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return 'is empty; give the MCP endpoint, such as https://gateway.example.com/mcp.';
  // Nothing is known of a URL whose beginning comes from a variable.
  if (/^\$\{env:[A-Za-z_][A-Za-z0-9_]*\}/.test(trimmed)) return undefined;
  const filled = trimmed.replaceAll(REFERENCE, '1');
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(filled)?.[1]?.toLowerCase();
  if (scheme === undefined) return 'has no https:// (or http://) in front; write the whole URL.';
  if (scheme === 'ws' || scheme === 'wss')
    return `is a WebSocket URL (${scheme}:), which MCP does not use; give the http(s) endpoint.`;
  if (scheme !== 'http' && scheme !== 'https')
    return `starts with ${scheme}:, but only https: and http: can be called.`;
  if (!URL.canParse(filled)) return 'is not valid; check its host and port.';
  const url = new URL(filled);
  if (url.username !== '' || url.password !== '') {
    return 'holds a user name or password before its host; remove it, and give credentials as headers.';
  }
  return undefined;
}

/** Whether a credential sent to `text` would cross the network unencrypted. Only for a URL without mistakes. */
export function isPlainRemote(text: string): boolean {
  const filled = text.trim().replaceAll(REFERENCE, '1');
  if (!URL.canParse(filled)) return false;
  const url = new URL(filled);
  return url.protocol === 'http:' && !isLoopbackHost(url.hostname);
}
