import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../config/listen-address.ts';
import { flagOf } from '../config/settings.ts';
import { createLineObserver } from '../observe/line-observer.ts';
import { loadedOf } from './context.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { untilStopped } from './stop-signal.ts';

/** Serves until it is told to stop, or (on stdin and stdout) until its client has gone. */
export async function serve(context: Context): Promise<number> {
  const { config, settings } = loadedOf(context);
  const refusal = settings.allowUnauthenticated ? undefined : openToStrangers(config);
  if (refusal !== undefined) {
    context.output.error(refusal);
    return EXIT.config;
  }
  const stopped = untilStopped();
  const { createProxy } = await import('../app.ts');
  const observer = createLineObserver(process.stderr, {
    level: context.output.isQuiet ? 'warn' : 'info',
    stamp: () => new Date().toTimeString().slice(0, 8),
  });
  const proxy = await createProxy(config, { observer });
  try {
    if (config.stdio) {
      if (process.stdin.isTTY) {
        context.output.note(
          'mcpproxy: speaking MCP on stdin and stdout; a client starts this, not a person. Ctrl-C ends it.',
        );
      }
      await Promise.race([proxy.serveStdio(), stopped]);
    } else {
      await proxy.listen();
      await stopped;
    }
  } finally {
    await proxy.close();
  }
  return EXIT.done;
}

/**
 * Why this would let anybody on the network use the operator's own credentials, or undefined when it would not.
 * Forwarded upstreams check each caller themselves; all others are called as the operator.
 */
export function openToStrangers(config: Config): string | undefined {
  if (config.stdio || isLoopbackHost(config.listen.host)) return undefined;
  const own = config.upstreams
    .filter((upstream) => upstream.enabled && upstream.auth === 'own')
    .map((upstream) => upstream.name);
  if (own.length === 0) return undefined;
  return (
    `listening on ${config.listen.host} would let anybody who can reach it call ${own.join(', ')} as you. ` +
    `Listen on 127.0.0.1, set "auth": "forward" for servers that check callers themselves, ` +
    `or give ${flagOf('allowUnauthenticated')} if something in front of it does.`
  );
}
