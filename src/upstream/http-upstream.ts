/*
 * An upstream over streamable HTTP, both generations: sessions, streams, resuming and deadlines are one state and
 * live in one file.
 */
import { createParser } from 'eventsource-parser';
import type { Client } from '@modelcontextprotocol/client';
import { openDeadline, pause } from '../base/deadline.ts';
import type { Deadline } from '../base/deadline.ts';
import { ProxyError, UpstreamAuthError, UpstreamRejection } from '../base/errors.ts';
import { encodeHeaderValue } from '../base/header-value.ts';
import type { Limits } from '../base/limits.ts';
import { PRODUCT } from '../base/product.ts';
import type { JsonObject } from '../catalog/tool.ts';
import { BodyTooLarge, HttpFailure, phaseOf } from '../net/http-client.ts';
import type { HttpReply } from '../net/http-client.ts';
import { withMeta } from './envelope.ts';
import { failureOf, HandshakeRefused, SessionLost } from './failure.ts';
import {
  closedError,
  forgetfulError,
  headersFor,
  isOwnScope,
  pairsOf,
  redirectError,
  statusError,
} from './http-target.ts';
import type { HttpParts, HttpTarget } from './http-target.ts';
import { isQuieter, passLog } from './log-level.ts';
import type { InboundMessage } from './message.ts';
import { answerText, readMessage, requestText } from './message.ts';
import { shakeHands } from './peer-session.ts';
import type { Handshake } from './peer-session.ts';
import type { Peer, RawParams, RawResult, RequestContext, Upstream, UpstreamEvents } from './upstream.ts';

interface Session {
  readonly peer: Peer;
  /** `Mcp-Session-Id` of an older peer that keeps sessions. */
  readonly sessionId?: string;
  /** Kept open for change notifications; only for an upstream's own credential. */
  readonly client?: Client;
  /** What each request of it carries but the caller's credential; name and value in turns. */
  readonly headers: readonly string[];
  /** Requests under way, by the id they were sent with. */
  readonly running: Map<string, Running>;
  /** The level its log messages were asked for at. */
  logLevel?: string;
}

interface Running {
  readonly context: RequestContext;
  readonly isCall: boolean;
  readonly onProgress: (params: JsonObject) => void;
}

/** A request that was sent, and whoever waits for its answer. */
interface Sent {
  readonly id: string;
  readonly session: Session;
  readonly context: RequestContext;
  readonly onProgress: Running['onProgress'];
  readonly deadline: Deadline;
}

/** Where in its events an answer stands. */
interface StreamPlace {
  lastId: string | undefined;
  retryMs: number;
}

const EVENT_STREAM = 'text/event-stream';

/** How long after an answer's stream ended its rest is asked for, where the server does not say. */
const RESUME_MS = 1_000;
const MIN_RESUME_MS = 50;
const MAX_RESUME_MS = 30_000;

/** How long "this peer is of an older generation" is believed; it may be upgraded, and nothing would tell us. */
const LEGACY_VERDICT_MS = 3_600_000;

const CLIENT_INFO = JSON.stringify(PRODUCT);

/**
 * An upstream over streamable HTTP, of either generation. The SDK shakes hands; requests go out on our own leg. The
 * generation is a property of the peer and remembered for it, a session belongs to one credential scope.
 */
export class HttpUpstream implements Upstream {
  readonly name: string;
  readonly #target: HttpTarget;
  readonly #http: HttpParts['http'];
  readonly #limits: Limits;
  readonly #events: UpstreamEvents;
  /** By scope, in order of last use: the oldest goes when there are more than `maxListings`. */
  readonly #sessions = new Map<string, Promise<Session>>();
  #verdict: { readonly era: Peer['era']; readonly at: number } | undefined;
  #nextId = 1;
  /** Aborts when this upstream is closed: handshakes under way end then. */
  readonly #closing = new AbortController();

  constructor(name: string, target: HttpTarget, { http, limits, events }: HttpParts) {
    this.name = name;
    this.#target = target;
    this.#http = http;
    this.#limits = limits;
    this.#events = events;
  }

  async peer(context: RequestContext): Promise<Peer> {
    return (await this.#session(context)).peer;
  }

  async request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    for (let attempt = 1; ; attempt++) {
      const session = await this.#session(context);
      try {
        return await this.#exchange(session, method, params, context);
      } catch (thrown) {
        if (!(thrown instanceof SessionLost)) throw thrown;
        // The peer restarted and refused the request for its session alone (MCP 2025-11-25, basic/transports: a
        // client must start a new session on 404), so sending it again repeats nothing.
        this.#forget(context.scope, session);
        if (attempt === 2) throw forgetfulError(this.name);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the upstream was closed'));
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(
      sessions.map((opening) => opening.then((session) => this.#end(session)).catch(() => undefined)),
    );
  }

  #session(context: RequestContext): Promise<Session> {
    const known = this.#sessions.get(context.scope);
    if (known !== undefined) {
      this.#sessions.delete(context.scope);
      this.#sessions.set(context.scope, known);
      return known;
    }
    const opening = this.#open(context);
    this.#sessions.set(context.scope, opening);
    opening.catch(() => {
      if (this.#sessions.get(context.scope) === opening) this.#sessions.delete(context.scope);
    });
    for (const scope of this.#sessions.keys()) {
      if (this.#sessions.size <= this.#limits.maxListings) break;
      this.#sessions.delete(scope);
    }
    return opening;
  }

  async #open(context: RequestContext): Promise<Session> {
    if (this.#closing.signal.aborted) throw closedError(this.name);
    const isOwn = isOwnScope(context);
    // Whoever waits may go away while others wait for the same handshake, so it ends by its own deadline only.
    const deadline = openDeadline(this.#closing.signal, this.#limits.connectTimeoutMs);
    const seen: { status?: number; auth?: UpstreamAuthError } = {};
    const running = new Map<string, Running>();
    const http = await this.#http();
    try {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
      const transport = new StreamableHTTPClientTransport(new URL(this.#target.url), {
        requestInit: { headers: headersFor(this.#target, context), redirect: 'manual' },
        fetch: async (input, init) => {
          const reply = await http.fetch(input, init).catch((thrown: unknown) => {
            throw new HttpFailure(phaseOf(thrown), thrown);
          });
          // A redirect of the first question is the reason, whatever the second one was answered.
          if (!isRedirect(seen.status)) seen.status = reply.status;
          if (reply.status === 401 || reply.status === 403) {
            seen.auth = new UpstreamAuthError(
              this.name,
              reply.status,
              reply.headers.get('www-authenticate') ?? undefined,
            );
            // An unread body keeps its connection, and with it the credential that was sent on it.
            await reply.body?.cancel();
            throw seen.auth;
          }
          return reply;
        },
      });
      const { client, peer } = await shakeHands(transport, this.#handshake(), {
        signal: deadline.signal,
        timeoutMs: this.#limits.connectTimeoutMs,
        ...(isOwn
          ? {
              onToolsChanged: this.#events.onToolsChanged,
              onNotification: (method, params) => takeStray(running, method, params),
            }
          : {}),
      });
      this.#verdict = { era: peer.era, at: performance.now() };
      const { sessionId } = transport;
      if (!isOwn) await client.close();
      this.#events.onState('ready');
      return {
        peer,
        headers: this.#sessionHeaders(peer, sessionId),
        running,
        ...(sessionId === undefined ? {} : { sessionId }),
        ...(isOwn ? { client } : {}),
      };
    } catch (thrown) {
      // A verdict that no longer holds must not outlive the first failure.
      this.#verdict = undefined;
      if (seen.auth !== undefined) throw seen.auth;
      throw this.#handshakeFailure(thrown, deadline, seen.status);
    } finally {
      deadline.dispose();
    }
  }

  #handshake(): Handshake {
    const verdict = this.#verdict;
    if (verdict === undefined) return 'auto';
    return verdict.era === 'legacy' && performance.now() - verdict.at > LEGACY_VERDICT_MS
      ? 'auto'
      : verdict.era;
  }

  #handshakeFailure(thrown: unknown, deadline: Deadline, status: number | undefined): ProxyError {
    const httpFailure = innermost(thrown, HttpFailure);
    if (httpFailure === undefined && !deadline.expired() && status !== undefined) {
      if (isRedirect(status)) return redirectError(this.name, status);
      if (status >= 400) return new HandshakeRefused(this.name, status);
    }
    return failureOf(
      httpFailure ?? thrown,
      this.#failureContext(deadline, this.#limits.connectTimeoutMs, 'connecting'),
    );
  }

  async #exchange(
    session: Session,
    method: string,
    params: RawParams,
    context: RequestContext,
  ): Promise<RawResult> {
    await this.#askForLogs(session, context);
    const id = `p${this.#nextId++}`;
    const isCall = method === 'tools/call';
    const body = requestText(
      id,
      method,
      withMeta(params, session.peer, context, { clientInfo: CLIENT_INFO, progressToken: id, isCall }),
    );
    const deadline = openDeadline(context.signal, context.timeoutMs, context.maxMs);
    const onProgress = (progress: JsonObject): void => {
      deadline.extend();
      context.onProgress?.(progress);
    };
    session.running.set(id, { context, isCall, onProgress });
    let reply: HttpReply | undefined;
    try {
      const http = await this.#http();
      reply = await http.send({
        method: 'POST',
        url: this.#target.url,
        headers: this.#headers(session, method, params, context),
        body,
        deadline,
      });
      return await this.#read(reply, { id, session, context, onProgress, deadline });
    } catch (thrown) {
      reply?.cancel();
      if (deadline.aborted && session.peer.era === 'legacy') this.#tellCancelled(session, id, context);
      if (thrown instanceof SessionLost) throw thrown;
      throw failureOf(thrown, this.#failureContext(deadline, context.timeoutMs, method));
    } finally {
      session.running.delete(id);
      deadline.dispose();
    }
  }

  async #read(reply: HttpReply, sent: Sent): Promise<RawResult> {
    const { id, session, context } = sent;
    const { status } = reply;
    if (status === 401 || status === 403) {
      reply.cancel();
      this.#forget(context.scope, session);
      throw new UpstreamAuthError(this.name, status, reply.header('www-authenticate'));
    }
    if (isRedirect(status)) throw redirectError(this.name, status);
    if (status === 404 && session.sessionId !== undefined) throw new SessionLost();
    const type = typeOf(reply);
    if (status === 200 && type === EVENT_STREAM) return this.#readStream(reply, sent);
    const message =
      type === 'application/json' ? readMessage(await reply.text(this.#limits.maxMessageBytes)) : undefined;
    if (status === 400 && session.sessionId !== undefined && isAboutSession(message)) throw new SessionLost();
    if (message?.kind === 'result' && status === 200) return this.#own(message, id);
    if (message?.kind === 'error')
      throw new UpstreamRejection(this.name, message.code, message.message, message.raw);
    if (status !== 200) throw statusError(this.name, status, 'the request', reply.header('retry-after'));
    throw new ProxyError(
      'upstream_invalid',
      `Upstream '${this.name}' answered with ${type ?? 'no content type'}${message?.kind === 'invalid' ? ` (${message.reason})` : ''} instead of a JSON-RPC result.`,
      { upstream: this.name, outcome: 'unknown' },
    );
  }

  /**
   * Reads an SSE answer up to our result. An older server may end the stream before, after an event with an id: it is
   * asked for the rest (MCP 2025-11-25, basic/transports, resumability), which is no second call.
   */
  async #readStream(first: HttpReply, sent: Sent): Promise<RawResult> {
    const { session, context, deadline } = sent;
    const place: StreamPlace = { lastId: undefined, retryMs: RESUME_MS };
    for (let reply = first; ;) {
      let broken: unknown;
      try {
        const result = await this.#readEvents(reply, sent, place);
        if (result !== undefined) return result;
      } catch (thrown) {
        if (!(thrown instanceof HttpFailure) || deadline.aborted) throw thrown;
        broken = thrown;
      }
      if (session.peer.era === 'modern' || place.lastId === undefined) throw broken ?? this.#endedEarly();
      await pause(place.retryMs, deadline.signal);
      if (deadline.aborted) throw deadline.reason;
      const http = await this.#http();
      const headers = [...this.#headers(session, '', {}, context), 'last-event-id', place.lastId];
      reply = await http.send({ method: 'GET', url: this.#target.url, headers, deadline });
      if (reply.status === 200 && typeOf(reply) === EVENT_STREAM) continue;
      reply.cancel();
      throw broken ?? this.#endedEarly();
    }
  }

  #endedEarly(): ProxyError {
    return new ProxyError('upstream_closed', `Upstream '${this.name}' ended its answer without a result.`, {
      upstream: this.name,
      outcome: 'unknown',
    });
  }

  /** Reads one stream; what comes before our result is progress, logs, or questions. Undefined when it ends before. */
  async #readEvents(reply: HttpReply, sent: Sent, place: StreamPlace): Promise<RawResult | undefined> {
    const { id, session, context, onProgress } = sent;
    const inbox: InboundMessage[] = [];
    let sinceEvent = 0;
    const parser = createParser({
      onEvent: ({ data, id: eventId }) => {
        sinceEvent = 0;
        if (eventId !== undefined) place.lastId = eventId === '' ? undefined : eventId;
        if (data !== '') inbox.push(readMessage(data));
      },
      onRetry: (ms) => {
        place.retryMs = Math.min(MAX_RESUME_MS, Math.max(MIN_RESUME_MS, ms));
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of reply.body) {
      sinceEvent += chunk.length;
      if (sinceEvent > this.#limits.maxMessageBytes + chunk.length) throw new BodyTooLarge();
      parser.feed(decoder.decode(chunk, { stream: true }));
      for (const message of inbox.splice(0)) {
        switch (message.kind) {
          case 'result':
            reply.cancel();
            return this.#own(message, id);
          case 'error':
            reply.cancel();
            throw new UpstreamRejection(this.name, message.code, message.message, message.raw);
          case 'notification':
            if (message.method === 'notifications/progress' && message.params['progressToken'] === id)
              onProgress(message.params);
            else if (message.method === 'notifications/message') passLog(message.params, context);
            else if (message.method === 'notifications/tools/list_changed') this.#events.onToolsChanged();
            break;
          case 'request':
            this.#post(session, context, answerText(message.id, message.method));
            break;
          case 'invalid':
            break;
        }
      }
    }
    return undefined;
  }

  #own(message: Extract<InboundMessage, { kind: 'result' }>, id: string): RawResult {
    if (message.id !== id) {
      throw new ProxyError(
        'upstream_invalid',
        `Upstream '${this.name}' answered another request than the one sent.`,
        {
          upstream: this.name,
          outcome: 'unknown',
        },
      );
    }
    return message.result;
  }

  #sessionHeaders(peer: Peer, sessionId: string | undefined): readonly string[] {
    return pairsOf(headersFor(this.#target, {}), {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': peer.protocolVersion,
      ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    });
  }

  #headers(session: Session, method: string, params: RawParams, context: RequestContext): string[] {
    const headers = [...session.headers];
    if (context.credential !== undefined) headers.push('authorization', context.credential.reveal());
    if (session.peer.era === 'legacy') return headers;
    headers.push('mcp-method', method);
    if (params['name'] !== undefined)
      headers.push('mcp-name', encodeHeaderValue(JSON.parse(params['name']) as string));
    for (const name in context.paramHeaders) headers.push(name, context.paramHeaders[name] ?? '');
    return headers;
  }

  /** Older peers have one level for a session: the least severe anybody asked for. */
  async #askForLogs(session: Session, context: RequestContext): Promise<void> {
    const { logLevel } = context;
    if (session.peer.takesLogLevel !== true || session.sessionId === undefined) return;
    if (logLevel === undefined || !isQuieter(session.logLevel, logLevel)) return;
    session.logLevel = logLevel;
    const quiet: RequestContext = {
      scope: context.scope,
      ...(context.credential === undefined ? {} : { credential: context.credential }),
      ...(context.signal === undefined ? {} : { signal: context.signal }),
      timeoutMs: this.#limits.connectTimeoutMs,
      maxMs: this.#limits.connectTimeoutMs,
    };
    try {
      await this.#exchange(session, 'logging/setLevel', { level: JSON.stringify(logLevel) }, quiet);
    } catch (thrown) {
      // What it says to this matters to nobody but where the call itself would hear the same.
      if (thrown instanceof SessionLost || thrown instanceof UpstreamAuthError) throw thrown;
    }
  }

  /** Older peers learn of a cancellation by a notification; newer ones by the closed stream. */
  #tellCancelled(session: Session, id: string, context: RequestContext): void {
    this.#post(
      session,
      context,
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"${id}"}}`,
    );
  }

  /** Sends something nobody waits for. */
  #post(session: Session, context: RequestContext, body: string): void {
    const deadline = openDeadline(undefined, this.#limits.connectTimeoutMs);
    this.#http()
      .then((http) =>
        http.send({
          method: 'POST',
          url: this.#target.url,
          headers: this.#headers(session, 'notifications/cancelled', {}, context),
          body,
          deadline,
        }),
      )
      .then((reply) => reply.cancel())
      .catch(() => undefined)
      .finally(() => deadline.dispose());
  }

  #forget(scope: string, session: Session): void {
    const known = this.#sessions.get(scope);
    known
      ?.then((current) => {
        if (current !== session || this.#sessions.get(scope) !== known) return;
        this.#sessions.delete(scope);
        session.client?.close().catch(() => undefined);
      })
      .catch(() => undefined);
    // The next request must not join the session that was just found dead.
    this.#sessions.delete(scope);
  }

  async #end(session: Session): Promise<void> {
    const transport = session.client?.transport as { terminateSession?: () => Promise<void> } | undefined;
    if (session.sessionId !== undefined && transport?.terminateSession !== undefined) {
      await Promise.race([
        transport.terminateSession().catch(() => undefined),
        new Promise((r) => setTimeout(r, 1_000).unref()),
      ]);
    }
    await session.client?.close();
  }

  #failureContext(deadline: Deadline, timeoutMs: number, doing: string): Parameters<typeof failureOf>[1] {
    return { upstream: this.name, deadline, timeoutMs, doing, maxMessageBytes: this.#limits.maxMessageBytes };
  }
}

function typeOf(reply: HttpReply): string | undefined {
  return reply.header('content-type')?.split(';')[0]?.trim().toLowerCase();
}

function isRedirect(status: number | undefined): boolean {
  return status !== undefined && status >= 300 && status < 400;
}

/** Some servers answer an unknown session with 400 and a sentence instead of 404. */
function isAboutSession(message: InboundMessage | undefined): boolean {
  return message?.kind === 'error' && /session/i.test(message.message);
}

/**
 * Some older servers send what belongs to a call on the stream for everything else. Progress names its call; a log
 * message names none and is the call's that is under way, if it is the only one.
 */
function takeStray(running: ReadonlyMap<string, Running>, method: string, params: JsonObject): boolean {
  if (method === 'notifications/progress') {
    const call = running.get(String(params['progressToken']));
    call?.onProgress(params);
    return call !== undefined;
  }
  if (method !== 'notifications/message') return false;
  const calls = [...running.values()].filter(({ isCall }) => isCall);
  if (calls.length === 1 && calls[0] !== undefined) passLog(params, calls[0].context);
  return true;
}

function innermost<T>(thrown: unknown, type: new (...args: never[]) => T): T | undefined {
  for (let error: unknown = thrown; error instanceof Error; error = error.cause)
    if (error instanceof type) return error;
  return undefined;
}
