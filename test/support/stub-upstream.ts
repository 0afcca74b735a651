import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { randomUUID } from 'node:crypto';
import { whenDone } from './cleanup.ts';
import { rawMember } from './raw-json.ts';
import { sleep, until } from './wait.ts';

/**
 * An MCP upstream over streamable HTTP, written on `node:http` without any MCP library, so that it can be as odd as
 * upstreams are and so that it sees exactly what was sent. Results are given as JSON text and go out as that text.
 *
 * It is strict about what a client must send: every breach of the protocol is refused as the protocol says *and*
 * kept in `violations`, because a client that recovers from a refusal still sent something wrong.
 */
export interface StubUpstream {
  readonly url: string;
  readonly port: number;
  /** May be changed at any time; the next request sees it. */
  readonly script: StubScript;
  /** Every request that arrived, in order. */
  readonly requests: StubRequest[];
  /** What clients sent that the protocol forbids. */
  readonly violations: string[];
  /** Answers to requests the stub sent to its client (`asks`), as JSON text. */
  readonly clientAnswers: string[];
  /** The `tools/call` requests for one tool. */
  callsOf(tool: string): StubRequest[];
  /** The requests with this JSON-RPC method. */
  requestsOf(method: string): StubRequest[];
  /** Waits until this many calls of the tool have arrived. */
  arrived(tool: string, count?: number): Promise<StubRequest>;
  /** How many change streams (a legacy GET, a modern `subscriptions/listen`) are open. */
  openStreams(): number;
  sendListChanged(times?: number): void;
  /** Sends a message (its JSON text) on every open stream. */
  sendOnStreams(message: string): void;
  /** Forgets every session, as a restarted server does. */
  dropSessions(): void;
  /** Stops listening and cuts every connection; `start` listens on the same port again. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface StubRequest {
  readonly httpMethod: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Names as they came over the wire, for a test that lists them all. */
  readonly headerNames: readonly string[];
  readonly authorization: string | undefined;
  readonly body: string;
  /** The JSON-RPC method, when the body had one. */
  readonly method: string | undefined;
  readonly params: Readonly<Record<string, unknown>>;
  readonly era: 'modern' | 'legacy';
  /** The client went away before the reply was complete. */
  clientLeft: boolean;
}

export interface StubScript {
  era: 'modern' | 'legacy' | 'both';
  reply: 'json' | 'sse';
  /** SSE with everything the format allows: comments, CRLF, ids, data over two lines, writes that split characters. */
  oddSse: boolean;
  /** Legacy: hand out a session id and insist on it. */
  session: boolean;
  legacyVersion: '2025-03-26' | '2025-06-18' | '2025-11-25';
  tools: readonly StubTool[] | ((authorization: string | undefined) => readonly StubTool[]);
  instructions: string | undefined | ((authorization: string | undefined) => string | undefined);
  serverName: string;
  /** Whether it announces and sends `tools/list_changed`. */
  listChanged: boolean;
  /** Whether it announces that it sends log messages (legacy). */
  logging: boolean;
  pageSize: number;
  /** Replaces the next cursor of a page (the stub's own is `page-2`, `page-3`, …). */
  cursorAfter: ((page: number, cursor: string | undefined) => string | undefined) | undefined;
  ttlMs: number;
  /** Which credentials are accepted; a refusal is an HTTP answer. */
  admit: (authorization: string | undefined) => true | StubHttpReply;
  /** Sees every request first; an answer given here replaces the stub's own. */
  intercept: (request: StubRequest) => StubReply | undefined | Promise<StubReply | undefined>;
}

export interface StubTool {
  /** The entry in `tools/list`: any JSON value, because upstreams list odd things. */
  readonly definition: unknown;
  readonly answer?: (call: StubCall) => StubReply | Promise<StubReply>;
}

export interface StubCall {
  readonly tool: string;
  /** Text of `arguments` as it arrived; undefined when there were none. */
  readonly argumentsText: string | undefined;
  readonly authorization: string | undefined;
  readonly params: Readonly<Record<string, unknown>>;
  readonly request: StubRequest;
}

export interface StubHttpReply {
  readonly kind: 'http';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export type StubReply =
  | {
      readonly kind: 'result';
      /** The result object's text. */
      readonly raw: string;
      /** Puts `resultType` into the result for a modern client; otherwise the text goes out as it is. */
      readonly isStamped?: boolean;
      /** Sent before the result, on an SSE stream. `progressToken` is filled in. */
      readonly notifications?: readonly {
        readonly method: string;
        readonly params: Record<string, unknown>;
      }[];
      /** Requests sent to the client before the result; the result waits for their answers (legacy only). */
      readonly asks?: readonly { readonly method: string; readonly params: Record<string, unknown> }[];
      readonly delayMs?: number;
      /** Waits this long before each notification and before the result. */
      readonly pauseMs?: number;
    }
  | { readonly kind: 'error'; readonly raw: string; readonly status?: number; readonly delayMs?: number }
  | StubHttpReply
  | { readonly kind: 'hang' }
  /** Cuts the connection, after the start of a reply when `partial` is given. */
  | { readonly kind: 'reset'; readonly partial?: string };

export const rawResult = (raw: string, more: { delayMs?: number } = {}): StubReply => ({
  kind: 'result',
  raw,
  ...more,
});

/** A result as a well-behaved server of either generation gives it. */
export const result = (
  value: object,
  more: Omit<Extract<StubReply, { kind: 'result' }>, 'kind' | 'raw'> = {},
): StubReply => ({
  kind: 'result',
  raw: JSON.stringify(value),
  isStamped: true,
  ...more,
});

export const textResult = (text: string, more: { isError?: boolean } = {}): StubReply =>
  result({ content: [{ type: 'text', text }], ...more });

export const rpcError = (code: number, message: string, data?: unknown): StubReply => ({
  kind: 'error',
  raw: JSON.stringify(data === undefined ? { code, message } : { code, message, data }),
});

export interface ToolSketch {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly readOnly?: boolean;
  readonly answer?: StubTool['answer'];
  /** Further members of the definition, or replacements. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A well-formed tool; without `answer` it says what it was called with. */
export function stubTool(name: string, sketch: ToolSketch = {}): StubTool {
  const { description = `Does ${name}.`, properties = {}, required, readOnly, answer, more } = sketch;
  return {
    definition: {
      name,
      description,
      inputSchema: { type: 'object', properties, ...(required && { required }) },
      ...(readOnly !== undefined && { annotations: { readOnlyHint: readOnly } }),
      ...more,
    },
    ...(answer && { answer }),
  };
}

const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol/';

export async function startStub(changes: Partial<StubScript> = {}): Promise<StubUpstream> {
  const script: StubScript = {
    era: 'modern',
    reply: 'json',
    oddSse: false,
    session: false,
    legacyVersion: '2025-11-25',
    tools: [],
    instructions: undefined,
    serverName: 'stub',
    listChanged: true,
    logging: false,
    pageSize: 100,
    cursorAfter: undefined,
    ttlMs: 3_600_000,
    admit: () => true,
    intercept: () => undefined,
    ...changes,
  };
  const stub = new Stub(script);
  await stub.start();
  whenDone(() => stub.stop());
  return stub;
}

interface Stream {
  readonly response: ServerResponse;
  /** A modern listener's id: the JSON-RPC id of its request. Absent on a legacy stream. */
  readonly subscriptionId?: unknown;
}

class Stub implements StubUpstream {
  readonly script: StubScript;
  readonly requests: StubRequest[] = [];
  readonly violations: string[] = [];
  readonly clientAnswers: string[] = [];
  port = 0;
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<string>();
  readonly #streams = new Set<Stream>();
  readonly #asked = new Map<string, () => void>();
  #asks = 0;

  constructor(script: StubScript) {
    this.script = script;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  callsOf(tool: string): StubRequest[] {
    return this.requests.filter(
      (request) => request.method === 'tools/call' && request.params['name'] === tool,
    );
  }

  requestsOf(method: string): StubRequest[] {
    return this.requests.filter((request) => request.method === method);
  }

  async arrived(tool: string, count = 1): Promise<StubRequest> {
    return until(`call ${count} of ${tool} reached the stub`, () => this.callsOf(tool)[count - 1]);
  }

  openStreams(): number {
    return this.#streams.size;
  }

  sendListChanged(times = 1): void {
    for (const { response, subscriptionId } of this.#streams) {
      const params =
        subscriptionId === undefined ? undefined : { _meta: { [`${META}subscriptionId`]: subscriptionId } };
      const message = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params });
      for (let sent = 0; sent < times; sent++) response.write(`event: message\ndata: ${message}\n\n`);
    }
  }

  sendOnStreams(message: string): void {
    for (const { response } of this.#streams) response.write(`event: message\ndata: ${message}\n\n`);
  }

  dropSessions(): void {
    this.#sessions.clear();
  }

  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer((request, response) => {
      void this.#serve(request, response).catch((error: unknown) => {
        // A bug of the stub must not look like an odd upstream.
        this.violations.push(`the stub failed: ${String(error)}`);
        response.destroy();
      });
    });
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const message = parsed(body);
    const params = isObject(message?.['params']) ? message['params'] : {};
    const request: StubRequest = {
      httpMethod: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      ),
      headerNames: incoming.rawHeaders.filter((_, index) => index % 2 === 0),
      authorization: incoming.headers.authorization,
      body,
      method: typeof message?.['method'] === 'string' ? message['method'] : undefined,
      params,
      era: this.#eraOf(incoming, params),
      clientLeft: false,
    };
    this.requests.push(request);
    response.on('close', () => {
      if (!response.writableFinished) request.clientLeft = true;
    });

    const override = await this.script.intercept(request);
    if (override !== undefined) return this.#send(override, request, message, response);
    const admitted = this.script.admit(request.authorization);
    if (admitted !== true) return this.#send(admitted, request, message, response);

    if (request.httpMethod === 'GET') return this.#openLegacyStream(request, response);
    if (request.httpMethod === 'DELETE') return this.#endSession(request, response);
    if (request.httpMethod !== 'POST') return this.#send(http(405), request, message, response);
    if (message === undefined) return this.#refuse(request, message, response, 400, -32700, 'not JSON');

    if (!/application\/json/.test(request.headers['content-type'] ?? '')) {
      return this.#refuse(request, message, response, 415, -32600, 'content type must be application/json');
    }
    const accept = request.headers['accept'] ?? '';
    if (!accept.includes('application/json') || !accept.includes('text/event-stream')) {
      return this.#refuse(
        request,
        message,
        response,
        406,
        -32600,
        `Accept must list both types, not '${accept}'`,
      );
    }
    const breach = request.era === 'modern' ? modernBreach(request, message) : this.#legacyBreach(request);
    if (breach !== undefined) return this.#refuse(request, message, response, ...breach);

    if (message['method'] === undefined) {
      this.clientAnswers.push(body);
      this.#asked.get(String(message['id']))?.();
      return this.#send(http(202), request, message, response);
    }
    if (message['id'] === undefined) return this.#send(http(202), request, message, response);
    return this.#answer(request, message, response);
  }

  #eraOf(incoming: IncomingMessage, params: Readonly<Record<string, unknown>>): 'modern' | 'legacy' {
    if (this.script.era !== 'both') return this.script.era;
    const meta = params['_meta'];
    const isModern =
      incoming.headers['mcp-protocol-version'] === MODERN ||
      (isObject(meta) && meta[`${META}protocolVersion`] !== undefined);
    return isModern ? 'modern' : 'legacy';
  }

  async #answer(request: StubRequest, message: JsonRpc, response: ServerResponse): Promise<void> {
    const reply = await this.#replyTo(request, message, response);
    if (reply !== undefined) await this.#send(reply, request, message, response);
  }

  async #replyTo(
    request: StubRequest,
    message: JsonRpc,
    response: ServerResponse,
  ): Promise<StubReply | undefined> {
    const { script } = this;
    const isModern = request.era === 'modern';
    const instructions =
      typeof script.instructions === 'function'
        ? script.instructions(request.authorization)
        : script.instructions;
    const serverInfo = { name: script.serverName, version: '1.0.0' };
    const capabilities = {
      tools: { listChanged: script.listChanged },
      ...(script.logging && { logging: {} }),
    };
    const modernCacheable = { resultType: 'complete', ttlMs: script.ttlMs, cacheScope: 'private' };

    switch (message['method']) {
      case 'server/discover':
        if (!isModern) break;
        return rawResult(
          JSON.stringify({
            ...modernCacheable,
            supportedVersions: [MODERN],
            capabilities,
            ...(instructions !== undefined && { instructions }),
            _meta: { [`${META}serverInfo`]: serverInfo },
          }),
        );
      case 'initialize': {
        if (isModern) break;
        if (script.session) {
          const id = randomUUID();
          this.#sessions.add(id);
          response.setHeader('Mcp-Session-Id', id);
        }
        return rawResult(
          JSON.stringify({
            protocolVersion: script.legacyVersion,
            capabilities,
            serverInfo,
            ...(instructions !== undefined && { instructions }),
          }),
        );
      }
      case 'ping':
      case 'logging/setLevel':
        if (isModern) break;
        return rawResult('{}');
      case 'tools/list':
        return this.#listing(request, isModern ? modernCacheable : {});
      case 'tools/call':
        return this.#call(request);
      case 'subscriptions/listen':
        if (!isModern) break;
        this.#openModernStream(message['id'], request, response);
        return undefined;
    }
    const unknown = rpcError(-32601, `Method not found: ${String(message['method'])}`);
    return unknown.kind === 'error' && isModern ? { ...unknown, status: 404 } : unknown;
  }

  #toolsFor(authorization: string | undefined): readonly StubTool[] {
    const { tools } = this.script;
    return typeof tools === 'function' ? tools(authorization) : tools;
  }

  #listing(request: StubRequest, more: Record<string, unknown>): StubReply {
    const { pageSize, cursorAfter } = this.script;
    const tools = this.#toolsFor(request.authorization);
    const cursor = request.params['cursor'] as string | undefined;
    const page = cursor === undefined ? 1 : Number(/^page-(\d+)$/.exec(cursor)?.[1] ?? Number.NaN);
    if (Number.isNaN(page) && cursorAfter === undefined) return rpcError(-32602, `Unknown cursor`);
    const from = ((Number.isNaN(page) ? 1 : page) - 1) * pageSize;
    const own = from + pageSize < tools.length ? `page-${page + 1}` : undefined;
    const nextCursor = cursorAfter === undefined ? own : cursorAfter(page, cursor);
    const definitions = tools.slice(from, from + pageSize).map((tool) => tool.definition);
    return rawResult(
      JSON.stringify({ tools: definitions, ...(nextCursor !== undefined && { nextCursor }), ...more }),
    );
  }

  #call(request: StubRequest): StubReply | Promise<StubReply> {
    const name = request.params['name'];
    const tool = this.#toolsFor(request.authorization).find(
      ({ definition }) => isObject(definition) && definition['name'] === name,
    );
    if (tool === undefined) return rpcError(-32602, `Unknown tool: ${String(name)}`);
    const call: StubCall = {
      tool: String(name),
      argumentsText: rawMember(request.body, 'params', 'arguments'),
      authorization: request.authorization,
      params: request.params,
      request,
    };
    return (
      tool.answer?.(call) ?? textResult(`${call.tool} was called with ${call.argumentsText ?? 'nothing'}`)
    );
  }

  #legacyBreach(request: StubRequest): Breach | undefined {
    const version = request.headers['mcp-protocol-version'];
    if (request.method === 'initialize') return undefined;
    if (this.script.session) {
      const id = request.headers['mcp-session-id'];
      // What a server with sessions answers to somebody's first request of the newer generation.
      if (id === undefined) return [400, -32000, 'Bad Request: no session', 'quiet'];
      if (!this.#sessions.has(id)) return [404, -32001, 'Session not found', 'quiet'];
    }
    if (version !== undefined && !version.startsWith('2025-') && request.method !== undefined) {
      return [400, -32000, `Bad Request: Unsupported protocol version: ${version}`, 'quiet'];
    }
    return undefined;
  }

  #openLegacyStream(request: StubRequest, response: ServerResponse): void {
    const id = request.headers['mcp-session-id'];
    const isWelcome =
      this.script.era !== 'modern' &&
      this.script.listChanged &&
      (!this.script.session || this.#sessions.has(id ?? ''));
    if (!isWelcome) {
      response.writeHead(405).end();
      return;
    }
    this.#keepStream({ response }, response);
  }

  #openModernStream(id: unknown, request: StubRequest, response: ServerResponse): void {
    this.#keepStream({ response, subscriptionId: id }, response);
    const acknowledged = {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: {
        notifications: request.params['notifications'] ?? {},
        _meta: { [`${META}subscriptionId`]: id },
      },
    };
    response.write(`event: message\ndata: ${JSON.stringify(acknowledged)}\n\n`);
  }

  #keepStream(stream: Stream, response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
    response.write(': open\n\n');
    this.#streams.add(stream);
    response.on('close', () => this.#streams.delete(stream));
  }

  #endSession(request: StubRequest, response: ServerResponse): void {
    const isKnown = this.#sessions.delete(request.headers['mcp-session-id'] ?? '');
    response.writeHead(isKnown ? 200 : 405).end();
  }

  #refuse(
    request: StubRequest,
    message: JsonRpc | undefined,
    response: ServerResponse,
    status: number,
    code: number,
    text: string,
    quiet?: 'quiet',
  ): Promise<void> {
    if (quiet === undefined) this.violations.push(`${request.httpMethod} ${request.method ?? ''}: ${text}`);
    const raw = JSON.stringify({ code, message: text });
    return this.#send({ kind: 'error', raw, status }, request, message, response);
  }

  async #send(
    reply: StubReply,
    request: StubRequest,
    message: JsonRpc | undefined,
    response: ServerResponse,
  ): Promise<void> {
    switch (reply.kind) {
      case 'hang':
        return;
      case 'reset':
        if (reply.partial !== undefined) {
          response.writeHead(200, {
            'Content-Type': 'application/json',
            'Content-Length': reply.partial.length + 1_000,
          });
          response.write(reply.partial);
          await sleep(20);
        }
        response.destroy();
        return;
      case 'http':
        response.writeHead(reply.status, reply.headers ?? {});
        response.end(reply.body);
        return;
      case 'error':
      case 'result': {
        if (reply.delayMs !== undefined) await sleep(reply.delayMs);
        const id = rawMember(request.body, 'id') ?? 'null';
        const isStamped = reply.kind === 'result' && reply.isStamped === true && request.era === 'modern';
        const raw = isStamped ? reply.raw.replace('{', '{"resultType":"complete",') : reply.raw;
        const envelope = `{"jsonrpc":"2.0","id":${message === undefined ? 'null' : id},"${reply.kind}":${raw}}`;
        const status = reply.kind === 'error' ? (reply.status ?? 200) : 200;
        const early = reply.kind === 'result' ? [...(reply.notifications ?? []), ...(reply.asks ?? [])] : [];
        if (status !== 200 || (this.script.reply === 'json' && early.length === 0)) {
          response.writeHead(status, { 'Content-Type': 'application/json' }).end(envelope);
          return;
        }
        response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
        if (reply.kind === 'result') {
          for (const notification of reply.notifications ?? []) {
            if (reply.pauseMs !== undefined) await sleep(reply.pauseMs);
            this.#writeEvent(response, notified(notification, request));
          }
          if (reply.pauseMs !== undefined) await sleep(reply.pauseMs);
          for (const ask of reply.asks ?? []) await this.#ask(response, ask);
        }
        this.#writeEvent(response, envelope);
        response.end();
      }
    }
  }

  async #ask(
    response: ServerResponse,
    ask: { method: string; params: Record<string, unknown> },
  ): Promise<void> {
    const id = `ask-${++this.#asks}`;
    const answered = new Promise<void>((resolve) => this.#asked.set(id, resolve));
    this.#writeEvent(response, JSON.stringify({ jsonrpc: '2.0', id, ...ask }));
    // An unanswered question must not keep the test: the missing answer is what it looks for.
    await Promise.race([answered, sleep(3_000, undefined, { ref: false })]);
  }

  #writeEvent(response: ServerResponse, message: string): void {
    if (!this.script.oddSse) {
      response.write(`event: message\ndata: ${message}\n\n`);
      return;
    }
    const halves = message.replace('{"jsonrpc":"2.0",', '{"jsonrpc":"2.0",\r\ndata:');
    const bytes = Buffer.from(
      `: still here\r\n\r\nevent: other\r\ndata: not JSON\r\n\r\nid: 7\r\nretry: 10\r\ndata: ${halves}\r\n\r\n`,
    );
    // Three bytes at a time splits every character longer than one byte somewhere.
    if (bytes.length < 3_000)
      for (let at = 0; at < bytes.length; at += 3) response.write(bytes.subarray(at, at + 3));
    else response.write(bytes);
  }
}

type JsonRpc = Readonly<Record<string, unknown>>;
type Breach = readonly [status: number, code: number, text: string, quiet?: 'quiet'];

const http = (status: number): StubHttpReply => ({ kind: 'http', status });

function notified(
  notification: { method: string; params: Record<string, unknown> },
  request: StubRequest,
): string {
  const { method, params } = notification;
  const token = rawMember(request.body, 'params', '_meta', 'progressToken');
  const withToken =
    method === 'notifications/progress' && token !== undefined && params['progressToken'] === undefined;
  const filled = withToken ? { progressToken: JSON.parse(token) as unknown, ...params } : params;
  return JSON.stringify({ jsonrpc: '2.0', method, params: filled });
}

/** What a request of 2026-07-28 lacks, if anything. */
function modernBreach(request: StubRequest, message: JsonRpc): Breach | undefined {
  const { headers, method, params } = request;
  if (method === 'initialize') return [400, -32022, 'Unsupported protocol version', 'quiet'];
  if (method === undefined) return [400, -32600, 'clients send no responses in 2026-07-28'];
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  const version = meta[`${META}protocolVersion`];
  if (message['id'] !== undefined) {
    if (version === undefined) return [400, -32602, `no ${META}protocolVersion in _meta`];
    if (!isObject(meta[`${META}clientCapabilities`]))
      return [400, -32602, `no ${META}clientCapabilities in _meta`];
    if (version !== MODERN) return [400, -32022, `version ${JSON.stringify(version)} is not spoken here`];
    if (headers['mcp-protocol-version'] !== version)
      return [400, -32020, 'MCP-Protocol-Version does not match _meta'];
  }
  if (headers['mcp-method'] !== method)
    return [400, -32020, `Mcp-Method is '${headers['mcp-method']}', not '${method}'`];
  if (method === 'tools/call' && decoded(headers['mcp-name']) !== params['name']) {
    return [400, -32020, `Mcp-Name is '${headers['mcp-name']}', not '${String(params['name'])}'`];
  }
  return undefined;
}

/** A header value, with the `=?base64?…?=` form of 2026-07-28 undone. */
function decoded(value: string | undefined): string | undefined {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value ?? '')?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

function parsed(body: string): JsonRpc | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
