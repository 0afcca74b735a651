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
      /** Exposed name of the tool called, when it is one of the caller's; never what the caller typed. */
      readonly tool?: string;
      readonly upstream?: string;
      readonly outcome: 'ok' | 'tool_error' | 'refused' | 'failed';
      readonly code?: ErrorCodeName;
      readonly ms: number;
    }
  | { readonly kind: 'unvalidated'; readonly tool: string; readonly reason: string }
  /** Something we did not foresee went wrong; the stack says where. */
  | { readonly kind: 'bug'; readonly stack: string }
  | { readonly kind: 'note'; readonly message: string };

/** Receives the house's events. Must not throw and must not keep the event. */
export type Observer = (event: HouseEvent) => void;

export const silentObserver: Observer = () => undefined;
