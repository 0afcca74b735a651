import type { Observer } from '../base/observer.ts';
import type { GuardedFetch } from '../net/guarded-fetch.ts';
import type { KnownRegistry } from './known.ts';
import type { PackageAddresses } from './packages/addresses.ts';
import type { ReadingLimits } from './reading.ts';
import type { ConfiguredRegistry } from './registries.ts';
import type { ServerEntry } from './server-entry.ts';

/** What is looked for. */
export interface ServerQuery {
  /** Id or name, letters' case not counting; `all` asks every searchable one side by side. */
  readonly registry?: string;
  readonly search?: string;
  readonly tag?: string;
  readonly limit?: number;
}

export interface ServerAnswer {
  readonly servers: readonly ServerEntry[];
  /** Servers that match, of those read; more may exist when `truncated`. */
  readonly matched: number;
  readonly returned: number;
  readonly truncated: boolean;
  /** `live`: just read. `cache`: read less than a minute ago. `stale`: older, because it cannot be read now. */
  readonly source: 'live' | 'cache' | 'stale';
  readonly asOf: string;
  readonly warnings: readonly string[];
  /** The next step, when it is plain. */
  readonly next?: string;
}

/** A registry as `--list-registries` shows it. */
export interface RegistryListing {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly url: string | null;
  readonly protocol: string | null;
  readonly tags: readonly string[];
  readonly aliases: readonly string[];
  readonly origin: 'known' | 'config';
  readonly enabled: boolean;
  readonly searchable: boolean;
  /** What its own search looks at; `null`: its whole listing is read and searched here. */
  readonly server_search: 'names' | 'everything' | null;
  /** Whether `tag` can name more than the labels every server gets. */
  readonly server_tags: boolean;
  readonly key_required: boolean;
  readonly key_variable: string | null;
  readonly key_present: boolean;
  /** Its listing is on plain http. */
  readonly insecure: boolean;
  /** Whether what it lists can be added: it gives endpoints or packages. */
  readonly addable: boolean;
  /** No source confirms the shape its answers are read in. */
  readonly unconfirmed: boolean;
}

export interface SearchSinks {
  readonly signal?: AbortSignal;
  /** One line about how far it is; for people and progress notices. */
  readonly onProgress?: (line: string, done: number) => void;
  /** Each request made to a registry, for `-v`. */
  readonly onRequest?: (line: string) => void;
}

export interface ServerFinder {
  readonly registries: readonly RegistryListing[];
  /** The ids that can be searched, for a sentence. */
  readonly choice: string;
  /** Throws `ProxyError` with one of the `registry_…` codes. */
  search(query: ServerQuery, sinks?: SearchSinks): Promise<ServerAnswer>;
  /** The server of one id, read anew from its registry (`all` is none); `server_not_found` when it lists none. */
  find(registry: string, id: string, sinks?: SearchSinks): Promise<ServerEntry>;
  /** Whether a registry that may list its owner's own network (`allowPrivate`) lists this endpoint. */
  listsPrivate(url: string, sinks?: SearchSinks): Promise<boolean>;
  close(): Promise<void>;
}

export interface ServerFinderOptions {
  readonly registries: readonly ConfiguredRegistry[];
  /** False: no registry is asked anything. */
  readonly registrySearch: boolean;
  /** Whether shown servers' packages are looked up. */
  readonly checkServerRepo: boolean;
  readonly limits: ReadingLimits;
  /** Where keys, and npm's and pip's addresses, are found. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** In place of the ones that ship, for whoever embeds us. */
  readonly known?: readonly KnownRegistry[];
  readonly packages?: PackageAddresses;
  readonly fetch?: GuardedFetch;
  /** Told of each reading of a registry. */
  readonly observer?: Observer;
  /** Wall clock in milliseconds. */
  readonly now?: () => number;
}
