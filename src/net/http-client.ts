import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import type { Transform } from 'node:stream';
import type * as Undici from 'undici';
import type { Dispatcher } from 'undici';
import type { Deadline } from '../base/deadline.ts';
import { proxySettings } from './proxy-environment.ts';
import type { Environment } from './proxy-environment.ts';

/** A request that got no complete answer. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  /** `connect`: no connection was made, so nothing was sent. `exchange`: bytes may have left, nobody knows. */
  readonly phase: 'connect' | 'exchange';

  constructor(phase: 'connect' | 'exchange', cause: unknown) {
    super(reasonOf(cause), { cause });
    this.phase = phase;
  }
}

/** More bytes came than allowed; the connection was given up. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

export interface HttpReply {
  readonly status: number;
  /** The header's value (several joined by `, `), undefined when absent. */
  header(name: string): string | undefined;
  /** The body's decoded bytes. Must be read to its end, or `cancel` called. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body as UTF-8; throws `BodyTooLarge` past `maxBytes`. */
  text(maxBytes: number): Promise<string>;
  cancel(): void;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: string;
  /** By name, or name and value in turns; a name must not come twice. */
  readonly headers: Readonly<Record<string, string>> | readonly string[];
  readonly body?: string;
  /** What ends the request and the reading of its answer: one of the two. */
  readonly signal?: AbortSignal;
  readonly deadline?: Deadline;
}

/**
 * Every outgoing HTTP connection of the process: one pool of kept-alive connections per origin. Redirects are never
 * followed (a 307 would replay tool arguments and credentials elsewhere); deadlines are the caller's signal.
 */
export interface HttpClient {
  /** Throws `HttpFailure`, or the signal's reason when it was aborted. */
  send(request: HttpRequest): Promise<HttpReply>;
  /** The same pools as a web-standard fetch, for libraries. */
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

/** Waiting is bounded by each request's own deadline; progress may keep a call alive for long. */
const PATIENT = { headersTimeout: 0, bodyTimeout: 0 };

export interface HttpClientOptions {
  /** Where proxies are looked up: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in lower case too. */
  readonly env: Environment;
  /** Most decoded bytes of one answer, or one event of a stream, that `fetch` takes. */
  readonly maxMessageBytes: number;
  /** Longest a TCP and TLS handshake may take, in milliseconds. */
  readonly dialTimeoutMs: number;
  /** How names become addresses; the system's resolver when left out. */
  readonly lookup?: LookupFunction;
}

/** Opens the client; loads the HTTP library only now, because a run with child processes alone never needs it. */
export async function openHttpClient({
  env,
  maxMessageBytes,
  dialTimeoutMs,
  lookup,
}: HttpClientOptions): Promise<HttpClient> {
  const undici = await import('undici');
  const dial = { timeout: dialTimeoutMs, ...(lookup === undefined ? {} : { lookup }) };
  const direct = new undici.Agent({ connect: dial, ...PATIENT });
  const proxied = openProxied(undici, env, dial);
  const dispatcherFor = (url: string): Dispatcher =>
    proxied === undefined || isLoopback(url) ? direct : proxied;
  const placeFor = createPlaces(dispatcherFor);

  return {
    send: (request) => exchange(placeFor(request.url), request),
    // The library's fetch is the one Node ships; its types differ only in where they are declared.
    fetch: (async (input: string | URL, init?: RequestInit) => {
      const reply = await undici.fetch(input, {
        ...(init as object),
        dispatcher: dispatcherFor(String(input)),
      });
      return boundedResponse(reply, maxMessageBytes);
    }) as typeof globalThis.fetch,
    async close() {
      await Promise.all([direct.destroy(), proxied?.destroy()]);
    },
  };
}

function openProxied(
  undici: typeof Undici,
  env: Environment,
  dial: { readonly timeout: number; readonly lookup?: LookupFunction },
): Dispatcher | undefined {
  const settings = proxySettings(env);
  if (settings === undefined) return undefined;
  // The proxy itself is the operator's own word, wherever it is.
  const tls = { timeout: dial.timeout };
  const options = {
    ...settings,
    ...PATIENT,
    connect: dial,
    proxyTls: tls,
    requestTls: tls,
    // A plain http URL is asked of the proxy as such; many refuse to tunnel to port 80.
    proxyTunnel: false,
  };
  return new undici.EnvHttpProxyAgent(options);
}

/** This machine is never reached through another one, whatever the environment says. */
function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127\.\d+\.\d+\.\d+$/.test(hostname)
  );
}

/** The response with an error in place of what is too much: in all, or since the last event of a stream ended. */
function boundedResponse(reply: Response, maxBytes: number): Response {
  const { body, status, statusText, headers } = reply;
  if (body === null) return reply;
  const isStream = /^\s*text\/event-stream/i.test(headers.get('content-type') ?? '');
  let bytes = 0;
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      // An event ends with an empty line; a line feed after a line feed is the cheap half of that test.
      const end = isStream ? lastBlankLine(chunk) : -1;
      bytes = end === -1 ? bytes + chunk.length : chunk.length - end;
      if (bytes > maxBytes) controller.error(new BodyTooLarge(`more than ${maxBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
  return new Response(body.pipeThrough(bound), { status, statusText, headers });
}

function lastBlankLine(chunk: Uint8Array): number {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\r\n\r\n'), text.lastIndexOf('\r\r'));
}

/** A body nobody reads yet is taken in up to this many bytes, then its connection waits. */
const READ_AHEAD_BYTES = 65_536;

interface Place {
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  readonly path: string;
}

/** Most URLs remembered; older upstreams put a session's id into theirs. */
const MAX_PLACES = 1_000;

/** Taking a URL apart costs more than the rest of choosing where to send a request. */
function createPlaces(dispatcherFor: (url: string) => Dispatcher): (url: string) => Place {
  const places = new Map<string, Place>();
  return (url) => {
    let place = places.get(url);
    if (place === undefined) {
      const { origin, pathname, search } = new URL(url);
      place = { dispatcher: dispatcherFor(url), origin, path: pathname + search };
      if (places.size >= MAX_PLACES) places.clear();
      places.set(url, place);
    }
    return place;
  };
}

function exchange({ dispatcher, origin, path }: Place, request: HttpRequest): Promise<HttpReply> {
  const { method, headers, body, signal, deadline } = request;
  return new Promise((resolve, reject) => {
    const running = new Exchange(signal, deadline, resolve, reject);
    if (!running.begin()) return;
    dispatcher.dispatch(
      {
        origin,
        path,
        method,
        headers: Array.isArray(headers)
          ? ['accept-encoding', 'identity', ...(headers as readonly string[])]
          : { 'accept-encoding': 'identity', ...(headers as Readonly<Record<string, string>>) },
        ...(body === undefined ? {} : { body }),
        ...PATIENT,
      },
      running,
    );
  });
}

/**
 * One request and its answer, from the library's events. A small answer is whole before anybody asks for its body, so
 * it is kept as it came; a body that nobody reads yet stops its connection after `READ_AHEAD_BYTES`.
 */
class Exchange implements HttpReply, Dispatcher.DispatchHandler {
  status = 0;
  #headers: Readonly<Record<string, string | string[] | undefined>> = {};
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  /** More than this that nobody has read makes the connection wait. */
  #readAhead = READ_AHEAD_BYTES;
  #isOver = false;
  #failure: unknown;
  #wake: (() => void) | undefined;
  #resolve: (reply: HttpReply) => void;
  #reject: (reason: unknown) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: Deadline | undefined;
  readonly #onAbort = (): void => {
    this.#stop(this.#signal?.aborted === true ? this.#signal.reason : this.#deadline?.reason);
  };

  constructor(
    signal: AbortSignal | undefined,
    deadline: Deadline | undefined,
    resolve: (reply: HttpReply) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#signal = signal;
    this.#deadline = deadline;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Starts to listen for the end of its time; false when that has come already. */
  begin(): boolean {
    this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (this.#signal?.aborted === true) this.#onAbort();
    else this.#deadline?.onAbort(this.#onAbort);
    return !this.#isOver;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  get body(): AsyncIterable<Uint8Array> {
    return this.#guarded();
  }

  async text(maxBytes: number): Promise<string> {
    const decoder = decoderOf(this.header('content-encoding'));
    if (decoder.kind !== 'none') return this.#unpackedText(maxBytes);
    this.#readAhead = maxBytes;
    for (;;) {
      if (this.#bytes > maxBytes) {
        this.cancel();
        throw new BodyTooLarge(`more than ${maxBytes} bytes`);
      }
      if (this.#isOver) break;
      await this.#moreAfterResume();
    }
    if (this.#failure !== undefined) throw this.#failure;
    const [first] = this.#chunks;
    const whole =
      this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [];
    return whole.toString('utf8');
  }

  cancel(): void {
    if (!this.#isOver) this.#stop(new Error('the answer is not wanted any more'));
    this.#chunks = [];
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(abortError(this.#failure));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    // Interim answers (103 and the like) come before the answer.
    if (status < 200 || this.#isOver) return;
    this.status = status;
    this.#headers = headers;
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > this.#readAhead) controller.pause();
    this.#wake?.();
  }

  onResponseEnd(): void {
    if (!this.#isOver) this.#end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    // The library says when it begins to write; until then nothing can have left.
    const phase = this.#controller === undefined || phaseOf(error) === 'connect' ? 'connect' : 'exchange';
    this.#failure = new HttpFailure(phase, error);
    this.#end();
  }

  #stop(reason: unknown): void {
    if (this.#isOver) return;
    this.#failure = reason ?? new Error('aborted');
    this.#end();
    this.#controller?.abort(abortError(this.#failure));
  }

  /** Over, one way or the other: nobody needs to tell it anything any more. */
  #end(): void {
    this.#isOver = true;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#deadline?.onAbort(undefined);
    if (this.#failure !== undefined) this.#reject(this.#failure);
    this.#wake?.();
  }

  /** Listens first: what waits in the connection may come while it is told to go on, before that returns. */
  #moreAfterResume(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#controller?.resume();
    });
  }

  async #unpackedText(maxBytes: number): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of this.#guarded()) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new BodyTooLarge(`more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, bytes).toString('utf8');
  }

  async *#guarded(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#decoded();
    } catch (thrown) {
      const { reason } = this.#signal?.aborted === true ? this.#signal : (this.#deadline ?? {});
      if (this.#signal?.aborted === true || this.#deadline?.aborted === true) throw reason;
      throw thrown instanceof HttpFailure ? thrown : new HttpFailure('exchange', thrown);
    } finally {
      // Given up in the middle, or cut off.
      this.cancel();
    }
  }

  /** We ask for no compression (an event stream would wait in it), and some servers compress all the same. */
  async *#decoded(): AsyncGenerator<Uint8Array> {
    const decoder = decoderOf(this.header('content-encoding'));
    if (decoder.kind === 'unknown') {
      throw new Error(
        `it is compressed in a way nobody asked for (content-encoding: ${decoder.name.slice(0, 40)})`,
      );
    }
    if (decoder.kind === 'none') return yield* this.#raw();
    const unpack = decoder.open();
    const packed = Readable.from(this.#raw());
    packed.on('error', (error) => unpack.destroy(error));
    packed.pipe(unpack);
    try {
      yield* unpack as AsyncIterable<Uint8Array>;
    } finally {
      // Neither half may be left behind.
      unpack.destroy();
      packed.destroy();
    }
  }

  async *#raw(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const chunks = this.#chunks;
      this.#chunks = [];
      this.#bytes = 0;
      yield* chunks;
      if (this.#chunks.length > 0) continue;
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#isOver) return;
      await this.#moreAfterResume();
    }
  }
}

function abortError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}

type Decoder =
  | { readonly kind: 'none' }
  | { readonly kind: 'known'; readonly open: () => Transform }
  | { readonly kind: 'unknown'; readonly name: string };

function decoderOf(encoding = 'identity'): Decoder {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return { kind: 'none' };
    case 'gzip':
    case 'x-gzip':
      return { kind: 'known', open: createGunzip };
    case 'br':
      return { kind: 'known', open: createBrotliDecompress };
    case 'deflate':
      return { kind: 'known', open: createInflate };
    default:
      return { kind: 'unknown', name: encoding };
  }
}

/** System and TLS errors that can only happen before a request is written. */
const BEFORE_SENDING = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_TLS',
  'UND_ERR_INVALID_ARG',
  'FORBIDDEN_ADDRESS',
]);

/** Whether anything may have been sent. Also used for errors of `fetch`, which wraps them as the cause. */
export function phaseOf(thrown: unknown): 'connect' | 'exchange' {
  for (let error: unknown = thrown; error instanceof Error; error = error.cause) {
    // A proxy that refuses to connect us has sent nothing on.
    if (error.message.endsWith('when HTTP Tunneling') || error.message.startsWith('Proxy Authentication'))
      return 'connect';
    const code = (error as { code?: unknown }).code;
    if (typeof code !== 'string') continue;
    if (
      BEFORE_SENDING.has(code) ||
      code.startsWith('ERR_TLS') ||
      code.startsWith('ERR_SSL') ||
      code.includes('CERT')
    ) {
      return 'connect';
    }
    return 'exchange';
  }
  return 'exchange';
}

/** The innermost reason, such as `connect ECONNREFUSED 127.0.0.1:9`, which wrappers hide behind "fetch failed". */
export function reasonOf(thrown: unknown): string {
  let reason = 'unknown reason';
  for (let error: unknown = thrown; error instanceof Error; error = error.cause) {
    if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
    if (error.message !== '') reason = error.message;
  }
  return reason;
}
