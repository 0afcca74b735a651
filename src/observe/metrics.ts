import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { DropCause, HouseEvent, Observer } from '../base/observer.ts';
import type { Sample } from './sample.ts';

export interface MetricsOptions {
  readonly version: string;
  readonly model: string;
  readonly sample: () => Sample;
}

/** The metrics of one run. */
export interface Metrics {
  readonly observer: Observer;
  readonly contentType: string;
  /** Everything, in the Prometheus text format. */
  text(): Promise<string>;
  /** Name, kind, help and labels of every metric of our own: the reference page is made of this. */
  described(): readonly {
    readonly name: string;
    readonly type: string;
    readonly help: string;
    readonly labels: readonly string[];
  }[];
  close(): void;
}

/** OpenTelemetry's buckets for `http.server.request.duration`, in seconds. */
const HTTP_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** OpenTelemetry's buckets for MCP operations, in seconds. */
const MCP_SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** A search takes microseconds to a few milliseconds. */
const SEARCH_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1];

/**
 * Metrics of prom-client that are gauges under a counter's name, which Prometheus' own checker objects to; each is the
 * sum over `type` of the one without `_total`.
 */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Tools with a time series of their own; calls of others are counted as `other`. */
const MAX_TOOLS = 1_000;
const MAX_UPSTREAMS = 1_000;
const MAX_REGISTRIES = 100;

const DROP_CAUSES: readonly DropCause[] = ['invalid', 'too_large', 'duplicate'];

/**
 * Counts the house's events. Labels hold names and codes only, each from a bounded set: what a client typed never
 * becomes one.
 */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const own: (Counter | Gauge | Histogram)[] = [];
  const labelsOf = new Map<string, readonly string[]>();
  function made<T extends Counter | Gauge | Histogram>(
    metric: T,
    name: string,
    labels: readonly string[],
  ): T {
    own.push(metric);
    labelsOf.set(name, labels);
    return metric;
  }
  const counter = (name: string, help: string, labelNames: readonly string[]): Counter =>
    made(new Counter({ name, help, labelNames: [...labelNames], registers }), name, labelNames);
  const histogram = (
    name: string,
    help: string,
    labelNames: readonly string[],
    buckets: number[],
  ): Histogram =>
    made(new Histogram({ name, help, labelNames: [...labelNames], buckets, registers }), name, labelNames);
  const gauge = (name: string, help: string, labelNames: readonly string[] = []): Gauge =>
    made(new Gauge({ name, help, labelNames: [...labelNames], registers }), name, labelNames);

  const http = histogram(
    'http_server_request_duration_seconds',
    'Time to answer an HTTP request.',
    ['method', 'route', 'status'],
    HTTP_SECONDS,
  );
  const served = histogram(
    'mcp_server_operation_duration_seconds',
    'Time to answer an MCP request of a client.',
    ['method', 'tool', 'error_type', 'protocol_version'],
    MCP_SECONDS,
  );
  const asked = histogram(
    'mcp_client_operation_duration_seconds',
    'Time an upstream took to answer one request of ours.',
    ['upstream', 'method', 'error_type', 'transport'],
    MCP_SECONDS,
  );
  const calls = counter('mcp_proxy_tool_calls_total', "Calls of upstreams' tools.", [
    'upstream',
    'tool',
    'kind',
    'outcome',
  ]);
  const inFlight = gauge(
    'mcp_proxy_inflight',
    'Requests (scope process) and calls at an upstream (scope upstream) under way.',
    ['scope', 'upstream'],
  );
  const queued = gauge('mcp_proxy_queued', 'Calls waiting for their turn at an upstream.', ['upstream']);
  const shed = counter('mcp_proxy_shed_total', 'Requests turned away because a limit was reached.', [
    'scope',
    'upstream',
    'reason',
  ]);
  const limits = counter(
    'mcp_proxy_limit_exceeded_total',
    'Times a limit was reached, by the name of its setting.',
    ['limit'],
  );
  const catalogs = gauge(
    'mcp_proxy_catalogs',
    'Different listings kept; equal ones of several callers are one.',
  );
  const catalogBytes = gauge('mcp_proxy_catalog_bytes', 'Size of the listings kept, in bytes.');
  const definitions = gauge('mcp_proxy_pool_definitions', 'Tools in the search index, each counted once.');
  const poolBytes = gauge(
    'mcp_proxy_pool_bytes',
    "Size of the search index's arrays, vectors included, in bytes.",
  );
  const listings = counter('mcp_proxy_catalog_refresh_total', 'Listings of an upstream, by how they went.', [
    'upstream',
    'result',
  ]);
  const listingTime = histogram(
    'mcp_proxy_catalog_refresh_duration_seconds',
    'Time an upstream took to list its tools.',
    ['upstream'],
    MCP_SECONDS,
  );
  const stale = counter(
    'mcp_proxy_catalog_stale_served_total',
    'Times an older listing served because a newer one could not be had.',
    ['upstream'],
  );
  const evictions = counter(
    'mcp_proxy_catalog_evictions_total',
    "Callers' listings dropped to make room, by the limit that was reached.",
    ['upstream', 'reason'],
  );
  const catalogTools = gauge('mcp_proxy_catalog_tools', 'Tools of an upstream in its latest listing.', [
    'upstream',
  ]);
  const withheld = gauge(
    'mcp_proxy_withheld_tools',
    'Tools of an upstream kept back: left out of its latest listing, or not as they were approved.',
    ['upstream', 'reason'],
  );
  const searchTime = histogram(
    'mcp_proxy_search_duration_seconds',
    'Time of a search, all its queries together.',
    ['mode'],
    SEARCH_SECONDS,
  );
  const searchResults = histogram(
    'mcp_proxy_search_results',
    'Tools a search found.',
    ['mode'],
    [0, 1, 2, 5, 10, 25, 50],
  );
  const embedding = histogram(
    'mcp_proxy_embedding_duration_seconds',
    'Time until tools that wanted vectors had them: the quick first part, and all of them.',
    ['part'],
    MCP_SECONDS,
  );
  const embedded = counter('mcp_proxy_embedded_tools_total', 'Tools that got their vectors, from disk too.', [
    'part',
  ]);
  const validation = counter(
    'mcp_proxy_validation_total',
    'Checks of arguments: they fit, were refused, or went unchecked because of the schema or the time it took.',
    ['result'],
  );
  const up = gauge('mcp_proxy_upstream_up', 'Whether the upstream is ready (1) or not (0).', ['upstream']);
  const restarts = counter(
    'mcp_proxy_upstream_restarts_total',
    "Times an upstream's process ended without being asked to.",
    ['upstream'],
  );
  const registryReads = counter(
    'mcp_proxy_registry_requests_total',
    'Readings of a registry, by how they went.',
    ['registry', 'result'],
  );
  const registryTime = histogram(
    'mcp_proxy_registry_request_duration_seconds',
    'Time of reading a registry: all pages of a search, or the details of one server.',
    ['registry'],
    MCP_SECONDS,
  );
  const build = gauge('mcp_proxy_build_info', 'Always 1; what is running is in the labels.', [
    'version',
    'node',
    'model',
  ]);
  build.set({ version: options.version, node: process.versions.node, model: options.model }, 1);

  const tools = new Bounded(MAX_TOOLS);
  const upstreams = new Bounded(MAX_UPSTREAMS);
  const registries = new Bounded(MAX_REGISTRIES);

  function sample(): void {
    const now = options.sample();
    inFlight.reset();
    queued.reset();
    up.reset();
    inFlight.set({ scope: 'process', upstream: '' }, now.requests);
    for (const upstream of now.upstreams) {
      const name = upstreams.labelOf(upstream.name);
      inFlight.set({ scope: 'upstream', upstream: name }, upstream.inFlight);
      queued.set({ upstream: name }, upstream.queued);
      up.set({ upstream: name }, upstream.isUp ? 1 : 0);
      withheld.set({ upstream: name, reason: 'changed' }, upstream.changed);
      withheld.set({ upstream: name, reason: 'new' }, upstream.added);
    }
    catalogs.set(now.catalogs);
    catalogBytes.set(now.catalogBytes);
    definitions.set(now.poolDefinitions);
    poolBytes.set(now.poolBytes);
  }

  function count(event: HouseEvent): void {
    switch (event.kind) {
      case 'http':
        http.observe({ method: event.method, route: event.route, status: event.status }, event.ms / 1_000);
        return;
      case 'request':
        served.observe(
          {
            method: event.method,
            tool: 'none',
            error_type: event.errorCode ?? '',
            protocol_version: event.protocolVersion ?? '',
          },
          event.ms / 1_000,
        );
        return;
      case 'call': {
        const error = event.code ?? (event.outcome === 'ok' ? '' : event.outcome);
        served.observe(
          {
            method: 'tools/call',
            tool: event.metaTool,
            error_type: error,
            protocol_version: event.protocolVersion ?? '',
          },
          event.ms / 1_000,
        );
        if (event.upstream !== undefined && event.tool !== undefined) {
          calls.inc({
            upstream: upstreams.labelOf(event.upstream),
            tool: tools.labelOf(event.tool),
            kind: event.access ?? '',
            outcome: event.outcome,
          });
        }
        if (event.check !== undefined) validation.inc({ result: event.check });
        return;
      }
      case 'exchange':
        asked.observe(
          {
            upstream: upstreams.labelOf(event.upstream),
            method: event.method,
            error_type: event.code ?? '',
            transport: event.transport === 'stdio' ? 'pipe' : 'tcp',
          },
          event.ms / 1_000,
        );
        return;
      case 'listing': {
        const upstream = upstreams.labelOf(event.upstream);
        listings.inc({ upstream, result: 'ok' });
        listingTime.observe({ upstream }, event.ms / 1_000);
        catalogTools.set({ upstream }, event.tools);
        for (const reason of DROP_CAUSES) withheld.set({ upstream, reason }, event.causes[reason] ?? 0);
        return;
      }
      case 'listing_failed':
        listings.inc({ upstream: upstreams.labelOf(event.upstream), result: event.code });
        return;
      case 'search':
        searchTime.observe({ mode: event.mode }, event.ms / 1_000);
        searchResults.observe({ mode: event.mode }, event.matches);
        return;
      case 'vectors': {
        const part = event.isWhole ? 'whole' : 'quick';
        embedding.observe({ part }, event.ms / 1_000);
        embedded.inc({ part }, event.tools);
        return;
      }
      case 'shed':
        shed.inc({
          scope: event.scope,
          upstream: event.upstream === undefined ? '' : upstreams.labelOf(event.upstream),
          reason: event.limit,
        });
        limits.inc({ limit: event.limit });
        return;
      case 'stale':
        stale.inc({ upstream: upstreams.labelOf(event.upstream) });
        return;
      case 'evicted':
        evictions.inc({ upstream: upstreams.labelOf(event.upstream), reason: event.limit });
        return;
      case 'registry': {
        const name = registries.labelOf(event.registry);
        registryReads.inc({ registry: name, result: event.code ?? 'ok' });
        registryTime.observe({ registry: name }, event.ms / 1_000);
        return;
      }
      case 'upstream':
        if (event.state === 'exited') restarts.inc({ upstream: upstreams.labelOf(event.upstream) });
        return;
      case 'listening':
      case 'draining':
      case 'unvalidated':
      case 'bug':
      case 'note':
        return;
    }
  }

  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);

  return {
    observer: count,
    contentType: registry.contentType,
    async text() {
      sample();
      return registry.metrics();
    },
    described: () =>
      registry
        .getMetricsAsArray()
        .filter(({ name }) => labelsOf.has(name))
        .map(({ name, type, help }) => ({
          name,
          type: String(type),
          help,
          labels: labelsOf.get(name) ?? [],
        })),
    close: () => registry.clear(),
  };
}

/** The first names keep their own label, the rest share one: somebody else decides how many there are. */
class Bounded {
  readonly #names = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  labelOf(name: string): string {
    if (this.#names.has(name)) return name;
    if (this.#names.size >= this.#max) return 'other';
    this.#names.add(name);
    return name;
  }
}
