import { isDeepStrictEqual } from 'node:util';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { Observer } from '../base/observer.ts';
import { slugsOf } from '../catalog/exposed-name.ts';
import type { Upstream, UpstreamEvents } from '../upstream/upstream.ts';
import type { UpstreamRecord } from './record.ts';
import { RetiringUpstream } from './retiring-upstream.ts';

/** An enabled upstream and what stands behind its name: something to ask, or the reason there is nothing. */
export type RosterEntry = {
  readonly record: UpstreamRecord;
  /** The unique prefix of its tools' exposed names. */
  readonly slug: string;
} & ({ readonly upstream: RetiringUpstream } | { readonly upstream?: never; readonly failure: ProxyError });

export interface RosterParts {
  readonly open: (record: UpstreamRecord, events: UpstreamEvents) => Upstream;
  readonly observer: Observer;
}

/** What a new set of records changed, by name. */
export interface RosterChange {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Which upstreams there are. Opening one connects nothing; a record that cannot be opened (a missing variable)
 * stays in the roster with its reason, so that answers can name it.
 */
export class Roster {
  readonly #parts: RosterParts;
  #entries: readonly RosterEntry[] = [];
  /** Closing in the background: out of service, calls still running. */
  readonly #retiring = new Set<Promise<void>>();
  #toolsChanged: (upstream: string) => void = () => undefined;

  constructor(records: readonly UpstreamRecord[], parts: RosterParts) {
    this.#parts = parts;
    this.update(records);
  }

  /** The enabled upstreams, in the order they were configured. */
  get entries(): readonly RosterEntry[] {
    return this.#entries;
  }

  /** Who is told when an upstream says its tools changed. */
  onToolsChanged(listener: (upstream: string) => void): void {
    this.#toolsChanged = listener;
  }

  /**
   * Takes these records from now on. An upstream whose record is the same stays as it is, with its connection; what
   * was changed or removed takes no new calls and is closed when its running ones have ended.
   */
  update(records: readonly UpstreamRecord[]): RosterChange {
    // Disabled upstreams keep their slug, so enabling one renames nothing.
    const slugs = slugsOf(records.map((record) => record.name));
    const before = new Map(this.#entries.map((entry) => [entry.record.name, entry]));
    const added: string[] = [];
    const changed: string[] = [];
    this.#entries = records
      .filter((record) => record.enabled)
      .map((record) => {
        const slug = slugs.get(record.name) ?? record.name;
        const old = before.get(record.name);
        if (old?.upstream !== undefined && isDeepStrictEqual(old.record, record)) {
          before.delete(record.name);
          return { record, slug, upstream: old.upstream };
        }
        (old === undefined ? added : changed).push(record.name);
        return this.#open(record, slug);
      });
    for (const { upstream } of before.values()) if (upstream !== undefined) this.#retire(upstream);
    const removed = [...before.keys()].filter((name) => !changed.includes(name));
    return { added, changed, removed };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#entries.map(async (entry) => entry.upstream?.close()), ...this.#retiring]);
  }

  #open(record: UpstreamRecord, slug: string): RosterEntry {
    const { observer } = this.#parts;
    const events: UpstreamEvents = {
      onToolsChanged: () => this.#toolsChanged(record.name),
      onState: (state, reason) =>
        observer({
          kind: 'upstream',
          upstream: record.name,
          state,
          ...(reason === undefined ? {} : { reason }),
        }),
    };
    try {
      return { record, slug, upstream: new RetiringUpstream(this.#parts.open(record, events)) };
    } catch (thrown) {
      if (!(thrown instanceof ProxyError)) throw thrown;
      events.onState('failed', thrown.message);
      return { record, slug, failure: thrown };
    }
  }

  #retire(upstream: RetiringUpstream): void {
    const retiring = upstream
      .retire()
      .catch((thrown: unknown) =>
        this.#parts.observer({ kind: 'note', message: `closing '${upstream.name}': ${messageOf(thrown)}` }),
      )
      .finally(() => this.#retiring.delete(retiring));
    this.#retiring.add(retiring);
  }
}
