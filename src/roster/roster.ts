import { isDeepStrictEqual } from 'node:util';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { Observer } from '../base/observer.ts';
import { slugsOf } from '../catalog/exposed-name.ts';
import type { Tool } from '../catalog/tool.ts';
import type { Listing } from '../upstream/list-tools.ts';
import type { Upstream, UpstreamEvents } from '../upstream/upstream.ts';
import { admit, pinsOf } from './admission.ts';
import type { Withheld } from './admission.ts';
import { approvalOf, NO_APPROVALS, targetOf, withApproval } from './approval-state.ts';
import type { Approval, ApprovalState } from './approval-state.ts';
import type { UpstreamRecord } from './record.ts';
import { RetiringUpstream } from './retiring-upstream.ts';
import { shellWord } from '../base/shell-word.ts';

/** An enabled upstream and what stands behind its name: something to ask, or the reason there is nothing. */
export type RosterEntry = {
  /** `trusted` also for what an agent added, once a person approved it. */
  readonly record: UpstreamRecord;
  /** The unique prefix of its tools' exposed names. */
  readonly slug: string;
} & ({ readonly upstream: RetiringUpstream } | { readonly upstream?: never; readonly failure: ProxyError });

/** What an agent may add: used at once, used when a person approved it, or not at all. */
export type AgentAdds = 'allow' | 'approve' | 'deny';

export interface RosterParts {
  readonly open: (record: UpstreamRecord, events: UpstreamEvents) => Upstream;
  readonly observer: Observer;
  /** `allow` when left out. */
  readonly agentAdds?: AgentAdds;
  /** How a person starts the program, for sentences; `mcpproxy` when left out. */
  readonly program?: string;
  /** Keeps the definitions of an upstream that was listed for the first time. */
  readonly keepPins?: (name: string, approval: Approval) => void;
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
  /** As they were given, disabled ones too, whatever was approved since. */
  #records: readonly UpstreamRecord[] = [];
  /** `unreadable`: nobody knows what was approved, so nothing that needs it may be used. */
  #approvals: ApprovalState | 'unreadable' = NO_APPROVALS;
  /** What each upstream that an agent added listed last, what of it was kept back, and why. */
  readonly #kept = new Map<
    string,
    { readonly listed: readonly Tool[]; readonly withheld: readonly Withheld[]; readonly why?: string }
  >();
  /** Closing in the background: out of service, calls still running. */
  readonly #retiring = new Set<Promise<void>>();
  #toolsChanged: (upstream: string) => void = () => undefined;

  constructor(
    records: readonly UpstreamRecord[],
    parts: RosterParts,
    approvals: ApprovalState | 'unreadable' = NO_APPROVALS,
  ) {
    this.#parts = parts;
    this.#approvals = approvals;
    this.update(records);
  }

  /** Every upstream, disabled ones too, in the order they were configured. */
  get records(): readonly UpstreamRecord[] {
    return this.#records.map((record) => this.#judged(record));
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
    this.#records = records;
    // Disabled upstreams keep their slug, so enabling one renames nothing.
    const slugs = slugsOf(records.map((record) => record.name));
    const before = new Map(this.#entries.map((entry) => [entry.record.name, entry]));
    const added: string[] = [];
    const changed: string[] = [];
    this.#entries = records
      .filter((record) => record.enabled)
      .map((given) => {
        const record = this.#judged(given);
        const slug = slugs.get(record.name) ?? record.name;
        const old = before.get(record.name);
        if (old?.upstream !== undefined && isSameUpstream(old.record, record)) {
          before.delete(record.name);
          // An entry stays the very one it was while nothing of it changed.
          return old.slug === slug && isDeepStrictEqual(old.record, record)
            ? old
            : { record, slug, upstream: old.upstream };
        }
        (old === undefined ? added : changed).push(record.name);
        return this.#open(record, slug);
      });
    for (const { upstream } of before.values()) if (upstream !== undefined) this.#retire(upstream);
    const removed = [...before.keys()].filter((name) => !changed.includes(name));
    return { added, changed, removed };
  }

  /**
   * Takes what people approved, as it is kept now. Gives the names of the upstreams of which another share may be
   * used than before; what they listed has to be admitted again.
   */
  setApprovals(approvals: ApprovalState | 'unreadable'): readonly string[] {
    const before = this.#records.map((record) => this.#approvalOf(record));
    this.#approvals = approvals;
    const changed = this.#records.filter(
      (record, n) => record.origin === 'agent' && !isDeepStrictEqual(before[n], this.#approvalOf(record)),
    );
    if (changed.length > 0) this.update(this.#records);
    return changed.map(({ name }) => name);
  }

  /** What is known of an upstream that an agent added; undefined of every other, and of one nobody listed yet. */
  approval(name: string): Approval | undefined {
    const record = this.#records.find((each) => each.name === name);
    const approval = record?.origin === 'agent' ? this.#approvalOf(record) : undefined;
    return approval === 'unreadable' ? undefined : approval;
  }

  /** Everything an upstream that an agent added listed last, also what may not be used. */
  listed(name: string): readonly Tool[] {
    return this.#kept.get(name)?.listed ?? [];
  }

  /** The tools of an upstream that are not as they were pinned, and so were kept back when it was last listed. */
  withheld(name: string): readonly Withheld[] {
    return this.#kept.get(name)?.withheld ?? [];
  }

  /** Why tools of an upstream were kept back when it was last listed, in words a model can pass on. */
  waiting(name: string): string | undefined {
    return this.#kept.get(name)?.why;
  }

  /**
   * The share of a listing that may be used. Of what people configured it is all of it. What an agent added is held to
   * the definitions it had when it was first listed, or last approved, and says nothing of its own to the model
   * before a person approved it.
   */
  admit(record: UpstreamRecord, listing: Listing): Listing {
    if (record.origin !== 'agent') return listing;
    const { instructions: _instructions, ...quiet } = listing;
    const { name } = record;
    const known = this.#approvalOf(record);
    if (known === 'unreadable') {
      const why =
        'what was approved cannot be read, so nothing that an agent added is used; the log says why';
      this.#kept.set(name, { listed: listing.tools, withheld: [], why });
      return { ...quiet, tools: [] };
    }
    const approval = this.#pinned(record, known, listing);
    const { admitted, withheld } = admit(listing.tools, approval);
    const isApproved = approval.approvedAt !== undefined;
    const command = `${this.#parts.program ?? 'mcpproxy'} upstream_servers approve ${shellWord(name)}`;
    const isHidden = !isApproved && this.#parts.agentAdds === 'approve';
    if (isHidden) {
      const why = `an agent added it, and a person has to approve it first: ${command}`;
      this.#kept.set(name, { listed: listing.tools, withheld, why });
    } else if (withheld.length > 0) {
      const names = withheld.map((each) => `${each.name} (${each.kind})`);
      const shown = names.length > 10 ? [...names.slice(0, 10), `and ${names.length - 10} more`] : names;
      const since = isApproved ? 'approved' : 'first listed';
      const why = `kept back, because not as ${since}, until a person runs \`${command}\`: ${shown.join(', ')}`;
      this.#kept.set(name, { listed: listing.tools, withheld, why });
    } else this.#kept.set(name, { listed: listing.tools, withheld });
    return { ...(isApproved ? listing : quiet), tools: isHidden ? [] : admitted };
  }

  /** Ends an upstream's connection (its child) and opens another; running calls end first. */
  reopen(name: string): void {
    this.#entries = this.#entries.map((entry) => {
      if (entry.record.name !== name) return entry;
      if (entry.upstream !== undefined) this.#retire(entry.upstream);
      return this.#open(entry.record, entry.slug);
    });
  }

  /** The pins that hold; those of the first listing when there are none yet. */
  #pinned(record: UpstreamRecord, known: Approval | undefined, { tools }: Listing): Approval {
    const approval = known ?? { target: targetOf(record.transport) };
    // A server that has nothing to show before it is given what it needs has not shown its tools yet.
    if (approval.tools !== undefined || tools.length === 0) return approval;
    const pinned = { ...approval, tools: pinsOf(tools) };
    if (this.#approvals !== 'unreadable')
      this.#approvals = withApproval(this.#approvals, record.name, pinned);
    this.#parts.keepPins?.(record.name, pinned);
    return pinned;
  }

  #approvalOf(record: UpstreamRecord): Approval | 'unreadable' | undefined {
    return this.#approvals === 'unreadable' ? this.#approvals : approvalOf(this.#approvals, record);
  }

  /** The record as it is trusted: what an agent added, from the moment a person approved it. */
  #judged(record: UpstreamRecord): UpstreamRecord {
    if (record.origin !== 'agent') return record;
    const approval = this.#approvalOf(record);
    const trusted = approval !== 'unreadable' && approval?.approvedAt !== undefined;
    return { ...record, trusted };
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

/** Whether two records are reached in the same way, so that a connection may stay. */
function isSameUpstream(a: UpstreamRecord, b: UpstreamRecord): boolean {
  return isDeepStrictEqual({ ...a, trusted: b.trusted }, b);
}
