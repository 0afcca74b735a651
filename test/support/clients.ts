import { spawn } from 'node:child_process';
import { request as httpRequest } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import { createInterface } from 'node:readline';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioClientTransport1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as StreamableHTTPClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { whenDone } from './cleanup.ts';
import { rawMember } from './raw-json.ts';
import { DEADLINE_MS, within } from './wait.ts';

/** Where a client connects to. */
export type Target =
  | { readonly kind: 'http'; readonly url: string; readonly headers?: Readonly<Record<string, string>> }
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env?: Readonly<Record<string, string>>;
      readonly cwd?: string;
    };

export interface ContentBlock {
  readonly type: string;
  readonly text?: string;
  readonly [key: string]: unknown;
}

export interface CallResult {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly [key: string]: unknown;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: {
    readonly progress: number;
    readonly total?: number;
    readonly message?: string;
  }) => void;
}

export interface ListedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** What the tests ask of an MCP client, whichever library is behind it. */
export interface TestClient {
  listTools(): Promise<readonly ListedTool[]>;
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<CallResult>;
  instructions(): string | undefined;
  /** The protocol version the two agreed on. */
  protocolVersion(): string | undefined;
  close(): Promise<void>;
}

const INFO = { name: 'e2e-client', version: '1.0.0' };

type Negotiation = 'auto' | 'legacy' | { pin: '2026-07-28' };

async function connect2(target: Target, mode: Negotiation): Promise<TestClient> {
  const client = new Client(INFO, { versionNegotiation: { mode } });
  const transport =
    target.kind === 'http'
      ? new StreamableHTTPClientTransport(new URL(target.url), {
          requestInit: { headers: { ...target.headers } },
        })
      : new StdioClientTransport(stdioParameters(target));
  await within('the 2.x client connects', client.connect(transport));
  whenDone(() => client.close());
  return {
    async listTools() {
      return (await client.listTools()).tools as unknown as readonly ListedTool[];
    },
    async callTool(name, args = {}, { signal, onProgress } = {}) {
      const result = await client.callTool(
        { name, arguments: args },
        {
          ...(signal && { signal }),
          ...(onProgress && { onprogress: onProgress as never }),
          timeout: DEADLINE_MS,
        },
      );
      return result as unknown as CallResult;
    },
    instructions: () => client.getInstructions(),
    protocolVersion: () => client.getNegotiatedProtocolVersion(),
    close: () => client.close(),
  };
}

async function connect1(target: Target): Promise<TestClient> {
  const client = new Client1(INFO, { capabilities: {} });
  const transport =
    target.kind === 'http'
      ? new StreamableHTTPClientTransport1(new URL(target.url), {
          requestInit: { headers: { ...target.headers } },
        })
      : new StdioClientTransport1(stdioParameters(target));
  let agreed: string | undefined;
  const tellTransport =
    'setProtocolVersion' in transport ? transport.setProtocolVersion.bind(transport) : undefined;
  // The 1.x client keeps the version to itself, but tells its transport.
  Object.assign(transport, {
    setProtocolVersion(version: string) {
      agreed = version;
      tellTransport?.(version);
    },
  });
  // The 1.x types were written without exact optional properties.
  await within('the 1.x client connects', client.connect(transport as never));
  whenDone(() => client.close());
  return {
    async listTools() {
      return (await client.listTools()).tools as unknown as readonly ListedTool[];
    },
    async callTool(name, args = {}, { signal, onProgress } = {}) {
      const result = await client.callTool({ name, arguments: args }, undefined, {
        ...(signal && { signal }),
        ...(onProgress && { onprogress: onProgress as never }),
        timeout: DEADLINE_MS,
      });
      return result as unknown as CallResult;
    },
    instructions: () => client.getInstructions(),
    protocolVersion: () => agreed,
    close: () => client.close(),
  };
}

function stdioParameters(target: Extract<Target, { kind: 'stdio' }>): {
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd?: string;
  stderr: 'ignore';
} {
  return {
    command: target.command,
    args: [...target.args],
    env: { ...target.env },
    ...(target.cwd !== undefined && { cwd: target.cwd }),
    stderr: 'ignore',
  };
}

/** The clients of the compatibility matrix. */
export const CLIENTS: readonly {
  readonly label: string;
  readonly era: 'modern' | 'legacy';
  readonly connect: (target: Target) => Promise<TestClient>;
}[] = [
  { label: '2.x auto', era: 'modern', connect: (target) => connect2(target, 'auto') },
  {
    label: '2.x pinned to 2026-07-28',
    era: 'modern',
    connect: (target) => connect2(target, { pin: '2026-07-28' }),
  },
  { label: '2.x legacy', era: 'legacy', connect: (target) => connect2(target, 'legacy') },
  { label: '1.x', era: 'legacy', connect: connect1 },
];

/** The text of a result's text blocks, joined. */
export const textOf = (result: CallResult): string =>
  result.content.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : [])).join('\n');

/** A whole HTTP exchange. */
export interface RawReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** The JSON-RPC messages in the body, each as its very text: the body itself, or the data of its events. */
  readonly messages: readonly string[];
  /** The text of the message with the request's id. */
  readonly message: string | undefined;
  /** The text of that message's `result`. */
  readonly result: string | undefined;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined;
}

export interface RawHttpOptions {
  readonly era: 'modern' | 'legacy';
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Version named by a legacy client; null names none, as 2025-03-26 clients do. */
  readonly version?: string | null;
}

export interface RawRequestOptions {
  /** Further members of a modern request's `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Added to the request's headers; an empty text leaves that header out. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: number | string;
  readonly progressToken?: number | string;
  /** Least severe log message wanted; only modern clients can say so. */
  readonly logLevel?: string;
  readonly clientCapabilities?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
}

export interface RawHttpClient {
  /** Sends one request; `params` may be JSON text, which then travels as it is. */
  request(method: string, params?: object | string, options?: RawRequestOptions): Promise<RawReply>;
  /** `tools/call` of a tool with arguments given as JSON text. */
  call(name: string, argumentsText: string, options?: RawRequestOptions): Promise<RawReply>;
  notify(method: string, params?: object): Promise<RawReply>;
  /** Sends a body as it is, with no header of its own but the length. */
  send(
    httpMethod: string,
    body: string | undefined,
    headers: Readonly<Record<string, string>>,
  ): Promise<RawReply>;
}

/** Speaks MCP over HTTP by hand, so that a test sees the very bytes of the reply. */
export function rawHttp(
  url: string,
  { era, headers: always = {}, version = '2025-11-25' }: RawHttpOptions,
): RawHttpClient {
  let lastId = 0;

  const headersFor = (method: string, name: unknown): Record<string, string> => ({
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(era === 'modern'
      ? {
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          ...(typeof name === 'string' && { 'mcp-name': name }),
        }
      : version !== null && method !== 'initialize' && { 'mcp-protocol-version': version }),
    ...always,
  });

  const request: RawHttpClient['request'] = async (method, params = {}, options = {}) => {
    const id = options.id ?? ++lastId;
    const text = typeof params === 'string' ? params : JSON.stringify(params);
    const meta = metaFor(era, options);
    const paramsText = meta === undefined ? text : withMeta(text, JSON.stringify(meta));
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)},"params":${paramsText}}`;
    const name = rawMember(text, 'name');
    const headers = {
      ...headersFor(method, name === undefined ? undefined : JSON.parse(name)),
      ...options.headers,
    };
    return exchange(url, 'POST', body, headers, JSON.stringify(id), options.signal);
  };

  return {
    request,
    call: (name, argumentsText, options) =>
      request('tools/call', `{"name":${JSON.stringify(name)},"arguments":${argumentsText}}`, options),
    notify: (method, params) =>
      exchange(
        url,
        'POST',
        JSON.stringify({ jsonrpc: '2.0', method, params }),
        headersFor(method, undefined),
        undefined,
      ),
    send: (httpMethod, body, headers) => exchange(url, httpMethod, body, headers, undefined),
  };
}

function metaFor(era: 'modern' | 'legacy', options: RawRequestOptions): Record<string, unknown> | undefined {
  const progress = options.progressToken === undefined ? {} : { progressToken: options.progressToken };
  if (era === 'legacy') return options.progressToken === undefined ? undefined : progress;
  return {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': INFO,
    'io.modelcontextprotocol/clientCapabilities': options.clientCapabilities ?? {},
    ...(options.logLevel !== undefined && { 'io.modelcontextprotocol/logLevel': options.logLevel }),
    ...progress,
    ...options.meta,
  };
}

function withMeta(params: string, meta: string): string {
  const inner = params.trim().slice(1, -1).trim();
  return inner === '' ? `{"_meta":${meta}}` : `{"_meta":${meta},${inner}}`;
}

function exchange(
  url: string,
  method: string,
  body: string | undefined,
  headers: Readonly<Record<string, string>>,
  id: string | undefined,
  signal?: AbortSignal,
): Promise<RawReply> {
  const { hostname, port, pathname } = new URL(url);
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
  const whole = new Promise<RawReply>((resolve, reject) => {
    const outgoing = httpRequest(
      {
        hostname,
        port,
        path: pathname,
        method,
        agent: false,
        headers: {
          ...sent,
          ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
        },
        ...(signal && { signal }),
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const isStream = (incoming.headers['content-type'] ?? '').includes('text/event-stream');
          const messages = isStream ? eventData(text) : text === '' ? [] : [text];
          const message = messages.find((one) => id !== undefined && idOf(one) === id);
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers as Record<string, string | undefined>,
            body: text,
            messages,
            message,
            ...outcomeOf(message ?? messages.at(-1)),
          });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
  return within(`${method} ${url}`, whole);
}

function outcomeOf(message: string | undefined): Pick<RawReply, 'result' | 'error'> {
  if (message === undefined || !isJsonObject(message)) return { result: undefined, error: undefined };
  const error = rawMember(message, 'error');
  return {
    result: rawMember(message, 'result'),
    error: error === undefined ? undefined : (JSON.parse(error) as NonNullable<RawReply['error']>),
  };
}

const idOf = (message: string): string | undefined =>
  isJsonObject(message) ? rawMember(message, 'id') : undefined;

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** The data of each event of a stream, comments and other fields left out. */
function eventData(stream: string): string[] {
  return stream
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).replace(/^ /, '')] : []))
        .join('\n'),
    )
    .filter((data) => data !== '');
}

export interface RawStdioClient {
  /** Sends one request and gives the reply's line. */
  request(method: string, params?: object | string, options?: RawRequestOptions): Promise<string>;
  call(name: string, argumentsText: string, options?: RawRequestOptions): Promise<string>;
  initialize(): Promise<string>;
  /** Writes a line as it is. */
  write(line: string): void;
  /** Every line that came back, in order. */
  readonly lines: readonly string[];
}

/** Speaks MCP over a pair of streams by hand. */
export function rawStdio(stdin: Writable, stdout: Readable, era: 'modern' | 'legacy'): RawStdioClient {
  const lines: string[] = [];
  const waiting = new Map<string, (line: string) => void>();
  let lastId = 0;
  stdin.on('error', () => undefined);
  createInterface({ input: stdout }).on('line', (line) => {
    lines.push(line);
    if (!isJsonObject(line) || rawMember(line, 'method') !== undefined) return;
    const id = idOf(line) ?? '';
    waiting.get(id)?.(line);
    waiting.delete(id);
  });

  const request: RawStdioClient['request'] = async (method, params = {}, options = {}) => {
    const id = JSON.stringify(options.id ?? ++lastId);
    const text = typeof params === 'string' ? params : JSON.stringify(params);
    const meta = metaFor(era, options);
    const paramsText = meta === undefined ? text : withMeta(text, JSON.stringify(meta));
    const reply = new Promise<string>((resolve) => waiting.set(id, resolve));
    stdin.write(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${paramsText}}\n`);
    return within(`an answer to ${method} over stdio`, reply);
  };

  return {
    lines,
    request,
    call: (name, argumentsText, options) =>
      request('tools/call', `{"name":${JSON.stringify(name)},"arguments":${argumentsText}}`, options),
    async initialize() {
      const reply = await request('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: INFO,
      });
      stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
      return reply;
    },
    write: (line) => void stdin.write(`${line}\n`),
  };
}

/** Starts a program and speaks to it by hand; ended with the test. */
export function spawnRawStdio(
  target: Extract<Target, { kind: 'stdio' }>,
  era: 'modern' | 'legacy',
): RawStdioClient {
  const child = spawn(target.command, [...target.args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env['PATH'], ...target.env },
    cwd: target.cwd,
  });
  whenDone(() => void child.kill('SIGKILL'));
  return rawStdio(child.stdin, child.stdout, era);
}
