import { createParser } from 'eventsource-parser';
import type { Client } from '@modelcontextprotocol/client';
import { openDeadline, pause } from '../base/deadline.ts';
import type { Deadline } from '../base/deadline.ts';
import { messageOf, ProxyError, UpstreamAuthError } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import { HttpFailure } from '../net/http-client.ts';
import type { HttpClient, HttpReply } from '../net/http-client.ts';
import { failureOf, HandshakeRefused, SessionLost } from './failure.ts';
import {
  closedError,
  forgetfulError,
  headersFor,
  isOwnScope,
  redirectError,
  statusError,
} from './http-target.ts';
import type { HttpParts, HttpTarget } from './http-target.ts';
import { PeerChannel } from './peer-channel.ts';
import { shakeHands } from './peer-session.ts';
import type { Peer, RawParams, RawResult, RequestContext, Upstream, UpstreamEvents } from './upstream.ts';

/** How long an open stream may take to name its endpoint. */
const ENDPOINT_WAIT_MS = 5_000;

/**
 * An upstream over HTTP+SSE, the transport of MCP 2024-11-05: one event stream carries everything it says, and names
 * the endpoint that takes what it is told. The stream is the session. With the upstream's own credential it stays
 * open; with a caller's it is opened for each request and closed with it, because an open connection keeps the
 * credential it was opened with.
 */
export class SseUpstream implements Upstream {
  readonly name: string;
  readonly #target: HttpTarget;
  readonly #http: HttpParts['http'];
  readonly #limits: Limits;
  readonly #events: UpstreamEvents;
  readonly #closing = new AbortController();
  #own: Promise<SseConnection> | undefined;
  #hasServed = false;

  constructor(name: string, target: HttpTarget, { http, limits, events }: HttpParts) {
    this.name = name;
    this.#target = target;
    this.#http = http;
    this.#limits = limits;
    this.#events = events;
  }

  peer(context: RequestContext): Promise<Peer> {
    return this.#with(context, (connection) => Promise.resolve(connection.peer));
  }

  async request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#with(context, (connection) => connection.request(method, params, context));
      } catch (thrown) {
        if (!(thrown instanceof SessionLost)) throw thrown;
        if (attempt === 2) throw forgetfulError(this.name);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the upstream was closed'));
    await (await this.#own?.catch(() => undefined))?.close();
  }

  async #with<T>(context: RequestContext, use: (connection: SseConnection) => Promise<T>): Promise<T> {
    if (isOwnScope(context)) {
      const opening = this.#ownConnection(context);
      const connection = await opening;
      if (!connection.isOver) return use(connection);
      // It was given up and its stream is about to end.
      if (this.#own === opening) this.#own = undefined;
      return use(await this.#ownConnection(context));
    }
    const connection = await this.#open(context);
    try {
      return await use(connection);
    } finally {
      await connection.close();
    }
  }

  /** One handshake at a time, shared by all who wait; forgotten when its stream ends. */
  #ownConnection(context: RequestContext): Promise<SseConnection> {
    if (this.#own !== undefined) return this.#own;
    const opening = this.#open(context);
    this.#own = opening;
    const forget = (): void => {
      if (this.#own === opening) this.#own = undefined;
    };
    opening.then((connection) => {
      // Whatever it has now may differ from what was listed before the stream broke.
      if (this.#hasServed) this.#events.onToolsChanged();
      this.#hasServed = true;
      void connection.ended.then(forget);
    }, forget);
    return opening;
  }

  async #open(context: RequestContext): Promise<SseConnection> {
    if (this.#closing.signal.aborted) throw closedError(this.name);
    const timeoutMs = this.#limits.connectTimeoutMs;
    const deadline = openDeadline(this.#closing.signal, timeoutMs);
    const life = new AbortController();
    const onLate = (): void => life.abort(deadline.signal.reason);
    deadline.signal.addEventListener('abort', onLate, { once: true });
    try {
      const headers = headersFor(this.#target, context);
      const http = await this.#http();
      const stream = await http.send({
        method: 'GET',
        url: this.#target.url,
        headers: { ...headers, accept: 'text/event-stream' },
        signal: life.signal,
      });
      this.#checkStream(stream);
      const { name } = this;
      const connection = new SseConnection({
        name,
        url: this.#target.url,
        headers,
        http,
        stream,
        life,
        limits: this.#limits,
      });
      await connection.shakeHands({
        deadline,
        ...(isOwnScope(context) ? { onToolsChanged: this.#events.onToolsChanged } : {}),
      });
      this.#events.onState('ready');
      return connection;
    } catch (thrown) {
      life.abort(new Error('the handshake failed'));
      // What breaks because the time is over says only that it broke.
      throw failureOf(deadline.expired() ? new Error('the time is over') : thrown, {
        upstream: this.name,
        deadline,
        timeoutMs,
        doing: 'connecting',
        maxMessageBytes: this.#limits.maxMessageBytes,
      });
    } finally {
      deadline.signal.removeEventListener('abort', onLate);
      deadline.dispose();
    }
  }

  #checkStream(stream: HttpReply): void {
    const { status } = stream;
    const type = stream.header('content-type')?.split(';')[0]?.trim().toLowerCase();
    if (status === 200 && type === 'text/event-stream') return;
    stream.cancel();
    if (status === 401 || status === 403)
      throw new UpstreamAuthError(this.name, status, stream.header('www-authenticate'));
    if (status >= 300 && status < 400) throw redirectError(this.name, status);
    if (status !== 200) throw new HandshakeRefused(this.name, status);
    throw new ProxyError(
      'upstream_invalid',
      `Upstream '${this.name}' answered with ${type ?? 'no content type'} instead of an event stream.`,
      { upstream: this.name, outcome: 'not_sent' },
    );
  }
}

interface SseConnectionParts {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly http: HttpClient;
  readonly stream: HttpReply;
  /** Aborting it ends the stream. */
  readonly life: AbortController;
  readonly limits: Limits;
}

/** One stream and what was said on it. */
class SseConnection {
  readonly #parts: SseConnectionParts;
  readonly #channel: PeerChannel;
  /** Where messages go, once the stream has named it. */
  readonly #endpoint: Promise<string>;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
  #client: Client | undefined;
  #peer: Peer | undefined;

  constructor(parts: SseConnectionParts) {
    this.#parts = parts;
    const { name, limits } = parts;
    this.#channel = new PeerChannel({ name, limits, send: (text, signal) => this.#post(text, signal) });
    let onEndpoint: (data: string) => void = () => undefined;
    this.#endpoint = new Promise((resolve, reject) => {
      onEndpoint = (data) => {
        try {
          resolve(this.#endpointAt(data));
        } catch (thrown) {
          reject(thrown);
        }
      };
    });
    // Whoever waits for it hears of it.
    this.#endpoint.catch(() => undefined);
    this.ended = this.#read(onEndpoint);
  }

  get peer(): Peer {
    if (this.#peer === undefined) throw new Error('the handshake has not been made');
    return this.#peer;
  }

  get isOver(): boolean {
    return this.#channel.ending !== undefined;
  }

  async shakeHands(options: {
    readonly deadline: Deadline;
    readonly onToolsChanged?: () => void;
  }): Promise<void> {
    const { deadline, ...rest } = options;
    const ended = this.ended.then(() =>
      Promise.reject(this.#channel.ending ?? closedError(this.#parts.name)),
    );
    ended.catch(() => undefined);
    await Promise.race([this.#endpoint, ended, this.#withoutEndpoint()]);
    const { client, peer } = await Promise.race([
      shakeHands(this.#channel.transport, 'legacy', {
        signal: deadline.signal,
        timeoutMs: this.#parts.limits.connectTimeoutMs,
        ...rest,
      }),
      ended,
    ]);
    this.#client = client;
    this.#peer = peer;
  }

  /** The endpoint is the first thing a server says; one that opens another kind of stream never does. */
  async #withoutEndpoint(): Promise<never> {
    await pause(ENDPOINT_WAIT_MS, this.#parts.life.signal);
    throw new ProxyError(
      'upstream_invalid',
      `Upstream '${this.#parts.name}' opened an event stream but named no message endpoint within ${ENDPOINT_WAIT_MS} ms.`,
      { upstream: this.#parts.name, outcome: 'not_sent' },
    );
  }

  async request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    const sentAt = performance.now();
    try {
      return await this.#channel.request(this.peer, method, params, context);
    } catch (thrown) {
      if (thrown instanceof SessionLost) this.#end(this.#lostError('it no longer knows the session'));
      const isTimeout = thrown instanceof ProxyError && thrown.code === 'upstream_timeout';
      // Nothing at all came in that time: a stream whose other end is gone tells nobody.
      if (isTimeout && this.#channel.lastHeardAt < sentAt) this.#end(thrown);
      throw thrown;
    }
  }

  async close(): Promise<void> {
    await this.#client?.close().catch(() => undefined);
    this.#end(closedError(this.#parts.name));
    await this.ended;
  }

  #end(error: ProxyError): void {
    this.#channel.end(error);
    this.#parts.life.abort(new Error('the connection was closed'));
  }

  async #read(onEndpoint: (data: string) => void): Promise<void> {
    const { stream, limits, name } = this.#parts;
    let sinceEvent = 0;
    const parser = createParser({
      onEvent: ({ event = 'message', data }) => {
        sinceEvent = 0;
        if (event === 'endpoint') onEndpoint(data);
        else if (event === 'message') this.#channel.receive(data);
      },
    });
    const decoder = new TextDecoder();
    try {
      for await (const chunk of stream.body) {
        sinceEvent += chunk.length;
        parser.feed(decoder.decode(chunk, { stream: true }));
        if (sinceEvent <= limits.maxMessageBytes) continue;
        this.#end(
          new ProxyError(
            'upstream_too_large',
            `Upstream '${name}' sent a message of more than ${limits.maxMessageBytes} bytes (limit maxMessageBytes).`,
            { upstream: name, outcome: 'unknown' },
          ),
        );
      }
      this.#channel.end(this.#lostError('it ended its event stream'));
    } catch (thrown) {
      this.#channel.end(this.#lostError(messageOf(thrown)));
    }
  }

  #lostError(why: string): ProxyError {
    const { name } = this.#parts;
    return new ProxyError('upstream_closed', `The connection to upstream '${name}' broke: ${why}.`, {
      upstream: name,
      outcome: 'unknown',
    });
  }

  /** The endpoint gets our headers, so it must be where they were meant for. */
  #endpointAt(data: string): string {
    const { name, url } = this.#parts;
    const endpoint = URL.canParse(data, url) ? new URL(data, url) : undefined;
    if (endpoint !== undefined && endpoint.origin === new URL(url).origin) return endpoint.href;
    throw new ProxyError(
      'upstream_invalid',
      `Upstream '${name}' names a message endpoint that is not on its own host.`,
      { upstream: name, outcome: 'not_sent' },
    );
  }

  async #post(text: string, signal?: AbortSignal): Promise<void> {
    const { http, headers, limits } = this.#parts;
    const deadline = openDeadline(signal, limits.connectTimeoutMs);
    try {
      const reply = await http.send({
        method: 'POST',
        url: await this.#endpoint,
        headers: {
          ...headers,
          'content-type': 'application/json',
          ...(this.#peer === undefined ? {} : { 'mcp-protocol-version': this.#peer.protocolVersion }),
        },
        body: text,
        signal: deadline.signal,
      });
      await this.#checkAccepted(reply);
    } catch (thrown) {
      // The stream may still bring the answer; the request's own deadline says how long to wait for it.
      if (deadline.expired() && signal?.aborted !== true) return;
      if (thrown instanceof HttpFailure && thrown.phase === 'exchange' && this.#channel.ending !== undefined)
        throw this.#channel.ending;
      throw thrown;
    } finally {
      deadline.dispose();
    }
  }

  async #checkAccepted(reply: HttpReply): Promise<void> {
    const { name } = this.#parts;
    const { status } = reply;
    if (status >= 200 && status < 300) {
      // Read to its end, so that the connection can be used again.
      await reply.text(65_536).catch(() => undefined);
      return;
    }
    const said = await reply.text(65_536).catch(() => '');
    if (status === 401 || status === 403)
      throw new UpstreamAuthError(name, status, reply.header('www-authenticate'));
    if (status >= 300 && status < 400) throw redirectError(name, status);
    if (status === 404 || (status === 400 && /session/i.test(said))) throw new SessionLost();
    throw statusError(name, status, 'the request', reply.header('retry-after'));
  }
}
