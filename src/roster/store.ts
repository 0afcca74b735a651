import type { JsonObject } from '../catalog/tool.ts';
import type { ApprovalState } from './approval-state.ts';
import type { UpstreamRecord } from './record.ts';

export type { JsonObject };

/** One change of the configured upstreams, in the words of a configuration file. */
export type UpstreamEdit =
  | { readonly kind: 'add'; readonly name: string; readonly entry: JsonObject }
  | { readonly kind: 'remove'; readonly name: string }
  /** A merge patch (RFC 7396) of the entry: `null` removes a key, an object is merged, anything else replaces. */
  | { readonly kind: 'patch'; readonly name: string; readonly patch: JsonObject };

/** What an edit came to. */
export interface UpstreamChange {
  /** Every upstream there is now, disabled ones too. */
  readonly records: readonly UpstreamRecord[];
  /** The entry before; absent when it was added. */
  readonly before?: JsonObject;
  /** The entry now; absent when it was removed. */
  readonly after?: JsonObject;
}

/**
 * Where upstreams are kept between runs: what people wrote, and beside it what they approved. Everything that cannot
 * be written is a `ProxyError` (`config_invalid`, `config_busy`, `config_write_failed`), and then nothing was changed.
 */
export interface UpstreamStore {
  /** The file people know, for sentences. */
  readonly path: string;
  /** How a person starts the program on that file: `mcpproxy`, or `mcpproxy --config FILE`. */
  readonly program: string;
  /** `upstream_exists` when a name is taken, `upstream_not_found` when there is none to change. */
  change(edit: UpstreamEdit): Promise<UpstreamChange>;
  /** An upstream's entry as it stands in the file; undefined when the file has none of that name. */
  entry(name: string): Promise<JsonObject | undefined>;
  readApprovals(): Promise<ApprovalState>;
  /** Applies `edit` to what is kept at this moment, whoever else writes. */
  changeApprovals(edit: (state: ApprovalState) => ApprovalState): Promise<ApprovalState>;
}
