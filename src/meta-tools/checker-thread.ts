import { Worker } from 'node:worker_threads';
import type { JsonObject } from '../catalog/tool.ts';
import { CHECKER } from './check-arguments.mjs';
import type { Verdict } from './check-arguments.mjs';

/** Memory a check may take before its thread is ended. */
const MAX_HEAP_MB = 64;

/** Checks waiting for the thread; beyond that calls are passed on unchecked. */
const MAX_WAITING = 32;

/** A thread on which schemas that may be slow are checked, one after the other. */
export interface CheckerThread {
  /** Undefined when the check took longer than allowed, or too many wait. */
  check(schema: JsonObject, args: unknown): Promise<Verdict | undefined>;
}

/** Opens the thread with the first check; a check that overruns `timeoutMs` ends it, and the next opens another. */
export function createCheckerThread(timeoutMs: number): CheckerThread {
  let thread: Promise<Worker> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  function open(): Promise<Worker> {
    return new Promise((resolve, reject) => {
      const worker = new Worker(new URL('./check-arguments.mjs', import.meta.url), {
        workerData: CHECKER,
        resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
      });
      worker.unref();
      worker.once('message', () => resolve(worker));
      worker.once('error', reject);
      // A thread out of memory is gone for good.
      worker.once('exit', () => {
        thread = undefined;
      });
    });
  }

  async function ask(schema: JsonObject, args: unknown): Promise<Verdict | undefined> {
    thread ??= open();
    const worker = await thread;
    return new Promise((resolve) => {
      const done = (verdict: Verdict | undefined): void => {
        clearTimeout(timer);
        worker.off('message', done);
        worker.off('error', fail);
        worker.off('exit', fail);
        resolve(verdict);
      };
      const fail = (): void => done(undefined);
      const timer = setTimeout(() => {
        thread = undefined;
        done(undefined);
        void worker.terminate();
      }, timeoutMs);
      worker.once('message', done);
      worker.once('error', fail);
      worker.once('exit', fail);
      worker.postMessage({ schema, args });
    });
  }

  return {
    async check(schema, args) {
      if (waiting >= MAX_WAITING) return undefined;
      waiting++;
      const turn = last.then(() => ask(schema, args)).catch(() => undefined);
      last = turn;
      try {
        return await turn;
      } finally {
        waiting--;
      }
    },
  };
}
