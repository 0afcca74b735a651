import type { JsonObject } from '../catalog/tool.ts';
import type { Secret } from '../base/secret.ts';

/** Protocol generation: `modern` is 2026-07-28 and later (no handshake, no session), `legacy` everything before. */
export type Era = 'modern' | 'legacy';

/** What an upstream said of itself. */
export interface Peer {
  readonly era: Era;
  readonly protocolVersion: string;
  readonly instructions?: string;
  /** Whether an older peer sends log messages, at a level it has to be told; newer ones are told with each request. */
  readonly takesLogLevel?: true;
}

/** Parameters of a request, each as the JSON text to send, so that arguments travel as the client wrote them. */
export type RawParams = { readonly [name: string]: string };

/** The few fields of a result that somebody looks at. */
export interface ResultHead {
  readonly isError: boolean;
  /** What kind of result it says it is; older generations never do, and mean `complete`. */
  readonly resultType?: string;
  /** Whether `structuredContent` is there and something other than an object, which older clients cannot take. */
  readonly hasPlainStructuredContent: boolean;
  /** How long the result may be kept, in milliseconds, when the upstream said so. */
  readonly ttlMs?: number;
}

/** A result: its own JSON text, to be passed on untouched, and what we looked at. */
export interface RawResult {
  readonly raw: string;
  readonly head: ResultHead;
}

/** On whose behalf and under which conditions a request is sent. */
export interface RequestContext {
  /**
   * Names the credential scope: requests of equal scope may share a session at the upstream. `own` for an upstream's
   * own credential, otherwise a keyed hash of the caller's.
   */
  readonly scope: string;
  /** The caller's `Authorization` header; only for forwarded upstreams. */
  readonly credential?: Secret;
  /** `Mcp-Param-*` headers for a modern HTTP upstream, names in lower case. */
  readonly paramHeaders?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Longest wait without a sign of life, in milliseconds; progress starts it again. */
  readonly timeoutMs: number;
  /** Longest wait in all, in milliseconds, also with progress. */
  readonly maxMs: number;
  /** Called with the upstream's progress notifications (their `params`). */
  readonly onProgress?: (params: JsonObject) => void;
  /** Called with the upstream's log messages during this request (their `params`). */
  readonly onLog?: (params: JsonObject) => void;
  /** What the asking client can do (elicitation, sampling …), told to a modern upstream. */
  readonly clientCapabilities?: JsonObject;
  /** Least severe log message the client wants, told to a modern upstream. */
  readonly logLevel?: string;
  /** The client's other `_meta` members as the text of a JSON object, such as trace context. */
  readonly meta?: string;
}

/**
 * An MCP server behind us. Connects on demand and again after trouble; every method throws `ProxyError`s only.
 * Writes are never repeated: a request goes out once, or provably not at all before it is tried again.
 */
export interface Upstream {
  readonly name: string;
  /** Longest connecting may take, in milliseconds; `connectTimeoutMs` when left out. */
  readonly connectMs?: number;
  /** Connects if need be and tells who answers. One handshake per scope at a time, shared by all who wait. */
  peer(context: RequestContext): Promise<Peer>;
  request(method: string, params: RawParams, context: RequestContext): Promise<RawResult>;
  /** Ends sessions and children; resolves when they are gone. */
  close(): Promise<void>;
}

export interface UpstreamEvents {
  /** The upstream says its tools changed; may come often, whoever listens coalesces. */
  readonly onToolsChanged: () => void;
  readonly onState: (state: 'ready' | 'failed' | 'exited' | 'stopped', reason?: string) => void;
}
