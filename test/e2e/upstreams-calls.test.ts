import { describe, expect, it } from 'vitest';
import type { UpstreamRecord } from '../../src/roster/record.ts';
import type { RawReply } from '../support/clients.ts';
import { inlineChild } from '../support/inline-child.ts';
import { httpRecord, startProxy, startStdioProgram, stdioRecord, toolsAreThere } from '../support/proxy.ts';
import { rawMember } from '../support/raw-json.ts';
import { scriptStdio, type StdioTool } from '../support/stdio-upstream.ts';
import { rawResult, startStub, stubTool, textResult, type StubTool } from '../support/stub-upstream.ts';
import { sleep, until, within } from '../support/wait.ts';

const read = (name: string, answer?: StubTool['answer']): StubTool =>
  stubTool(name, { readOnly: true, ...(answer && { answer }) });

const childRead = (name: string, does?: StdioTool['does']): StdioTool => ({
  definition: read(name).definition,
  ...(does && { does }),
});

const logsIn = (reply: RawReply): string[] =>
  reply.messages
    .filter((message) => message.includes('"notifications/message"'))
    .map((message) => rawMember(message, 'params', 'data') ?? '');

const LEVELS = ['debug', 'info', 'warning', 'error'];

/** Logs at every level, and also when nobody asked for it, as careless servers do. */
const CHATTY = `
  tools = [tool('say'), tool('slow')];
  call = (id, { name }) => {
    for (const level of ${JSON.stringify(LEVELS)}) tell('notifications/message', { level, data: level });
    if (name === 'say') return reply(id, { content: [] });
    setTimeout(() => reply(id, { content: [] }), 400);
  };`;

describe('log messages of a child', () => {
  it('reach the call under way at its client’s level, and the child is told the level once', async () => {
    const child = inlineChild(`${CHATTY}
      const asked = [];
      tools.push(tool('levels'));
      const answer = call;
      call = (id, params) =>
        params.name === 'levels' ? reply(id, { content: [{ type: 'text', text: JSON.stringify(asked) }] }) : answer(id, params);
      process.stdin.on('data', (chunk) => {
        for (const [, level] of String(chunk).matchAll(/"logging\\/setLevel","params":\\{"level":"(\\w+)"/g)) asked.push(level);
      });`);
    const running = await startProxy({ upstreams: [stdioRecord('chatty', child)] });
    await running.settled();
    const client = running.raw('modern');
    const at = (logLevel: string): Promise<RawReply> =>
      client.call('call_read_tool', '{"name":"say"}', { logLevel });
    expect(logsIn(await at('error'))).toEqual(['"error"']);
    expect(logsIn(await at('info'))).toEqual(['"info"', '"warning"', '"error"']);
    expect(logsIn(await at('error'))).toEqual(['"error"']);
    // Nobody who did not ask, and no older client, which has no way to ask.
    expect(logsIn(await client.call('call_read_tool', '{"name":"say"}'))).toEqual([]);
    expect(logsIn(await running.raw('legacy').call('call_read_tool', '{"name":"say"}'))).toEqual([]);
    const levels = await running.call('call_read_tool', { name: 'levels' });
    expect(levels.content[0]?.text).toBe('["error","info"]');
  });

  it('reach nobody while nobody can say whose they are', async () => {
    const running = await startProxy({ upstreams: [stdioRecord('chatty', inlineChild(CHATTY))] });
    await running.settled();
    const client = running.raw('modern');
    const both = [1, 2].map(() => client.call('call_read_tool', '{"name":"slow"}', { logLevel: 'debug' }));
    const [first, second] = await Promise.all(both);
    // What was logged before the second call began is the first's; nothing of either is shown to the other.
    expect(logsIn(second as RawReply)).toEqual([]);
    expect(logsIn(first as RawReply).length).toBeLessThanOrEqual(LEVELS.length);
  });

  it('reach a client of ours over stdio as well', async () => {
    const child = inlineChild(CHATTY);
    const running = await startStdioProgram('modern', {
      mcpServers: { chatty: { command: child.command, args: child.args } },
    });
    await toolsAreThere(running, 2);
    const before = running.client.lines.length;
    await running.client.call('call_read_tool', '{"name":"say"}', { logLevel: 'warning' });
    const logs = running.client.lines
      .slice(before)
      .filter((line) => line.includes('"notifications/message"'));
    expect(logs.map((line) => rawMember(line, 'params', 'data'))).toEqual(['"warning"', '"error"']);
  });
});

describe('log messages of an older HTTP server', () => {
  it('come with the answer or on its stream for everything else, at the client’s level', async () => {
    const notifications = LEVELS.map((level) => ({
      method: 'notifications/message',
      params: { level, data: level },
    }));
    const stub = await startStub({
      era: 'legacy',
      session: true,
      logging: true,
      tools: [
        read('beside', () => ({ kind: 'result', raw: '{"content":[]}', notifications })),
        read('astray', async () => {
          for (const { method, params } of notifications)
            stub.sendOnStreams(JSON.stringify({ jsonrpc: '2.0', method, params }));
          await sleep(200);
          return rawResult('{"content":[]}');
        }),
      ],
    });
    const running = await startProxy({ upstreams: [httpRecord('web', stub)] });
    await running.settled();
    await until('its stream is open', () => stub.openStreams() > 0);
    for (const name of ['beside', 'astray']) {
      const reply = await running
        .raw('modern')
        .call('call_read_tool', `{"name":"${name}"}`, { logLevel: 'warning' });
      expect(logsIn(reply), name).toEqual(['"warning"', '"error"']);
    }
    expect(stub.requestsOf('logging/setLevel').map(({ params }) => params['level'])).toEqual(['warning']);
    expect(stub.violations).toEqual([]);
  });
});

describe('progress', () => {
  const steps = [1, 2, 3, 4].map((progress) => ({ method: 'notifications/progress', params: { progress } }));
  const PROGRESS_CHILD = `
    call = async (id, { _meta }) => {
      for (let step = 1; step <= 4; step++) {
        await new Promise((resolve) => setTimeout(resolve, 350));
        tell('notifications/progress', { progressToken: _meta.progressToken, progress: step });
      }
      reply(id, { content: [{ type: 'text', text: 'at last' }] });
    };`;

  const UPSTREAMS: Readonly<Record<string, () => Promise<UpstreamRecord>>> = {
    'a child': async () => stdioRecord('slow', inlineChild(PROGRESS_CHILD)),
    'a modern HTTP server': async () =>
      httpRecord(
        'slow',
        await startStub({
          tools: [
            read('say', () => ({
              kind: 'result',
              isStamped: true,
              raw: '{"content":[{"type":"text","text":"at last"}]}',
              notifications: steps,
              pauseMs: 350,
            })),
          ],
        }),
      ),
    'an older HTTP server that sends it on its other stream': async () => {
      const stub = await startStub({
        era: 'legacy',
        session: true,
        tools: [
          read('say', async ({ params }) => {
            const { progressToken } = params['_meta'] as { progressToken: unknown };
            for (const { method, params: step } of steps) {
              await sleep(350);
              stub.sendOnStreams(
                JSON.stringify({ jsonrpc: '2.0', method, params: { ...step, progressToken } }),
              );
            }
            return textResult('at last');
          }),
        ],
      });
      return httpRecord('slow', stub);
    },
  };

  for (const [label, open] of Object.entries(UPSTREAMS)) {
    it(`of ${label} keeps a call alive past its timeout, wanted or not, and reaches who wanted it`, async () => {
      const running = await startProxy({ upstreams: [await open()], limits: { callTimeoutMs: 900 } });
      await running.settled();
      await sleep(100);
      for (const era of ['modern', 'legacy'] as const) {
        const unasked = await running.raw(era).call('call_read_tool', '{"name":"say"}');
        expect(unasked.result).toContain('at last');
        expect(unasked.body).not.toContain('notifications/progress');
      }
      const asked = await running
        .raw('legacy')
        .call('call_read_tool', '{"name":"say"}', { progressToken: 'mine' });
      const progress = asked.messages.filter((message) => message.includes('notifications/progress'));
      expect(new Set(progress.map((message) => rawMember(message, 'params', 'progressToken')))).toEqual(
        new Set(['"mine"']),
      );
      // On another stream the last one may come behind the answer.
      expect(progress.length).toBeGreaterThanOrEqual(3);
    });
  }
});

describe('what an upstream asks of its client', () => {
  const METHODS = ['ping', 'sampling/createMessage', 'elicitation/create', 'roots/list', 'x/unknown'];
  const ANSWERS = ['{}', '-32601', '-32601', '-32601', '-32601'];
  const outcomeOf = (answer: string): string | undefined =>
    rawMember(answer, 'result') ?? rawMember(answer, 'error', 'code');

  it('is answered at once over stdio', async () => {
    const child = scriptStdio({
      tools: METHODS.map((method, n) => childRead(`ask_${n}`, { kind: 'ask', method })),
    });
    const running = await startProxy({ upstreams: [stdioRecord('curious', child)] });
    await running.settled();
    const answers: string[] = [];
    for (const n of METHODS.keys()) {
      const { content } = await within(
        'the answer',
        running.call('call_read_tool', { name: `ask_${n}` }),
        2_500,
      );
      answers.push(content[0]?.text ?? '');
    }
    expect(answers.map(outcomeOf)).toEqual(ANSWERS);
    expect(answers[1]).toContain('sampling/createMessage is not supported');
  });

  it('is answered at once in an answer’s stream and on the other stream over HTTP', async () => {
    const asks = METHODS.map((method) => ({ method, params: {} }));
    const stub = await startStub({
      era: 'legacy',
      session: true,
      tools: [read('asking', () => ({ kind: 'result', raw: '{"content":[]}', asks }))],
    });
    const running = await startProxy({ upstreams: [httpRecord('curious', stub)] });
    await running.settled();
    await within('the call', running.call('call_read_tool', { name: 'asking' }), 2_500);
    expect(stub.clientAnswers.map(outcomeOf)).toEqual(ANSWERS);
    await until('its stream is open', () => stub.openStreams() > 0);
    for (const [n, method] of METHODS.entries())
      stub.sendOnStreams(`{"jsonrpc":"2.0","id":"stray-${n}","method":"${method}","params":{}}`);
    await until('all are answered', () => stub.clientAnswers.length === 2 * METHODS.length);
    const strays = stub.clientAnswers.slice(METHODS.length);
    expect(new Map(strays.map((answer) => [rawMember(answer, 'id'), outcomeOf(answer)]))).toEqual(
      new Map(ANSWERS.map((outcome, n) => [`"stray-${n}"`, outcome])),
    );
    expect(strays.join()).toContain('roots/list is not supported');
    expect(stub.violations).toEqual([]);
  });
});

describe('a client that cancels', () => {
  const PLACES: Readonly<
    Record<string, () => Promise<{ record: UpstreamRecord; arrived: () => boolean; heard: () => boolean }>>
  > = {
    'a child': async () => {
      const child = scriptStdio({ tools: [childRead('hang', { kind: 'hang' }), childRead('calm')] });
      return {
        record: stdioRecord('up', child),
        arrived: () => child.callsOf('hang').length === 1,
        heard: () => child.linesOf('notifications/cancelled').length === 1,
      };
    },
    'an older HTTP server': async () => {
      const stub = await startStub({
        era: 'legacy',
        session: true,
        tools: [read('hang', () => ({ kind: 'hang' })), read('calm')],
      });
      return {
        record: httpRecord('up', stub),
        arrived: () => stub.callsOf('hang').length === 1,
        heard: () => stub.requestsOf('notifications/cancelled').length === 1,
      };
    },
    'a modern HTTP server': async () => {
      const stub = await startStub({ tools: [read('hang', () => ({ kind: 'hang' })), read('calm')] });
      return {
        record: httpRecord('up', stub),
        arrived: () => stub.callsOf('hang').length === 1,
        heard: () => stub.callsOf('hang')[0]?.clientLeft === true,
      };
    },
  };

  for (const [label, open] of Object.entries(PLACES)) {
    it(`is heard by ${label}, which keeps its connection and its other calls`, async () => {
      const { record, arrived, heard } = await open();
      const running = await startProxy({ upstreams: [record] });
      await running.settled();
      const leaving = new AbortController();
      const call = running
        .raw('modern')
        .call('call_read_tool', '{"name":"hang"}', { signal: leaving.signal })
        .catch(() => undefined);
      await until('the call has arrived', arrived);
      leaving.abort();
      await call;
      await until('the upstream hears of it', heard);
      const calm = await running.call('call_read_tool', { name: 'calm' });
      expect(calm.isError ?? false).toBe(false);
      expect(running.events.filter((event) => event.kind === 'upstream' && event.state !== 'ready')).toEqual(
        [],
      );
    });
  }
});

describe('a stream that brings what nobody can read', () => {
  it('ends neither the program nor the upstream', async () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    for (const era of ['modern', 'legacy'] as const) {
      const stub = await startStub({ era, session: era === 'legacy', tools: [read('calm')] });
      const running = await startProxy({ upstreams: [httpRecord('odd', stub)] });
      await running.settled();
      await until('its stream is open', () => stub.openStreams() > 0);
      stub.sendOnStreams(`{"jsonrpc":"2.0","method":"notifications/message","params":${deep}}`);
      stub.sendOnStreams(`{"jsonrpc":"2.0","id":1,"method":"x","params":${deep}}`);
      stub.sendOnStreams('no JSON');
      await sleep(200);
      const calm = await running.call('call_read_tool', { name: 'calm' });
      expect(calm.isError ?? false, era).toBe(false);
    }
  });
});
