import { createMetrics } from '../../src/observe/metrics.ts';
import { IDLE } from '../../src/observe/sample.ts';
import { block, code, page, table, WRITTEN } from './markdown.ts';

/** `docs/metrics.md`. */
export function metricsPage(): string {
  const metrics = createMetrics({
    version: '0.0.0',
    model: 'packed',
    sample: () => IDLE,
  });
  const described = metrics.described();
  metrics.close();
  return page(
    '# Metrics, logs, traces',
    WRITTEN,
    block('sh', 'mcpproxy --config mcpproxy.json --metrics-listen 127.0.0.1:9090'),
    'serves `/metrics` for Prometheus, and `/healthz` and `/readyz`, on an address of their own. Without `--metrics-listen` there is no such address and nothing is counted. `/readyz` answers 503 once the process has been told to stop; trouble of an upstream does not make it red, because one dead upstream must not take every proxy out of a balancer. `/readyz?verbose=1` names the upstreams and how each is.',
    table(
      ['Metric', 'Kind', 'Labels', 'What it counts'],
      described.map(({ name, type, labels, help }) => [
        code(name),
        type,
        labels.length === 0 ? '' : labels.map(code).join(', '),
        help,
      ]),
    ),
    'Besides these, the process reports the usual `process_*` and `nodejs_*` metrics. `promtool check metrics` has nothing to say against any of them. Labels come from bounded sets: the first 1,000 tools have a time series of their own, further ones are counted as `other`; what a client typed never becomes a label.',
    '## Logs',
    block('sh', 'mcpproxy --config mcpproxy.json --log-format json --log-level info'),
    'writes one JSON object a line to stderr; on a terminal you get lines for reading instead (`--log-format lines` gives them anywhere). Each MCP request is one line, over HTTP and over stdio. A call of a tool has `time`, `level`, `event` (`call`), `method`, `protocol_version`, `tool` (ours; `none` when there is no such tool), `target` (theirs), `upstream`, `kind` (read or write), `outcome`, `error_type`, `duration_ms`, `upstream_ms` (of that, what the upstream took), `caller`, `trace_id`; `call_read_tools` writes one for each call in it. Every other request has `event` (`request`), `transport`, `method`, `protocol_version`, `error_type` (a JSON-RPC code), `status`, `duration_ms`, `req_bytes`, `res_bytes`. What an upstream or a client writes into a name cannot end a line or begin one. `caller` is eight digits that lines of one caller share; they are new with each start and say nothing about who it is; `--log-callers=false` leaves them out. Queries, arguments, results, credentials and header values have no field at any level.',
    block('sh', 'mcpproxy --config mcpproxy.json --audit-log ./audit.jsonl'),
    'appends each call of a tool to a file that only its owner can read: when, which tool, read or write, how it went, the mark of the caller. Nothing of the arguments or the result is in it. It is written before the answer goes out.',
    '## Traces',
    block('sh', 'OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 mcpproxy --config mcpproxy.json'),
    "sends two spans for each call over OTLP: `tools/call call_read_tool` for the client's request, and in it `tools/call` with the tool's name for the upstream's part, with the attributes of OpenTelemetry's MCP conventions (`mcp.method.name`, `gen_ai.tool.name`, `error.type`). They belong to the trace that the client's `_meta` names in `traceparent`, and the upstream gets ours there. Arguments and results are never attributes. The exporter is loaded only when `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or `OTEL_TRACES_EXPORTER=otlp` asks for it; the other `OTEL_EXPORTER_OTLP_*` variables and `OTEL_SERVICE_NAME` are heeded. Baggage that a client sends is not passed on: it often holds who its user is.",
  );
}
