import type { RequiredInput } from './server-entry.ts';

/** A package a registry says the server comes as, read and checked. */
export interface ListedPackage {
  /** `npm`, `pypi`, `oci`, `nuget`, `mcpb`, `cargo`, `go` or what the registry wrote. */
  readonly type: string;
  readonly identifier: string;
  readonly version: string | undefined;
  /** Program asked for by the publisher, when it is one we know. */
  readonly runtime: string | undefined;
  readonly runtimeArgs: readonly string[];
  readonly packageArgs: readonly string[];
  /** Places in the arguments somebody has to fill, written `{name}`. */
  readonly argInputs: readonly RequiredInput[];
  readonly env: readonly RequiredInput[];
  /** `stdio`, unless the package starts an HTTP server of its own. */
  readonly transport: string;
}

/** An endpoint a registry says the server answers on. */
export interface ListedRemote {
  /** `streamable-http` or `sse`. */
  readonly transport: string;
  /** As listed, with `{variables}`. */
  readonly url: string;
  readonly variables: readonly RequiredInput[];
  readonly headers: readonly RequiredInput[];
}

/**
 * One server as a source read it from its registry: texts cleaned and capped, everything present, nothing decided.
 * What is decided of it (which endpoint, which launch, which labels) is `entry.ts`'s.
 */
export interface ListedServer {
  readonly id: string;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly sourceUrl: string | undefined;
  readonly remotes: readonly ListedRemote[];
  readonly packages: readonly ListedPackage[];
  /** The registry's own tags, as slugs. */
  readonly tags: readonly string[];
  readonly updatedAt: string | undefined;
  readonly createdAt: string | undefined;
  readonly notes: readonly string[];
}

/** A server of which nothing but its name is known yet. */
export function listedServer(known: Pick<ListedServer, 'id' | 'name'> & Partial<ListedServer>): ListedServer {
  return {
    title: undefined,
    description: undefined,
    sourceUrl: undefined,
    remotes: [],
    packages: [],
    tags: [],
    updatedAt: undefined,
    createdAt: undefined,
    notes: [],
    ...known,
  };
}
