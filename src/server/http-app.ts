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
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { UpstreamAuthError } from '../base/errors.ts';
import { decodeHeaderValue } from '../base/header-value.ts';
import { isJsonObject } from '../base/json-value.ts';
import { depthOf } from '../base/json-text.ts';
import type { Limits } from '../base/limits.ts';
import type { Observer } from '../base/observer.ts';
import { callerOf } from '../callers/caller.ts';
import type { Caller } from '../callers/caller.ts';
import type { MetaTools } from '../meta-tools/meta-tools.ts';
import { answerBatch, answerLegacyMessage } from './legacy-message.ts';
import type { LegacyParts } from './legacy-message.ts';
import { createMcpServer } from './mcp-server.ts';
import { MODERN_VERSIONS, RPC, rpcErrorText } from './protocol.ts';
import { jsonResponse, openReply } from './reply-stream.ts';
import { answerToolCall } from './tool-call.ts';
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
}

export interface HttpApp {
  fetch(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** Requests whose answer depends on what the caller's upstreams say, or on whether they accept the caller at all. */
const ASKS_UPSTREAM = new Set(['initialize', 'server/discover', 'tools/list']);

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
  const handshakes = new WeakMap<Request, string>();
  const definitions = (): MetaTools['definitions'] => metaTools.definitions;
  const modern = createMcpHandler(
    ({ requestInfo }) => createMcpServer(definitions, (requestInfo && handshakes.get(requestInfo)) ?? ''),
    { legacy: 'reject', maxRequestBodySize: limits.maxBodyBytes },
  );

  /** The instructions for this caller, where the request wants them; throws when their upstream refuses them. */
  async function instructionsFor(method: unknown, caller: Caller): Promise<string> {
    if (typeof method !== 'string' || !ASKS_UPSTREAM.has(method)) return '';
    return metaTools.instructions(caller, parts.instructionsWaitMs);
  }

  async function serveModern(request: Request, body: unknown, caller: Caller): Promise<Response> {
    handshakes.set(request, await instructionsFor(isJsonObject(body) ? body['method'] : undefined, caller));
    return modern.fetch(request, { parsedBody: body });
  }

  function legacyParts(request: Request, caller: Caller): LegacyParts {
    return {
      metaTools,
      caller,
      signal: request.signal,
      instructions: (method) => instructionsFor(method, caller),
    };
  }

  async function serveBatch(
    text: string,
    messages: readonly unknown[],
    request: Request,
    caller: Caller,
  ): Promise<Response> {
    const replies = await answerBatch(text, messages, legacyParts(request, caller));
    if (replies.length === 0) return new Response(null, { status: 202 });
    const refused = replies.find((reply) => reply.kind === 'unauthorized');
    return refused === undefined
      ? jsonResponse(200, `[${replies.map((reply) => reply.text).join(',')}]`)
      : responseOf(refused);
  }

  async function serveCall(
    text: string,
    params: unknown,
    era: 'modern' | 'legacy',
    request: Request,
    caller: Caller,
  ): Promise<Response> {
    const gone = new AbortController();
    const onAbort = (): void => gone.abort(new Error('the client went away'));
    request.signal.addEventListener('abort', onAbort, { once: true });
    const { notify, response } = openReply(onAbort);
    const takesStream = /text\/event-stream|\*\/\*/.test(request.headers.get('accept') ?? '');
    const work = answerToolCall(metaTools, {
      text,
      params,
      era,
      caller,
      signal: gone.signal,
      ...(takesStream ? { notify } : {}),
    }).finally(() => request.signal.removeEventListener('abort', onAbort));
    return response(work, responseOf, (reply) => reply.text);
  }

  async function serve(text: string, request: Request): Promise<Response> {
    const { headers } = request;
    const caller = callerOf(headers.get('authorization'));
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      return jsonResponse(
        400,
        rpcErrorText('null', RPC.parseError, 'Parse error: the request body is not valid JSON'),
      );
    }
    if (depthOf(text) > limits.maxJsonDepth) {
      const message = `Invalid Request: nested deeper than ${limits.maxJsonDepth} levels (limit maxJsonDepth)`;
      return jsonResponse(400, rpcErrorText('null', RPC.invalidRequest, message));
    }
    const version = headers.get('mcp-protocol-version')?.trim();
    const methodHeader = headers.get('mcp-method')?.trim();
    const nameHeader = headers.get('mcp-name')?.trim();
    const outcome = classifyInboundRequest({
      httpMethod: 'POST',
      body,
      ...(version === undefined ? {} : { protocolVersionHeader: version }),
      ...(methodHeader === undefined ? {} : { mcpMethodHeader: methodHeader }),
      ...(nameHeader === undefined ? {} : { mcpNameHeader: nameHeader }),
    });
    if (outcome.kind === 'modern') {
      const { message, messageKind, classification } = outcome;
      const isPlain =
        messageKind === 'request' &&
        message.method === 'tools/call' &&
        MODERN_VERSIONS.includes(classification.revision ?? '') &&
        version !== undefined &&
        methodHeader !== undefined &&
        nameHeader !== undefined &&
        decodeHeaderValue(nameHeader) === (message.params as { name?: unknown } | undefined)?.name;
      // Whatever does not fit is the SDK's to refuse, in the specification's words.
      return isPlain
        ? serveCall(text, message.params, 'modern', request, caller)
        : serveModern(request, body, caller);
    }
    if (outcome.kind === 'reject') return modern.fetch(request, { parsedBody: body });
    if (
      version !== undefined &&
      outcome.reason !== 'initialize' &&
      !SUPPORTED_PROTOCOL_VERSIONS.includes(version)
    ) {
      const message = `Bad Request: unsupported protocol version (supported: ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')})`;
      return jsonResponse(400, rpcErrorText('null', RPC.server, message));
    }
    if (Array.isArray(body)) return serveBatch(text, body, request, caller);
    if (isJsonObject(body) && body['method'] === 'tools/call' && body['id'] !== undefined) {
      return serveCall(text, body['params'], 'legacy', request, caller);
    }
    const reply = await answerLegacyMessage(text, body, legacyParts(request, caller));
    return reply === undefined ? new Response(null, { status: 202 }) : responseOf(reply);
  }

  const app = new Hono();
  app.get('/healthz', (c) => c.text('ok'));
  app.get('/readyz', (c) => c.text('ready'));
  app.use('/mcp', async (c, next) => {
    const { allowedHosts } = parts;
    if (allowedHosts !== undefined) {
      const host = c.req.header('host') ?? new URL(c.req.url).host;
      const check = validateHostHeader(host, [...allowedHosts]);
      if (!check.ok) return forbidden(`${check.message} (setting allowedHosts)`);
    }
    const origin = validateOriginHeader(c.req.header('origin'), [...parts.allowedOrigins]);
    if (!origin.ok) return forbidden(`${origin.message} (setting allowedOrigins)`);
    if (c.req.method !== 'POST') {
      const message = 'Method not allowed: this server keeps no sessions; send each request by POST';
      return jsonResponse(405, rpcErrorText('null', RPC.server, message), { allow: 'POST' });
    }
    if (!isJsonContentType(c.req.header('content-type') ?? null)) {
      return jsonResponse(
        415,
        rpcErrorText('null', RPC.server, 'Unsupported Media Type: send application/json'),
      );
    }
    return next();
  });
  const tooLarge = (): Response =>
    jsonResponse(
      413,
      rpcErrorText(
        'null',
        RPC.server,
        `Payload Too Large: the limit maxBodyBytes is ${limits.maxBodyBytes} bytes`,
      ),
    );
  const limitStream = bodyLimit({ maxSize: limits.maxBodyBytes, onError: tooLarge });
  app.post(
    '/mcp',
    async (c, next) => {
      const length = c.req.header('content-length');
      // Hono's limit opens the body as a web stream even where its length is given, a quarter of a call's CPU time.
      if (length === undefined || c.req.header('transfer-encoding') !== undefined)
        return limitStream(c, next);
      return Number(length) > limits.maxBodyBytes ? tooLarge() : next();
    },
    async (c) => {
      const text = await c.req.text();
      try {
        return await serve(text, c.req.raw);
      } catch (thrown) {
        if (!(thrown instanceof UpstreamAuthError)) throw thrown;
        const { status, challenge, message } = thrown;
        return responseOf({
          kind: 'unauthorized',
          status,
          challenge,
          text: rpcErrorText('null', RPC.server, message),
        });
      }
    },
  );
  app.notFound(() => jsonResponse(404, '{"error":"Not found: MCP is served at /mcp"}'));
  app.onError((error) => {
    // The client learns nothing of our insides; the operator gets the stack.
    parts.observer({ kind: 'bug', stack: error.stack ?? String(error) });
    return jsonResponse(500, rpcErrorText('null', RPC.internalError, 'Internal error'));
  });

  return {
    fetch: async (request) => app.fetch(request),
    close: () => modern.close(),
  };
}

function responseOf(reply: ToolCallReply): Response {
  if (reply.kind === 'reply') return jsonResponse(200, reply.text);
  const challenge: Record<string, string> =
    reply.challenge === undefined ? {} : { 'www-authenticate': reply.challenge };
  return jsonResponse(reply.status, reply.text, challenge);
}

function forbidden(message: string): Response {
  return jsonResponse(403, rpcErrorText('null', RPC.server, `Forbidden: ${message}`));
}
