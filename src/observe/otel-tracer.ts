import type { Attributes, Context } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { TraceContext, Tracer } from '../base/tracer.ts';

export interface TracesOptions {
  readonly version: string;
  /** Where spans go; the OTLP exporter as the `OTEL_EXPORTER_OTLP_*` variables configure it when left out. */
  readonly exporter?: SpanExporter;
}

export interface Traces {
  readonly tracer: Tracer;
  /** Sends what is still here, for at most a few seconds. */
  readonly close: () => Promise<void>;
}

/** Whether the environment asks for traces, as OpenTelemetry's specification names the variables. */
export function wantsTraces(env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const exporter = env['OTEL_TRACES_EXPORTER'];
  if (exporter !== undefined && exporter !== '') return exporter.split(',').includes('otlp');
  return Boolean(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT']);
}

/** A process that ends does not wait longer than this for a collector. */
const CLOSE_TIMEOUT_MS = 2_000;

/**
 * Makes spans with the attributes of OpenTelemetry's MCP conventions (`mcp.method.name`, `gen_ai.tool.name`,
 * `gen_ai.operation.name`, `error.type`). `gen_ai.tool.call.arguments` and `.result` are never set. Loads the SDK,
 * so it is asked for only where traces are wanted.
 */
export async function openTraces(options: TracesOptions): Promise<Traces> {
  const [{ ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, createTraceState, trace }, sdk, resources] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
    ]);
  const exporter =
    options.exporter ?? new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter();
  const provider = new sdk.TracerProvider({
    resource: resources.defaultResource().merge(
      resources.resourceFromAttributes({
        'service.name': process.env['OTEL_SERVICE_NAME'] ?? 'mcp-toolsearch-proxy',
        'service.version': options.version,
      }),
    ),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  });
  const tracer = provider.getTracer('mcp-toolsearch-proxy', options.version);

  function contextOf(parent: TraceContext | undefined): Context {
    const read = parent === undefined ? undefined : readTraceparent(parent.traceparent);
    if (parent === undefined || read === undefined) return ROOT_CONTEXT;
    return trace.setSpanContext(ROOT_CONTEXT, {
      traceId: read.traceId,
      spanId: read.spanId,
      traceFlags: read.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      isRemote: true,
      ...(parent.tracestate === undefined ? {} : { traceState: createTraceState(parent.tracestate) }),
    });
  }

  return {
    tracer(side, facts, parent) {
      const attributes: Attributes = {
        'mcp.method.name': facts.method,
        'gen_ai.tool.name': facts.tool,
        'gen_ai.operation.name': 'execute_tool',
        ...(facts.upstream === undefined ? {} : { 'mcp.proxy.upstream': facts.upstream }),
      };
      const span = tracer.startSpan(
        `${facts.method} ${facts.tool}`,
        { kind: side === 'server' ? SpanKind.SERVER : SpanKind.CLIENT, attributes },
        contextOf(parent),
      );
      const { traceId, spanId, traceFlags, traceState } = span.spanContext();
      const tracestate = traceState?.serialize();
      let hasEnded = false;
      return {
        traceId,
        context: {
          traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
          ...(tracestate === undefined || tracestate === '' ? {} : { tracestate }),
        },
        end(errorType) {
          if (hasEnded) return;
          hasEnded = true;
          if (errorType !== undefined) {
            span.setAttribute('error.type', errorType);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    async close() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      });
      // A collector that is not there is nobody's reason to fail.
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

/** W3C Trace Context §3.2: version, trace-id, parent-id and flags; a later version may add more behind them. */
function readTraceparent(
  text: string,
): { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean } | undefined {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text);
  if (match === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '00', more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
