import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Readable, Transform } from 'node:stream';
import type * as Undici from 'undici';
import type { Dispatcher } from 'undici';
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
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
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

/** Longest a TCP and TLS handshake may take. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Waiting is bounded by each request's own deadline; progress may keep a call alive for long. */
const PATIENT = { headersTimeout: 0, bodyTimeout: 0 };

export interface HttpClientOptions {
  /** Where proxies are looked up: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in lower case too. */
  readonly env: Environment;
  /** Most decoded bytes of one answer, or one event of a stream, that `fetch` takes. */
  readonly maxMessageBytes: number;
}

/** Opens the client; loads the HTTP library only now, because a run with child processes alone never needs it. */
export async function openHttpClient({ env, maxMessageBytes }: HttpClientOptions): Promise<HttpClient> {
  const undici = await import('undici');
  const direct = new undici.Agent({ connect: { timeout: CONNECT_TIMEOUT_MS }, ...PATIENT });
  const proxied = openProxied(undici, env);
  const dispatcherFor = (url: string): Dispatcher =>
    proxied === undefined || isLoopback(url) ? direct : proxied;

  return {
    async send({ method, url, headers, body, signal }) {
      let data: Dispatcher.ResponseData;
      try {
        data = await undici.request(url, {
          dispatcher: dispatcherFor(url),
          ...PATIENT,
          method,
          headers: { 'accept-encoding': 'identity', ...headers },
          ...(body === undefined ? {} : { body }),
          ...(signal === undefined ? {} : { signal }),
        });
      } catch (thrown) {
        if (signal?.aborted) throw signal.reason;
        throw new HttpFailure(phaseOf(thrown), thrown);
      }
      return replyOf(data, signal);
    },
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

function openProxied(undici: typeof Undici, env: Environment): Dispatcher | undefined {
  const settings = proxySettings(env);
  if (settings === undefined) return undefined;
  const tls = { timeout: CONNECT_TIMEOUT_MS };
  const options = {
    ...settings,
    ...PATIENT,
    connect: tls,
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

function replyOf(data: Dispatcher.ResponseData, signal: AbortSignal | undefined): HttpReply {
  const encoding = headerOf(data, 'content-encoding');
  const body = guardedBody(data.body, encoding, signal);
  return {
    status: data.statusCode,
    header: (name) => headerOf(data, name),
    body,
    async text(maxBytes) {
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of body) {
        bytes += chunk.length;
        if (bytes > maxBytes) {
          data.body.destroy();
          throw new BodyTooLarge(`more than ${maxBytes} bytes`);
        }
        chunks.push(chunk);
      }
      return Buffer.concat(chunks, bytes).toString('utf8');
    },
    cancel() {
      // A destroyed body reports the abort as an error nobody waits for any more.
      data.body.on('error', () => undefined);
      data.body.destroy();
    },
  };
}

function headerOf(data: Dispatcher.ResponseData, name: string): string | undefined {
  const value = data.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

async function* guardedBody(
  body: Readable,
  encoding: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* decoded(body, encoding);
  } catch (thrown) {
    if (signal?.aborted) throw signal.reason;
    throw new HttpFailure('exchange', thrown);
  }
}

/** We ask for no compression (an event stream would wait in it), and some servers compress all the same. */
async function* decoded(body: Readable, encoding: string | undefined): AsyncGenerator<Uint8Array> {
  let decoder: Transform | undefined;
  try {
    decoder = decoderFor(encoding);
  } catch (thrown) {
    body.on('error', () => undefined);
    body.destroy();
    throw thrown;
  }
  if (decoder === undefined) return yield* body;
  body.on('error', (error) => decoder.destroy(error));
  body.pipe(decoder);
  try {
    yield* decoder as AsyncIterable<Uint8Array>;
  } finally {
    // Given up in the middle, or cut off: neither half may be left behind.
    decoder.destroy();
    if (!body.readableEnded) {
      body.on('error', () => undefined);
      body.destroy();
    }
  }
}

function decoderFor(encoding = 'identity'): Transform | undefined {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'br':
      return createBrotliDecompress();
    case 'deflate':
      return createInflate();
    default:
      throw new Error(
        `it is compressed in a way nobody asked for (content-encoding: ${encoding.slice(0, 40)})`,
      );
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
