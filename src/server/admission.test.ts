import { describe, expect, it } from 'vitest';
import { Admission } from './admission.ts';

describe('admission', () => {
  it('lets each caller have so many requests, and the others theirs', () => {
    const admission = new Admission({ maxRequests: 10, maxCallerRequests: 2 });
    const leave = admission.enter('a');
    expect(admission.enter('a')).toBeTypeOf('function');
    expect(admission.enter('a')).toMatchObject({
      status: 429,
      retryAfterS: 1,
      message: expect.stringContaining(
        'this caller has 2 requests under way (limit maxCallerRequests)',
      ) as string,
    });
    expect(admission.enter('b')).toBeTypeOf('function');
    if (typeof leave !== 'function') throw new Error('the first is let in');
    leave();
    expect(admission.enter('a')).toBeTypeOf('function');
    expect(admission.running).toBe(3);
  });

  it('blames no caller for what all of them ask together', () => {
    const admission = new Admission({ maxRequests: 2, maxCallerRequests: 2 });
    admission.enter('a');
    admission.enter(undefined);
    expect(admission.enter('c')).toMatchObject({
      status: 503,
      message: expect.stringContaining('this server has 2 requests under way (limit maxRequests)') as string,
    });
  });

  it('forgets callers whose requests are over', () => {
    const admission = new Admission({ maxRequests: 5_000, maxCallerRequests: 1 });
    for (let n = 0; n < 2_000; n++) {
      const leave = admission.enter(`junk ${n}`);
      if (typeof leave === 'function') leave();
    }
    expect(admission.running).toBe(0);
    expect(admission.callers).toBe(0);
  });
});
