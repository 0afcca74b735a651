/** A signal that aborts when `parent` does or after `ms`; `dispose` must be called when the wait is over. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** True once the time ran out (and not because the parent aborted). */
  readonly expired: () => boolean;
  /** Starts the time again, unless `hardMs` from the beginning would pass. */
  readonly extend: () => void;
  readonly dispose: () => void;
}

/**
 * Opens a deadline. `hardMs` bounds all extensions together. One listener on the parent and one timer; both are
 * gone after `dispose` (`AbortSignal.any` keeps its dependants alive on Node 20, nodejs/node#55351).
 */
export function openDeadline(parent: AbortSignal | undefined, ms: number, hardMs: number = ms): Deadline {
  const controller = new AbortController();
  const end = performance.now() + hardMs;
  let expired = false;
  const expire = (): void => {
    expired = true;
    controller.abort(new Error(`no answer within ${ms} ms`));
  };
  let timer = setTimeout(expire, ms);
  const onParent = (): void => controller.abort(parent?.reason);
  if (parent?.aborted) onParent();
  else parent?.addEventListener('abort', onParent, { once: true });
  return {
    signal: controller.signal,
    expired: () => expired,
    extend: () => {
      if (controller.signal.aborted) return;
      clearTimeout(timer);
      timer = setTimeout(expire, Math.max(0, Math.min(ms, end - performance.now())));
    },
    dispose: () => {
      clearTimeout(timer);
      parent?.removeEventListener('abort', onParent);
    },
  };
}

/** Waits `ms`, or less when `signal` aborts; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref?.();
    signal?.addEventListener('abort', done, { once: true });
  });
}
