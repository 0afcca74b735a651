import { describe, expect, it } from 'vitest';
import { ProxyError } from '../base/errors.ts';
import { silentObserver } from '../base/observer.ts';
import type { RawResult, Upstream } from '../upstream/upstream.ts';
import type { UpstreamRecord } from './record.ts';
import { Roster } from './roster.ts';

const CONTEXT = { scope: 'own', timeoutMs: 1_000, maxMs: 1_000 };

function record(name: string, command = 'run'): UpstreamRecord {
  const transport = { kind: 'stdio', command, args: [], env: {} } as const;
  return { name, origin: 'config', trusted: true, enabled: true, auth: 'own', transport };
}

/** Upstreams that answer when told to, and a diary of what was opened and closed. */
function house(records: readonly UpstreamRecord[]): {
  roster: Roster;
  diary: string[];
  answer: (() => void)[];
} {
  const diary: string[] = [];
  const answer: (() => void)[] = [];
  const open = ({ name, transport }: UpstreamRecord): Upstream => {
    const label = `${name}/${transport.kind === 'stdio' ? transport.command : ''}`;
    if (label.endsWith('/broken')) throw new ProxyError('upstream_unresolved', 'a variable is missing');
    diary.push(`open ${label}`);
    return {
      name,
      peer: () => Promise.reject(new Error('not asked here')),
      request: () =>
        new Promise<RawResult>((resolve) => {
          answer.push(() =>
            resolve({ raw: '{}', head: { isError: false, hasPlainStructuredContent: false } }),
          );
        }),
      close: () => {
        diary.push(`close ${label}`);
        return Promise.resolve();
      },
    };
  };
  return { roster: new Roster(records, { open, observer: silentObserver }), diary, answer };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the roster', () => {
  it('leaves alone what did not change, and opens and closes what did', async () => {
    const { roster, diary } = house([record('a'), record('b'), record('c')]);
    const kept = roster.entries[0]?.upstream;
    const change = roster.update([record('a'), record('b', 'run2'), record('d')]);
    await turn();
    expect(change).toEqual({ added: ['d'], changed: ['b'], removed: ['c'] });
    expect(roster.entries.map((entry) => entry.record.name)).toEqual(['a', 'b', 'd']);
    expect(roster.entries[0]?.upstream).toBe(kept);
    expect(diary).toEqual([
      'open a/run',
      'open b/run',
      'open c/run',
      'open b/run2',
      'open d/run',
      'close b/run',
      'close c/run',
    ]);
  });

  it('closes a removed upstream only when its running calls have ended', async () => {
    const { roster, diary, answer } = house([record('a')]);
    const call = roster.entries[0]?.upstream?.request('tools/call', {}, CONTEXT);
    roster.update([]);
    await turn();
    expect(diary).toEqual(['open a/run']);
    answer[0]?.();
    await expect(call).resolves.toMatchObject({ raw: '{}' });
    await turn();
    expect(diary).toEqual(['open a/run', 'close a/run']);
  });

  it('keeps what cannot be opened, with the reason, and tries it again with the next set', () => {
    const { roster } = house([record('a', 'broken')]);
    expect(roster.entries[0]).toMatchObject({ failure: { code: 'upstream_unresolved' } });
    expect(roster.update([record('a', 'broken')]).changed).toEqual(['a']);
    expect(roster.update([record('a')]).changed).toEqual(['a']);
    expect(roster.entries[0]?.upstream).toBeDefined();
  });

  it('gives the same slugs whether an upstream is switched off or on', () => {
    const off = { ...record('My Files'), enabled: false };
    const { roster } = house([off, record('my files')]);
    expect(roster.entries.map((entry) => entry.slug)).toEqual(['my-files-2']);
    roster.update([{ ...off, enabled: true }, record('my files')]);
    expect(roster.entries.map((entry) => entry.slug)).toEqual(['My-Files', 'my-files-2']);
  });
});
