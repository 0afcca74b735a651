import { spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serve } from '@hono/node-server';
import { createMcpHandler, fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import { CLIENTS, textOf } from '../support/clients.ts';
import { rawMember } from '../support/raw-json.ts';
import { httpRecord, startProxy, stdioRecord, type RunningProxy } from '../support/proxy.ts';
import { until } from '../support/wait.ts';

/** Servers we did not write: what the stubs believe about the protocol is checked against them. */
const programOf = (name: string): string =>
  fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url));

const total = async (running: RunningProxy): Promise<number> =>
  (await running.call('search_tools', { query: 'anything' })).structuredContent?.['total'] as number;

describe('an upstream made with the SDK’s 2.x server', () => {
  const port = fromJsonSchema({
    type: 'object',
    properties: { port: { type: 'string' } },
    required: ['port'],
  });
  let extra = false;

  async function open(legacy: 'stateless' | 'reject'): Promise<{ url: string; toolsChanged: () => void }> {
    const handler = createMcpHandler(
      () => {
        const server = new McpServer(
          { name: 'harbour', version: '1.0.0' },
          { instructions: 'Ships report first.', capabilities: { tools: { listChanged: true } } },
        );
        const annotations = { readOnlyHint: true };
        server.registerTool(
          'read_tide',
          { description: 'Reads the tide.', inputSchema: port, annotations },
          (args) => ({
            content: [{ type: 'text', text: `tide ${JSON.stringify(args)}` }],
            structuredContent: { high: '06:12' },
          }),
        );
        server.registerTool('count_waves', { description: 'Counts waves.', annotations }, async (context) => {
          const progressToken = context.mcpReq._meta?.progressToken;
          for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
            await context.mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken, progress },
            });
          }
          return { content: [{ type: 'text', text: 'three' }] };
        });
        server.registerTool('moor', { description: 'Moors a ship.' }, (context) => {
          const answers = context.mcpReq.inputResponses;
          if (answers === undefined) {
            return inputRequired({
              inputRequests: {
                pier: inputRequired.elicit({
                  message: 'Which pier?',
                  requestedSchema: { type: 'object', properties: { pier: { type: 'integer' } } },
                }),
              },
            });
          }
          return { content: [{ type: 'text', text: `moored with ${JSON.stringify(answers)}` }] };
        });
        server.registerTool('sink', { description: 'Fails.', annotations }, () => {
          throw new Error('glug');
        });
        if (extra) server.registerTool('late', { description: 'Came late.' }, () => ({ content: [] }));
        return server;
      },
      { legacy },
    );
    const server = serve({ fetch: (request) => handler.fetch(request), hostname: '127.0.0.1', port: 0 });
    await until('it listens', () => server.address());
    whenDone(async () => {
      await handler.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
    });
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
      toolsChanged: () => handler.notify.toolsChanged(),
    };
  }

  for (const legacy of ['stateless', 'reject'] as const) {
    it(`is found and called by every client (${legacy === 'reject' ? '2026-07-28 only' : 'both generations'})`, async () => {
      const running = await startProxy({ upstreams: [httpRecord('harbour', await open(legacy))] });
      await running.settled();
      for (const { connect } of CLIENTS) {
        const client = await connect(running.target);
        expect(client.instructions()).toContain('Ships report first.');
        const read = await client.callTool('call_read_tool', {
          name: 'read_tide',
          arguments: { port: 'Nida' },
        });
        expect(read).toMatchObject({ structuredContent: { high: '06:12' } });
        expect(textOf(read)).toBe('tide {"port":"Nida"}');
        const seen: number[] = [];
        await client.callTool(
          'call_read_tool',
          { name: 'count_waves' },
          { onProgress: ({ progress }) => seen.push(progress) },
        );
        expect(seen).toEqual([1, 2, 3]);
        const sunk = await client.callTool('call_read_tool', { name: 'sink' });
        expect([sunk.isError, textOf(sunk)]).toEqual([true, expect.stringContaining('glug')]);
      }
    });
  }

  it('may ask for input, and gets the client’s answer', async () => {
    const running = await startProxy({ upstreams: [httpRecord('harbour', await open('reject'))] });
    await running.settled();
    const client = running.raw('modern');
    const clientCapabilities = { elicitation: { form: {} } };
    const asked = await client.call('call_write_tool', '{"name":"moor"}', { clientCapabilities });
    expect(rawMember(asked.result ?? '{}', 'resultType')).toBe('"input_required"');
    const state = rawMember(asked.result ?? '{}', 'requestState');
    const answered = await client.request(
      'tools/call',
      `{"name":"call_write_tool","arguments":{"name":"moor"},"inputResponses":{"pier":{"action":"accept","content":{"pier":7}}}${state === undefined ? '' : `,"requestState":${state}`}}`,
      { clientCapabilities },
    );
    expect(answered.result).toContain('moored with');
    // A client that cannot be asked is told, in words or as the protocol's error.
    const cannot = await client.call('call_write_tool', '{"name":"moor"}');
    expect(cannot.error !== undefined || rawMember(cannot.result ?? '{}', 'isError') === 'true').toBe(true);
    const legacy = await running.raw('legacy').call('call_write_tool', '{"name":"moor"}');
    expect(legacy.error !== undefined || rawMember(legacy.result ?? '{}', 'isError') === 'true').toBe(true);
  });

  it('brings new tools with its change notices', async () => {
    extra = false;
    const harbour = await open('reject');
    const running = await startProxy({ upstreams: [httpRecord('harbour', harbour)] });
    await running.settled();
    expect(await total(running)).toBe(4);
    extra = true;
    await until('the new tool is there', async () => {
      harbour.toolsChanged();
      return (await total(running)) === 5;
    });
    extra = false;
  });
});

describe('servers people run', () => {
  it('everything, over stdio and over HTTP with sessions, behind one proxy', async () => {
    const at = await freePort();
    const child = spawn(process.execPath, [programOf('server-everything'), 'streamableHttp'], {
      env: { PATH: process.env['PATH'], PORT: String(at) },
      stdio: 'ignore',
    });
    whenDone(() => void child.kill('SIGKILL'));
    const url = `http://127.0.0.1:${at}/mcp`;
    await until('it listens', async () =>
      fetch(url).then(
        (reply) => reply.status > 0,
        () => false,
      ),
    );
    const running = await startProxy({
      upstreams: [
        stdioRecord('piped', { command: process.execPath, args: [programOf('server-everything')] }),
        httpRecord('web', { url }),
      ],
    });
    await running.settled();
    const listed = await running.proxy.local.listTools();
    expect([listed.unavailable, listed.dropped]).toEqual([[], []]);
    for (const side of ['piped', 'web']) {
      const echoed = await running.call('call_write_tool', {
        name: `${side}__echo`,
        arguments: { message: 'ąžuolas' },
      });
      expect(echoed.content[0]?.text).toContain('ąžuolas');
      const refused = await running.call('call_write_tool', {
        name: `${side}__get-sum`,
        arguments: { a: 'one' },
      });
      expect(refused.isError).toBe(true);
      expect(refused.content[0]?.text).toMatch(/\/a/);
      const image = await running.call('call_write_tool', { name: `${side}__get-tiny-image`, arguments: {} });
      expect(image.content.some((block) => block.type === 'image')).toBe(true);
      const structured = await running.call('call_write_tool', {
        name: `${side}__get-structured-content`,
        arguments: { location: 'Chicago' },
      });
      expect(structured.structuredContent).toBeDefined();
      const slow = await running
        .raw('legacy')
        .call(
          'call_write_tool',
          `{"name":"${side}__trigger-long-running-operation","arguments":{"duration":0.4,"steps":2}}`,
          {
            progressToken: 'p',
          },
        );
      expect(slow.messages.filter((message) => message.includes('notifications/progress'))).toHaveLength(2);
    }
  });

  it('memory and filesystem, reading what was written', async () => {
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'files-')));
    whenDone(() => rmSync(dir, { recursive: true, force: true }));
    writeFileSync(join(dir, 'log.txt'), 'calm sea\n');
    const running = await startProxy({
      upstreams: [
        stdioRecord('files', { command: process.execPath, args: [programOf('server-filesystem'), dir] }),
        stdioRecord(
          'memory',
          { command: process.execPath, args: [programOf('server-memory')] },
          {
            env: { MEMORY_FILE_PATH: join(dir, 'memory.jsonl') },
          },
        ),
      ],
    });
    await running.settled();
    const read = await running.call('call_read_tool', {
      name: 'read_text_file',
      arguments: { path: join(dir, 'log.txt') },
    });
    expect(read.content[0]?.text).toContain('calm sea');
    const write = { name: 'write_file', arguments: { path: join(dir, 'new.txt'), content: 'squall' } };
    expect((await running.call('call_read_tool', write)).content[0]?.text).toContain('call_write_tool');
    expect((await running.call('call_write_tool', write)).isError ?? false).toBe(false);
    const remembered = await running.call('call_write_tool', {
      name: 'create_entities',
      arguments: { entities: [{ name: 'Petrel', entityType: 'ship', observations: ['has two masts'] }] },
    });
    expect(remembered.isError ?? false).toBe(false);
    const found = await running.call('call_write_tool', {
      name: 'search_nodes',
      arguments: { query: 'Petrel' },
    });
    expect(JSON.stringify(found)).toContain('two masts');
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
