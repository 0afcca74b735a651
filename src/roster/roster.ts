import { ProxyError } from '../base/errors.ts';
import type { Observer } from '../base/observer.ts';
import { slugsOf } from '../catalog/exposed-name.ts';
import type { Upstream, UpstreamEvents } from '../upstream/upstream.ts';
import type { UpstreamRecord } from './record.ts';

/** An enabled upstream and what stands behind its name: something to ask, or the reason there is nothing. */
export type RosterEntry = {
  readonly record: UpstreamRecord;
  /** The unique prefix of its tools' exposed names. */
  readonly slug: string;
} & ({ readonly upstream: Upstream } | { readonly upstream?: never; readonly failure: ProxyError });

/**
 * Which upstreams there are. Opening one connects nothing; a record that cannot be opened (a missing variable)
 * stays in the roster with its reason, so that answers can name it.
 */
export class Roster {
  readonly #entries: readonly RosterEntry[];
  #toolsChanged: (upstream: string) => void = () => undefined;

  constructor(
    records: readonly UpstreamRecord[],
    parts: {
      readonly open: (record: UpstreamRecord, events: UpstreamEvents) => Upstream;
      readonly observer: Observer;
    },
  ) {
    // Disabled upstreams keep their slug, so enabling one renames nothing.
    const slugs = slugsOf(records.map((record) => record.name));
    this.#entries = records
      .filter((record) => record.enabled)
      .map((record) => {
        const slug = slugs.get(record.name) ?? record.name;
        const events: UpstreamEvents = {
          onToolsChanged: () => this.#toolsChanged(record.name),
          onState: (state, reason) =>
            parts.observer({
              kind: 'upstream',
              upstream: record.name,
              state,
              ...(reason === undefined ? {} : { reason }),
            }),
        };
        try {
          return { record, slug, upstream: parts.open(record, events) };
        } catch (thrown) {
          if (!(thrown instanceof ProxyError)) throw thrown;
          events.onState('failed', thrown.message);
          return { record, slug, failure: thrown };
        }
      });
  }

  /** The enabled upstreams, in the order they were configured. */
  get entries(): readonly RosterEntry[] {
    return this.#entries;
  }

  /** Who is told when an upstream says its tools changed. */
  onToolsChanged(listener: (upstream: string) => void): void {
    this.#toolsChanged = listener;
  }

  async close(): Promise<void> {
    await Promise.all(this.#entries.map(async (entry) => entry.upstream?.close()));
  }
}
