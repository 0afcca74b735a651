import { afterAll, onTestFinished } from 'vitest';

type Dispose = () => Promise<void> | void;

const lasting: Dispose[] = [];

// Runs for every test file that imports a support part: vitest gives each file its own copy of this module.
afterAll(async () => {
  for (const dispose of lasting.splice(0).toReversed()) await dispose();
});

/**
 * Runs `dispose` when the running test ends, however it ends; called from a `beforeAll`, when the file does.
 * What was opened last is closed first.
 */
export function whenDone(dispose: Dispose): void {
  try {
    onTestFinished(async () => dispose());
  } catch {
    // vitest throws outside a test: then it belongs to the file.
    lasting.push(dispose);
  }
}
