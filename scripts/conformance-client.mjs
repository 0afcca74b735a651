// @ts-check
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PROXY } from './conformance-proxy.mjs';

/**
 * The program that the suite's client scenarios start, with the URL of their server: a client behind the proxy. It
 * finds the server's tools as a model does, calls each of them, and answers what it is asked, so that what the
 * scenario's server sees is the proxy's own leg.
 */

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'conformance-client', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
};
/** How often one call is answered when it asks for input. */
const MAX_ROUNDS = 5;

/** Most tools that describe_tool takes at once. */
const MAX_DESCRIBED = 10;
/** What finds the tools of a scenario; they say of themselves what they are. */
const QUERIES = /** @type {Record<string, string>} */ ({
  tools_call: 'add two numbers',
  'json-schema-ref-no-deref': 'look up a user',
  'json-schema-2020-12-preservation': 'JSON schema',
});

/**
 * @typedef {{ [key: string]: unknown }} Json
 * @typedef {{ name: string, inputSchema: Json }} Tool
 */

const url = process.argv.at(-1) ?? '';
/** @type {{ name: string, arguments?: Json }[] | undefined} */
const given = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}').toolCalls;
const home = mkdtempSync(join(tmpdir(), 'conformance-client-'));
const proxy = spawn(process.execPath, [PROXY, '--stdio', '--upstream', url], {
  stdio: ['pipe', 'pipe', 'inherit'],
  env: { ...process.env, HOME: home, XDG_CONFIG_HOME: home },
});
/** @type {Map<number, (message: Json) => void>} */
const waiting = new Map();
createInterface({ input: proxy.stdout }).on('line', (line) => {
  const message = /** @type {Json} */ (JSON.parse(line));
  waiting.get(/** @type {number} */ (message['id']))?.(message);
});

const tools = await find(QUERIES[process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''] ?? 'test tool header');
for (const tool of tools) {
  const calls = given?.filter(({ name }) => name === tool.name) ?? [
    { name: tool.name, arguments: sample(tool) },
  ];
  for (const { name, arguments: args = {} } of calls) await callToTheEnd({ name, arguments: args });
}
proxy.stdin.end();
await new Promise((resolve) => proxy.once('close', resolve));
rmSync(home, { recursive: true, force: true });

/**
 * @param {string} query
 * @returns {Promise<Tool[]>}
 */
async function find(query) {
  const found = structuredOf(await call('search_tools', { query, limit: 20 }));
  const names = found.tools.map(({ name }) => name);
  /** @type {Tool[]} */
  const tools = [];
  for (let at = 0; at < names.length; at += MAX_DESCRIBED) {
    const described = await call('describe_tool', { names: names.slice(at, at + MAX_DESCRIBED) });
    tools.push(...structuredOf(described).tools);
  }
  return tools;
}

/** @param {Json} input */
async function callToTheEnd(input) {
  /** @type {Json} */
  let answers = {};
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { result } = /** @type {{ result?: Json }} */ (await call('call_write_tool', input, answers));
    if (result?.['resultType'] !== 'input_required') return;
    const asked = /** @type {Json} */ (result['inputRequests'] ?? {});
    const inputResponses = Object.fromEntries(
      Object.keys(asked).map((key) => [key, { action: 'accept', content: { confirmed: true } }]),
    );
    const state = result['requestState'];
    answers = { inputResponses, ...(state === undefined ? {} : { requestState: state }) };
  }
}

/**
 * @param {string} name
 * @param {Json} args
 * @param {Json} more
 * @returns {Promise<Json>}
 */
function call(name, args, more = {}) {
  const id = waiting.size + 1;
  const params = { name, arguments: args, ...more, _meta: META };
  proxy.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
  return new Promise((resolve) => {
    waiting.set(id, resolve);
  });
}

/**
 * @param {Json} message
 * @returns {{ tools: Tool[] }}
 */
function structuredOf(message) {
  const result = /** @type {Json} */ (message['result']);
  return /** @type {{ tools: Tool[] }} */ (result['structuredContent']);
}

/**
 * Arguments that fit a tool's schema, near enough for the scenarios' tools.
 * @param {Tool} tool
 * @returns {Json}
 */
function sample({ name, inputSchema }) {
  const properties = /** @type {Record<string, Json>} */ (inputSchema['properties'] ?? {});
  return Object.fromEntries(
    Object.entries(properties).map(([key, property]) => {
      // This tool wants the schema of another one, as it arrived here.
      if (name === 'json_schema_echo') {
        return [key, tools.find((tool) => tool.name === 'json_schema_2020_12_tool')?.inputSchema ?? {}];
      }
      return [key, valueOf(property)];
    }),
  );
}

/** @param {Json} schema */
function valueOf(schema) {
  switch (schema['type']) {
    case 'number':
    case 'integer':
      return 5;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'null':
      return null;
    case 'object':
      return {};
    default:
      return 'value';
  }
}
