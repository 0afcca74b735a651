import type { ErrorCodeName } from './errors.ts';

/**
 * What the house reports about itself. The fields are the whole of what may be recorded: names, outcomes, counts,
 * times. There is no field for queries, arguments, results, credentials, header or environment values.
 */
export type HouseEvent =
  | { readonly kind: 'listening'; readonly address: string }
  | { readonly kind: 'draining'; readonly running: number }
  | {
      readonly kind: 'upstream';
      readonly upstream: string;
      readonly state: 'starting' | 'ready' | 'failed' | 'exited' | 'stopped';
      readonly reason?: string;
    }
  | {
      readonly kind: 'listing';
      readonly upstream: string;
      readonly tools: number;
      readonly dropped: readonly string[];
      /** How many of those were dropped for what. */
      readonly causes: Readonly<Partial<Record<DropCause, number>>>;
      readonly ms: number;
    }
  | {
      readonly kind: 'listing_failed';
      readonly upstream: string;
      readonly code: ErrorCodeName;
      readonly reason: string;
    }
  | {
      readonly kind: 'call';
      readonly metaTool: string;
      /** The version of MCP the client speaks; absent where it is not known. */
      readonly protocolVersion?: string;
      /** Absent for our own tools and for calls refused before a tool was found. */
      readonly access?: 'read' | 'write';
      /** Who called, as `CallerMark` says; absent for callers without a credential, or when marks are off. */
      readonly caller?: string;
      /** The trace the call belongs to (W3C Trace Context trace-id), when its client sent one or traces are on. */
      readonly traceId?: string;
      /** Exposed name of the tool called, when it is one of the caller's; never what the caller typed. */
      readonly tool?: string;
      readonly upstream?: string;
      readonly outcome: 'ok' | 'tool_error' | 'refused' | 'failed';
      readonly code?: ErrorCodeName;
      /** What the check of the arguments said; absent when it was not come to. */
      readonly check?: ArgumentCheck;
      /** Of `ms`, what the upstream took; absent when it was not asked. */
      readonly upstreamMs?: number;
      readonly ms: number;
    }
  /** One MCP request of a client that is no call of a tool; those have `call` events. */
  | {
      readonly kind: 'request';
      readonly transport: 'http' | 'stdio';
      /** A method of MCP that we answer, or `other`: never what a client typed. */
      readonly method: string;
      readonly protocolVersion?: string;
      /** The JSON-RPC error code of the answer; absent when it is a result. */
      readonly errorCode?: number;
      /** The HTTP status of the answer; absent over stdio. */
      readonly status?: number;
      readonly requestBytes: number;
      /** Absent where the answer was written by the SDK, which does not say. */
      readonly responseBytes?: number;
      readonly ms: number;
    }
  /** One request over HTTP, whatever it was for. */
  | {
      readonly kind: 'http';
      readonly method: string;
      /** One of our routes, or `other`. */
      readonly route: string;
      readonly status: number;
      readonly ms: number;
    }
  /** One exchange with an upstream. */
  | {
      readonly kind: 'exchange';
      readonly upstream: string;
      readonly method: string;
      readonly transport: 'http' | 'stdio';
      readonly code?: ErrorCodeName;
      readonly ms: number;
    }
  | {
      readonly kind: 'search';
      readonly mode: 'hybrid' | 'words';
      readonly queries: number;
      readonly matches: number;
      readonly ms: number;
    }
  /** A request turned away because a limit was reached; `limit` is the limit's name. */
  | {
      readonly kind: 'shed';
      readonly scope: 'process' | 'caller' | 'upstream';
      readonly limit: string;
      readonly upstream?: string;
    }
  /** A caller got a listing that is older than it should be, because a newer one could not be had. */
  | { readonly kind: 'stale'; readonly upstream: string }
  /** A caller's listing was dropped to make room, by number or by memory. */
  | { readonly kind: 'evicted'; readonly upstream: string; readonly limit: 'maxListings' | 'maxListingBytes' }
  /** One reading of a registry: all pages of a search, or the details of one server. */
  | {
      readonly kind: 'registry';
      /** Its id, from the table or the configuration. */
      readonly registry: string;
      readonly code?: ErrorCodeName;
      readonly ms: number;
    }
  /** Tools that wanted vectors have them, or as long as `isWhole` is false their quick first part. */
  | {
      readonly kind: 'vectors';
      /** How many got theirs, from disk too. */
      readonly tools: number;
      readonly isWhole: boolean;
      readonly ms: number;
    }
  | { readonly kind: 'unvalidated'; readonly tool: string; readonly reason: string }
  /** Something we did not foresee went wrong; the stack says where. */
  | { readonly kind: 'bug'; readonly stack: string }
  | { readonly kind: 'note'; readonly message: string };

/** Why a tool is left out of a listing: it cannot be used, it is over `maxToolBytes`, or its name came before. */
export type DropCause = 'invalid' | 'too_large' | 'duplicate';

/** `unvalidated`: the schema is of no use, or too large. `budget`: checking took longer than `validationMs`. */
export type ArgumentCheck = 'ok' | 'refused' | 'unvalidated' | 'budget';

/** Receives the house's events. Must not throw and must not keep the event. */
export type Observer = (event: HouseEvent) => void;

export const silentObserver: Observer = () => undefined;

/**
 * Reports to several. One that throws would silence those behind it, so none may (see `Observer`).
 */
export function observers(...all: readonly Observer[]): Observer {
  const [only] = all;
  if (only === undefined) return silentObserver;
  if (all.length === 1) return only;
  return (event) => {
    for (const observe of all) observe(event);
  };
}
