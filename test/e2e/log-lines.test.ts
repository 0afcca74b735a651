import { describe, expect, it } from 'vitest';
import { encodeHeaderValue } from '../../src/base/header-value.ts';
import { rawHttp } from '../support/clients.ts';
import type { RawRequestOptions } from '../support/clients.ts';
import { startHttpProgram, startStdioProgram } from '../support/proxy.ts';
import type { RunningProgram } from '../support/proxy.ts';
import { rpcError, startStub, stubTool, textResult } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

/** What would end a line, start another or colour a terminal, were it written as it is. */
const INJECTION = '\n{"level":"error","msg":"forged"}\r\u2028\u001B[31m\u0000';

const tools = [
  stubTool('read_tide', { readOnly: true, answer: () => textResult('low') }),
  stubTool(`read_${INJECTION}`, { readOnly: true, description: INJECTION }),
  stubTool('read_fog', { readOnly: true, answer: () => rpcError(-32_000, INJECTION) }),
  stubTool('set_lamp', { properties: { on: { type: 'boolean' } }, required: ['on'] }),
];

interface Speaker {
  request(method: string, params?: object | string, options?: RawRequestOptions): Promise<unknown>;
  call(name: string, argumentsText: string, options?: RawRequestOptions): Promise<unknown>;
}

/** What each request of `speak` is told as: method, tool, outcome or error. */
const TOLD = {
  modern: [['request', 'server/discover', undefined]],
  legacy: [
    ['request', 'initialize', undefined],
    ['request', 'ping', undefined],
  ],
} as const;

async function speak(client: Speaker, era: 'modern' | 'legacy'): Promise<void> {
  if (era === 'modern') await client.request('server/discover');
  else {
    await client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: INJECTION, version: '1' },
    });
    await client.request('ping');
  }
  await client.request('tools/list');
  // A header cannot hold this, so over HTTP no newer client can ask for it.
  await client.request(era === 'modern' ? 'no/such' : `no/such${INJECTION}`);
  await client.request('tools/call', '{}');
  await client.call(INJECTION, '{}', { headers: { 'mcp-name': encodeHeaderValue(INJECTION) } });
  await client.call('search_tools', JSON.stringify({ query: INJECTION }));
  await client.call('search_tools', '{}');
  await client.call('describe_tool', JSON.stringify({ names: [INJECTION] }));
  for (const name of ['read_tide', `read_${INJECTION}`, 'read_fog', 'set_lamp', INJECTION])
    await client.call('call_read_tool', JSON.stringify({ name }));
  await client.call('call_write_tool', '{"name":"set_lamp","arguments":{"on":"\\n"}}');
}

/** Over HTTP a newer client's call without a name has no header that names it, which refuses it before it is a call. */
const nameless = (era: 'modern' | 'legacy', transport: 'HTTP' | 'stdio'): readonly unknown[] =>
  era === 'modern' && transport === 'HTTP' ? ['request', 'tools/call', -32_602] : ['call', 'none', 'refused'];

const AFTER_GREETING = [
  ['call', 'none', 'refused'],
  ['call', 'search_tools', 'ok'],
  ['call', 'search_tools', 'refused'],
  ['call', 'describe_tool', 'ok'],
  ['call', 'call_read_tool', 'ok'],
  ['call', 'call_read_tool', 'ok'],
  ['call', 'call_read_tool', 'failed'],
  ['call', 'call_read_tool', 'refused'],
  ['call', 'call_read_tool', 'refused'],
  ['call', 'call_write_tool', 'refused'],
];

/** The lines for what the client asked, without what it took to find out when the tools were there. */
async function told(running: RunningProgram, skip: number, count: number): Promise<unknown[]> {
  const lines = (): Record<string, unknown>[] =>
    running
      .stderr()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const asked = (): Record<string, unknown>[] =>
    lines()
      .filter(({ event }) => event === 'call' || event === 'request')
      .slice(skip);
  await until(`${count} lines are there`, () => asked().length >= count);
  for (const line of lines()) {
    expect(Object.keys(line)).toEqual(expect.arrayContaining(['level', 'time', 'msg', 'event']));
    for (const character of '\n\r\u2028\u001B\u0000') expect(line['msg']).not.toContain(character);
    expect(line['level']).not.toBe('error');
    if (line['event'] === 'call') expect(line['protocol_version']).toMatch(/^20\d\d-\d\d-\d\d$/);
  }
  return asked().map(({ event, method, tool, outcome, error_type: error }) =>
    event === 'request' ? [event, method, error] : [event, tool, outcome],
  );
}

const LOGGED = ['--log-level', 'debug', '--log-format', 'json'];

describe('one JSON line for each MCP request', () => {
  for (const era of ['modern', 'legacy'] as const) {
    const expectedOver = (transport: 'HTTP' | 'stdio'): readonly unknown[] => [
      ...TOLD[era],
      ['request', 'tools/list', undefined],
      ['request', 'other', -32_601],
      nameless(era, transport),
      ...AFTER_GREETING,
    ];

    it(`of a client over HTTP (${era})`, async () => {
      const expected = expectedOver('HTTP');
      const stub = await startStub({ tools });
      const running = await startHttpProgram(LOGGED, {
        config: { mcpServers: { harbour: { url: stub.url } } },
      });
      const client = rawHttp(running.url, { era });
      let tries = 0;
      await until('tools are there', async () => {
        tries++;
        return (await client.call('search_tools', '{"query":"tide"}')).body.includes('"total":4');
      });
      await speak(client, era);
      expect(await told(running, tries, expected.length)).toEqual(expected);
    });

    it(`of a client over stdio (${era})`, async () => {
      const expected = expectedOver('stdio');
      const stub = await startStub({ tools });
      const running = await startStdioProgram(
        era,
        { mcpServers: { harbour: { url: stub.url } } },
        { args: LOGGED },
      );
      const { client } = running;
      let tries = 0;
      const isThere = async (): Promise<boolean> => {
        tries++;
        return (await client.call('search_tools', '{"query":"tide"}')).includes('"total":4');
      };
      if (era === 'legacy') {
        // The handshake comes first in this generation, and once.
        await client.initialize();
        await until('tools are there', isThere);
        await speakOn(client);
        expect(await told(running, tries + 1, expected.length - 1)).toEqual(expected.slice(1));
      } else {
        await until('tools are there', isThere);
        await speak(client, era);
        expect(await told(running, tries, expected.length)).toEqual(expected);
      }
      for (const line of client.lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
    });
  }
});

/** All of `speak` but the handshake. */
function speakOn(client: Speaker): Promise<void> {
  return speak(
    {
      ...client,
      request: (method, ...more) =>
        method === 'initialize' ? Promise.resolve() : client.request(method, ...more),
    },
    'legacy',
  );
}
