import { ProxyError } from '../base/errors.ts';
import type { Approval, ApprovalState, PinnedTool } from '../roster/approval-state.ts';

/** Of the file's shape; another number was written by a version that knows more than this one. */
const VERSION = 1;

/** The text of the state file. It is the program's own: people approve with a command, not by hand. */
export function approvalsText(state: ApprovalState): string {
  return `${JSON.stringify({ version: VERSION, ...state }, undefined, 1)}\n`;
}

/**
 * Reads the state file. One that cannot be read is an error, never an empty state: that would forget which
 * definitions were approved, and take whatever is listed next for the first listing.
 */
export function readApprovalsText(text: string, path: string): ApprovalState {
  if (text.trim() === '') return { upstreams: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unusable(path, 'it is not valid JSON', cause);
  }
  if (!isObject(value) || !isObject(value['upstreams'])) throw unusable(path, 'it is of another shape');
  if (value['version'] !== VERSION) throw unusable(path, 'another version of this program wrote it');
  const entries = Object.entries(value['upstreams']).map(([name, each]) => {
    if (!isApproval(each)) throw unusable(path, 'it is of another shape');
    return [name, each] as const;
  });
  return { upstreams: Object.fromEntries(entries) };
}

function unusable(path: string, why: string, cause?: unknown): ProxyError {
  return new ProxyError(
    'config_invalid',
    `${path}, which holds what you approved, cannot be used: ${why}. Repair it, or remove it and approve again.`,
    cause === undefined ? {} : { cause },
  );
}

function isApproval(value: unknown): value is Approval {
  if (!isObject(value) || typeof value['target'] !== 'string') return false;
  const { approvedAt, tools } = value;
  return (
    (approvedAt === undefined || typeof approvedAt === 'string') &&
    (tools === undefined || (isObject(tools) && Object.values(tools).every(isPinned)))
  );
}

function isPinned(value: unknown): value is PinnedTool {
  return (
    isObject(value) &&
    typeof value['digest'] === 'string' &&
    typeof value['description'] === 'string' &&
    isObject(value['inputSchema']) &&
    isObject(value['annotations'])
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
