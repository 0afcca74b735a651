import type { Proxy } from '../app.ts';
import { observers } from '../base/observer.ts';
import type { Observer } from '../base/observer.ts';
import type { Tracer } from '../base/tracer.ts';
import { PRODUCT } from '../base/product.ts';
import type { Config } from '../config/config.ts';
import type { Settings } from '../config/settings.ts';
import { createLineObserver } from '../observe/line-observer.ts';
import type { LogLevel } from '../observe/levels.ts';
import { openTraces, wantsTraces } from '../observe/otel-tracer.ts';
import { IDLE } from '../observe/sample.ts';

/** What a serving proxy tells its operator, and how. */
export interface Telemetry {
  readonly observer: Observer;
  readonly options: { readonly tracer?: Tracer; readonly marksCallers: boolean };
  /** Opens the operator's address, once there is a proxy to tell of. Says where, when it is open. */
  readonly listen: (proxy: Proxy) => Promise<void>;
  /** New requests should go elsewhere: the process is about to stop. */
  readonly drain: () => void;
  readonly close: () => Promise<void>;
}

/**
 * Opens the log, and the audit log, metrics and traces where they are asked for: each is loaded only then, because a
 * client waits for the handshake. Rejects when the audit log cannot be opened.
 */
export async function openTelemetry(
  config: Config,
  settings: Settings,
  { isQuiet, stderr }: { readonly isQuiet: boolean; readonly stderr: NodeJS.WriteStream },
): Promise<Telemetry> {
  const level: LogLevel = isQuiet && settings.logLevel !== 'silent' ? 'warn' : settings.logLevel;
  const isJson = settings.logFormat === 'json' || (settings.logFormat === 'auto' && !stderr.isTTY);
  const log = isJson
    ? (await import('../observe/json-observer.ts')).createJsonObserver(stderr, { level })
    : createLineObserver(stderr, { level, stamp: timeOfDay() });
  const note = (message: string): void => log({ kind: 'note', message });
  const audit =
    settings.auditLog === undefined
      ? undefined
      : (await import('../observe/audit-log.ts')).openAuditLog(settings.auditLog, note);

  let proxy: Proxy | undefined;
  let isDraining = false;
  const metrics =
    settings.metricsListen === undefined
      ? undefined
      : (await import('../observe/metrics.ts')).createMetrics({
          version: PRODUCT.version,
          model:
            config.embedder.kind === 'folder' ? (config.embedder.name ?? 'folder') : config.embedder.kind,
          sample: () => proxy?.sample() ?? IDLE,
        });
  const traces = wantsTraces(process.env) ? await openTraces({ version: PRODUCT.version }) : undefined;
  let closeListener: (() => Promise<void>) | undefined;

  return {
    observer: observers(
      log,
      ...(audit === undefined ? [] : [audit.observer]),
      ...(metrics === undefined ? [] : [metrics.observer]),
    ),
    options: {
      ...(traces === undefined ? {} : { tracer: traces.tracer }),
      marksCallers: settings.logCallers,
    },
    async listen(opened) {
      proxy = opened;
      if (metrics === undefined || settings.metricsListen === undefined) return;
      const { listenForMetrics } = await import('../observe/metrics-listener.ts');
      const listener = await listenForMetrics({
        ...settings.metricsListen,
        metrics,
        isReady: () => !isDraining,
        upstreams: () => opened.health(),
      });
      closeListener = listener.close;
      note(`metrics on ${listener.origin}/metrics`);
    },
    drain: () => {
      isDraining = true;
    },
    async close() {
      await closeListener?.();
      await traces?.close();
      metrics?.close();
      audit?.close();
    },
  };
}

/** The time of day, made once a second: a busy server writes many lines within one. */
function timeOfDay(): () => string {
  let second = 0;
  let text = '';
  return () => {
    const now = Math.floor(Date.now() / 1_000);
    if (now !== second) text = new Date(now * 1_000).toTimeString().slice(0, 8);
    second = now;
    return text;
  };
}
