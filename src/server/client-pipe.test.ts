import { PassThrough } from 'node:stream';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import { ClientPipe } from './client-pipe.ts';
import { createMcpServer, exchange } from './mcp-server.ts';
import { LEGACY_VERSIONS } from './protocol.ts';

const INSTRUCTIONS = 'Find a tool with search_tools.';

function opened(): { pipe: ClientPipe; input: PassThrough; written: () => string } {
  const input = new PassThrough();
  const output = new PassThrough();
  let text = '';
  output.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const pipe = new ClientPipe({ input, output, limits: DEFAULT_LIMITS, instructions: INSTRUCTIONS });
  return { pipe, input, written: () => text };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

const initialize = (protocolVersion: string, id: string | number = 1): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  });

describe('the client’s pipe', () => {
  it('knows the versions the SDK knows', () => {
    expect(LEGACY_VERSIONS).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
  });

  it.each([...SUPPORTED_PROTOCOL_VERSIONS, '2026-07-28', '1999-01-01'])(
    'answers a handshake for %s as the SDK does',
    async (version) => {
      const { pipe, input, written } = opened();
      input.write(`${initialize(version, 'first')}\n`);
      await turn();
      const server = createMcpServer(() => [], INSTRUCTIONS);
      const sdk = await exchange(server, JSON.parse(initialize(version, 'first')) as never);
      expect(written()).toBe(`${JSON.stringify(sdk)}\n`);
      expect(pipe.greeted).toBe('"first"');
    },
  );

  it.each([
    ['another first message', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ['a handshake without its parts', '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'],
    [
      'a newer client’s envelope',
      initialize('2026-07-28').replace('"capabilities"', '"_meta":{},"capabilities"'),
    ],
    ['no JSON', 'hello'],
  ])('leaves %s to whoever takes it', async (_what, line) => {
    const { pipe, input, written } = opened();
    input.write(`${line}\n`);
    await turn();
    expect(written()).toBe('');
    expect(pipe.greeted).toBeUndefined();
    const taken: string[] = [];
    pipe.take(
      (one) => taken.push(one),
      () => undefined,
    );
    expect(taken).toEqual([line]);
  });

  it('keeps everything for whoever takes it, in order, and ends when the client does', async () => {
    const { pipe, input } = opened();
    input.write(
      `${initialize('2025-06-18')}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"half":`,
    );
    await turn();
    const taken: string[] = [];
    pipe.take(
      (line) => taken.push(line),
      () => undefined,
    );
    input.end('1}\n');
    await pipe.ended;
    expect(taken).toHaveLength(3);
    expect(taken[2]).toBe('{"half":1}');
  });
});
