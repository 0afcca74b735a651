import { describe, expect, it } from 'vitest';
import { RestartPolicy } from './restart-policy.ts';

const crash = (policy: RestartPolicy, now: number, life: { livedMs?: number; answeredCall?: boolean } = {}) =>
  policy.crashed({ now, livedMs: 10, answeredCall: false, ...life });

describe('the restart policy', () => {
  it('starts at once after one crash, waits longer after each more, then refuses for a while', () => {
    const policy = new RestartPolicy(() => 0.5);
    expect(policy.verdict(0)).toEqual({ kind: 'start', waitMs: 0 });
    const seen = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(() => {
      crash(policy, 0);
      return policy.verdict(0);
    });
    expect(seen).toEqual([
      { kind: 'start', waitMs: 0 },
      { kind: 'start', waitMs: 1_000 },
      { kind: 'start', waitMs: 2_000 },
      { kind: 'start', waitMs: 4_000 },
      { kind: 'refused', forMs: 10_000 },
      { kind: 'refused', forMs: 20_000 },
      { kind: 'refused', forMs: 40_000 },
      { kind: 'refused', forMs: 80_000 },
      { kind: 'refused', forMs: 160_000 },
      { kind: 'refused', forMs: 300_000 },
    ]);
    expect(policy.verdict(300_000)).toEqual({ kind: 'start', waitMs: 0 });
  });

  it('forgets what was before a life that lasted or answered a call', () => {
    for (const life of [{ livedMs: 60_000 }, { answeredCall: true }]) {
      const policy = new RestartPolicy(() => 0.5);
      for (let n = 0; n < 8; n++) crash(policy, 0);
      crash(policy, 0, life);
      expect(policy.verdict(0)).toEqual({ kind: 'start', waitMs: 0 });
      expect(policy.inARow).toBe(1);
    }
  });

  it('varies its waits by a fifth either way', () => {
    const waitWith = (random: number): unknown => {
      const policy = new RestartPolicy(() => random);
      crash(policy, 0);
      crash(policy, 0);
      return policy.verdict(0);
    };
    expect([waitWith(0), waitWith(1)]).toEqual([
      { kind: 'start', waitMs: 800 },
      { kind: 'start', waitMs: 1_200 },
    ]);
  });
});
