import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { whenDone } from './cleanup.ts';
import { rawMember } from './raw-json.ts';
import type { StubTool } from './stub-upstream.ts';
import { sleep } from './wait.ts';

/**
 * An MCP upstream over HTTP+SSE (2024-11-05), written on `node:http` without any MCP library: one event stream that
 * names a message endpoint, and everything it says comes on that stream. Tools answer with results and errors as text,
 * with notifications and questions before them.
 */
export interface SseStub {
  readonly url: string;
  readonly script: SseScript;
  readonly requests: SseRequest[];
  /** What clients answered to `asks`, as JSON text. */
  readonly clientAnswers: string[];
  openStreams(): number;
  callsOf(tool: string): SseRequest[];
  requestsOf(method: string): SseRequest[];
  /** Sends a message on every open stream. */
  say(message: object): void;
  /** Forgets every session but leaves the streams open, as a proxy in front of a restarted server may. */
  dropSessions(): void;
  /** Ends every stream. */
  endStreams(): void;
}

export interface SseRequest {
  readonly httpMethod: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly method: string | undefined;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface SseScript {
  tools: readonly StubTool[];
  /** What a POST of a handshake to the stream's own URL gets. */
  refusal: number;
  /** Which credentials are accepted. */
  admit: (authorization: string | undefined) => boolean;
  /** The data of the endpoint event, instead of the stub's own. */
  endpoint: string | undefined;
  /** Comments, CRLF, writes that split characters. */
  odd: boolean;
  /** Takes messages and never says a word. */
  silent: boolean;
  /** The status of a GET of the stream. */
  streamStatus: number;
  logging: boolean;
  instructions: string | undefined;
}

export async function startSseStub(changes: Partial<SseScript> = {}): Promise<SseStub> {
  const script: SseScript = {
    tools: [],
    refusal: 405,
    admit: () => true,
    endpoint: undefined,
    odd: false,
    silent: false,
    streamStatus: 200,
    logging: false,
    instructions: undefined,
    ...changes,
  };
  const stub = new Stub(script);
  await stub.start();
  whenDone(() => stub.stop());
  return stub;
}

class Stub implements SseStub {
  readonly script: SseScript;
  readonly requests: SseRequest[] = [];
  readonly clientAnswers: string[] = [];
  #port = 0;
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #streams = new Map<string, ServerResponse>();
  readonly #sessions = new Set<string>();
  readonly #asked = new Map<string, () => void>();
  #asks = 0;

  constructor(script: SseScript) {
    this.script = script;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/sse`;
  }

  openStreams(): number {
    return this.#streams.size;
  }

  callsOf(tool: string): SseRequest[] {
    return this.requestsOf('tools/call').filter(({ params }) => params['name'] === tool);
  }

  requestsOf(method: string): SseRequest[] {
    return this.requests.filter((request) => request.method === method);
  }

  say(message: object): void {
    for (const stream of this.#streams.values())
      this.#write(stream, JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  dropSessions(): void {
    this.#sessions.clear();
  }

  endStreams(): void {
    for (const stream of this.#streams.values()) stream.end();
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => void this.#serve(request, response));
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const message = body.startsWith('{') ? (JSON.parse(body) as Record<string, unknown>) : undefined;
    this.requests.push({
      httpMethod: incoming.method ?? '',
      headers: Object.fromEntries(
        Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
      ),
      body,
      method: message?.['method'] as string | undefined,
      params: (message?.['params'] ?? {}) as Readonly<Record<string, unknown>>,
    });
    if (!this.script.admit(incoming.headers.authorization)) {
      response.writeHead(401, { 'www-authenticate': 'Bearer realm="sse"' }).end();
      return;
    }
    const url = new URL(incoming.url ?? '/', this.url);
    if (url.pathname === '/sse') {
      if (incoming.method === 'GET') this.#open(response);
      else response.writeHead(this.script.refusal).end('Cannot POST /sse');
      return;
    }
    const session = url.searchParams.get('session') ?? '';
    if (!this.#sessions.has(session)) {
      response.writeHead(404).end('Session not found');
      return;
    }
    response.writeHead(202).end('Accepted');
    const stream = this.#streams.get(session);
    if (stream === undefined || message === undefined || this.script.silent) return;
    if (message['method'] === undefined) {
      this.clientAnswers.push(body);
      this.#asked.get(String(message['id']))?.();
    } else if (message['id'] !== undefined) await this.#answer(stream, body, message);
  }

  #open(response: ServerResponse): void {
    if (this.script.streamStatus !== 200) {
      response.writeHead(this.script.streamStatus).end();
      return;
    }
    const session = randomUUID();
    this.#sessions.add(session);
    this.#streams.set(session, response);
    response.on('close', () => this.#streams.delete(session));
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.write(`event: endpoint\ndata: ${this.script.endpoint ?? `/messages?session=${session}`}\n\n`);
  }

  async #answer(
    stream: ServerResponse,
    body: string,
    message: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const id = rawMember(body, 'id') ?? 'null';
    const { script } = this;
    const result = (raw: string): void => this.#write(stream, `{"jsonrpc":"2.0","id":${id},"result":${raw}}`);
    switch (message['method']) {
      case 'initialize':
        return result(
          JSON.stringify({
            protocolVersion: '2024-11-05',
            capabilities: { tools: { listChanged: true }, ...(script.logging && { logging: {} }) },
            serverInfo: { name: 'sse-stub', version: '1.0.0' },
            ...(script.instructions !== undefined && { instructions: script.instructions }),
          }),
        );
      case 'tools/list':
        return result(JSON.stringify({ tools: script.tools.map(({ definition }) => definition) }));
      case 'tools/call':
        return this.#call(stream, body, message, id);
      case 'logging/setLevel':
        return result('{}');
    }
    this.#write(stream, `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}`);
  }

  async #call(
    stream: ServerResponse,
    body: string,
    message: Readonly<Record<string, unknown>>,
    id: string,
  ): Promise<void> {
    const params = message['params'] as Readonly<Record<string, unknown>>;
    const tool = this.script.tools.find(
      ({ definition }) => (definition as { name?: unknown }).name === params['name'],
    );
    const reply = await tool?.answer?.({
      tool: String(params['name']),
      argumentsText: rawMember(body, 'params', 'arguments'),
      authorization: undefined,
      params,
      request: {} as never,
    });
    const kind = reply?.kind ?? 'result';
    if (kind !== 'result' && kind !== 'error') return;
    if (reply?.kind === 'result') {
      for (const notification of reply.notifications ?? []) {
        if (reply.pauseMs !== undefined) await sleep(reply.pauseMs);
        const token = rawMember(body, 'params', '_meta', 'progressToken');
        const filled =
          notification.method === 'notifications/progress' && token !== undefined
            ? { ...notification.params, progressToken: JSON.parse(token) as unknown }
            : notification.params;
        this.#write(stream, JSON.stringify({ jsonrpc: '2.0', method: notification.method, params: filled }));
      }
      for (const ask of reply.asks ?? []) {
        const asked = `ask-${++this.#asks}`;
        const answered = new Promise<void>((resolve) => this.#asked.set(asked, resolve));
        this.#write(stream, JSON.stringify({ jsonrpc: '2.0', id: asked, ...ask }));
        await Promise.race([answered, sleep(3_000, undefined, { ref: false })]);
      }
      if (reply.delayMs !== undefined) await sleep(reply.delayMs);
    }
    const raw = reply !== undefined && 'raw' in reply ? reply.raw : '{"content":[]}';
    this.#write(stream, `{"jsonrpc":"2.0","id":${id},"${kind}":${raw}}`);
  }

  #write(stream: ServerResponse, message: string): void {
    if (!this.script.odd) {
      stream.write(`event: message\ndata: ${message}\n\n`);
      return;
    }
    const bytes = Buffer.from(`: still here\r\n\r\nid: 7\r\ndata: ${message}\r\n\r\n`);
    for (let at = 0; at < bytes.length; at += 7) stream.write(bytes.subarray(at, at + 7));
  }
}
