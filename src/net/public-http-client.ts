import { lookup } from 'node:dns';
import { isAddress, mistakeInAddress } from './address.ts';
import { ForbiddenAddress, guardedLookup } from './guarded-lookup.ts';
import { HttpFailure, openHttpClient } from './http-client.ts';
import type { HttpClient, HttpClientOptions } from './http-client.ts';
import { proxySettings } from './proxy-environment.ts';

/** Nothing of this machine, of a private network, or of a cloud's metadata. */
const PUBLIC = { allowPrivate: false };

/**
 * The HTTP client for URLs that people of this network did not write: it connects to public addresses only, judged
 * after DNS on the very address that is connected to, each time. Where a proxy is configured, names are looked up here
 * first; one that only the proxy can resolve is left to it.
 */
export async function openPublicHttpClient(options: Omit<HttpClientOptions, 'lookup'>): Promise<HttpClient> {
  const judged = guardedLookup(lookup, PUBLIC);
  const isProxied = proxySettings(options.env) !== undefined;
  const client = await openHttpClient({ ...options, lookup: judged });

  async function mustBePublic(url: string): Promise<void> {
    const { hostname } = new URL(url);
    if (isAddress(hostname)) {
      const mistake = mistakeInAddress(hostname, PUBLIC);
      if (mistake !== undefined) throw new HttpFailure('connect', new ForbiddenAddress(mistake));
    } else if (isProxied) {
      await new Promise<void>((resolve, reject) => {
        judged(hostname, { all: true }, (error) =>
          error instanceof ForbiddenAddress ? reject(new HttpFailure('connect', error)) : resolve(),
        );
      });
    }
  }

  return {
    async send(request) {
      await mustBePublic(request.url);
      return client.send(request);
    },
    async fetch(input, init) {
      await mustBePublic(input instanceof Request ? input.url : String(input));
      return client.fetch(input, init);
    },
    close: () => client.close(),
  };
}
