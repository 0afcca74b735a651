import { describe, expect, it } from 'vitest';
import { startFaultProxy } from '../support/fault-proxy.mjs';
import { whenDone } from '../support/cleanup.ts';
import { httpRecord, startProxy, type MetaResult } from '../support/proxy.ts';
import {
  rawResult,
  startStub,
  stubTool,
  textResult,
  type StubReply,
  type StubUpstream,
} from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

type Network = Awaited<ReturnType<typeof startFaultProxy>>;

interface Fault {
  readonly what: string;
  readonly network?: Parameters<Network['set']>[0] | 'down';
  /** What the upstream does with the call once it has it. */
  readonly answer?: StubReply;
  readonly code: string;
  readonly outcome: 'not_sent' | 'failed' | 'unknown';
  readonly retryable: boolean;
  /** How often the upstream has carried it out. */
  readonly carriedOut: 0 | 1;
  readonly says?: string;
  readonly never?: string;
  readonly retryAfterS?: number;
}

const http = (status: number, body: string, headers: Record<string, string> = {}): StubReply => ({
  kind: 'http',
  status,
  body,
  headers: { 'content-type': 'application/json', ...headers },
});

const SECRET = 'java.lang.Secret at line 7';
const half = textResult('half of this is missing '.repeat(20));

/** The faults of a network and of an upstream that a call over HTTP can meet, and what must be known of it then. */
const FAULTS: readonly Fault[] = [
  {
    what: 'no answer in time',
    answer: { kind: 'hang' },
    code: 'upstream_timeout',
    outcome: 'unknown',
    retryable: true,
    carriedOut: 1,
  },
  {
    what: 'nobody listens',
    network: 'down',
    code: 'upstream_unreachable',
    outcome: 'not_sent',
    retryable: true,
    carriedOut: 0,
  },
  {
    what: 'a connection that is half open',
    network: { silent: 'up' },
    code: 'upstream_timeout',
    outcome: 'unknown',
    retryable: true,
    carriedOut: 0,
  },
  {
    what: 'an answer that is lost',
    network: { silent: 'both' },
    code: 'upstream_timeout',
    outcome: 'unknown',
    retryable: true,
    carriedOut: 1,
  },
  {
    what: 'a reset before the request arrives',
    network: { resetAfterBytes: 0 },
    code: 'upstream_closed',
    outcome: 'unknown',
    retryable: true,
    carriedOut: 0,
  },
  {
    what: 'a reset after it arrived',
    answer: { kind: 'reset' },
    code: 'upstream_closed',
    outcome: 'unknown',
    retryable: true,
    carriedOut: 1,
  },
  {
    what: 'a reset in the middle of the answer',
    network: { resetAfterBytes: 200 },
    answer: half,
    code: 'upstream_closed',
    outcome: 'unknown',
    retryable: true,
    carriedOut: 1,
  },
  {
    what: 'an end in the middle of the answer',
    network: { closeAfterBytes: 200 },
    answer: half,
    code: 'upstream_closed',
    outcome: 'unknown',
    retryable: true,
    carriedOut: 1,
  },
  {
    what: 'JSON that is none',
    answer: http(200, '{"jsonrpc":"2.0","id":'),
    code: 'upstream_invalid',
    outcome: 'unknown',
    retryable: false,
    carriedOut: 1,
  },
  {
    what: 'the answer to another request',
    answer: http(200, '{"jsonrpc":"2.0","id":"other","result":{"content":[]}}'),
    code: 'upstream_invalid',
    outcome: 'unknown',
    retryable: false,
    carriedOut: 1,
  },
  {
    what: 'a page to sign in at',
    answer: http(200, `<!doctype html><title>Sign in ${SECRET}</title>`, { 'content-type': 'text/html' }),
    code: 'upstream_invalid',
    outcome: 'unknown',
    retryable: false,
    carriedOut: 1,
    says: 'text/html',
    never: SECRET,
  },
  {
    what: 'an answer without a type',
    answer: http(200, '', { 'content-type': '' }),
    code: 'upstream_invalid',
    outcome: 'unknown',
    retryable: false,
    carriedOut: 1,
  },
  {
    what: '429 and when to come again',
    answer: http(429, '{}', { 'retry-after': '7' }),
    code: 'upstream_rate_limited',
    outcome: 'failed',
    retryable: true,
    carriedOut: 1,
    retryAfterS: 7,
    says: 'in 7 s',
  },
  {
    what: '429 and an absurd time',
    answer: http(429, '{}', { 'retry-after': '99999999999' }),
    code: 'upstream_rate_limited',
    outcome: 'failed',
    retryable: true,
    carriedOut: 1,
    retryAfterS: 3_600,
  },
  {
    what: '429 and a date that is over',
    answer: http(429, '{}', { 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' }),
    code: 'upstream_rate_limited',
    outcome: 'failed',
    retryable: true,
    carriedOut: 1,
    retryAfterS: 0,
  },
  {
    what: '503 and when to come again',
    answer: http(503, SECRET, { 'retry-after': '2' }),
    code: 'upstream_error',
    outcome: 'failed',
    retryable: true,
    carriedOut: 1,
    retryAfterS: 2,
    never: SECRET,
  },
  ...[500, 502, 504].map((status): Fault => ({
    what: String(status),
    answer: http(status, SECRET, { 'content-type': 'text/plain' }),
    code: 'upstream_error',
    // Nobody knows how far it got.
    outcome: 'unknown',
    retryable: true,
    carriedOut: 1,
    says: `HTTP ${status}`,
    never: SECRET,
  })),
  {
    what: '400',
    answer: http(400, SECRET, { 'content-type': 'text/plain' }),
    code: 'upstream_error',
    outcome: 'failed',
    retryable: false,
    carriedOut: 1,
    never: SECRET,
  },
  {
    what: 'a redirect',
    answer: http(307, '', { location: '/elsewhere' }),
    code: 'upstream_redirect',
    outcome: 'failed',
    retryable: false,
    carriedOut: 1,
  },
  {
    what: 'an answer that is too large',
    answer: textResult('x'.repeat(70_000)),
    code: 'upstream_too_large',
    outcome: 'failed',
    retryable: false,
    carriedOut: 1,
    says: 'limit maxMessageBytes',
  },
];

interface Reported {
  readonly error: {
    readonly code: string;
    readonly outcome: string;
    readonly retryable: boolean;
    readonly retryAfterS?: number;
  };
}

describe('a call that meets', () => {
  for (const fault of FAULTS) {
    for (const access of ['read', 'write'] as const) {
      it(`${fault.what} (${access}) is told what became of it, and sent once at the most`, async () => {
        const { stub, network, running } = await open(fault.answer);
        if (fault.network === 'down') await network.stop();
        else if (fault.network !== undefined) network.set(fault.network);
        const made = network.madeConnections();
        const answer = await running.call(`call_${access}_tool`, { name: access, arguments: {} });
        const { error } = answer.structuredContent as unknown as Reported;
        expect([error.code, error.outcome, error.retryable]).toEqual([
          fault.code,
          fault.outcome,
          fault.retryable,
        ]);
        expect(error.retryAfterS).toBe(fault.retryAfterS);
        const [first] = answer.content;
        expect(answer.isError).toBe(true);
        expect(first?.text).toContain(`[${fault.code}] `);
        if (fault.says !== undefined) expect(first?.text).toContain(fault.says);
        if (fault.never !== undefined) expect(JSON.stringify(answer)).not.toContain(fault.never);
        if (fault.outcome === 'unknown') {
          expect(first?.text).toContain(
            access === 'write' ? 'it may have been carried out' : 'safe to try again',
          );
        }
        expect(stub.callsOf(access).length).toBe(fault.carriedOut);
        // A fault of the network is met by a connection of its own; none is made a second time for the same call.
        if (fault.network !== 'down') expect(network.madeConnections() - made).toBeLessThanOrEqual(1);

        // What one call met spoils no other.
        if (fault.network === 'down') await network.start();
        network.set({});
        const next = await running.call('call_read_tool', { name: 'well', arguments: {} });
        expect(next.content[0]?.text).toBe('fine');
        expect(stub.callsOf(access).length).toBe(fault.carriedOut);
      });
    }
  }
});

it('a result that is nested without end ends nothing, alone or in a batch', async () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const stub = await startStub({
    tools: [
      stubTool('deep', {
        readOnly: true,
        answer: () =>
          rawResult(`{"content":[{"type":"text","text":"down"}],"structuredContent":{"a":${deep}}}`),
      }),
      stubTool('well', { readOnly: true, answer: () => textResult('fine') }),
    ],
  });
  const running = await startProxy({ upstreams: [httpRecord('far', stub)] });
  await running.settled();
  for (const era of ['modern', 'legacy'] as const) {
    const alone = await running
      .raw(era)
      .request('tools/call', { name: 'call_read_tool', arguments: { name: 'deep' } });
    expect([alone.status, alone.body.includes('down'), alone.body.includes(deep)]).toEqual([200, true, true]);
    const batch = await running.raw(era).request('tools/call', {
      name: 'call_read_tools',
      arguments: { calls: [{ name: 'deep' }, { name: 'well' }] },
    });
    expect([batch.status, batch.body.includes('#2 well: ok')]).toEqual([200, true]);
  }
});

describe('an older upstream that ends its stream early', () => {
  const streamOf = (body: string): StubReply => ({
    kind: 'http',
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    body,
  });

  async function early(rest: (id: string) => StubReply): Promise<{
    readonly stub: StubUpstream;
    readonly answer: MetaResult;
    readonly resumed: () => readonly string[];
  }> {
    let asked = '';
    const stub = await startStub({
      era: 'legacy',
      reply: 'sse',
      session: true,
      listChanged: false,
      tools: [
        stubTool('poll', {
          answer: ({ request }) => {
            asked = String((JSON.parse(request.body) as { id: unknown }).id);
            return streamOf('id: 7\nretry: 60\ndata: \n\n');
          },
        }),
      ],
    });
    stub.script.intercept = ({ httpMethod, headers }) =>
      httpMethod === 'GET' && headers['last-event-id'] !== undefined ? rest(asked) : undefined;
    const running = await startProxy({ upstreams: [httpRecord('older', stub)] });
    await running.settled();
    const answer = await running.call('call_write_tool', { name: 'poll', arguments: {} });
    const resumed = (): readonly string[] =>
      stub.requests.flatMap(({ headers }) => headers['last-event-id'] ?? []);
    return { stub, answer, resumed };
  }

  it('is asked for the rest of it, as often as it likes, and called once', async () => {
    let times = 0;
    const { stub, answer, resumed } = await early((id) => {
      times++;
      if (times === 1) return streamOf('id: 8\ndata: \n\n');
      return streamOf(
        `data: {"jsonrpc":"2.0","id":"${id}","result":{"content":[{"type":"text","text":"at last"}]}}\n\n`,
      );
    });
    expect(answer.content).toEqual([{ type: 'text', text: 'at last' }]);
    expect(resumed()).toEqual(['7', '8']);
    expect(stub.callsOf('poll').length).toBe(1);
  });

  it('and has nothing more to say is a failure of which nobody knows', async () => {
    const { stub, answer } = await early(() => ({ kind: 'http', status: 405, body: '' }));
    const { error } = answer.structuredContent as unknown as Reported;
    expect([error.code, error.outcome]).toEqual(['upstream_closed', 'unknown']);
    expect(stub.callsOf('poll').length).toBe(1);
  });
});

async function open(answer: StubReply = textResult('done')): Promise<{
  readonly stub: StubUpstream;
  readonly network: Network;
  readonly running: Awaited<ReturnType<typeof startProxy>>;
}> {
  const stub = await startStub({
    tools: [
      stubTool('read', { readOnly: true, answer: () => answer }),
      stubTool('write', { answer: () => answer }),
      stubTool('well', { readOnly: true, answer: () => textResult('fine') }),
    ],
    era: 'modern',
    listChanged: false,
  });
  const network = await startFaultProxy(stub.port);
  whenDone(() => network.stop());
  const url = stub.url.replace(`:${stub.port}`, `:${network.port}`);
  const running = await startProxy({
    upstreams: [httpRecord('far', { url })],
    limits: { callTimeoutMs: 400, maxMessageBytes: 65_536 },
  });
  await running.settled();
  const warm = await running.call('call_read_tool', { name: 'well', arguments: {} });
  expect(warm.content[0]?.text).toBe('fine');
  // Faults of connections are met by connections made from now on.
  network.cut();
  await until('the connections are gone', () => network.openConnections() === 0);
  return { stub, network, running };
}
