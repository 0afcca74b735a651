import type { JsonObject } from '../catalog/tool.ts';
import type { Caller } from '../callers/caller.ts';

/** Everything that comes with one call of a meta-tool besides its arguments. */
export interface CallContext {
  readonly caller: Caller;
  /** The version of MCP the client speaks, where it is known and one we know. */
  readonly protocolVersion?: string;
  /** Aborts when the client cancels or goes away. */
  readonly signal: AbortSignal;
  /** Present when the client asked for progress; takes the upstream's `params`, without their token. */
  readonly onProgress?: (params: JsonObject) => void;
  /** Present when the client wants log messages; takes the upstream's `params`. */
  readonly onLog?: (params: JsonObject) => void;
  readonly logLevel?: string;
  /** What a modern client said it can do; absent for older ones, who cannot be asked for input. */
  readonly clientCapabilities?: JsonObject;
  /** The client's `_meta` as JSON text. */
  readonly meta?: string;
  /** Answers to what the upstream asked for in the round before, and its state, as JSON texts (MCP 2026-07-28, MRTR). */
  readonly inputResponses?: string;
  readonly requestState?: string;
}
