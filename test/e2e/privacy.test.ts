import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import {
  httpRecord,
  forwardRecord,
  freePort,
  startHttpProgram,
  startProxy,
  startStdioProgram,
  stdioRecord,
} from '../support/proxy.ts';
import { rawHttp } from '../support/clients.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { rpcError, startStub, stubTool, textResult } from '../support/stub-upstream.ts';
import { sleep, until } from '../support/wait.ts';

/** Each is sent where its name says, and must be seen nowhere else. */
const CANARY = {
  credential: 'canary-credential-8c1f',
  query: 'canary-query-8c1f',
  argument: 'canary-argument-8c1f',
  property: 'canary-property-8c1f',
  result: 'canary-result-8c1f',
  name: 'canary-name-8c1f',
  header: 'canary-header-8c1f',
  environment: 'canary-environment-8c1f',
};
const ANY_CANARY = /canary-[a-z]+-8c1f/;

const talkative = [
  stubTool('read_letters', {
    readOnly: true,
    answer: ({ argumentsText }) => textResult(`${CANARY.result} ${argumentsText}`),
  }),
  stubTool('read_sealed', {
    readOnly: true,
    answer: ({ argumentsText }) => rpcError(-32602, `bad: ${argumentsText}`, { got: argumentsText }),
  }),
  stubTool('read_torn', {
    readOnly: true,
    answer: ({ argumentsText, authorization }) => rpcError(-32001, `torn: ${argumentsText} ${authorization}`),
  }),
  stubTool('read_lost', {
    readOnly: true,
    answer: ({ argumentsText }) => ({ kind: 'http', status: 500, body: `stack: ${argumentsText}` }),
  }),
  stubTool('read_cut', {
    readOnly: true,
    answer: ({ argumentsText }) => ({ kind: 'reset', partial: `{"jsonrpc":"2.0","got":${argumentsText}` }),
  }),
  stubTool('read_page', {
    readOnly: true,
    answer: () => ({
      kind: 'http',
      status: 200,
      headers: { 'Content-Type': 'text/html' },
      body: CANARY.result,
    }),
  }),
  stubTool('send_letter', { properties: { to: { type: 'string' } }, required: ['to'] }),
];

const ARGUMENTS = `{"${CANARY.property}":"${CANARY.argument}"}`;

/** Something to send to on loopback; its origin. */
async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Everything a caller does, with canaries in each place. */
async function talk(url: string, credential: string): Promise<void> {
  for (const era of ['modern', 'legacy'] as const) {
    const client = rawHttp(url, {
      era,
      headers: {
        authorization: `Bearer ${credential}`,
        cookie: `c=${CANARY.header}`,
        'x-canary': CANARY.header,
      },
    });
    await client.request(era === 'modern' ? 'server/discover' : 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: CANARY.name, version: '1' },
    });
    await client.call('search_tools', `{"query":"${CANARY.query}"}`);
    await client.call('search_tools', `{"query":"letters","${CANARY.property}":1}`);
    await client.call('describe_tool', `{"names":["${CANARY.name}"]}`);
    for (const { definition } of talkative) {
      const { name } = definition as { name: string };
      await client.call('call_read_tool', `{"name":"${name}","arguments":${ARGUMENTS}}`);
      await client.call('call_write_tool', `{"name":"${name}","arguments":${JSON.stringify(ARGUMENTS)}}`);
    }
    await client.call('call_read_tool', `{"name":"${CANARY.name}","arguments":${ARGUMENTS}}`);
    await client.call(
      'call_read_tools',
      `{"calls":[{"name":"read_letters","arguments":${ARGUMENTS}},{"name":"read_torn","arguments":${ARGUMENTS}}]}`,
    );
    await client.call(CANARY.name, ARGUMENTS);
    await client.request(`tools/${CANARY.name}`, {});
    await client.send('POST', `{"broken": "${CANARY.argument}"`, {
      'content-type': 'application/json',
      authorization: `Bearer ${credential}`,
    });
    await client.send('POST', '{}', {
      'content-type': 'application/json',
      host: CANARY.name,
      origin: `https://${CANARY.name}`,
    });
  }
}

describe('what callers send and get', () => {
  it('is in no event', async () => {
    const stub = await startStub({ tools: talkative });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    await talk(running.url, CANARY.credential);
    expect(running.events.filter((event) => event.kind === 'call').length).toBeGreaterThan(20);
    for (const event of running.events) expect(JSON.stringify(event)).not.toMatch(ANY_CANARY);
  });

  it('is in no event of a caller whose credential is refused', async () => {
    const stub = await startStub({
      tools: talkative,
      admit: (authorization) => ({
        kind: 'http',
        status: 401,
        headers: { 'WWW-Authenticate': `Bearer error_description="not ${authorization}"` },
        body: `who is ${authorization}?`,
      }),
    });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    await talk(running.url, CANARY.credential);
    for (const event of running.events) expect(JSON.stringify(event)).not.toMatch(ANY_CANARY);
  });

  it('is not written to stderr or stdout by the program', async () => {
    const stub = await startStub({ tools: talkative });
    const running = await startHttpProgram(['--upstream', stub.url]);
    await talk(running.url, CANARY.credential);
    await sleep(100);
    expect(running.stderr()).not.toMatch(ANY_CANARY);
    expect(running.stdout()).toBe('');
  });

  it('is in no log line, metric, span or audit line, whatever is switched on', async () => {
    const stub = await startStub({ tools: talkative });
    const collected: string[] = [];
    const collector = await listening((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        collected.push(Buffer.concat(parts).toString('latin1'));
        response.end('{}');
      });
    });
    const metricsPort = await freePort();
    const running = await startHttpProgram(
      [
        '--upstream',
        stub.url,
        '--log-level',
        'debug',
        '--log-format',
        'json',
        '--metrics-listen',
        `127.0.0.1:${metricsPort}`,
        '--audit-log',
        'audit.jsonl',
      ],
      { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector, OTEL_BSP_SCHEDULE_DELAY: '50' } },
    );
    await talk(running.url, CANARY.credential);
    const client = rawHttp(running.url, {
      era: 'modern',
      headers: { authorization: `Bearer ${CANARY.credential}` },
    });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    await client.call('call_read_tool', `{"name":"read_letters","arguments":${ARGUMENTS}}`, {
      meta: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, baggage: `user=${CANARY.name}`, kept: 1 },
    });
    const meta = JSON.parse(stub.callsOf('read_letters').at(-1)?.body ?? '{}') as {
      params: { _meta: Record<string, unknown> };
    };
    expect(meta.params._meta).toMatchObject({ kept: 1 });
    expect(meta.params._meta['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    expect(meta.params._meta['traceparent']).not.toContain('b7ad6b7169203331');
    expect(meta.params._meta).not.toHaveProperty('baggage');

    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(metrics).toContain('tool="read_letters"');
    for (const series of [
      'http_server_request_duration_seconds_count{method="POST",route="/mcp",status="200"}',
      'mcp_server_operation_duration_seconds_count{method="server/discover",tool="none",error_type="",protocol_version="2026-07-28"}',
      'mcp_server_operation_duration_seconds_count{method="other",tool="none"',
      'mcp_server_operation_duration_seconds_count{method="tools/call",tool="call_read_tool",error_type="",protocol_version="2026-07-28"}',
    ])
      expect(metrics).toContain(series);
    await until('spans were sent', async () => collected.join('').includes('tools/call read_letters'));
    const lines = running.stderr().trimEnd().split('\n');
    const calls = lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event === 'call');
    expect(calls.length).toBeGreaterThan(20);
    expect(new Set(calls.map(({ caller }) => caller)).size).toBe(1);
    expect(calls.at(-1)).toMatchObject({
      target: 'read_letters',
      kind: 'read',
      outcome: 'ok',
      trace_id: traceId,
    });
    const audit = readFileSync(join(running.home, 'audit.jsonl'), 'utf8');
    expect(audit.split('\n').length).toBeGreaterThan(10);
    for (const text of [running.stderr(), running.stdout(), metrics, audit, ...collected])
      expect(text).not.toMatch(ANY_CANARY);
  });

  it('of one caller is in no answer to another', async () => {
    const stub = await startStub({ tools: talkative });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    await talk(running.url, CANARY.credential);
    const other = running.raw('modern', { authorization: 'Bearer somebody-else' });
    const replies = [
      await other.request('server/discover'),
      await other.request('tools/list'),
      await other.call('search_tools', '{"query":"letters","limit":25}'),
      await other.call('describe_tool', '{"names":["read_letters","canary"]}'),
      await other.call('call_read_tool', '{"name":"read_letter"}'),
      await other.call('call_write_tool', '{"name":"send_letter","arguments":{}}'),
    ];
    for (const reply of replies) expect(reply.body).not.toMatch(ANY_CANARY);
  });
});

describe('what the operator configured', () => {
  const environment = { LETTER_TOKEN: CANARY.environment };

  it('as headers and environment is in no event and no answer, also when things go wrong', async () => {
    const stub = await startStub({ tools: talkative });
    const refusing = await startStub({
      admit: (authorization) => ({ kind: 'http', status: 403, body: `no: ${authorization}` }),
    });
    const child = scriptStdio({
      tools: [
        {
          definition: stubTool('mutter', { readOnly: true }).definition,
          does: { kind: 'stderr', text: `my token is ${CANARY.environment}` },
        },
        { definition: stubTool('crash', { readOnly: true }).definition, does: { kind: 'crash' } },
      ],
    });
    const headers = { authorization: 'Bearer ${env:LETTER_TOKEN}', 'x-extra': CANARY.header };
    const running = await startProxy(
      {
        upstreams: [
          httpRecord('post', stub, { headers }),
          httpRecord('refusing', refusing, { headers }),
          httpRecord('unset', stub, {
            headers: { authorization: 'Bearer ${env:NOT_SET_ANYWHERE}', 'x-extra': CANARY.header },
          }),
          stdioRecord('child', child, { env: { TOKEN: '${env:LETTER_TOKEN}' } }),
          stdioRecord(
            'gone',
            { command: '/nowhere/program', args: [CANARY.argument] },
            { env: { TOKEN: CANARY.environment } },
          ),
        ],
      },
      environment,
    );
    await running.settled();
    expect(stub.requests.every((request) => request.authorization === `Bearer ${CANARY.environment}`)).toBe(
      true,
    );
    const raw = running.raw('modern');
    const replies = [
      await raw.request('server/discover'),
      await raw.request('tools/list'),
      await raw.call('search_tools', '{"query":"letters","limit":25}'),
      await raw.call('call_read_tool', '{"name":"child__mutter"}'),
      await raw.call('call_read_tool', '{"name":"child__crash"}'),
      await raw.call('call_read_tool', '{"name":"post__read_lost"}'),
      await raw.call('search_tools', '{"query":"letters","limit":25}'),
    ];
    for (const reply of replies) expect(reply.body).not.toMatch(ANY_CANARY);
    for (const event of running.events) expect(JSON.stringify(event)).not.toMatch(ANY_CANARY);
    // A refused credential of our own is ours to fix, not the client's to sign in with.
    expect(replies.every((reply) => reply.status !== 401 && reply.status !== 403)).toBe(true);
  });

  it('is not written to stderr by the program either', async () => {
    const refusing = await startStub({
      admit: (authorization) => ({ kind: 'http', status: 401, body: `no: ${authorization}` }),
    });
    const child = scriptStdio({ tools: [], exitAtStart: 1 });
    const running = await startStdioProgram(
      'legacy',
      {
        mcpServers: {
          refusing: {
            url: refusing.url,
            headers: { Authorization: 'Bearer ${env:LETTER_TOKEN}', 'X-Extra': CANARY.header },
          },
          child: { command: child.command, args: child.args, env: { TOKEN: CANARY.environment } },
        },
      },
      { env: environment },
    );
    await running.client.initialize();
    await until('both have failed', async () => {
      const line = await running.client.call('search_tools', '{"query":"letters"}');
      return line.includes('refusing') && line.includes('child') && !line.includes('starting');
    });
    expect(refusing.requests[0]?.authorization).toBe(`Bearer ${CANARY.environment}`);
    expect(running.stderr()).not.toMatch(ANY_CANARY);
    for (const line of running.client.lines) expect(line).not.toMatch(ANY_CANARY);
  });
});
