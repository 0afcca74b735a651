import { describe, expect, it } from 'vitest';
import { CLIENTS, pairingOf, UPSTREAMS } from '../../scripts/docs/wire-table.ts';
import type { Kept, Leg } from '../../scripts/docs/wire-table.ts';
import type { UpstreamRecord } from '../../src/roster/record.ts';
import { rawMember } from '../support/raw-json.ts';
import { httpRecord, startProxy, startStdioProgram, stdioRecord } from '../support/proxy.ts';
import { startSseStub } from '../support/sse-upstream.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { rawResult, result, startStub, type StubTool } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

/** Fields and blocks of no version of the protocol, and numbers no double holds. */
const FIELDS =
  '"extra":{"deep":[null,{"x":"ą"}]},"content":[{"type":"hologram","beam":[1]},{"type":"text","text":"a","mood":"calm"}]';
const INTEGERS = '"structuredContent":{"id":12345678901234567890,"tiny":1e-400}';
const ARGUMENTS = '{"id":98765432109876543210,"unknown":{"y":null}}';

const resultText = (era: Leg['era']): string =>
  `{${era === 'modern' ? '"resultType":"complete",' : ''}${FIELDS},${INTEGERS}}`;

const definition = (name: string): object => ({
  name,
  description: `Tool to ${name}.`,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
});

/** An upstream with a tool that answers oddly, one that reports progress, and one that never answers. */
interface Far {
  readonly entry: object;
  readonly record: UpstreamRecord;
  /** The arguments of the last call of the odd tool, as they arrived. */
  readonly lastArguments: () => string | undefined;
  readonly isHanging: () => boolean;
  readonly wasToldToStop: () => boolean;
}

async function openUpstream({ transport, era }: Leg): Promise<Far> {
  if (transport === 'stdio') {
    const child = scriptStdio({
      era,
      tools: [
        { definition: definition('give'), does: { kind: 'raw', raw: resultText(era) } },
        { definition: definition('climb'), does: { kind: 'progress', steps: 2 } },
        { definition: definition('hang'), does: { kind: 'hang' } },
      ],
    });
    return {
      entry: { command: child.command, args: child.args },
      record: stdioRecord('far', child),
      lastArguments: () => rawMember(child.callsOf('give').at(-1) ?? '{}', 'params', 'arguments'),
      isHanging: () => child.callsOf('hang').length === 1,
      wasToldToStop: () => child.linesOf('notifications/cancelled').length === 1,
    };
  }
  const progress = [1, 2].map((step) => ({
    method: 'notifications/progress',
    params: { progress: step, total: 2 },
  }));
  const tools: readonly StubTool[] = [
    { definition: definition('give'), answer: () => rawResult(resultText(era)) },
    {
      definition: definition('climb'),
      answer: () => result({ content: [{ type: 'text', text: 'done' }] }, { notifications: progress }),
    },
    { definition: definition('hang'), answer: () => ({ kind: 'hang' }) },
  ];
  if (transport === 'sse') {
    const sse = await startSseStub({ tools });
    return {
      entry: { url: sse.url, type: 'sse' },
      record: httpRecord('far', sse),
      lastArguments: () => rawMember(sse.callsOf('give').at(-1)?.body ?? '{}', 'params', 'arguments'),
      isHanging: () => sse.callsOf('hang').length === 1,
      wasToldToStop: () => sse.requestsOf('notifications/cancelled').length === 1,
    };
  }
  const stub = await startStub({ era, session: era === 'legacy', tools });
  return {
    entry: { url: stub.url },
    record: httpRecord('far', stub),
    lastArguments: () => rawMember(stub.callsOf('give').at(-1)?.body ?? '{}', 'params', 'arguments'),
    isHanging: () => stub.callsOf('hang').length === 1,
    wasToldToStop: () => stub.callsOf('hang')[0]?.clientLeft === true,
  };
}

/** A client as the test needs it: whole texts in, whole texts out. */
interface Near {
  /** The result's text, and those of the notifications that came before it. */
  call(
    tool: string,
    argumentsText: string,
    progressToken?: string,
  ): Promise<{ readonly result: string; readonly notifications: readonly string[] }>;
  /** Calls a tool that never answers; gives what takes the call back. */
  callInVain(tool: string): () => void;
}

const isNotification = (message: string): boolean => message.includes('"method":"notifications/');

async function openClient({ transport, era }: Leg, far: Far): Promise<Near> {
  const callText = (tool: string, argumentsText = '{}'): string =>
    `{"name":"${tool}","arguments":${argumentsText}}`;
  if (transport === 'http') {
    const running = await startProxy({ upstreams: [far.record] });
    await running.settled();
    const client = running.raw(era);
    return {
      async call(tool, argumentsText, progressToken) {
        const options = progressToken === undefined ? {} : { progressToken };
        const reply = await client.call('call_read_tool', callText(tool, argumentsText), options);
        return { result: reply.result ?? '', notifications: reply.messages.filter(isNotification) };
      },
      callInVain(tool) {
        const leaving = new AbortController();
        client.call('call_read_tool', callText(tool), { signal: leaving.signal }).catch(() => undefined);
        return () => leaving.abort();
      },
    };
  }
  const { client } = await startStdioProgram(era, { mcpServers: { far: far.entry } });
  if (era === 'legacy') await client.initialize();
  await until('the upstream is ready', async () =>
    (await client.call('search_tools', '{"query":"climb"}')).includes('"total":3'),
  );
  return {
    async call(tool, argumentsText, progressToken) {
      const before = client.lines.length;
      const options = progressToken === undefined ? {} : { progressToken };
      const line = await client.call('call_read_tool', callText(tool, argumentsText), options);
      return {
        result: rawMember(line, 'result') ?? '',
        notifications: client.lines.slice(before).filter(isNotification),
      };
    },
    callInVain(tool) {
      client.call('call_read_tool', callText(tool), { id: 'in-vain' }).catch(() => undefined);
      const cancelled = {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 'in-vain' },
      };
      return () => client.write(JSON.stringify(cancelled));
    },
  };
}

/** Whether each is kept, found out by trying. */
const TRIALS: Readonly<Record<Kept, (near: Near, far: Far) => Promise<boolean>>> = {
  async fields(near, far) {
    const given = await near.call('give', ARGUMENTS);
    return given.result.includes(FIELDS) && far.lastArguments() === ARGUMENTS;
  },
  async integers(near, far) {
    const given = await near.call('give', ARGUMENTS);
    return given.result.includes(INTEGERS) && far.lastArguments() === ARGUMENTS;
  },
  async progress(near) {
    const { notifications } = await near.call('climb', '{}', 'my token');
    const seen = notifications.map((message) => [
      rawMember(message, 'params', 'progressToken'),
      rawMember(message, 'params', 'progress'),
      rawMember(message, 'params', 'total'),
    ]);
    return JSON.stringify(seen) === JSON.stringify([1, 2].map((step) => ['"my token"', String(step), '2']));
  },
  async cancellation(near, far) {
    const takeBack = near.callInVain('hang');
    await until('the call arrives', far.isHanging);
    if (far.wasToldToStop()) return false;
    takeBack();
    return until('the upstream is told to stop', far.wasToldToStop);
  },
};

describe('what is kept on the way', () => {
  for (const upstream of UPSTREAMS) {
    for (const client of CLIENTS) {
      it(pairingOf(client, upstream), async () => {
        const far = await openUpstream(upstream);
        const near = await openClient(client, far);
        for (const [kept, isKept] of Object.entries(TRIALS) as [Kept, (typeof TRIALS)[Kept]][]) {
          expect(await isKept(near, far), kept).toBe(true);
        }
      });
    }
  }
});
