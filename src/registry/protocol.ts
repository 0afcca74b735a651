import { ailist } from './sources/ailist.ts';
import { apify } from './sources/apify.ts';
import { apitracker } from './sources/apitracker.ts';
import { defaultSource } from './sources/default.ts';
import { docker } from './sources/docker.ts';
import { earlyGeneric } from './sources/early-generic.ts';
import { fleur } from './sources/fleur.ts';
import { generic } from './sources/generic.ts';
import { mcpindex } from './sources/mcpindex.ts';
import { mcprun } from './sources/mcprun.ts';
import { mcpstore } from './sources/mcpstore.ts';
import { pulse } from './sources/pulse.ts';
import { reference } from './sources/reference.ts';
import { remoteServers } from './sources/remote-servers.ts';
import { smithery } from './sources/smithery.ts';
import type { RegistrySource } from './source.ts';

/** Every protocol a registry may speak, by the name the table and the configuration write. */
export const SOURCES = {
  'modelcontextprotocol/registry': generic,
  /** The generic API as it was in July 2025. */
  'mcp/v0': earlyGeneric,
  'builtin/reference': reference,
  'custom/docker': docker,
  'custom/pulse': pulse,
  'custom/smithery': smithery,
  'custom/mcprun': mcprun,
  'custom/mcpindex': mcpindex,
  'custom/apify': apify,
  'custom/fleur': fleur,
  'custom/apitracker': apitracker,
  'custom/ailist': ailist,
  'custom/mcpstore': mcpstore,
  'custom/remote': remoteServers,
  default: defaultSource,
} as const satisfies Record<string, RegistrySource>;

export type Protocol = keyof typeof SOURCES;

export function isProtocol(text: string): text is Protocol {
  return Object.hasOwn(SOURCES, text);
}

export function sourceOf(protocol: Protocol): RegistrySource {
  return SOURCES[protocol];
}
