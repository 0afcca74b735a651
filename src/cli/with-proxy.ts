import type { Proxy } from '../app.ts';
import { configOf } from './context.ts';
import type { Context } from './context.ts';
import { untilStopped } from './stop-signal.ts';

/** Upstreams get as long to start as they get when serving; unlike an agent, a command asks only once. */
const SETTLE_MS = 30_000;

/** Runs `use` on a proxy whose upstreams have listed their tools or failed to; closes it whatever happens. */
export async function withProxy(
  context: Context,
  use: (proxy: Proxy, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const stop = new AbortController();
  const stopped = untilStopped().then((code) => {
    stop.abort();
    return code;
  });
  const { createProxy } = await import('../app.ts');
  // No observer: what concerns the answer is said with it.
  const proxy = await createProxy(configOf(context));
  const isSettled = context.output.progress('waiting for upstreams to list their tools…');
  const done = proxy.local.settled(SETTLE_MS).then(() => {
    isSettled();
    return use(proxy, stop.signal);
  });
  try {
    return await Promise.race([done, stopped]);
  } finally {
    isSettled();
    await proxy.close();
  }
}
