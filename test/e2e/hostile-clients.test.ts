import { connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import type { RawReply } from '../support/clients.ts';
import { forwardRecord, httpRecord, startProxy, type RunningProxy } from '../support/proxy.ts';
import { startStub, stubTool, textResult, type StubUpstream } from '../support/stub-upstream.ts';
import { sleep, until, within } from '../support/wait.ts';

/** Reads that answer at once, and reads that answer when the test says so. */
interface Gate {
  readonly stub: StubUpstream;
  readonly release: () => void;
}

async function gate(): Promise<Gate> {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const stub = await startStub({
    tools: [
      stubTool('look', { readOnly: true, answer: () => textResult('seen') }),
      stubTool('wait', {
        readOnly: true,
        answer: async () => {
          await released;
          return textResult('at last');
        },
      }),
    ],
  });
  whenDone(() => release());
  return { stub, release };
}

async function open(
  changes: Parameters<typeof startProxy>[0] = {},
): Promise<Gate & { running: RunningProxy }> {
  const made = await gate();
  const running = await startProxy({ upstreams: [forwardRecord(made.stub)], ...changes });
  return { ...made, running };
}

const callOf = (running: RunningProxy, tool: string, caller: string): Promise<RawReply> =>
  running
    .raw('modern', { authorization: `Bearer ${caller}` })
    .request('tools/call', { name: 'call_read_tool', arguments: { name: tool, arguments: {} } });

const portOf = (running: RunningProxy): number => Number(new URL(running.url).port);

/** Sends bytes as they are and gives everything that comes back until the other side closes. */
async function sent(running: RunningProxy, bytes: string): Promise<string> {
  const socket = opened(running);
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.write(bytes);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await within(
    `an answer to ${JSON.stringify(bytes.slice(0, 60))}`,
    Promise.race([closed, until('the head is there', () => text.includes('\r\n\r\n'))]),
  );
  socket.destroy();
  return text;
}

function opened(running: RunningProxy): Socket {
  const socket = connect(portOf(running), '127.0.0.1');
  socket.on('error', () => undefined);
  whenDone(() => void socket.destroy());
  return socket;
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);

const BODY =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_read_tool","arguments":{"name":"look"}}}';
const HEAD = [
  'POST /mcp HTTP/1.1',
  'Host: 127.0.0.1',
  'Authorization: Bearer alice',
  'Content-Type: application/json',
  'Accept: application/json, text/event-stream',
];
const request = (...more: readonly string[]): string =>
  `${[...HEAD, ...more, `Content-Length: ${BODY.length}`].join('\r\n')}\r\n\r\n${BODY}`;

describe('what two hops may read differently', () => {
  it('is refused: headers that came twice, and no upstream hears of it', async () => {
    const { stub, running } = await open();
    expect(statusOf(await sent(running, request()))).toBe(200);
    const before = stub.requests.length;
    const twice = [
      'Host: 127.0.0.1',
      'Authorization: Bearer mallory',
      'Content-Type: application/json',
      'Origin: http://localhost\r\nOrigin: http://localhost',
      'MCP-Protocol-Version: 2025-11-25\r\nmcp-protocol-version: 2025-06-18',
      'Mcp-Method: tools/call\r\nMcp-Method: tools/list',
      'Mcp-Name: a\r\nMcp-Name: b',
    ];
    for (const header of twice)
      expect([header, statusOf(await sent(running, request(header)))]).toEqual([header, 400]);
    expect(stub.requests.length).toBe(before);
  });

  it('is refused: bodies whose length is not plain, line ends and names that are not HTTP’s', async () => {
    const { stub, running } = await open();
    expect(statusOf(await sent(running, request()))).toBe(200);
    const before = stub.requests.length;
    const plain = HEAD.join('\r\n');
    const chunk = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
    const payloads = [
      `${plain}\r\nContent-Length: ${BODY.length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
      `${plain}\r\nTransfer-Encoding: chunked\r\nContent-Length: ${BODY.length}\r\n\r\n${chunk}`,
      `${plain}\r\nContent-Length: ${BODY.length}\r\nContent-Length: 5\r\n\r\n${BODY}`,
      `${plain}\r\nContent-Length: ${BODY.length}, ${BODY.length}\r\n\r\n${BODY}`,
      `${plain}\r\nContent-Length: +${BODY.length}\r\n\r\n${BODY}`,
      `${plain}\r\nContent-Length: 0x20\r\n\r\n${BODY}`,
      `${plain}\r\nTransfer-Encoding: xchunked\r\n\r\n${chunk}`,
      `${plain}\r\nTransfer-Encoding: chunked, identity\r\n\r\n${chunk}`,
      `${plain}\r\nTransfer-Encoding : chunked\r\n\r\n${chunk}`,
      `${plain}\r\nX: a\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      `${plain}\r\nX\0: a\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      `${HEAD.filter((line) => !line.startsWith('Host')).join('\r\n')}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
      `${plain}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n${BODY}\r\n0\r\n\r\n`,
    ];
    for (const payload of payloads) {
      const status = statusOf(await sent(running, payload));
      expect([payload.slice(plain.length, plain.length + 60), status]).toEqual([
        payload.slice(plain.length, plain.length + 60),
        400,
      ]);
    }
    expect(stub.requests.length).toBe(before);
  });
});

describe('clients that take their time', () => {
  const limits = { headersTimeoutMs: 300, requestTimeoutMs: 900 };

  it('are cut off while they send headers or a body, and nobody else notices', async () => {
    const { stub, running } = await open({ limits });
    const slow = [
      'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ',
      `${HEAD.join('\r\n')}\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY.slice(0, 20)}`,
    ];
    const cut = slow.map(async (start) => {
      const answer = await sent(running, start);
      return statusOf(answer);
    });
    // One who does not even begin.
    const silent = opened(running);
    const silentGone = new Promise<void>((resolve) => silent.once('close', () => resolve()));
    silent.resume();
    expect((await callOf(running, 'look', 'alice')).status).toBe(200);
    expect(await Promise.all(cut)).toEqual([408, 408]);
    await within('the silent one is cut off', silentGone);
    expect((await callOf(running, 'look', 'alice')).status).toBe(200);
    expect(stub.callsOf('look').length).toBe(2);
  });

  it('cannot open more connections than allowed', async () => {
    const { running } = await open({ limits: { maxConnections: 5, headersTimeoutMs: 60_000 } });
    const sockets = Array.from({ length: 20 }, () => opened(running));
    let gone = 0;
    for (const socket of sockets) {
      socket.on('close', () => gone++);
      socket.resume();
    }
    await until('fifteen are closed', () => gone === 15);
    await sleep(100);
    expect(gone).toBe(15);
  });
});

describe('requests that are too large', () => {
  it('are refused by what is too large, before anything is forwarded', async () => {
    const { stub, running } = await open({
      limits: { maxHeaderBytes: 4_096, maxHeaders: 20, maxBodyBytes: 1_000 },
    });
    const many = Array.from({ length: 30 }, (_, n) => `X-${n}: a`);
    const answers = [
      await sent(running, request(`X-Large: ${'x'.repeat(5_000)}`)),
      await sent(running, request(...many)),
      await sent(running, `${HEAD.join('\r\n')}\r\nContent-Length: 5000\r\n\r\n${'x'.repeat(5_000)}`),
      await sent(
        running,
        `${HEAD.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n${'x'.repeat(5_000)}\r\n0\r\n\r\n`,
      ),
    ];
    expect(answers.map(statusOf)).toEqual([431, 431, 413, 413]);
    expect(answers[1]).toContain('the limit maxHeaders is 20');
    expect(answers[2]).toContain('the limit maxBodyBytes is 1000 bytes');
    expect(stub.requests).toEqual([]);
    expect((await callOf(running, 'look', 'alice')).status).toBe(200);
  });
});

describe('JSON that is meant to hurt', () => {
  it('is refused when it is nested without end, in the message or in arguments', async () => {
    const { stub, running } = await open();
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const bodies = [
      deep,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_read_tool","arguments":{"name":"look","arguments":{"a":${deep}}}}}`,
    ];
    for (const body of bodies) {
      const reply = await running.raw('legacy').send('POST', body, {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      });
      expect(reply.status).toBe(400);
      expect(reply.body).toContain('limit maxJsonDepth');
    }
    expect(stub.callsOf('look')).toEqual([]);
    expect((await callOf(running, 'look', 'alice')).status).toBe(200);
  });

  it('changes nothing when its names are those of every object', async () => {
    const { running } = await open();
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
      const reply = await callOf(running, name, 'alice');
      expect([name, reply.status, reply.body.includes('there is no tool')]).toEqual([name, 200, true]);
      const own = await running
        .raw('modern', { authorization: 'Bearer alice' })
        .request('tools/call', { name, arguments: {} });
      expect(own.body).toContain('Unknown tool');
    }
    const polluted = await running
      .raw('legacy', { authorization: 'Bearer alice' })
      .send(
        'POST',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_read_tool","__proto__":{"polluted":1},"arguments":{"name":"look","arguments":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}}}',
        { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      );
    expect(polluted.status).toBe(200);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('a caller who wants everything at once', () => {
  it('gets 429 with Retry-After past the limit, and the others their answers', async () => {
    const { stub, running, release } = await open({ limits: { maxCallerRequests: 4 } });
    // Their listings are there first.
    await callOf(running, 'look', 'greedy');
    await callOf(running, 'look', 'modest');
    const waiting = Array.from({ length: 4 }, () => callOf(running, 'wait', 'greedy'));
    await stub.arrived('wait', 4);
    const refused = await Promise.all(Array.from({ length: 50 }, () => callOf(running, 'look', 'greedy')));
    for (const { status, headers, body } of refused) {
      expect([status, headers['retry-after']]).toEqual([429, '1']);
      expect(body).toContain('this caller has 4 requests under way (limit maxCallerRequests)');
    }
    expect((await callOf(running, 'look', 'modest')).status).toBe(200);
    release();
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
    expect((await callOf(running, 'look', 'greedy')).status).toBe(200);
  });

  it('gets 503 when the whole process is busy, and nobody is blamed', async () => {
    const { stub, running, release } = await open({ limits: { maxRequests: 3 } });
    await callOf(running, 'look', 'alice');
    const waiting = Array.from({ length: 3 }, () => callOf(running, 'wait', 'alice'));
    await stub.arrived('wait', 3);
    const { status, headers, body } = await callOf(running, 'look', 'bob');
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(body).toContain('this server has 3 requests under way (limit maxRequests)');
    expect(body).not.toContain('upstream');
    release();
    await Promise.all(waiting);
    expect((await callOf(running, 'look', 'alice')).status).toBe(200);
  });

  it('waits for its turn at an upstream, and after that is told so, with nothing sent', async () => {
    const { stub, release } = await gate();
    const running = await startProxy({
      upstreams: [httpRecord('gate', stub), httpRecord('other', await startStub({ tools: [] }))],
      limits: { maxUpstreamCalls: 2, maxQueuedCalls: 1, callQueueMs: 60_000 },
    });
    await running.settled();
    const ask = (name: string): Promise<RawReply> => callOf(running, `gate__${name}`, 'a');
    const waiting = [ask('wait'), ask('wait')];
    await stub.arrived('wait', 2);
    const queued = ask('look');
    const refusedWith = async (): Promise<string> => (await ask('look')).body;
    let body = '';
    // The queued one takes its place in the queue in its own time.
    await until('the queue is full', async () => {
      body = await Promise.race([refusedWith(), sleep(200).then(() => '')]);
      return body !== '';
    });
    expect(body).toContain('[busy]');
    expect(body).toContain('2 calls under way and 1 waiting (limits maxUpstreamCalls, maxQueuedCalls)');
    expect(body).toContain('"outcome":"not_sent"');
    expect(body).toContain('"retryAfterS":1');
    expect(stub.callsOf('look')).toEqual([]);
    release();
    for (const { status } of await Promise.all([...waiting, queued])) expect(status).toBe(200);
  });

  it('who leaves the queue is never sent', async () => {
    const { stub, release } = await gate();
    const running = await startProxy({
      upstreams: [httpRecord('gate', stub)],
      limits: { maxUpstreamCalls: 1 },
    });
    await running.settled();
    const first = callOf(running, 'wait', 'a');
    await stub.arrived('wait', 1);
    const socket = opened(running);
    socket.write(request());
    await sleep(200);
    socket.destroy();
    await sleep(100);
    release();
    expect((await first).status).toBe(200);
    await sleep(200);
    expect(stub.callsOf('look')).toEqual([]);
  });
});
