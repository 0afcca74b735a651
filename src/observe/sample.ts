/** What is under way and what is kept at one moment: read when metrics are asked for, not counted as it happens. */
export interface Sample {
  /** Requests over HTTP being served, open streams apart. */
  readonly requests: number;
  readonly upstreams: readonly {
    readonly name: string;
    /** Whether its last listing or start did not fail. */
    readonly isUp: boolean;
    readonly inFlight: number;
    readonly queued: number;
    /** Tools kept back because they are not as they were approved: changed ones, and ones that are new. */
    readonly changed: number;
    readonly added: number;
  }[];
  /** Different listings kept (equal ones of several callers are one), and their size as `maxListingBytes` counts it. */
  readonly catalogs: number;
  readonly catalogBytes: number;
  /** Tools in the search index, each counted once however many callers see it. */
  readonly poolDefinitions: number;
  /** Bytes of that index's arrays, vectors included. */
  readonly poolBytes: number;
}

/** Before the first client. */
export const IDLE: Sample = {
  requests: 0,
  upstreams: [],
  catalogs: 0,
  catalogBytes: 0,
  poolDefinitions: 0,
  poolBytes: 0,
};

/** How one upstream is, for the operator. */
export interface UpstreamHealth {
  readonly name: string;
  readonly state: 'idle' | 'starting' | 'ready' | 'failed';
  readonly reason?: string;
}
