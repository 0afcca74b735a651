import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import { listenForMetrics } from './metrics-listener.ts';
import type { MetricsListener } from './metrics-listener.ts';
import { IDLE } from './sample.ts';
import type { Sample } from './sample.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function metricsOf(sample: Sample = IDLE): Metrics {
  const metrics = createMetrics({ version: '1.2.3', model: 'packed', sample: () => sample });
  closing.push(() => metrics.close());
  return metrics;
}

const ownLines = (text: string): string[] =>
  text.split('\n').filter((line) => /^(mcp_|http_)/.test(line) && !line.includes('_bucket'));

describe('metrics', () => {
  it('count calls by upstream, tool, kind and outcome', async () => {
    const metrics = metricsOf();
    const call = {
      kind: 'call',
      metaTool: 'call_read_tool',
      tool: 'a__b',
      upstream: 'a',
      access: 'read',
    } as const;
    metrics.observer({ ...call, outcome: 'ok', ms: 3 });
    metrics.observer({ ...call, protocolVersion: '2026-07-28', outcome: 'ok', ms: 3 });
    metrics.observer({ ...call, outcome: 'failed', code: 'upstream_timeout', ms: 30_000 });
    const lines = ownLines(await metrics.text());
    expect(lines).toContain(
      'mcp_proxy_tool_calls_total{upstream="a",tool="a__b",kind="read",outcome="ok"} 2',
    );
    expect(lines).toContain(
      'mcp_proxy_tool_calls_total{upstream="a",tool="a__b",kind="read",outcome="failed"} 1',
    );
    expect(lines).toContain(
      'mcp_server_operation_duration_seconds_sum{method="tools/call",tool="call_read_tool",error_type="upstream_timeout",protocol_version=""} 30',
    );
    expect(lines).toContain(
      'mcp_server_operation_duration_seconds_count{method="tools/call",tool="call_read_tool",error_type="",protocol_version="2026-07-28"} 1',
    );
  });

  it('give no more than 1,000 tools a series of their own', async () => {
    const metrics = metricsOf();
    for (let index = 0; index < 3_000; index++) {
      metrics.observer({
        kind: 'call',
        metaTool: 'call_read_tool',
        tool: `t${index}`,
        upstream: 'a',
        access: 'read',
        outcome: 'ok',
        ms: 1,
      });
    }
    const series = ownLines(await metrics.text()).filter((line) =>
      line.startsWith('mcp_proxy_tool_calls_total{'),
    );
    expect(series).toHaveLength(1_001);
    expect(series.at(-1)).toContain('tool="other"');
    expect(series.at(-1)).toMatch(/ 2000$/);
  });

  it('count listings that are too old or made room, readings of registries, and what checks of arguments said', async () => {
    const metrics = metricsOf();
    const call = {
      kind: 'call',
      metaTool: 'call_read_tool',
      tool: 't',
      upstream: 'a',
      access: 'read',
      ms: 1,
    } as const;
    metrics.observer({ ...call, outcome: 'ok', check: 'ok' });
    metrics.observer({ ...call, outcome: 'ok', check: 'budget' });
    metrics.observer({ ...call, outcome: 'refused', check: 'refused' });
    // Refused for what it is, before its arguments were looked at.
    metrics.observer({ ...call, outcome: 'refused' });
    metrics.observer({ kind: 'stale', upstream: 'a' });
    metrics.observer({ kind: 'evicted', upstream: 'a', limit: 'maxListings' });
    metrics.observer({ kind: 'registry', registry: 'official', ms: 1_500 });
    metrics.observer({ kind: 'registry', registry: 'official', code: 'registry_unavailable', ms: 500 });
    const causes = { invalid: 1, duplicate: 2 };
    metrics.observer({ kind: 'listing', upstream: 'a', tools: 5, dropped: ['x', 'y', 'z'], causes, ms: 1 });
    const lines = ownLines(await metrics.text());
    expect(lines).toEqual(
      expect.arrayContaining([
        'mcp_proxy_validation_total{result="ok"} 1',
        'mcp_proxy_validation_total{result="budget"} 1',
        'mcp_proxy_validation_total{result="refused"} 1',
        'mcp_proxy_catalog_stale_served_total{upstream="a"} 1',
        'mcp_proxy_catalog_evictions_total{upstream="a",reason="maxListings"} 1',
        'mcp_proxy_registry_requests_total{registry="official",result="ok"} 1',
        'mcp_proxy_registry_requests_total{registry="official",result="registry_unavailable"} 1',
        'mcp_proxy_registry_request_duration_seconds_sum{registry="official"} 2',
        'mcp_proxy_withheld_tools{upstream="a",reason="invalid"} 1',
        'mcp_proxy_withheld_tools{upstream="a",reason="duplicate"} 2',
        'mcp_proxy_withheld_tools{upstream="a",reason="too_large"} 0',
      ]),
    );
  });

  it('read what is under way when they are asked for', async () => {
    const upstreams = [{ name: 'files', isUp: true, inFlight: 2, queued: 1, changed: 3, added: 0 }];
    const lines = ownLines(
      await metricsOf({
        requests: 7,
        upstreams,
        catalogs: 3,
        catalogBytes: 4_096,
        poolDefinitions: 50,
        poolBytes: 8_192,
      }).text(),
    );
    expect(lines).toEqual(
      expect.arrayContaining([
        'mcp_proxy_inflight{scope="process",upstream=""} 7',
        'mcp_proxy_inflight{scope="upstream",upstream="files"} 2',
        'mcp_proxy_queued{upstream="files"} 1',
        'mcp_proxy_withheld_tools{upstream="files",reason="changed"} 3',
        'mcp_proxy_upstream_up{upstream="files"} 1',
        'mcp_proxy_catalogs 3',
        'mcp_proxy_catalog_bytes 4096',
        'mcp_proxy_pool_definitions 50',
        'mcp_proxy_pool_bytes 8192',
      ]),
    );
  });

  it('say what runs', async () => {
    expect(await metricsOf().text()).toContain(
      `mcp_proxy_build_info{version="1.2.3",node="${process.versions.node}",model="packed"} 1`,
    );
  });
});

describe("the operator's own address", () => {
  async function listening(isReady: () => boolean): Promise<MetricsListener> {
    const listener = await listenForMetrics({
      host: '127.0.0.1',
      port: 0,
      metrics: metricsOf(),
      isReady,
      upstreams: () => [{ name: 'files', state: 'failed', reason: 'no answer' }],
    });
    closing.push(() => listener.close());
    return listener;
  }

  it('serves the metrics, and whether the process is alive and ready', async () => {
    let ready = true;
    const { origin } = await listening(() => ready);
    const metrics = await fetch(`${origin}/metrics`);
    expect(metrics.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await metrics.text()).toContain('process_cpu_seconds_total');
    expect(await (await fetch(`${origin}/healthz`)).text()).toBe('ok\n');
    expect(await (await fetch(`${origin}/readyz?verbose=1`)).text()).toBe(
      'ready\nfiles: failed (no answer)\n',
    );
    ready = false;
    const unready = await fetch(`${origin}/readyz`);
    expect([unready.status, await unready.text()]).toEqual([503, 'not ready\n']);
  });

  it('answers HEAD without a body, refuses other methods and knows nothing else', async () => {
    const { origin } = await listening(() => true);
    const head = await fetch(`${origin}/healthz`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    const post = await fetch(`${origin}/metrics`, { method: 'POST', body: 'x' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await fetch(`${origin}/mcp`)).status).toBe(404);
  });
});
