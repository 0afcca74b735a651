import {
  classifyInboundRequest,
  createMcpHandler,
  isJsonContentType,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  SUPPORTED_PROTOCOL_VERSIONS,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { BusyError, UpstreamAuthError } from '../base/errors.ts';
import { decodeHeaderValue } from '../base/header-value.ts';
import { isJsonObject } from '../base/json-value.ts';
import { depthOf } from '../base/json-text.ts';
import type { Limits } from '../base/limits.ts';
import type { Observer } from '../base/observer.ts';
import { callerOf } from '../callers/caller.ts';
import type { Caller } from '../callers/caller.ts';
import type { MetaTools } from '../meta-tools/meta-tools.ts';
import { Admission } from './admission.ts';
import type { Leave, Shed } from './admission.ts';
import { jsonReply } from './http-reply.ts';
import type { HttpReply } from './http-reply.ts';
import { answerBatch, answerLegacyMessage } from './legacy-message.ts';
import type { LegacyParts } from './legacy-message.ts';
import { createMcpServer } from './mcp-server.ts';
import { plainCall } from './plain-call.ts';
import { KNOWN_VERSIONS, knownMethod, MODERN_VERSIONS, RPC, rpcErrorText } from './protocol.ts';
import { openReply, responseOf } from './reply-stream.ts';
import { readBody } from './request-body.ts';
import { answerToolCall, busyReply } from './tool-call.ts';
import type { ToolCallReply } from './tool-call.ts';

export interface HttpAppParts {
  readonly metaTools: MetaTools;
  readonly limits: Limits;
  readonly observer: Observer;
  /** Host names requests may name; undefined means any (an address behind somebody else's check). */
  readonly allowedHosts: readonly string[] | undefined;
  /** Host names of the browser origins that may call. */
  readonly allowedOrigins: readonly string[];
  /** How long a caller's first handshake waits for their upstreams' instructions, in milliseconds. */
  readonly instructionsWaitMs: number;
  /**
   * What the upstream that checks callers says of how to sign in (OAuth protected resource metadata, RFC 9728), as
   * JSON text for clients that reach it at `resource`; undefined when it says nothing.
   */
  readonly signIn: (resource: string) => Promise<string | undefined>;
}

/** The start of a request: what it is about, before its body. */
export interface RequestHead {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** A header by its name in lower case. */
  header(name: string): string | undefined;
}

/** A message sent to us, whole. */
export interface PostedMessage {
  readonly head: RequestHead;
  readonly text: string;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** Sends a notification before the answer, which then becomes a stream. */
  readonly notify: (text: string) => void;
  /** The request as the SDK takes it, without its body. */
  readonly request: () => Request;
}

/** Everything served over HTTP, apart from how requests come in and answers go out. */
export interface HttpApp {
  /** The answer that needs no body; undefined for a message to us, whose body is to be read and given to `post`. */
  answer(head: RequestHead): HttpReply | Promise<HttpReply> | undefined;
  /** The answer to a body larger than allowed. */
  tooLarge(): HttpReply;
  post(message: PostedMessage): Promise<HttpReply>;
  /** The same for web-standard requests. */
  fetch(request: Request): Promise<Response>;
  /** From now on we are not ready, and say so. */
  drain(): void;
  /** Ends streams that are open. */
  close(): Promise<void>;
}

/** Requests whose answer depends on what the caller's upstreams say, or on whether they accept the caller at all. */
const ASKS_UPSTREAM = new Set(['initialize', 'server/discover', 'tools/list']);

/** RFC 9728 §3.1: the well-known path, alone or followed by the resource's own. */
export const SIGN_IN_PATHS: ReadonlySet<string> = new Set([
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
]);

/** Verdicts on `Host` and `Origin` values that are remembered; clients send few different ones. */
const MAX_VERDICTS = 100;

/** What is told of a request while it is served. */
interface Seen {
  method: string;
  /** Whether it went to the tools, which tell of it themselves. */
  isCall: boolean;
}

/** Loopback names are always served, whatever is listened on. */
export function hostNames(names: readonly string[]): readonly string[] {
  return [...new Set([...localhostAllowedHostnames(), ...names])];
}

export function originNames(names: readonly string[]): readonly string[] {
  return [...new Set([...localhostAllowedOrigins(), ...names])];
}

/**
 * MCP over streamable HTTP without sessions, both generations on `/mcp`, beside `/healthz` and `/readyz`. Each POST
 * stands alone: nothing of a caller is kept between two of theirs but what their listings' keys hold.
 */
export function createHttpApp(parts: HttpAppParts): HttpApp {
  const { metaTools, limits } = parts;
  const admission = new Admission(limits);
  const handshakes = new WeakMap<Request, string>();
  const definitions = (): MetaTools['definitions'] => metaTools.definitions;
  const modern = createMcpHandler(
    ({ requestInfo }) => createMcpServer(definitions, (requestInfo && handshakes.get(requestInfo)) ?? ''),
    { legacy: 'reject', maxRequestBodySize: limits.maxBodyBytes },
  );
  let isDraining = false;

  const hostProblem = remembered((host) => {
    const { allowedHosts } = parts;
    if (allowedHosts === undefined) return undefined;
    const check = validateHostHeader(host, [...allowedHosts]);
    return check.ok ? undefined : `${check.message} (setting allowedHosts)`;
  });
  const originProblem = remembered((origin) => {
    const check = validateOriginHeader(origin, [...parts.allowedOrigins]);
    return check.ok ? undefined : `${check.message} (setting allowedOrigins)`;
  });

  function answer(head: RequestHead): HttpReply | Promise<HttpReply> | undefined {
    const { method, path } = head;
    if (path === '/mcp') {
      const problem = hostProblem(head.header('host')) ?? originProblem(head.header('origin'));
      if (problem !== undefined) return jsonReply(403, serverError(`Forbidden: ${problem}`));
      if (method !== 'POST') {
        const message = 'Method not allowed: this server keeps no sessions; send each request by POST';
        return jsonReply(405, serverError(message), { allow: 'POST' });
      }
      const type = head.header('content-type');
      if (type === 'application/json' || isJsonContentType(type ?? null)) return undefined;
      return jsonReply(415, serverError('Unsupported Media Type: send application/json'));
    }
    const isRead = method === 'GET' || method === 'HEAD';
    if (path === '/healthz' || path === '/readyz') {
      if (!isRead) return jsonReply(405, '{"error":"Method not allowed"}', { allow: 'GET, HEAD' });
      const isUp = path === '/healthz' || !isDraining;
      const text = path === '/healthz' ? 'ok' : isUp ? 'ready' : 'shutting down';
      return jsonReply(isUp ? 200 : 503, text, { 'content-type': 'text/plain; charset=utf-8' });
    }
    if (SIGN_IN_PATHS.has(path) && isRead) return signIn(head);
    return notFound('Not found: MCP is served at /mcp');
  }

  async function signIn(head: RequestHead): Promise<HttpReply> {
    const host = head.header('host');
    const problem = hostProblem(host);
    if (problem !== undefined) return jsonReply(403, serverError(`Forbidden: ${problem}`));
    // Only this answer, to whoever sent the header, depends on it.
    const scheme = head.header('x-forwarded-proto') === 'https' ? 'https' : 'http';
    const text = await parts.signIn(`${scheme}://${host ?? 'localhost'}/mcp`);
    return text === undefined
      ? notFound('Not found: the upstream says nothing of how to sign in')
      : jsonReply(200, text);
  }

  /** The instructions for this caller, where the request wants them; throws when their upstream refuses them. */
  async function instructionsFor(method: unknown, caller: Caller): Promise<string> {
    if (typeof method !== 'string' || !ASKS_UPSTREAM.has(method)) return '';
    return metaTools.instructions(caller, parts.instructionsWaitMs);
  }

  async function askSdk(posted: PostedMessage, body: unknown, caller?: Caller): Promise<HttpReply> {
    const request = posted.request();
    if (caller !== undefined) {
      const method = isJsonObject(body) ? body['method'] : undefined;
      handshakes.set(request, await instructionsFor(method, caller));
    }
    const response = await modern.fetch(request, { parsedBody: body });
    if (!isJsonContentType(response.headers.get('content-type'))) return { kind: 'response', response };
    // A whole answer is taken as its text, so that what is told of it can say how it went.
    const { 'content-type': _type, ...headers } = Object.fromEntries(response.headers);
    return jsonReply(response.status, await response.text(), headers);
  }

  function legacyParts({ signal }: PostedMessage, caller: Caller): LegacyParts {
    return { metaTools, caller, signal, instructions: (method) => instructionsFor(method, caller) };
  }

  async function answerMessages(
    posted: PostedMessage,
    messages: readonly unknown[],
    caller: Caller,
  ): Promise<HttpReply> {
    const replies = await answerBatch(posted.text, messages, legacyParts(posted, caller));
    if (replies.length === 0) return { kind: 'empty' };
    const refused = replies.find((reply) => reply.kind !== 'reply');
    return refused === undefined
      ? jsonReply(200, `[${replies.map((reply) => reply.text).join(',')}]`)
      : replyOf(refused);
  }

  async function call(
    posted: PostedMessage,
    params: unknown,
    era: 'modern' | 'legacy',
    caller: Caller,
  ): Promise<HttpReply> {
    const { text, signal, notify } = posted;
    const takesStream = /text\/event-stream|\*\/\*/.test(posted.head.header('accept') ?? '');
    return replyOf(
      await answerToolCall(metaTools, {
        text,
        params,
        era,
        version: posted.head.header('mcp-protocol-version')?.trim(),
        caller,
        signal,
        ...(takesStream ? { notify } : {}),
      }),
    );
  }

  async function serve(posted: PostedMessage, seen: Seen): Promise<HttpReply> {
    const { head, text } = posted;
    const caller = callerOf(head.header('authorization'));
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      return jsonReply(
        400,
        rpcErrorText('null', RPC.parseError, 'Parse error: the request body is not valid JSON'),
      );
    }
    if (depthOf(text) > limits.maxJsonDepth) {
      const message = `Invalid Request: nested deeper than ${limits.maxJsonDepth} levels (limit maxJsonDepth)`;
      return jsonReply(400, rpcErrorText('null', RPC.invalidRequest, message));
    }
    const version = head.header('mcp-protocol-version')?.trim();
    seen.method = knownMethod(body);
    const method = head.header('mcp-method')?.trim();
    const name = head.header('mcp-name')?.trim();
    const era = plainCall(body, { version, method, name });
    if (era !== undefined) {
      seen.isCall = true;
      return call(posted, (body as { params?: unknown }).params, era, caller);
    }
    const outcome = classifyInboundRequest({
      httpMethod: 'POST',
      body,
      ...(version === undefined ? {} : { protocolVersionHeader: version }),
      ...(method === undefined ? {} : { mcpMethodHeader: method }),
      ...(name === undefined ? {} : { mcpNameHeader: name }),
    });
    if (outcome.kind === 'modern') {
      const { message, messageKind, classification } = outcome;
      const isPlain =
        messageKind === 'request' &&
        message.method === 'tools/call' &&
        MODERN_VERSIONS.includes(classification.revision ?? '') &&
        version !== undefined &&
        method !== undefined &&
        name !== undefined &&
        decodeHeaderValue(name) === (message.params as { name?: unknown } | undefined)?.name;
      seen.isCall = isPlain;
      // Whatever does not fit is the SDK's to refuse, in the specification's words.
      return isPlain ? call(posted, message.params, 'modern', caller) : askSdk(posted, body, caller);
    }
    if (outcome.kind === 'reject') return askSdk(posted, body);
    if (
      version !== undefined &&
      outcome.reason !== 'initialize' &&
      !SUPPORTED_PROTOCOL_VERSIONS.includes(version)
    ) {
      const message = `Bad Request: unsupported protocol version (supported: ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')})`;
      return jsonReply(400, serverError(message));
    }
    if (Array.isArray(body)) return answerMessages(posted, body, caller);
    if (isJsonObject(body) && body['method'] === 'tools/call' && body['id'] !== undefined) {
      seen.isCall = true;
      return call(posted, body['params'], 'legacy', caller);
    }
    const reply = await answerLegacyMessage(text, body, legacyParts(posted, caller));
    return reply === undefined ? { kind: 'empty' } : replyOf(reply);
  }

  async function post(posted: PostedMessage): Promise<HttpReply> {
    const entered: Leave | Shed = admission.enter(posted.head.header('authorization'));
    if (typeof entered !== 'function') {
      const { status, message, retryAfterS } = entered;
      const scope = status === 503 ? 'process' : 'caller';
      parts.observer({
        kind: 'shed',
        scope,
        limit: scope === 'process' ? 'maxRequests' : 'maxCallerRequests',
      });
      return jsonReply(status, serverError(message), { 'retry-after': String(retryAfterS) });
    }
    const began = performance.now();
    const seen: Seen = { method: 'other', isCall: false };
    try {
      const reply = await serve(posted, seen).catch(thrownReply);
      if (!seen.isCall) reportRequest(posted, reply, seen.method, performance.now() - began);
      return reply;
    } finally {
      entered();
    }
  }

  /** The answer to a request that could not be served. */
  function thrownReply(thrown: unknown): HttpReply {
    if (thrown instanceof BusyError) return replyOf(busyReply(thrown, 'null'));
    if (thrown instanceof UpstreamAuthError) {
      const { status, challenge, message } = thrown;
      return replyOf({ kind: 'unauthorized', status, challenge, text: serverError(message) });
    }
    // The client learns nothing of our insides; the operator gets the stack.
    const stack = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    parts.observer({ kind: 'bug', stack });
    return jsonReply(500, rpcErrorText('null', RPC.internalError, 'Internal error'));
  }

  /** A call of a tool is told of by the tools; this is every other request. */
  function reportRequest(posted: PostedMessage, reply: HttpReply, method: string, ms: number): void {
    const version = posted.head.header('mcp-protocol-version')?.trim();
    const text = reply.kind === 'text' ? reply.text : '';
    const responseBytes = reply.kind === 'response' ? undefined : Buffer.byteLength(text);
    const code = /"error":\{"code":(-?\d+)/.exec(text.slice(0, 120))?.[1];
    const status =
      reply.kind === 'text' ? reply.status : reply.kind === 'empty' ? 202 : reply.response.status;
    parts.observer({
      kind: 'request',
      transport: 'http',
      method,
      ...(version !== undefined && KNOWN_VERSIONS.has(version) ? { protocolVersion: version } : {}),
      ...(code === undefined ? {} : { errorCode: Number(code) }),
      status,
      requestBytes: Buffer.byteLength(posted.text),
      ...(responseBytes === undefined ? {} : { responseBytes }),
      ms,
    });
  }

  const tooLarge = (): HttpReply =>
    jsonReply(413, serverError(`Payload Too Large: the limit maxBodyBytes is ${limits.maxBodyBytes} bytes`));

  return {
    answer,
    tooLarge,
    post,
    async fetch(request) {
      const { pathname, host } = new URL(request.url);
      const head: RequestHead = {
        method: request.method,
        path: pathname,
        header: (name) => request.headers.get(name) ?? (name === 'host' ? host : undefined),
      };
      const early = answer(head);
      if (early !== undefined) return responseOf(await early);
      const text = await readBody(request, limits.maxBodyBytes);
      if (text === undefined) return responseOf(tooLarge());
      const gone = new AbortController();
      const onAbort = (): void => gone.abort(new Error('the client went away'));
      if (request.signal.aborted) onAbort();
      request.signal.addEventListener('abort', onAbort, { once: true });
      const { notify, response } = openReply(onAbort);
      const { url, method, headers } = request;
      const work = post({
        head,
        text,
        signal: gone.signal,
        notify,
        request: () => new Request(url, { method, headers, signal: gone.signal }),
      }).finally(() => request.signal.removeEventListener('abort', onAbort));
      return response(work);
    },
    drain() {
      isDraining = true;
    },
    close: () => modern.close(),
  };
}

function replyOf(reply: ToolCallReply): HttpReply {
  switch (reply.kind) {
    case 'reply':
      return { kind: 'text', status: 200, text: reply.text };
    case 'unauthorized':
      return jsonReply(
        reply.status,
        reply.text,
        reply.challenge === undefined ? {} : { 'www-authenticate': reply.challenge },
      );
    case 'busy':
      return jsonReply(503, reply.text, { 'retry-after': String(reply.retryAfterS) });
  }
}

function serverError(message: string): string {
  return rpcErrorText('null', RPC.server, message);
}

function notFound(error: string): HttpReply {
  return jsonReply(404, JSON.stringify({ error }));
}

/** A verdict on a header's value that is the same each time. */
function remembered(
  judge: (value: string | undefined) => string | undefined,
): (value: string | undefined) => string | undefined {
  const verdicts = new Map<string | undefined, string | undefined>();
  return (value) => {
    if (verdicts.has(value)) return verdicts.get(value);
    const verdict = judge(value);
    if (verdicts.size >= MAX_VERDICTS) verdicts.clear();
    verdicts.set(value, verdict);
    return verdict;
  };
}
