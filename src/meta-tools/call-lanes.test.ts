import { describe, expect, it } from 'vitest';
import { CallLanes } from './call-lanes.ts';

const never = new AbortController().signal;
const lanes = (more: Partial<ConstructorParameters<typeof CallLanes>[1]> = {}): CallLanes =>
  new CallLanes('gate', { maxUpstreamCalls: 2, maxQueuedCalls: 4, callQueueMs: 60_000, ...more });

describe('calls at one upstream', () => {
  it('go ahead while there is a place, and wait while there is none', async () => {
    const gate = lanes();
    expect(gate.enter('a', never)).toBeUndefined();
    expect(gate.enter('a', never)).toBeUndefined();
    const third = gate.enter('a', never);
    expect([gate.running, gate.queued]).toEqual([2, 1]);
    gate.leave();
    await third;
    expect([gate.running, gate.queued]).toEqual([2, 0]);
    gate.leave();
    gate.leave();
    expect([gate.running, gate.queued]).toEqual([0, 0]);
  });

  it('of several callers take turns, whoever asked for more', async () => {
    const gate = lanes({ maxUpstreamCalls: 1, maxQueuedCalls: 100 });
    void gate.enter('greedy', never);
    const order: string[] = [];
    const ask = (caller: string, what: string): void => {
      void gate.enter(caller, new AbortController().signal)?.then(() => order.push(what));
    };
    for (let n = 1; n <= 20; n++) ask('greedy', `greedy ${n}`);
    ask('b', 'b 1');
    ask('c', 'c 1');
    ask('b', 'b 2');
    for (let n = 0; n < 7; n++) {
      gate.leave();
      await Promise.resolve();
    }
    expect(order).toEqual(['greedy 1', 'b 1', 'c 1', 'greedy 2', 'b 2', 'greedy 3', 'greedy 4']);
  });

  it('are refused at once when too many wait, naming the limits', () => {
    const gate = lanes({ maxQueuedCalls: 0 });
    void gate.enter('a', never);
    void gate.enter('a', never);
    expect(() => gate.enter('b', never)).toThrow(
      "Upstream 'gate' has 2 calls under way and 0 waiting (limits maxUpstreamCalls, maxQueuedCalls).",
    );
    expect(gate.running).toBe(2);
  });

  it('of whoever has most in a full queue make room for who has less', async () => {
    const gate = lanes();
    void gate.enter('greedy', never);
    void gate.enter('greedy', never);
    const greedy = Array.from({ length: 4 }, async () => gate.enter('greedy', never));
    const b = Promise.resolve(gate.enter('b', never));
    // The newest of theirs, and nobody else's.
    await expect(greedy[3]).rejects.toMatchObject({ code: 'busy', outcome: 'not_sent' });
    expect(gate.queued).toBe(4);
    void gate.enter('b', never);
    await expect(greedy[2]).rejects.toMatchObject({ code: 'busy' });
    // Now both have two, and whoever asks for more is who waits for it elsewhere.
    expect(() => gate.enter('b', never)).toThrow('4 waiting');
    expect(() => gate.enter('greedy', never)).toThrow('4 waiting');
    gate.leave();
    gate.leave();
    await Promise.all([greedy[0], b]);
    expect(gate.queued).toBe(2);
  });

  it('are refused when their turn does not come in time', async () => {
    const gate = lanes({ callQueueMs: 20 });
    void gate.enter('a', never);
    void gate.enter('a', never);
    await expect(gate.enter('a', never)).rejects.toMatchObject({
      code: 'busy',
      outcome: 'not_sent',
      retryAfterS: 1,
      message: expect.stringContaining('within 20 ms (limits maxUpstreamCalls, callQueueMs)') as string,
    });
    expect(gate.queued).toBe(0);
  });

  it('leave the queue when their client does', async () => {
    const gate = lanes();
    const gone = new AbortController();
    void gate.enter('a', never);
    void gate.enter('a', never);
    const waiting = gate.enter('b', gone.signal);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled', outcome: 'not_sent' });
    await expect(gate.enter('b', gone.signal)).rejects.toMatchObject({ code: 'cancelled' });
    expect(gate.queued).toBe(0);
    gate.leave();
    expect(gate.running).toBe(1);
  });
});
