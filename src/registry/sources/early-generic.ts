import { readServerJson } from '../server-json.ts';
import type { RegistrySource } from '../source.ts';
import { generic } from './generic.ts';

/**
 * The generic registry API as it was in July 2025, which older community registries may still speak: servers go by a
 * uuid, and only the details of one carry its packages and remotes.
 */
export const earlyGeneric: RegistrySource = {
  ...generic,
  needsDetails: true,
  async details(id, reach) {
    const url = new URL(reach.serversUrl);
    url.pathname = `${url.pathname.replace(/\/+$/, '')}/${encodeURIComponent(id)}`;
    url.search = '';
    const read = readServerJson(await reach.json(url));
    return read === 'skip' ? undefined : read;
  },
};
