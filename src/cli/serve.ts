import type { Proxy } from '../app.ts';
import { ProxyError } from '../base/errors.ts';
import type { Observer } from '../base/observer.ts';
import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../config/listen-address.ts';
import { flagOf } from '../config/settings.ts';
import type { ConfigWatch } from './config-watch.ts';
import { loadedOf } from './context.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { openStore, reload } from './open-store.ts';
import { untilStopped } from './stop-signal.ts';
import { openTelemetry } from './telemetry.ts';

/** Serves until it is told to stop, or (on stdin and stdout) until its client has gone. */
export async function serve(context: Context): Promise<number> {
  const { config, settings } = loadedOf(context);
  const refusal = settings.allowUnauthenticated ? undefined : openToStrangers(config);
  if (refusal !== undefined) {
    context.output.error(refusal);
    return EXIT.config;
  }
  let watched: ConfigWatch | undefined;
  // A service has no terminal that could go away.
  const isService = !config.stdio && !process.stdin.isTTY;
  const stopped = untilStopped(isService ? () => watched?.look() : undefined);
  const { createProxy } = await import('../app.ts');
  const telemetry = await openTelemetry(config, settings, {
    isQuiet: context.output.isQuiet,
    stderr: process.stderr,
  });
  const { observer } = telemetry;
  const store = context.line.flags.has('builtin') ? {} : { store: await openStore(context) };
  const proxy = await createProxy(config, { observer, ...telemetry.options, ...store });
  const watch = async (): Promise<void> => {
    if (!context.line.flags.has('builtin')) watched = await follow(context, proxy, observer);
  };
  try {
    await telemetry.listen(proxy);
    if (config.stdio) {
      if (process.stdin.isTTY) {
        context.output.note(
          'mcpproxy: speaking MCP on stdin and stdout; a client starts this, not a person. Ctrl-C ends it.',
        );
      }
      // A client waits for the handshake; nobody waits for the watch.
      const served = proxy.serveStdio();
      await watch();
      await Promise.race([served, stopped]);
    } else {
      await proxy.listen();
      await watch();
      await stopped;
    }
  } catch (error) {
    if (!config.requireModel || !isAboutModel(error)) throw error;
    context.output.error(`--require-model: ${error.message}`);
    return EXIT.noModel;
  } finally {
    watched?.close();
    telemetry.drain();
    await proxy.close();
    await telemetry.close();
  }
  return EXIT.done;
}

function isAboutModel(error: unknown): error is ProxyError {
  return error instanceof ProxyError && error.code.startsWith('model_');
}

/** Takes changes of the configuration file while serving. */
async function follow(context: Context, proxy: Proxy, observer: Observer): Promise<ConfigWatch> {
  const { path, settings } = loadedOf(context);
  const note = (message: string): void => observer({ kind: 'note', message });
  const { watchConfig } = await import('./config-watch.ts');
  return watchConfig({
    path,
    settings,
    note,
    load: () => reload(context),
    applyApprovals: async () => {
      const changed = await proxy.reloadApprovals();
      return changed.length === 0 ? '' : `approvals reloaded: ${changed.join(', ')}.`;
    },
    apply: async ({ config, settings: newest }) => {
      const refusal = newest.allowUnauthenticated ? undefined : openToStrangers(config);
      if (refusal !== undefined) return `the changed configuration is not taken: ${refusal}`;
      const { added, changed, removed } = await proxy.reload(config.upstreams, config.registries);
      const parts = [
        ...(added.length === 0 ? [] : [`added ${added.join(', ')}`]),
        ...(changed.length === 0 ? [] : [`changed ${changed.join(', ')}`]),
        ...(removed.length === 0 ? [] : [`removed ${removed.join(', ')}`]),
      ];
      return parts.length === 0 ? '' : `configuration reloaded: ${parts.join('; ')}.`;
    },
  });
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
