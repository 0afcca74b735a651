import type { Proxy } from '../app.ts';
import type { Config } from '../config/config.ts';
import { configOf } from './context.ts';
import type { Context } from './context.ts';
import { openStore } from './open-store.ts';
import { untilStopped } from './stop-signal.ts';

/** Whoever still waits then is told what may take so long. */
const PATIENCE_MS = 5_000;
/** A person would rather wait for a busy machine than get half of the search. */
const QUESTION_MS = 10_000;

export interface WithProxyOptions {
  /** Whether the command searches: then it waits until tools have their vectors too, as long again at most. */
  readonly byMeaning?: boolean;
}

/** Runs `use` on a proxy whose upstreams have listed their tools or failed to; closes it whatever happens. */
export async function withProxy(
  context: Context,
  use: (proxy: Proxy, signal: AbortSignal) => Promise<number>,
  { byMeaning = false }: WithProxyOptions = {},
): Promise<number> {
  const stop = new AbortController();
  const stopped = untilStopped().then((code) => {
    stop.abort();
    return code;
  });
  const { createProxy } = await import('../app.ts');
  const { output } = context;
  const config = configOf(context);
  const limits = { ...config.limits, questionVectorMs: QUESTION_MS };
  const settled: Config = byMeaning ? { ...config, limits } : { ...config, embedder: { kind: 'none' } };
  const proxy = await createProxy(settled, {
    // What was approved counts here as it does while serving.
    ...(context.line.flags.has('builtin') ? {} : { store: await openStore(context) }),
    // What concerns the answer is said with it, but for a model that cannot be used.
    observer: (event) => {
      if (byMeaning && event.kind === 'note') output.note(event.message);
    },
  });
  const hasCommands = config.upstreams.some(
    ({ enabled, transport }) => enabled && transport.kind === 'stdio',
  );
  // Upstreams get as long as they get when serving: unlike an agent, a command asks only once.
  const settleMs = limits.listTimeoutMs + (hasCommands ? limits.startTimeoutMs : limits.connectTimeoutMs);
  let endProgress = output.progress('waiting for upstreams to list their tools…');
  const patience = setTimeout(() => {
    endProgress();
    endProgress = output.progress('still waiting: npx and its like fetch a server the first time…');
  }, PATIENCE_MS);
  if (!hasCommands) clearTimeout(patience);
  let shown = '';
  const onEmbedding = ({ all, embedded, whole }: { all: number; embedded: number; whole: number }): void => {
    // Tools are listed by now.
    clearTimeout(patience);
    // The number belongs to the beginning: a line for each would be a hundred where there is no terminal.
    const phase = embedded < all ? 'first' : 'second';
    if (shown === phase || whole === all) return;
    shown = phase;
    endProgress();
    endProgress = output.progress(
      phase === 'first'
        ? `reading what ${all - embedded} of ${all} tools mean, the first time only…`
        : `reading what ${all - whole} of ${all} tools mean once more, for better answers, the first time only…`,
    );
  };
  const done = proxy.local.settled(settleMs, onEmbedding).then(() => {
    clearTimeout(patience);
    endProgress();
    return use(proxy, stop.signal);
  });
  try {
    return await Promise.race([done, stopped]);
  } finally {
    clearTimeout(patience);
    endProgress();
    await proxy.close();
  }
}
