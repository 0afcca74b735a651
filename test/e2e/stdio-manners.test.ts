import { describe, expect, it } from 'vitest';
import { META_TOOLS } from '../support/harbour.ts';
import { rawMember } from '../support/raw-json.ts';
import { startProgram, startStdioProgram, toolsAreThere } from '../support/proxy.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { result, startStub, stubTool, textResult } from '../support/stub-upstream.ts';
import { until, within } from '../support/wait.ts';

const bell = [
  stubTool('ring_bell', { description: 'Rings the bell.', readOnly: true, answer: () => textResult('ding') }),
];

async function open(era: 'modern' | 'legacy'): Promise<Awaited<ReturnType<typeof startStdioProgram>>> {
  const stub = await startStub({ tools: bell });
  const running = await startStdioProgram(era, { mcpServers: { tower: { url: stub.url } } });
  if (era === 'legacy') await running.client.initialize();
  await toolsAreThere(running, 1);
  return running;
}

const isJson = (line: string): boolean => {
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
};

describe('the program over stdio', () => {
  it('answers initialize at once, whatever its upstreams do', async () => {
    const hung = scriptStdio({ tools: [], neverAnswer: ['initialize', 'server/discover'] });
    const { client, child, exited } = await startStdioProgram('legacy', {
      mcpServers: { hung: { command: hung.command, args: hung.args }, gone: { command: '/nowhere/at-all' } },
    });
    const reply = await within('initialize', client.initialize(), 8_000);
    expect(rawMember(reply, 'result', 'serverInfo', 'name')).toBe('"mcp-toolsearch-proxy"');
    const listed = await within('tools/list', client.request('tools/list'), 8_000);
    for (const name of META_TOOLS) expect(listed).toContain(`"${name}"`);
    const found = JSON.parse(
      await within('a search', client.call('search_tools', '{"query":"bell"}'), 8_000),
    ) as {
      result: { structuredContent: { total: number; unavailable: { name: string }[] } };
    };
    expect(found.result.structuredContent.total).toBe(0);
    expect(found.result.structuredContent.unavailable.map(({ name }) => name).sort()).toEqual([
      'gone',
      'hung',
    ]);
    child.stdin?.end();
    await within('the program ends', exited, 12_000);
  });

  for (const era of ['modern', 'legacy'] as const) {
    it(`answers lines that are no JSON-RPC and goes on (${era})`, async () => {
      const { client } = await open(era);
      for (const line of [
        'this is no JSON',
        '{"jsonrpc":"2.0"',
        '42',
        'null',
        '"text"',
        '{}',
        '[]',
        '',
        '   ',
        '{"jsonrpc":"2.0","method":"notifications/of_another_time"}',
        '{"jsonrpc":"2.0","id":"nobody-asked","result":{}}',
      ]) {
        client.write(line);
      }
      expect(await client.call('call_read_tool', '{"name":"ring_bell"}')).toContain('ding');
      for (const line of client.lines) expect(isJson(line), line).toBe(true);
      // Whatever was said about the broken lines was an error, never a result.
      const unasked = client.lines.filter((line) => rawMember(line, 'id') === 'null');
      for (const line of unasked) expect(rawMember(line, 'error', 'code')).toMatch(/^-32[67]00$/);
    });

    it(`gives ids back as they came and answers out of order (${era})`, async () => {
      const { client } = await open(era);
      const ids = [1001, 'text', 'ąž🌊', '1001', 0, -5];
      const replies = await Promise.all(
        ids.map((id) => client.call('call_read_tool', '{"name":"ring_bell"}', { id })),
      );
      replies.forEach((reply, n) => expect(JSON.parse(rawMember(reply, 'id') ?? 'null')).toEqual(ids[n]));
    });

    it(`answers unknown methods with -32601 (${era})`, async () => {
      const { client } = await open(era);
      for (const method of ['nonsense', 'resources/list', 'prompts/list']) {
        expect(rawMember(await client.request(method), 'error', 'code')).toBe('-32601');
      }
      if (era === 'legacy') expect(rawMember(await client.request('ping'), 'result')).toBe('{}');
    });
  }

  it('takes a line of a megabyte, and characters that arrive in pieces', async () => {
    const { client, child } = await open('legacy');
    const long = await client.call('search_tools', JSON.stringify({ query: 'ą'.repeat(400_000) }));
    expect(rawMember(long, 'result') ?? rawMember(long, 'error')).toBeDefined();
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":"pieces-🌊","method":"ping"}\r\n');
    for (const byte of bytes) {
      child.stdin?.write(Buffer.from([byte]));
      if (byte > 127) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await until('it is answered', () => client.lines.some((line) => line.includes('"pieces-🌊"')));
  });

  it('answers the batches of 2025-03-26 with one line', async () => {
    const { client } = await open('legacy');
    const before = client.lines.length;
    client.write(
      '[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":"b2","method":"tools/call","params":{"name":"call_read_tool","arguments":{"name":"ring_bell"}}}]',
    );
    const line = await until('it is answered', () => client.lines[before]);
    const replies = JSON.parse(line) as { id: string }[];
    expect(replies.map(({ id }) => id).sort()).toEqual(['b1', 'b2']);
    expect(line).toContain('ding');
  });

  it('answers what it was asked before its stdin ended', async () => {
    const stub = await startStub({
      tools: [
        stubTool('slow', {
          readOnly: true,
          answer: () => result({ content: [{ type: 'text', text: 'at last' }] }, { delayMs: 400 }),
        }),
      ],
    });
    const running = await startStdioProgram('legacy', { mcpServers: { tower: { url: stub.url } } });
    await running.client.initialize();
    await toolsAreThere(running, 1);
    const call = running.client.call('call_read_tool', '{"name":"slow"}');
    await stub.arrived('slow');
    running.child.stdin?.end();
    expect(await call).toContain('at last');
    expect(await within('the program ends', running.exited)).toBe(0);
  });

  it('gives up what does not end after its stdin has, and ends well', async () => {
    const stub = await startStub({
      tools: [stubTool('hang', { readOnly: true, answer: () => ({ kind: 'hang' }) })],
    });
    const running = await startStdioProgram('legacy', { mcpServers: { tower: { url: stub.url } } });
    await running.client.initialize();
    await toolsAreThere(running, 1);
    running.client.call('call_read_tool', '{"name":"hang"}').catch(() => undefined);
    const request = await stub.arrived('hang');
    running.child.stdin?.end();
    expect(await within('the program ends', running.exited)).toBe(0);
    await until('the upstream call ends', () => request.clientLeft);
  });

  it('ends well when whoever reads its stdout has gone', async () => {
    const { child, exited, client } = await open('legacy');
    child.stdout?.destroy();
    for (let n = 0; n < 5; n++) client.write('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}');
    child.stdin?.end();
    expect(await within('the program ends', exited)).not.toBe('SIGKILL');
  });

  it('writes nothing but protocol on stdout, also when it cannot serve', async () => {
    const running = await startProgram(['--stdio', '--no-such-flag']);
    expect(await within('the program ends', running.exited)).toBe(2);
    expect(running.stdout()).toBe('');
    expect(running.stderr()).toContain('no-such-flag');
    const broken = await startProgram(['--stdio'], {
      config: { mcpServers: { tower: { url: 'not a url' } } },
    });
    expect(await within('the program ends', broken.exited)).toBe(78);
    expect(broken.stdout()).toBe('');
  });
});
