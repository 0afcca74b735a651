import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { SCHEMA_BOMBS } from '../../test/support/schema-bombs.ts';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import type { JsonObject, Tool } from '../catalog/tool.ts';
import { createArgumentValidator } from './validator.ts';
import type { Verdict } from './validator.ts';

/**
 * No schema of a stranger may hold the thread everybody shares for more than 100 ms, whatever the arguments. A busy
 * machine holds it too, now and then; a schema would do it every time, so the best of a few tries counts.
 */
const MOST_MS = 100;
const TRIES = 4;

const tool = (inputSchema: JsonObject): Tool => ({
  name: 'bomb',
  description: '',
  inputSchema,
  annotations: {},
  digest: 'bomb',
});

async function check(schema: JsonObject, args: JsonObject): Promise<{ verdict: Verdict; heldMs: number }> {
  // A new one each time: what overran once is not tried again.
  const validate = createArgumentValidator(DEFAULT_LIMITS);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  // It measures from one tick to the next, so it has to tick before.
  await new Promise((resolve) => setTimeout(resolve, 20));
  const verdict = await validate(tool(schema), args);
  // A turn that was held is only seen when it is over.
  await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  return { verdict, heldMs: delay.max / 1e6 };
}

describe('a schema bomb', () => {
  it('comes in twenty kinds and more', () => {
    expect(Object.keys(SCHEMA_BOMBS).length).toBeGreaterThanOrEqual(20);
  });

  for (const [label, { schema, args }] of Object.entries(SCHEMA_BOMBS)) {
    it(`of ${label} does not hold the thread`, async () => {
      // What is loaded once is loaded before.
      await createArgumentValidator(DEFAULT_LIMITS)(tool({ type: 'object' }), {});
      let best = Infinity;
      for (let n = 0; n < TRIES && best > MOST_MS; n++) {
        const { verdict, heldMs } = await check(schema, args);
        expect(['fits', 'problems', 'unchecked']).toContain(verdict.kind);
        if (verdict.kind === 'problems') expect(verdict.problems.length).toBeLessThanOrEqual(10);
        best = Math.min(best, heldMs);
      }
      expect(best).toBeLessThanOrEqual(MOST_MS);
    });
  }
});
