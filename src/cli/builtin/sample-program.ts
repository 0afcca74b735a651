import { createInterface } from 'node:readline';
import { sampleAnswer } from './sample-answer.ts';
import { SAMPLE_SERVERS } from './sample-servers.ts';
import { definitionOf } from './tool.ts';
import type { SampleServer } from './tool.ts';

/**
 * One server of the sample catalog as an MCP server over stdio: `node sample-program.js NAME`. It speaks both
 * generations of the protocol and no more of them than a server with tools needs, because thirteen of it start at
 * once.
 */
const server = SAMPLE_SERVERS.find(({ name }) => name === process.argv[2]);
if (server === undefined) {
  process.stderr.write(`give one of: ${SAMPLE_SERVERS.map(({ name }) => name).join(', ')}\n`);
  process.exit(2);
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const reply = replyTo(server, line);
    if (reply !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...reply })}\n`);
  })
  .on('close', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: {
    readonly name?: unknown;
    readonly arguments?: Readonly<Record<string, unknown>>;
    readonly protocolVersion?: unknown;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

const MODERN = '2026-07-28';
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const HOUR_MS = 3_600_000;

function replyTo(from: SampleServer, line: string): object | undefined {
  let message: Message;
  try {
    message = JSON.parse(line) as Message;
  } catch {
    return { id: null, error: { code: -32700, message: 'This is not JSON.' } };
  }
  const { id, method, params = {} } = message;
  if (id === undefined || typeof method !== 'string') return undefined;
  const isModern = params._meta?.['io.modelcontextprotocol/protocolVersion'] === MODERN;
  const complete = isModern ? { resultType: 'complete' } : {};
  const cacheable = isModern ? { ...complete, ttlMs: HOUR_MS, cacheScope: 'public' } : {};
  const serverInfo = { name: `sample ${from.name}`, version: '1.0.0' };
  const about = { capabilities: { tools: {} }, instructions: from.instructions };
  switch (method) {
    case 'initialize': {
      const protocolVersion = LEGACY.find((version) => version === params.protocolVersion) ?? LEGACY[0];
      return { id, result: { protocolVersion, serverInfo, ...about } };
    }
    case 'server/discover': {
      const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo };
      return { id, result: { ...cacheable, supportedVersions: [MODERN, ...LEGACY], ...about, _meta } };
    }
    case 'ping':
      return { id, result: {} };
    case 'tools/list':
      return { id, result: { ...cacheable, tools: from.tools.map(definitionOf) } };
    case 'tools/call': {
      const tool = from.tools.find(({ name }) => name === params.name);
      if (tool === undefined) return { id, error: { code: -32602, message: 'There is no such tool.' } };
      const answer = sampleAnswer(from, tool, params.arguments ?? {});
      const content = [{ type: 'text', text: JSON.stringify(answer) }];
      return { id, result: { ...complete, content, structuredContent: answer } };
    }
    default:
      return { id, error: { code: -32601, message: `There is no method ${JSON.stringify(method)}.` } };
  }
}
