import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { openTraces, wantsTraces } from './otel-tracer.ts';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

afterEach(() => vi.unstubAllEnvs());

describe('traces', () => {
  it('belong to the trace of the client, and the upstream gets its parent from us', async () => {
    const exporter = new InMemorySpanExporter();
    const { tracer, close } = await openTraces({ version: '1.0.0', exporter });
    const server = tracer(
      'server',
      { method: 'tools/call', tool: 'call_read_tool' },
      { traceparent: PARENT, tracestate: 'vendor=1' },
    );
    const client = tracer(
      'client',
      { method: 'tools/call', tool: 'files__read', upstream: 'files' },
      server.context,
    );
    client.end('upstream_timeout');
    server.end();
    server.end('ended twice');
    expect(client.context).toEqual({
      traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/) as string,
      tracestate: 'vendor=1',
    });
    expect(client.context.traceparent).not.toBe(server.context.traceparent);
    await close();
  });

  it('begin anew where the client sends none, or nonsense', async () => {
    const { tracer, close } = await openTraces({ version: '1.0.0', exporter: new InMemorySpanExporter() });
    const facts = { method: 'tools/call', tool: 'search_tools' };
    for (const traceparent of [
      '',
      '00-0-0-01',
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      `ff${PARENT.slice(2)}`,
      `${PARENT}-x`,
    ]) {
      const span = tracer('server', facts, { traceparent });
      expect(span.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(span.traceId).not.toBe('0af7651916cd43dd8448eb211c80319c');
      expect(span.traceId).not.toBe('0'.repeat(32));
    }
    await close();
  });

  it('reach a collector over OTLP, with names and codes and nothing else', async () => {
    const bodies: string[] = [];
    const collector = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        bodies.push(`${request.url ?? ''} ${Buffer.concat(parts).toString('latin1')}`);
        response.end('{}');
      });
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    const { port } = collector.address() as AddressInfo;
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`);
    const { tracer, close } = await openTraces({ version: '1.0.0' });
    tracer('client', { method: 'tools/call', tool: 'files__read', upstream: 'files' }, undefined).end(
      'tool_error',
    );
    await close();
    await new Promise((resolve) => collector.close(resolve));
    expect(bodies).toHaveLength(1);
    expect(bodies[0]).toMatch(/^\/v1\/traces /);
    for (const text of [
      'tools/call files__read',
      'gen_ai.tool.name',
      'error.type',
      'tool_error',
      'mcp-toolsearch-proxy',
    ])
      expect(bodies[0]).toContain(text);
  });

  it('are wanted when the environment names a collector, and only then', () => {
    expect(wantsTraces({})).toBe(false);
    expect(wantsTraces({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' })).toBe(true);
    expect(wantsTraces({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' })).toBe(true);
    expect(wantsTraces({ OTEL_TRACES_EXPORTER: 'otlp' })).toBe(true);
    expect(wantsTraces({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' })).toBe(
      false,
    );
    expect(wantsTraces({ OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'true' })).toBe(false);
  });
});
