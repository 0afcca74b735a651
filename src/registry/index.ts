/** Finding MCP servers in registries, for whoever embeds it without the proxy. */
export { createServerFinder } from './search-servers.ts';
export type {
  RegistryListing,
  SearchSinks,
  ServerAnswer,
  ServerFinder,
  ServerFinderOptions,
  ServerQuery,
} from './server-finder.ts';
export type { ConfiguredRegistry } from './registries.ts';
export type { Alternative, PackageFacts, RequiredInput, ServerEntry } from './server-entry.ts';
