import { lookup } from 'node:dns/promises';
import { isAddress, mistakeInAddress } from './address.ts';

/** Where an address leads, as far as it can be told before connecting. */
export type Reach =
  /** Over https, to an address of the public internet (or a name nobody here can resolve now). */
  | { readonly kind: 'public' }
  /** To this machine, a private network or another address that is not public. */
  | { readonly kind: 'private'; readonly why: string }
  /** Over plain http, which anybody on the way can read and change. */
  | { readonly kind: 'plain' };

/** Longest a name is looked up; then it counts as one nobody can resolve. */
const LOOKUP_MS = 5_000;

/**
 * Judges a URL somebody else wrote. What is said holds for this moment: who connects later has to judge the address
 * again (`publicOnly` of the HTTP client does).
 */
export async function reachOfUrl(text: string): Promise<Reach> {
  const { protocol, hostname } = new URL(text);
  const addresses = isAddress(hostname) ? [hostname] : await addressesOf(hostname);
  for (const address of addresses) {
    const mistake = mistakeInAddress(address, { allowPrivate: false });
    if (mistake !== undefined) return { kind: 'private', why: mistake };
  }
  return protocol === 'https:' ? { kind: 'public' } : { kind: 'plain' };
}

async function addressesOf(hostname: string): Promise<readonly string[]> {
  if (/(^|\.)localhost$/i.test(hostname)) return ['127.0.0.1'];
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve([]), LOOKUP_MS);
  });
  const found = lookup(hostname, { all: true }).then(
    (all) => all.map(({ address }) => address),
    () => [],
  );
  return Promise.race([found, tooLong]).finally(() => clearTimeout(timer));
}
