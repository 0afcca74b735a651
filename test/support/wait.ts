import { setTimeout as sleep } from 'node:timers/promises';

export { sleep };

/** Longest any wait of a test may take unless it says otherwise. Generous: a deadline here is no speed check. */
export const DEADLINE_MS = 15_000;

/** Asks again and again until `ask` gives something truthy; an error naming `what` after the deadline. */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  deadlineMs = DEADLINE_MS,
): Promise<NonNullable<Exclude<T, false>>> {
  const end = Date.now() + deadlineMs;
  let last: unknown;
  for (;;) {
    const answer = await within(what, Promise.resolve(ask()), deadlineMs);
    if (answer) return answer as NonNullable<Exclude<T, false>>;
    last = answer;
    if (Date.now() > end)
      throw new Error(`Gave up after ${deadlineMs} ms waiting until ${what} (last: ${String(last)})`);
    await sleep(20);
  }
}

/** The promise's value, or an error naming `what` when it takes longer than the deadline. */
export async function within<T>(what: string, promise: Promise<T>, deadlineMs = DEADLINE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Not done within ${deadlineMs} ms: ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
