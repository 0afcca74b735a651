import { createHash } from 'node:crypto';
import type { Tool } from '../catalog/tool.ts';
import type { UpstreamRecord, UpstreamTransport } from './record.ts';

/** A tool's definition as it was first listed, or last approved. */
export type PinnedTool = Omit<Tool, 'name'>;

/** What is known of one upstream that was added by an agent. */
export interface Approval {
  /** What it was reached by; an upstream of that name that is reached by something else is another one. */
  readonly target: string;
  /** When a person approved it, as an ISO 8601 moment; absent until somebody did. */
  readonly approvedAt?: string;
  /** The definitions that hold, by the tool's own name; absent until it was listed. */
  readonly tools?: Readonly<Record<string, PinnedTool>>;
}

/** Approvals and pinned definitions, by the upstream's name. */
export interface ApprovalState {
  readonly upstreams: Readonly<Record<string, Approval>>;
}

export const NO_APPROVALS: ApprovalState = { upstreams: {} };

/** The approval of a record, when it was given to just what the record reaches now. */
export function approvalOf(state: ApprovalState, record: UpstreamRecord): Approval | undefined {
  const approval = Object.hasOwn(state.upstreams, record.name) ? state.upstreams[record.name] : undefined;
  return approval?.target === targetOf(record.transport) ? approval : undefined;
}

export function withApproval(state: ApprovalState, name: string, approval: Approval): ApprovalState {
  return { upstreams: { ...state.upstreams, [name]: approval } };
}

export function withoutApproval(state: ApprovalState, name: string): ApprovalState {
  const { [name]: _gone, ...upstreams } = state.upstreams;
  return { upstreams };
}

/**
 * Identifies what an upstream is reached by: its URL, or its program with all arguments and where it runs. What it is
 * given (headers, variables) is left out: a renewed key makes no other server, and nothing secret is hashed.
 */
export function targetOf(transport: UpstreamTransport): string {
  const parts =
    transport.kind === 'http'
      ? [transport.url, transport.type ?? '']
      : [transport.command, transport.cwd ?? '', ...transport.args];
  return createHash('sha256')
    .update(JSON.stringify([transport.kind, ...parts]))
    .digest('base64url');
}

/** The state with an upstream's first definitions, unless there are some for just what it reaches. */
export function withPins(state: ApprovalState, name: string, approval: Approval): ApprovalState {
  const known = Object.hasOwn(state.upstreams, name) ? state.upstreams[name] : undefined;
  if (known?.target !== approval.target) return withApproval(state, name, approval);
  if (known.tools !== undefined || approval.tools === undefined) return state;
  return withApproval(state, name, { ...known, tools: approval.tools });
}
