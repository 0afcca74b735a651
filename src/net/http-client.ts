import type { Dispatcher } from 'undici';

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

/** Opens the client; loads the HTTP library only now, because a run with child processes alone never needs it. */
export async function openHttpClient(): Promise<HttpClient> {
  const undici = await import('undici');
  const agent = new undici.Agent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    // Waiting is bounded by each request's own deadline; progress may keep a call alive for long.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  return {
    async send({ method, url, headers, body, signal }) {
      let data: Dispatcher.ResponseData;
      try {
        data = await undici.request(url, {
          dispatcher: agent,
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
    fetch: ((input: string | URL, init?: RequestInit) =>
      undici.fetch(input, { ...(init as object), dispatcher: agent })) as unknown as typeof globalThis.fetch,
    async close() {
      await agent.destroy();
    },
  };
}

function replyOf(data: Dispatcher.ResponseData, signal: AbortSignal | undefined): HttpReply {
  const body = guardedBody(data.body, signal);
  return {
    status: data.statusCode,
    header(name) {
      const value = data.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
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

async function* guardedBody(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (thrown) {
    if (signal?.aborted) throw signal.reason;
    throw new HttpFailure('exchange', thrown);
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
  'UND_ERR_INVALID_ARG',
]);

/** Whether anything may have been sent. Also used for errors of `fetch`, which wraps them as the cause. */
export function phaseOf(thrown: unknown): 'connect' | 'exchange' {
  for (let error: unknown = thrown; error instanceof Error; error = error.cause) {
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
