import { beforeAll, describe, expect, it } from 'vitest';
import { startStdioProgram } from '../support/proxy.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { until } from '../support/wait.ts';

/** What somebody may send by mistake over stdio, and what they are told: beside `src/cli/wrong-inputs.test.ts`. */
const NOT_JSON =
  'Parse error: a line on stdin is not JSON; this is an MCP server, send one JSON-RPC message a line';

/** Lines, each with the error of the protocol it gets. */
const ERRORS: Readonly<Record<string, readonly [line: string, code: number, message: string]>> = {
  'a line of words': ['list the tools please', -32_700, NOT_JSON],
  'JSON that breaks off': ['{"jsonrpc":"2.0","id":1,"method":"ping"', -32_700, NOT_JSON],
  'a line of YAML': ['method: ping', -32_700, NOT_JSON],
  'a number': ['42', -32_600, 'Invalid Request: not a JSON-RPC 2.0 message'],
  'an empty object': ['{}', -32_600, 'Invalid Request: not a JSON-RPC 2.0 message'],
  'no version of JSON-RPC': [
    '{"id":7,"method":"ping"}',
    -32_600,
    'Invalid Request: not a JSON-RPC 2.0 message',
  ],
  'an id that is none': [
    '{"jsonrpc":"2.0","id":{},"method":"ping"}',
    -32_600,
    'Invalid Request: not a JSON-RPC 2.0 message',
  ],
  'a handshake of nothing': [
    '{"jsonrpc":"2.0","id":8,"method":"initialize","params":{}}',
    -32_602,
    'Invalid params: initialize needs protocolVersion, capabilities and clientInfo',
  ],
  'an empty batch': ['[]', -32_600, 'Bad Request: empty JSON-RPC batch'],
  'a misspelt method': ['{"jsonrpc":"2.0","id":2,"method":"tools/lisst"}', -32_601, 'Method not found'],
  'a method we do not have': [
    '{"jsonrpc":"2.0","id":3,"method":"prompts/list"}',
    -32_601,
    'Method not found',
  ],
  'a call of nothing': [
    '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}',
    -32_602,
    'Invalid params: tools/call needs the name of a tool',
  ],
  "an upstream's tool called directly": [
    '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ring_bell","arguments":{}}}',
    -32_602,
    "Unknown tool: this server's own tools are call_read_tool, call_read_tools, call_write_tool, describe_tool, search_servers, search_tools, upstream_servers. Call the tools found with search_tools through call_read_tool or call_write_tool.",
  ],
};

/** Calls of our own tools, each with the start of the text the model gets. */
const REFUSED: Readonly<Record<string, readonly [tool: string, args: string, text: string]>> = {
  'a search for nothing': [
    'search_tools',
    '{}',
    'Not searched: give either "query" (one thing to find) or "queries" (several), not both or neither.',
  ],
  'a limit too large': [
    'search_tools',
    '{"query":"bell","limit":99}',
    'Not done: the input does not fit search_tools.\n- /limit must be <= 25\nIts input schema: {',
  ],
  'a query that is an object': [
    'search_tools',
    '{"query":{"text":"bell"}}',
    'Not done: the input does not fit search_tools.\n- /query must be string\nIts input schema: {',
  ],
  'no names to describe': [
    'describe_tool',
    '{"names":[]}',
    'Not done: the input does not fit describe_tool.\n- /names must NOT have fewer than 1 items\nIts input schema: {',
  ],
  'an empty batch of calls': [
    'call_read_tools',
    '{"calls":[]}',
    'Not done: the input does not fit call_read_tools.\n- /calls must NOT have fewer than 1 items\nIts input schema: {',
  ],
  'a call without a name': [
    'call_read_tool',
    '{"arguments":{}}',
    'Not done: the input does not fit call_read_tool.\n- /name is required\nIts input schema: {',
  ],
  'arguments that are a list': [
    'call_read_tool',
    '{"name":"ring_bell","arguments":[1]}',
    "Not called: the arguments do not fit 'ring_bell'.\n- \"arguments\" must be an object, but is an array\nInput schema of 'ring_bell': {",
  ],
  'arguments that are words': [
    'call_read_tool',
    '{"name":"ring_bell","arguments":"twice"}',
    "Not called: the arguments do not fit 'ring_bell'.\n- \"arguments\" is a string that does not hold a JSON object; send the object itself\nInput schema of 'ring_bell': {",
  ],
  'a tool of ours called through another': [
    'call_write_tool',
    '{"name":"describe_tool","arguments":{"names":["ring_bell"]}}',
    "Not called: 'describe_tool' is a tool of this server itself. Call it directly, not through another tool.",
  ],
};

describe('a wrong message over stdio', () => {
  let child: ReturnType<typeof scriptStdio>;
  let running: Awaited<ReturnType<typeof startStdioProgram>>;
  beforeAll(async () => {
    const bell = {
      name: 'ring_bell',
      description: 'Rings the bell.',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    };
    child = scriptStdio({ tools: [{ definition: bell }] });
    running = await startStdioProgram('legacy', {
      mcpServers: { tower: { command: child.command, args: child.args } },
    });
    await running.client.initialize();
    await until('the upstream is ready', async () =>
      (await running.client.call('search_tools', '{"query":"bell"}')).includes('"total":1'),
    );
  });

  it.each(Object.entries(ERRORS))('%s', async (what, [line, code, message]) => {
    const { client } = running;
    const before = client.lines.length;
    client.write(line);
    const answer = await until(`${what} is answered`, () => client.lines[before]);
    expect(JSON.parse(answer)).toMatchObject({ error: { code, message } });
    if (message === NOT_JSON)
      await until('a hint is on stderr', () =>
        running.stderr().includes('a line on stdin was not JSON: stdin and stdout speak MCP here'),
      );
  });

  it.each(Object.entries(REFUSED))('%s', async (_what, [tool, args, text]) => {
    const answer = await running.client.call(tool, args);
    const { result } = JSON.parse(answer) as { result: { isError: boolean; content: { text: string }[] } };
    expect(result.isError).toBe(true);
    expect(result.content[0]?.text.slice(0, text.length)).toBe(text);
    expect(child.callsOf('ring_bell')).toEqual([]);
  });
});
