import { classifyInboundRequest } from '@modelcontextprotocol/server';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { serveStdio as serveSdk } from '@modelcontextprotocol/server/stdio';
import { encodeHeaderValue } from '../base/header-value.ts';
import { isJsonObject } from '../base/json-value.ts';
import { depthOf, withMemberFirst } from '../base/json-text.ts';
import type { Limits } from '../base/limits.ts';
import type { Observer } from '../base/observer.ts';
import { ANONYMOUS } from '../callers/caller.ts';
import { errorAnswer } from '../meta-tools/answer.ts';
import type { MetaTools } from '../meta-tools/meta-tools.ts';
import type { ClientPipe } from './client-pipe.ts';
import { answerBatch } from './legacy-message.ts';
import { createMcpServer } from './mcp-server.ts';
import {
  KNOWN_VERSIONS,
  knownMethod,
  META,
  MODERN_VERSIONS,
  RPC,
  rpcErrorText,
  wrongMessage,
} from './protocol.ts';
import { plainCall } from './plain-call.ts';
import type { MessageHeaders } from './plain-call.ts';
import { answerToolCall } from './tool-call.ts';

export interface StdioParts {
  /** Ready when first needed; the handshake does not wait for it. */
  readonly metaTools: () => Promise<MetaTools>;
  /** The instructions known by now. */
  readonly instructions: () => Promise<string>;
  readonly limits: Limits;
  readonly observer: Observer;
  readonly pipe: ClientPipe;
  /** Called once, when the first answer is out: what may take time starts now. */
  readonly onGreeted: () => void;
}

/** How long requests that came before stdin ended may still take. */
const LAST_ANSWERS_MS = 5_000;

/**
 * Serves the client at the other end of a pipe; resolves when the client has gone and what it asked before that is
 * answered.
 */
export async function serveStdio(parts: StdioParts): Promise<void> {
  const wire = new StdioWire(parts);
  const definitions = async (): Promise<MetaTools['definitions']> => (await parts.metaTools()).definitions;
  const handle = serveSdk(async () => createMcpServer(definitions, await parts.instructions()), {
    transport: wire,
    onerror: (error) => parts.observer({ kind: 'note', message: `client: ${error.message}` }),
  });
  await parts.pipe.ended;
  await wire.lastAnswers(LAST_ANSWERS_MS);
  wire.stop();
  await handle.close();
}

/** A request that waits for the SDK's answer, and what is told of it then. */
interface Asked {
  /** A method of MCP, or `other`. */
  readonly method: string;
  readonly version: string | undefined;
  readonly requestBytes: number;
  readonly began: number;
}

/**
 * The client's pipe: calls of tools and their cancellations are taken here, on their text; every other message is
 * the SDK's. The generation of each call is read off the call itself, as over HTTP.
 */
class StdioWire implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport['onmessage'];
  readonly #parts: StdioParts;
  /** Calls under way, by the JSON text of their id. */
  readonly #calls = new Map<string, AbortController>();
  /** Other requests that are not answered yet, by the JSON text of their id. */
  readonly #asked = new Map<string, Asked>();
  /** The protocol version agreed on with an older client. */
  #agreed: string | undefined;
  #onAnswered: () => void = () => undefined;
  #isGreeted = false;
  #hasDropped = false;
  #nextBatch = 1;

  constructor(parts: StdioParts) {
    this.#parts = parts;
  }

  start(): Promise<void> {
    const { pipe } = this.#parts;
    this.#agreed = pipe.agreed;
    if (pipe.greeted !== undefined) this.#afterGreeting();
    // The SDK listens when this has resolved.
    setImmediate(() =>
      pipe.take(
        (line) => this.#receive(line),
        () => this.#onAnswered(),
      ),
    );
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    const id = 'method' in message ? undefined : JSON.stringify(message.id ?? null);
    const text = JSON.stringify(message);
    if (id === undefined || !this.#isAnsweredAlready(id)) this.#write(text);
    const asked = id === undefined ? undefined : this.#asked.get(id);
    if (asked !== undefined) this.#report(asked, message, text);
    if (id !== undefined) this.#answered(id);
    return Promise.resolve();
  }

  /** Answers a message nobody else would understand. */
  #refuse(line: string, message: unknown, text: string): void {
    this.#write(text);
    this.#report(askedOf(line, message), JSON.parse(text) as object, text);
  }

  /** Tells of a request; calls that came to the tools are told of by the tools. */
  #report({ method, version, requestBytes, began }: Asked, message: object, text: string): void {
    const { error, result } = message as {
      error?: { code?: unknown };
      result?: { protocolVersion?: unknown };
    };
    if (method === 'initialize' && typeof result?.protocolVersion === 'string')
      this.#agreed = result.protocolVersion;
    const spoken = version ?? this.#agreed;
    this.#parts.observer({
      kind: 'request',
      transport: 'stdio',
      method,
      ...(spoken !== undefined && KNOWN_VERSIONS.has(spoken) ? { protocolVersion: spoken } : {}),
      ...(typeof error?.code === 'number' ? { errorCode: error.code } : {}),
      requestBytes,
      responseBytes: Buffer.byteLength(text),
      ms: performance.now() - began,
    });
  }

  /** Resolves when everything asked is answered, when nobody reads any more, or after `ms`. */
  async lastAnswers(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#onAnswered(), ms);
    if (this.#calls.size + this.#asked.size > 0 && !this.#parts.pipe.isUnread) {
      await new Promise<void>((resolve) => {
        this.#onAnswered = resolve;
      });
    }
    clearTimeout(timer);
  }

  close(): Promise<void> {
    this.#parts.pipe.end();
    return Promise.resolve();
  }

  /** Nothing more can be answered: what is under way is given up. */
  stop(): void {
    for (const call of this.#calls.values()) call.abort(new Error('the client went away'));
    this.onclose?.();
  }

  #receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#refuse(
        line,
        undefined,
        rpcErrorText(
          'null',
          RPC.parseError,
          'Parse error: a line on stdin is not JSON; this is an MCP server, send one JSON-RPC message a line',
        ),
      );
      return this.#parts.observer({
        kind: 'note',
        message: 'a line on stdin was not JSON: stdin and stdout speak MCP here',
      });
    }
    if (depthOf(line) > this.#parts.limits.maxJsonDepth) {
      const { maxJsonDepth } = this.#parts.limits;
      return this.#refuse(
        line,
        message,
        rpcErrorText(
          'null',
          RPC.invalidRequest,
          `Invalid Request: nested deeper than ${maxJsonDepth} levels (limit maxJsonDepth)`,
        ),
      );
    }
    if (Array.isArray(message)) return this.#batch(line, message);
    if (isJsonObject(message)) {
      if (message['method'] === 'tools/call' && message['id'] !== undefined && this.#call(line, message))
        return;
      if (message['method'] === 'notifications/cancelled' && this.#cancel(message['params'])) return;
    }
    const wrong = wrongMessage(message);
    if (wrong !== undefined) return this.#refuse(line, message, wrong);
    if (isJsonObject(message) && message['method'] !== undefined && message['id'] !== undefined) {
      this.#asked.set(JSON.stringify(message['id']), askedOf(line, message));
    }
    this.onmessage?.(message as JSONRPCMessage);
  }

  /** MCP 2025-03-26 has batches; their messages are answered as over HTTP, each on its own. */
  #batch(line: string, messages: readonly unknown[]): void {
    const outcome = classifyInboundRequest({ httpMethod: 'POST', body: messages });
    if (outcome.kind === 'reject')
      return this.#refuse(line, messages, rpcErrorText('null', outcome.code, outcome.message));
    const controller = new AbortController();
    const id = `batch ${this.#nextBatch++}`;
    this.#calls.set(id, controller);
    const asked = askedOf(line, messages);
    void this.#run(id, 'null', async () => {
      const metaTools = await this.#parts.metaTools();
      const replies = await answerBatch(line, messages, {
        metaTools,
        caller: ANONYMOUS,
        signal: controller.signal,
        instructions: this.#parts.instructions,
      });
      const text = `[${replies.map((reply) => reply.text).join(',')}]`;
      if (replies.length > 0) this.#write(text);
      this.#report(asked, {}, text);
    });
  }

  /** Takes a call of a tool; false when it is malformed and the SDK has the words for that. */
  #call(line: string, message: { readonly [key: string]: unknown }): boolean {
    let era = plainCall(message, ownHeaders(message['params']));
    if (era === undefined) {
      const outcome = classifyInboundRequest({ httpMethod: 'POST', body: message });
      if (outcome.kind === 'reject') {
        const { code, message: sentence, data } = outcome;
        const id = JSON.stringify(message['id'] ?? null);
        this.#refuse(line, message, rpcErrorText(id, code, sentence, data));
        return true;
      }
      if (outcome.kind === 'modern' && !MODERN_VERSIONS.includes(outcome.classification.revision ?? ''))
        return false;
      era = outcome.kind;
    }
    const id = JSON.stringify(message['id']);
    const controller = new AbortController();
    this.#calls.set(id, controller);
    void this.#run(id, id, () => this.#answer(line, message['params'], era, id, controller.signal));
    return true;
  }

  async #answer(
    line: string,
    params: unknown,
    era: 'modern' | 'legacy',
    id: string,
    signal: AbortSignal,
  ): Promise<void> {
    const notify = (text: string): void => {
      if (this.#calls.has(id)) this.#write(text);
    };
    const metaTools = await this.#parts.metaTools();
    const reply = await answerToolCall(metaTools, {
      text: line,
      params,
      era,
      version: this.#agreed,
      caller: ANONYMOUS,
      signal,
      notify,
    });
    // A cancelled request gets no answer (MCP, basic/utilities/cancellation).
    if (signal.aborted) return;
    if (reply.kind === 'reply') return this.#write(reply.text);
    // There is no HTTP status here, so the model is told.
    const answer = errorAnswer(
      reply.kind === 'busy'
        ? `[busy] ${reply.sentence} Next: nothing was sent; try again in ${reply.retryAfterS} s.`
        : `[upstream_auth] The upstream refused the request (${reply.status}): it needs a sign-in. Next: tell the user.`,
    );
    const result = era === 'modern' ? withMemberFirst(answer.raw, 'resultType', '"complete"') : answer.raw;
    this.#write(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
  }

  /** Does the work of a call or batch to its end; what nobody foresaw is a bug, reported, and answered as one. */
  async #run(key: string, id: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#parts.observer({ kind: 'bug', stack });
      this.#write(rpcErrorText(id, RPC.internalError, 'Internal error'));
    } finally {
      this.#calls.delete(key);
      this.#answered(key);
    }
  }

  #answered(id: string): void {
    this.#asked.delete(id);
    if (this.#calls.size + this.#asked.size === 0) this.#onAnswered();
  }

  #cancel(params: unknown): boolean {
    if (!isJsonObject(params)) return false;
    const id = JSON.stringify(params['requestId'] ?? null);
    const call = this.#calls.get(id);
    // One of the SDK's gets no answer any more.
    if (call === undefined) this.#answered(id);
    call?.abort(new Error('the client cancelled the request'));
    return call !== undefined;
  }

  #write(text: string): void {
    this.#parts.pipe.write(text);
    this.#afterGreeting();
  }

  #afterGreeting(): void {
    if (this.#isGreeted) return;
    this.#isGreeted = true;
    setImmediate(this.#parts.onGreeted);
  }

  /** The handshake the pipe answered before we were there: the SDK takes part in it, but its answer is the second. */
  #isAnsweredAlready(id: string): boolean {
    if (this.#hasDropped || id !== this.#parts.pipe.greeted) return false;
    this.#hasDropped = true;
    return true;
  }
}

function askedOf(line: string, message: unknown): Asked {
  return {
    method: knownMethod(message),
    version: isJsonObject(message) ? versionOf(message['params']) : undefined,
    requestBytes: Buffer.byteLength(line),
    began: performance.now(),
  };
}

/** What the headers of a call would say over HTTP: here the message alone says it. */
function ownHeaders(params: unknown): MessageHeaders {
  const { name } = isJsonObject(params) ? params : {};
  return {
    version: versionOf(params),
    method: 'tools/call',
    name: typeof name === 'string' ? encodeHeaderValue(name) : undefined,
  };
}

/** The protocol version a newer client's message names. */
function versionOf(params: unknown): string | undefined {
  const { _meta: meta } = isJsonObject(params) ? params : {};
  const version = isJsonObject(meta) ? meta[META.protocolVersion] : undefined;
  return typeof version === 'string' ? version : undefined;
}
