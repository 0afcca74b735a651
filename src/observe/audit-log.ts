import { closeSync, openSync, writeSync } from 'node:fs';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { Observer } from '../base/observer.ts';
import { plain } from './plain.ts';

/** A file that holds who called which tool, and what came of it. */
export interface AuditLog {
  readonly observer: Observer;
  close(): void;
}

/**
 * Appends one JSON object a line for each call of an upstream's tool: `time`, `tool`, `upstream`, `access`, `outcome`,
 * `error_type`, `duration_ms`, `caller` (the same mark as in the log). Nothing of the arguments or the result is in
 * it. The file is made for its owner alone (mode 0600). A line is written before the answer goes out; when it cannot
 * be, `onFailure` is told once and calls go on. Throws `audit_log_failed` when the file cannot be opened.
 */
export function openAuditLog(path: string, onFailure: (message: string) => void): AuditLog {
  const file = opened(path);
  let hasFailed = false;
  return {
    observer(event) {
      if (event.kind !== 'call' || event.tool === undefined) return;
      const line = {
        time: new Date().toISOString(),
        tool: plain(event.tool),
        upstream: event.upstream === undefined ? undefined : plain(event.upstream),
        access: event.access,
        outcome: event.outcome,
        error_type: event.code,
        duration_ms: Math.round(event.ms),
        caller: event.caller,
      };
      try {
        writeSync(file, `${JSON.stringify(line)}\n`);
        hasFailed = false;
      } catch (error) {
        if (hasFailed) return;
        hasFailed = true;
        onFailure(`the audit log cannot be written: ${messageOf(error)}`);
      }
    },
    close: () => closeSync(file),
  };
}

function opened(path: string): number {
  try {
    return openSync(path, 'a', 0o600);
  } catch (error) {
    const why = `Cannot write the audit log: ${messageOf(error)}. Name a file this user may write.`;
    throw new ProxyError('audit_log_failed', why, { cause: error });
  }
}
