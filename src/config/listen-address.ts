import { isIP, isIPv4, isIPv6 } from 'node:net';
import type { ListenAddress } from './settings.ts';

/** `host:port`, `:port` or `port` (both on loopback) or `[ipv6]:port`; otherwise what is wrong with it. */
export function readListenAddress(text: string): ListenAddress | { readonly wrong: string } {
  const match = /^(?:\[([^\]]*)\]:|([^:]*):)?(\d+)$/.exec(text.trim());
  if (match === null) {
    if (isIPv6(text.replace(/:\d+$/, ''))) return { wrong: 'needs its IPv6 address in brackets' };
    return { wrong: 'is not an address to listen on' };
  }
  const [, bracketed, plain, digits] = match;
  const port = Number(digits);
  if (port > 65_535) return { wrong: 'has a port above 65535' };
  if (bracketed !== undefined) {
    return isIPv6(bracketed) ? { host: bracketed, port } : { wrong: 'has no IPv6 address in its brackets' };
  }
  const host = plain ?? '';
  if (host === '') return { host: '127.0.0.1', port };
  return isHostName(host) ? { host, port } : { wrong: 'has a host that is neither a name nor an address' };
}

/** A DNS name or an IP address, without port, scheme or brackets. */
export function isHostName(text: string): boolean {
  if (isIP(text) !== 0) return true;
  // All digits and dots but no address: 127.0.0.300 is a mistake, not a name.
  if (/^[\d.]+$/.test(text)) return false;
  return /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?$/.test(
    text,
  );
}

/** Whether only this machine can be behind `host` (a URL's host name or a listen host). */
export function isLoopbackHost(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  if (isIPv4(bare)) return bare.startsWith('127.');
  return bare === '::1' || bare === 'localhost' || bare.endsWith('.localhost');
}
