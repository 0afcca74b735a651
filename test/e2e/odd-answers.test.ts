import { describe, expect, it } from 'vitest';
import { rawMember } from '../support/raw-json.ts';
import {
  forwardRecord,
  httpRecord,
  startProxy,
  stdioRecord,
  type MetaResult,
  type RunningProxy,
} from '../support/proxy.ts';
import { scriptStdio, type StdioTool } from '../support/stdio-upstream.ts';
import {
  rawResult,
  result,
  startStub,
  stubTool,
  textResult,
  type StubReply,
  type StubTool,
} from '../support/stub-upstream.ts';
import { until, within } from '../support/wait.ts';

const read = (name: string, answer?: StubTool['answer']): StubTool =>
  stubTool(name, { readOnly: true, ...(answer && { answer }) });

const childRead = (name: string, does?: StdioTool['does']): StdioTool => ({
  definition: read(name).definition,
  ...(does && { does }),
});

const http = (contentType: string, body: string, status = 200): StubReply => ({
  kind: 'http',
  status,
  headers: { 'Content-Type': contentType },
  body,
});

async function before(tools: readonly StubTool[]): Promise<RunningProxy> {
  const stub = await startStub({ tools: [...tools, read('calm', () => textResult('calm'))] });
  const running = await startProxy({
    upstreams: [httpRecord('odd', stub)],
    limits: { callTimeoutMs: 2_000 },
  });
  await running.settled();
  return running;
}

const isFailed = (reply: { result: string | undefined; error: unknown }): boolean =>
  reply.error !== undefined || rawMember(reply.result ?? '{}', 'isError') === 'true';

describe('answers that are none', () => {
  const BROKEN: Readonly<Record<string, StubReply>> = {
    'a result that is a text': rawResult('"done"'),
    'a result that is null': rawResult('null'),
    'a result that is a list': rawResult('[]'),
    'a result that is a number': rawResult('5'),
    'content that is no list': rawResult('{"resultType":"complete","content":"done"}'),
    'an error that is a text': { kind: 'error', raw: '"no"' },
    'an error without a code': { kind: 'error', raw: '{"message":"no"}' },
    'an error whose code is a text': { kind: 'error', raw: '{"code":"E_NO","message":"no"}' },
    'the answer to another request': http(
      'application/json',
      '{"jsonrpc":"2.0","id":"somebody-else","result":{"resultType":"complete","content":[]}}',
    ),
    'a list of answers': http('application/json', '[{"jsonrpc":"2.0","id":1,"result":{}}]'),
    'neither result nor error': http('application/json', '{"jsonrpc":"2.0","id":1}'),
    'an empty body': http('application/json', ''),
    'an empty stream': http('text/event-stream', ''),
    'a stream of comments': http('text/event-stream', ': hello\n\n: bye\n\n'),
    'a stream of garbage': http('text/event-stream', 'data: {"jsonrpc"\n\ndata: 5\n\n'),
    'half an event': http('text/event-stream', 'data: {"jsonrpc":"2.0","id":"p1","result":{"content":[]'),
    'JSON that calls itself a page': http('text/html', '{"jsonrpc":"2.0","id":1,"result":{}}'),
    'HTTP 429': { kind: 'http', status: 429, headers: { 'Retry-After': '1' }, body: 'slowly' },
    'HTTP 404': { kind: 'http', status: 404, body: 'gone' },
    'HTTP 204': { kind: 'http', status: 204 },
  };

  for (const [label, reply] of Object.entries(BROKEN)) {
    it(`${label}: the model is told, and the next call works`, async () => {
      const running = await before([read('odd', () => reply)]);
      for (const era of ['modern', 'legacy'] as const) {
        const odd = await running.raw(era).call('call_read_tool', '{"name":"odd"}');
        expect([odd.status, odd.body.startsWith('{')]).toEqual([200, true]);
        // What has no meaning fails; what only looks strange may pass as it is.
        if (label !== 'content that is no list') expect(isFailed(odd), odd.body).toBe(true);
        const batch = await running
          .raw(era)
          .call('call_read_tools', '{"calls":[{"name":"odd"},{"name":"calm"}]}');
        expect(batch.result).toContain('#2 calm: ok');
      }
      expect(running.events.filter((event) => event.kind === 'bug')).toEqual([]);
    });
  }

  it('a line of a child that answers nobody is passed over', async () => {
    const child = scriptStdio({
      tools: [childRead('calm', { kind: 'raw', raw: '{"content":[{"type":"text","text":"calm"}]}' })],
      noise: true,
    });
    const running = await startProxy({ upstreams: [stdioRecord('odd', child)] });
    await running.settled();
    for (let n = 0; n < 3; n++) {
      expect((await running.call('call_read_tool', { name: 'calm' })).content[0]?.text).toBe('calm');
    }
  });
});

describe('arguments over several lines', () => {
  const spread = '{\n  "berth": 12345678901234567890,\r\n  "note": "two\\nlines"\n}';
  const squeezed = '{"berth":12345678901234567890,"note":"two\\nlines"}';
  const squeeze = (text = ''): string => text.replaceAll(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');

  for (const [label, text] of [
    ['as an object', spread],
    ['as a JSON string', JSON.stringify(spread)],
  ] as const) {
    it(`${label} reach a stdio upstream as one line`, async () => {
      const child = scriptStdio({ tools: [childRead('repeat')] });
      const running = await startProxy({ upstreams: [stdioRecord('child', child)] });
      await running.settled();
      for (const era of ['modern', 'legacy'] as const) {
        const reply = await running
          .raw(era)
          .call('call_read_tool', `{"name":"repeat",\n"arguments":${text}}`);
        expect(isFailed(reply), reply.body).toBe(false);
        const last = child.callsOf('repeat').at(-1) ?? '{}';
        expect(squeeze(rawMember(last, 'params', 'arguments'))).toBe(squeezed);
      }
    });

    it(`${label} reach an HTTP upstream`, async () => {
      const stub = await startStub({ tools: [read('repeat')] });
      const running = await startProxy({ upstreams: [httpRecord('web', stub)] });
      await running.settled();
      const reply = await running
        .raw('modern')
        .call('call_read_tool', `{"name":"repeat",\n"arguments":${text}}`);
      expect(isFailed(reply), reply.body).toBe(false);
      expect(rawMember(stub.callsOf('repeat')[0]?.body ?? '{}', 'params', 'arguments')).toBe(spread);
    });
  }

  it('with the client’s _meta over several lines too', async () => {
    const child = scriptStdio({ tools: [childRead('repeat')] });
    const running = await startProxy({ upstreams: [stdioRecord('child', child)] });
    await running.settled();
    const reply = await running
      .raw('legacy')
      .request(
        'tools/call',
        '{"name":"call_read_tool","arguments":{"name":"repeat"},"_meta":{\n"x/y":{\n"z":1}}}',
      );
    expect(isFailed(reply), reply.body).toBe(false);
    expect(child.callsOf('repeat')).toHaveLength(1);
  });
});

describe('what an upstream asks', () => {
  it('ping is answered, over HTTP and stdio', async () => {
    const stub = await startStub({
      era: 'legacy',
      session: true,
      tools: [
        read('asking', () => ({
          kind: 'result',
          raw: '{"content":[]}',
          asks: [{ method: 'ping', params: {} }],
        })),
      ],
    });
    const child = scriptStdio({ tools: [childRead('asking', { kind: 'ask', method: 'ping' })] });
    const running = await startProxy({ upstreams: [httpRecord('web', stub), stdioRecord('child', child)] });
    await running.settled();
    await running.call('call_read_tool', { name: 'web__asking' });
    expect(rawMember(stub.clientAnswers[0] ?? '{}', 'result')).toBe('{}');
    const { content } = await running.call('call_read_tool', { name: 'child__asking' });
    expect(rawMember(content[0]?.text ?? '{}', 'result')).toBe('{}');
  });

  it('for input in a batch is a failure of that call, named', async () => {
    const running = await before([
      read('asking', () =>
        rawResult(
          '{"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?"}}}}',
        ),
      ),
    ]);
    for (const era of ['modern', 'legacy'] as const) {
      const reply = await running
        .raw(era)
        .call('call_read_tools', '{"calls":[{"name":"asking"},{"name":"calm"}]}', {
          ...(era === 'modern' && { clientCapabilities: { elicitation: {} } }),
        });
      expect(reply.result).toContain('#1 asking: failed');
      expect(reply.result).toContain('#2 calm: ok');
      const blocks = (JSON.parse(reply.result ?? '{}') as MetaResult).content.map(({ text = '' }) => text);
      expect(blocks[1]).toMatch(/input|ask/i);
    }
  });
});

describe('definitions that are hard to read', () => {
  it('one tool with an endlessly nested schema or an enormous text hides no other', async () => {
    const wide = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, n) => [`p${n}`, { type: 'string', description: 'x'.repeat(50) }]),
    );
    const circular = {
      $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
      $ref: '#/$defs/a',
      type: 'object',
    };
    const stub = await startStub({
      tools: [
        stubTool('wide', { properties: wide }),
        stubTool('circular', { more: { inputSchema: circular } }),
        stubTool('wordy', { description: 'storm '.repeat(100_000) }),
        stubTool('control', { description: 'bell\u0007 \u202e backwards \ud800 half' }),
        read('calm', () => textResult('calm')),
      ],
    });
    const running = await startProxy({
      upstreams: [httpRecord('odd', stub)],
      limits: { callTimeoutMs: 5_000 },
    });
    await running.settled();
    const found = await running.call('search_tools', { query: 'calm deep wide storm bell', limit: 25 });
    expect(JSON.stringify(found)).toContain('"calm"');
    expect((await running.call('call_read_tool', { name: 'calm' })).content[0]?.text).toBe('calm');
    for (const name of ['wide', 'circular', 'wordy', 'control']) {
      const called = await within(
        name,
        running.call('call_write_tool', { name, arguments: { p1: 'x' } }),
        10_000,
      );
      expect(called.isError ?? false, `${name}: ${called.content[0]?.text?.slice(0, 200)}`).toBe(false);
      expect((await running.call('describe_tool', { names: [name] })).isError ?? false).toBe(false);
    }
    expect(running.events.filter((event) => event.kind === 'bug')).toEqual([]);
  });
});

describe('bounds', () => {
  it('more callers than listings are kept for get all their own answers', async () => {
    const stub = await startStub({
      era: 'legacy',
      session: true,
      tools: (authorization) => [read(`for_${authorization?.replace('Bearer ', '')}`)],
    });
    const running = await startProxy({ upstreams: [forwardRecord(stub)], limits: { maxListings: 2 } });
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(
        [1, 2, 3, 4, 5].map((n) =>
          running.call(
            'call_read_tool',
            { name: `for_c${n}`, arguments: {} },
            { authorization: `Bearer c${n}` },
          ),
        ),
      );
      for (const answer of answers) expect(answer.isError ?? false, answer.content[0]?.text).toBe(false);
    }
    for (const request of stub.requestsOf('tools/call')) {
      expect(`Bearer ${String(request.params['name']).replace('for_', '')}`).toBe(request.authorization);
    }
  });

  it('an open subscription of a client does not hold up closing', async () => {
    const running = await before([]);
    const leaving = new AbortController();
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const listening = fetch(running.url, {
      method: 'POST',
      signal: leaving.signal,
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: { _meta, notifications: { toolsListChanged: true } },
      }),
    }).then((reply) => reply.text());
    listening.catch(() => undefined);
    await running.call('call_read_tool', { name: 'calm' });
    await within('closing', running.close(), 8_000);
    leaving.abort();
  });

  it('a client that leaves in the middle of a large answer costs nobody else theirs', async () => {
    const running = await before([
      read('large', () => result({ content: [{ type: 'text', text: 'x'.repeat(3_000_000) }] })),
    ]);
    const leaving = new AbortController();
    const gone = Array.from({ length: 5 }, () =>
      running
        .raw('modern')
        .call('call_read_tool', '{"name":"large"}', { signal: leaving.signal })
        .catch(() => undefined),
    );
    setTimeout(() => leaving.abort(), 20);
    await Promise.all(gone);
    const whole = await running.raw('modern').call('call_read_tool', '{"name":"large"}');
    expect(rawMember(whole.result ?? '{}', 'content', 0, 'text')?.length).toBe(3_000_002);
    await until('no bug was reported', () => !running.events.some((event) => event.kind === 'bug'));
  });
});
