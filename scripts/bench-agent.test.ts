import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ask } from '../bench/agent-loop.ts';
import type { Endpoint } from '../bench/agent-loop.ts';
import { allLoaded, throughProxy } from '../bench/agent-sides.ts';
import { agentQuestions, endpointFrom, HEAD, rowsOf } from '../bench/agent.ts';
import { argumentsFor, benchCatalog, MOST_TOOLS } from '../bench/catalog.ts';
import { whenDone } from '../test/support/cleanup.ts';
import { startStdioProgram, toolsAreThere } from '../test/support/proxy.ts';
import { scriptStdio } from '../test/support/stdio-upstream.ts';

interface Asked {
  readonly authorization: string | undefined;
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content?: string }[];
  readonly tools: readonly { readonly function: { readonly name: string } }[];
}
type Call = readonly [name: string, input: object];

/** A model on loopback whose next call, or silence, `decides` says; 10 prompt and 2 completion tokens a turn. */
async function stubModel(
  decides: (asked: Asked) => Call | undefined | number,
): Promise<Endpoint & { asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const now = { ...(JSON.parse(body) as Asked), authorization: request.headers.authorization };
      asked.push(now);
      const decided = request.url === '/v1/chat/completions' ? decides(now) : 404;
      if (typeof decided === 'number') {
        response.writeHead(decided).end('too many tools');
        return;
      }
      const [name, input] = decided ?? [];
      const call = { id: 'c1', type: 'function', function: { name, arguments: JSON.stringify(input) } };
      const message = { role: 'assistant', content: null, ...(decided && { tool_calls: [call] }) };
      const usage = { prompt_tokens: 10, completion_tokens: 2 };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ choices: [{ message }], usage }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    model: 'stub',
    key: 'k',
    asked,
  };
}

const TOOLS = ['renew_loan', 'order_bread', 'book_lane'].map((name) => ({
  name,
  description: `Does ${name.replace('_', ' ')}.`,
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
}));
const QUESTION = { text: 'renew the loan', relevant: ['renew_loan'] };

async function proxySide(): Promise<Awaited<ReturnType<typeof throughProxy>>> {
  const upstream = scriptStdio({ tools: TOOLS.map((definition) => ({ definition })) });
  const program = await startStdioProgram('legacy', {
    mcpServers: { town: { command: upstream.command, args: upstream.args } },
  });
  await program.client.initialize();
  await toolsAreThere(program, TOOLS.length);
  return throughProxy((method, params) => program.client.request(method, params), 'Search first.');
}

/** Searches, then calls the best match with what its schema wants. */
function searcher({ messages }: Asked): Call {
  const found = messages.find(({ role }) => role === 'tool')?.content;
  if (found === undefined) return ['search_tools', { query: messages[1]?.content }];
  const { tools } = JSON.parse(found) as { tools: readonly { name: string; inputSchema: object }[] };
  const [{ name, inputSchema }] = tools as [
    { name: string; inputSchema: Parameters<typeof argumentsFor>[0] },
  ];
  return ['call_write_tool', { name, arguments: argumentsFor(inputSchema) }];
}

describe('a model through the proxy', () => {
  it('searches, calls, and what it reached is the tool behind it', async () => {
    const model = await stubModel(searcher);
    const told = await ask(model, await proxySide(), QUESTION);
    expect(told).toEqual({ outcome: 'right', turns: 2, promptTokens: 20, completionTokens: 4 });
    const [first] = model.asked;
    expect(first?.authorization).toBe('Bearer k');
    expect(first?.model).toBe('stub');
    expect(first?.messages[0]?.content).toContain('Search first.');
    // The proxy's own tools, and none of those behind it.
    const given = first?.tools.map((tool) => tool.function.name) ?? [];
    expect(given).toEqual(expect.arrayContaining(['search_tools', 'describe_tool', 'call_write_tool']));
    expect(given).not.toContain('renew_loan');
  });

  it('that calls a tool wrongly has reached none, and goes on', async () => {
    const model = await stubModel(() => ['call_write_tool', { name: 'renew_loan', arguments: {} }]);
    const told = await ask(model, await proxySide(), QUESTION);
    expect(told).toMatchObject({ outcome: 'none', turns: 8 });
    expect(model.asked.at(-1)?.messages.at(-1)?.content).toContain('id');
  });
});

describe('a model with every tool loaded', () => {
  it('is given them all, and what it calls first counts', async () => {
    const model = await stubModel(() => ['order_bread', { id: '1' }]);
    expect(await ask(model, allLoaded(TOOLS), QUESTION)).toMatchObject({ outcome: 'wrong', turns: 1 });
    expect(model.asked[0]?.tools).toHaveLength(3);
    expect(await ask(await stubModel(() => undefined), allLoaded(TOOLS), QUESTION)).toMatchObject({
      outcome: 'none',
    });
    expect(await ask(await stubModel(() => ['no_such', {}]), allLoaded(TOOLS), QUESTION)).toMatchObject({
      turns: 8,
    });
  });

  it('whose endpoint refuses is told apart from one that is wrong', async () => {
    const told = await ask(await stubModel(() => 400), allLoaded(TOOLS), QUESTION);
    expect(told).toMatchObject({ outcome: 'failed', why: 'HTTP 400: too many tools' });
  });
});

describe('the table of the agent run', () => {
  it('has a row for each side', async () => {
    const model = await stubModel((asked) =>
      asked.tools.length === 3 ? ['renew_loan', {}] : searcher(asked),
    );
    const bread = { text: 'order bread', relevant: ['order_bread'] };
    const rows = await rowsOf(model, [allLoaded(TOOLS), await proxySide()], [QUESTION, bread]);
    expect(rows).toEqual([
      ['all tools loaded', '50 %', '50 %', '0 %', '0 %', '1.0', '10', '2'],
      ['proxy', '100 %', '0 %', '0 %', '0 %', '2.0', '20', '4'],
    ]);
    expect(rows[0]).toHaveLength(HEAD.length);
  });

  it('is made of thirty questions whose tools are there, with any endpoint the environment names', () => {
    const questions = agentQuestions(30);
    expect(questions).toHaveLength(30);
    const names = new Set(benchCatalog(500, 'asked').map(({ name }) => name));
    expect(questions.filter(({ relevant }) => !relevant.some((name) => names.has(name)))).toEqual([]);
    expect(endpointFrom({ AGENT_URL: 'http://127.0.0.1:1/v1', AGENT_MODEL: 'm' })).toEqual({
      url: 'http://127.0.0.1:1/v1',
      model: 'm',
    });
    expect(endpointFrom({ AGENT_MODEL: 'm' })).toContain('set AGENT_URL');
  });
});

describe("the benchmarks' catalog", () => {
  it('has as many different tools as are asked for, the same ones each time, with names every client takes', () => {
    const all = benchCatalog(MOST_TOOLS, 'mixed');
    expect(new Set(all.map(({ name }) => name)).size).toBe(MOST_TOOLS);
    expect(all.filter(({ name }) => !/^[\w-]{1,64}$/.test(name))).toEqual([]);
    expect(benchCatalog(50, 'mixed')).toEqual(all.slice(0, 50));
    expect(() => benchCatalog(MOST_TOOLS + 1, 'mixed')).toThrow('there are 1490 tools');
  });
});
