import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAuditLog } from './audit-log.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'audit-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the audit log', () => {
  it('holds each call of a tool, for its owner alone, and goes on in the same file', () => {
    const path = join(folder, 'audit.jsonl');
    for (const outcome of ['ok', 'refused'] as const) {
      const log = openAuditLog(path, () => expect.unreachable());
      log.observer({
        kind: 'call',
        metaTool: 'call_write_tool',
        tool: 'shop__order',
        upstream: 'shop',
        access: 'write',
        outcome,
        ms: 3.7,
        caller: '0badcafe',
      });
      log.observer({ kind: 'call', metaTool: 'search_tools', outcome: 'ok', ms: 1 });
      log.observer({ kind: 'note', message: 'nothing of this' });
      log.close();
    }
    const lines = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toEqual(
      ['ok', 'refused'].map((outcome) => ({
        time: expect.stringMatching(/Z$/) as string,
        tool: 'shop__order',
        upstream: 'shop',
        access: 'write',
        outcome,
        duration_ms: 4,
        caller: '0badcafe',
      })),
    );
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it.skipIf(process.platform !== 'linux')('says once that it cannot write, and calls go on', () => {
    const told: string[] = [];
    const log = openAuditLog('/dev/full', (message) => told.push(message));
    const call = { kind: 'call', metaTool: 'call_read_tool', tool: 't', outcome: 'ok', ms: 1 } as const;
    log.observer(call);
    log.observer(call);
    log.close();
    expect(told).toHaveLength(1);
    expect(told[0]).toMatch(/^the audit log cannot be written: ENOSPC/);
  });
});
