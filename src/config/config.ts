import type { Limits } from '../base/limits.ts';
import type { ConfiguredRegistry } from '../registry/registries.ts';
import type { UpstreamRecord } from '../roster/record.ts';

/** What ranks by meaning beside words. */
export type EmbedderChoice =
  | { readonly kind: 'none' }
  /** The model that is installed with the program, both of its encoders or the first of them. */
  | { readonly kind: 'packed' | 'packed-small' }
  /** The model that lies in `folder`, or in the folder called `name` in it; without a name the only one there. */
  | { readonly kind: 'folder'; readonly folder: string; readonly name: string | undefined };

/**
 * The settled configuration of one run: defaults, file, environment and flags already joined, every value present.
 * Nothing later asks where a value came from.
 */
export interface Config {
  readonly upstreams: readonly UpstreamRecord[];
  /** Where to serve HTTP; `port` 0 takes a free one. Not used when `stdio` is true. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly stdio: boolean;
  /**
   * Host names (without port) requests may name besides the loopback ones, when listening on another address.
   * Empty with a non-loopback `listen.host` means: do not check.
   */
  readonly allowedHosts: readonly string[];
  /** Origins' host names browsers may call from, besides loopback ones. */
  readonly allowedOrigins: readonly string[];
  /** Patterns (`*` is the only wildcard) of tools that count as writes whatever their upstream says. */
  readonly writeTools: readonly string[];
  /** Most calls in one `call_read_tools`; 0 leaves that tool out. */
  readonly maxBatchCalls: number;
  /** Most characters of upstreams' instructions passed on. */
  readonly maxInstructions: number;
  /** How many of a query's best matches carry their input schema. */
  readonly searchSchemas: number;
  readonly embedder: EmbedderChoice;
  /** Whether starting fails when the embedder cannot be opened; else there is one warning and words rank alone. */
  readonly requireModel: boolean;
  /** Whether models are offered `search_servers`, and in a local run `upstream_servers`. */
  readonly discovery: boolean;
  /** What models may add. */
  readonly agentAdds: 'allow' | 'approve' | 'deny';
  /** Whether registries may be asked at all. */
  readonly registrySearch: boolean;
  /** Whether the packages of found servers are looked up. */
  readonly checkServerRepo: boolean;
  /** Registries of the operator's own, and switches for those that ship. */
  readonly registries: readonly ConfiguredRegistry[];
  readonly limits: Limits;
}
