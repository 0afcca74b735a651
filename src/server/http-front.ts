import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pause } from '../base/deadline.ts';
import { ProxyError } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import type { Observer } from '../base/observer.ts';
import { SIGN_IN_PATHS } from './http-app.ts';
import type { HttpApp, PostedMessage, RequestHead } from './http-app.ts';
import {
  eventOf,
  jsonReply,
  JSON_HEADERS,
  STREAM_HEADERS,
  STREAM_KEEP_ALIVE,
  STREAM_KEEP_ALIVE_MS,
  textWithin,
} from './http-reply.ts';
import type { HttpReply } from './http-reply.ts';
import { LoopTurns } from './loop-turns.ts';
import { RPC, rpcErrorText } from './protocol.ts';
import { readIncoming } from './request-body.ts';

/** Headers of which another hop might take the second where we take the first. */
const ONCE = new Set([
  'host',
  'authorization',
  'origin',
  'content-type',
  'content-length',
  'transfer-encoding',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
]);

/** What events may name; a client can send anything else. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS', 'PUT']);
const ROUTES = new Set(['/mcp', '/healthz', '/readyz', ...SIGN_IN_PATHS]);

/** How much of a body that is too large is still taken in, so that its sender gets to read why. */
const LINGER_BYTES = 8_388_608;
const LINGER_MS = 2_000;

/**
 * How long clients have to notice: those who connect, until we stop listening, and those with an open connection, to
 * bring a last request on it.
 */
const NOTICE_MS = 250;

/** Connections the kernel holds for us until we take them; more are not made (Node's own number). */
export const BACKLOG = 511;

/** How long requests that are given up have to say so. */
const GIVING_UP_MS = 1_000;

/**
 * Requests as they come in on Node's connections, and answers written out on them. Each body is read once and each
 * answer written with one system call; nothing web-standard is made but where the SDK answers.
 */
export class HttpFront {
  readonly #app: HttpApp;
  readonly #limits: Limits;
  readonly #observer: Observer;
  readonly #running = new Set<Exchange>();
  readonly #turns = new LoopTurns();
  #open = 0;
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(app: HttpApp, limits: Limits, observer: Observer) {
    this.#app = app;
    this.#limits = limits;
    this.#observer = observer;
  }

  /** How many requests are not answered yet, open streams apart. */
  get running(): number {
    let count = 0;
    for (const { isEndless } of this.#running) if (!isEndless) count++;
    return count;
  }

  /** To be told of each new connection. */
  readonly connected = (socket: Socket): void => {
    this.#turns.newcomer();
    this.#open++;
    socket.once('close', () => this.#open--);
  };

  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = new Exchange(request, response, this.#limits);
    this.#running.add(exchange);
    const began = performance.now();
    if (this.#isDraining) response.shouldKeepAlive = false;
    response.once('close', () => {
      this.#running.delete(exchange);
      exchange.onClose();
      this.#observer({
        kind: 'http',
        method: METHODS.has(exchange.method) ? exchange.method : 'other',
        route: ROUTES.has(exchange.path) ? exchange.path : 'other',
        status: response.statusCode,
        ms: performance.now() - began,
      });
      if (this.#onIdle !== undefined && this.running === 0) this.#onIdle();
    });
    const early = exchange.problem(this.#limits) ?? this.#app.answer(exchange.head);
    if (early !== undefined) {
      if (early instanceof Promise) early.then((reply) => exchange.write(reply), exchange.fail);
      else exchange.write(early);
      return;
    }
    readIncoming(request, this.#limits.maxBodyBytes, (body) => {
      switch (body.kind) {
        case 'text':
          exchange.text = body.text;
          this.#turns.begin(() => {
            if (exchange.isGone) return;
            this.#app.post(exchange).then((reply) => {
              if (this.#isDraining) response.shouldKeepAlive = false;
              exchange.write(reply);
            }, exchange.fail);
          });
          break;
        case 'too_large':
          exchange.refuseBody(this.#app.tooLarge());
          break;
        case 'cut':
          response.destroy();
          break;
      }
    });
  };

  /**
   * Resolves when everything that was asked is answered. We are not ready any more, and for a moment nothing else
   * changes, because clients cannot know yet; then connections are taken until none waits in the kernel, of which a
   * turn of the event loop brings one, and `stopListening` is called. From now on each answer closes its connection:
   * not before, because its client would come back on a new one. What runs longer than `drainMs` is given up, and
   * says so to its client.
   */
  async drain(drainMs: number, stopListening: () => void): Promise<void> {
    const end = performance.now() + drainMs;
    this.#app.drain();
    const noticeMs = Math.min(NOTICE_MS, drainMs / 4);
    await pause(noticeMs);
    await this.#turns.quiet(BACKLOG, end - performance.now());
    stopListening();
    this.#isDraining = true;
    if (this.#open > 0) await pause(noticeMs);
    do {
      await this.#idle(end - performance.now());
      // What is on its way on an open connection is read before connections are closed.
      await this.#turns.quiet(0, noticeMs);
    } while (this.running > 0 && performance.now() < end);
    if (this.running === 0) return;
    for (const exchange of this.#running) {
      exchange.giveUp(new ProxyError('shutting_down', 'The proxy is shutting down.', { outcome: 'unknown' }));
    }
    await this.#idle(GIVING_UP_MS);
  }

  async #idle(ms: number): Promise<void> {
    if (this.running === 0 || ms <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onIdle = undefined;
  }
}

/** One request and what becomes of it. */
class Exchange implements PostedMessage, RequestHead {
  readonly method: string;
  readonly path: string;
  text = '';
  /** Whether the answer is a stream that lasts as long as its client wants. */
  isEndless = false;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #limits: Limits;
  #gone: AbortController | undefined;
  #isGone = false;
  #isStream = false;
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, limits: Limits) {
    this.#request = request;
    this.#response = response;
    this.#limits = limits;
    this.method = request.method ?? '';
    const url = request.url ?? '';
    const query = url.indexOf('?');
    this.path = query === -1 ? url : url.slice(0, query);
  }

  /** Whether its client has left before the answer was out. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get head(): RequestHead {
    return this;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return typeof value === 'string' ? value : value?.join(', ');
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController();
      if (this.#isGone) this.#gone.abort(new Error('the client went away'));
    }
    return this.#gone.signal;
  }

  /** What is wrong with the headers as such, before anybody reads them. */
  problem(limits: Limits): HttpReply | undefined {
    const { headers, rawHeaders } = this.#request;
    const count = rawHeaders.length / 2;
    if (count > limits.maxHeaders) {
      const message = `Request Header Fields Too Large: the limit maxHeaders is ${limits.maxHeaders}`;
      return jsonReply(431, rpcErrorText('null', RPC.server, message));
    }
    // Names that differ in case are one header; only when some came twice are there fewer names than lines.
    if (Object.keys(headers).length === count) return undefined;
    const seen = new Set<string>();
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = (rawHeaders[i] ?? '').toLowerCase();
      if (!ONCE.has(name)) continue;
      if (seen.has(name)) {
        return jsonReply(400, rpcErrorText('null', RPC.server, `Bad Request: the header ${name} came twice`));
      }
      seen.add(name);
    }
    return undefined;
  }

  request(): Request {
    const headers = new Headers();
    for (const name of Object.keys(this.#request.headers)) headers.set(name, this.header(name) ?? '');
    const host = this.header('host');
    const base = host !== undefined && URL.canParse(`http://${host}`) ? host : 'localhost';
    return new Request(`http://${base}${this.path}`, { method: 'POST', headers, signal: this.signal });
  }

  readonly notify = (text: string): void => {
    const response = this.#response;
    if (response.writableEnded || this.#isGone) return;
    if (!this.#isStream) {
      this.#isStream = true;
      response.writeHead(200, STREAM_HEADERS);
      this.#keepAlive = setInterval(() => response.write(STREAM_KEEP_ALIVE), STREAM_KEEP_ALIVE_MS);
      this.#keepAlive.unref();
    }
    // Of news nobody reads no more than this is kept; the answer itself always goes out.
    if (response.writableLength <= this.#limits.maxMessageBytes) response.write(eventOf(text));
  };

  write(reply: HttpReply): void {
    const response = this.#response;
    if (this.#isGone || response.writableEnded) return;
    clearInterval(this.#keepAlive);
    if (this.#isStream) {
      response.end(eventOf(textWithin(reply)));
      return;
    }
    switch (reply.kind) {
      case 'text': {
        const { status, text, headers } = reply;
        response.writeHead(status, headersOf(text, headers));
        response.end(text);
        break;
      }
      case 'empty':
        response.writeHead(202, ['content-length', '0']);
        response.end();
        break;
      case 'response':
        this.#writeResponse(reply.response).catch(this.fail);
        break;
    }
  }

  /** Answers a body that is too large, and takes in some more of it: a connection cut at once takes the answer along. */
  refuseBody(reply: HttpReply): void {
    const [request, response] = [this.#request, this.#response];
    if (reply.kind !== 'text') return;
    response.shouldKeepAlive = false;
    response.writeHead(reply.status, headersOf(reply.text, reply.headers));
    response.write(reply.text);
    let left = LINGER_BYTES;
    const end = (): void => {
      clearTimeout(timer);
      response.end();
    };
    const timer = setTimeout(end, LINGER_MS);
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left <= 0) end();
    });
    request.once('end', end);
    request.once('close', end);
    request.resume();
  }

  /** Nobody foresaw it: whoever wrote the answer reports bugs, so this is the end of the connection only. */
  readonly fail = (): void => {
    clearInterval(this.#keepAlive);
    this.#response.destroy();
  };

  giveUp(reason: ProxyError): void {
    this.#gone ??= new AbortController();
    this.#gone.abort(reason);
  }

  /** The connection or the answer is over. */
  onClose(): void {
    clearInterval(this.#keepAlive);
    if (this.#response.writableFinished) return;
    this.#isGone = true;
    this.#gone?.abort(new Error('the client went away'));
  }

  async #writeResponse(answer: Response): Promise<void> {
    const response = this.#response;
    const headers: string[] = [];
    for (const [name, value] of answer.headers) headers.push(name, value);
    if (/^text\/event-stream/i.test(answer.headers.get('content-type') ?? '') && answer.body !== null) {
      this.isEndless = true;
      response.writeHead(answer.status, headers);
      response.flushHeaders();
      await pipeline(Readable.fromWeb(answer.body), response);
      return;
    }
    const body = Buffer.from(await answer.arrayBuffer());
    headers.push('content-length', String(body.length));
    response.writeHead(answer.status, headers);
    response.end(body);
  }
}

function headersOf(text: string, more: Readonly<Record<string, string>> | undefined): string[] {
  const length = String(Buffer.byteLength(text));
  if (more === undefined) {
    return [
      'content-type',
      JSON_HEADERS['content-type'],
      'cache-control',
      JSON_HEADERS['cache-control'],
      'content-length',
      length,
    ];
  }
  return Object.entries({ ...JSON_HEADERS, ...more, 'content-length': length }).flat();
}
