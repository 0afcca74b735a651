import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { openDeadline } from '../base/deadline.ts';
import { UpstreamRejection } from '../base/errors.ts';
import type { ProxyError } from '../base/errors.ts';
import { elementsOf } from '../base/json-text.ts';
import type { Limits } from '../base/limits.ts';
import { PRODUCT } from '../base/product.ts';
import type { JsonObject } from '../catalog/tool.ts';
import { withMeta } from './envelope.ts';
import { failureOf, SessionLost } from './failure.ts';
import { isQuieter, passLog } from './log-level.ts';
import type { InboundMessage } from './message.ts';
import { answerText, isEndless, readMessage, requestText } from './message.ts';
import type { Peer, RawParams, RawResult, RequestContext } from './upstream.ts';

const CLIENT_INFO = JSON.stringify(PRODUCT);

export interface PeerChannelParts {
  readonly name: string;
  readonly limits: Limits;
  /** Sends one message. Rejects when it provably or possibly did not arrive; a pipe never does. */
  readonly send: (text: string, signal?: AbortSignal) => Promise<void>;
  /** What the SDK must find on a transport to know what it talks to. */
  readonly traits?: object;
}

/** The texts of a batch's messages; none when it is no JSON. */
function messagesOf(text: string): readonly string[] {
  try {
    JSON.parse(text);
  } catch {
    return [];
  }
  return elementsOf(text, 0).map(({ start, end }) => text.slice(start, end));
}

interface Waiting {
  readonly context: RequestContext;
  readonly isCall: boolean;
  readonly resolve: (result: RawResult) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: (params: JsonObject) => void;
}

/**
 * A two-way stream of messages with one peer: a child's pipes, or an older server's event stream and message
 * endpoint. Replies are matched to requests here and keep their text; the SDK gets what its handshake needs.
 */
export class PeerChannel {
  /** The channel as the SDK wants it. */
  readonly transport: Transport;
  readonly #parts: PeerChannelParts;
  readonly #waiting = new Map<string, Waiting>();
  #ending: ProxyError | undefined;
  #nextId = 1;
  /** The level this peer's log messages were asked for at. */
  #logLevel: string | undefined;
  #lastHeardAt = 0;
  #hasAnsweredCall = false;

  constructor(parts: PeerChannelParts) {
    this.#parts = parts;
    this.transport = {
      start: () => Promise.resolve(),
      send: (message) => parts.send(JSON.stringify(message)),
      close: () => Promise.resolve(),
      ...parts.traits,
    };
  }

  /** Why the channel ended, once it has. */
  get ending(): ProxyError | undefined {
    return this.#ending;
  }

  /** When the last message came, in `performance.now()` time. */
  get lastHeardAt(): number {
    return this.#lastHeardAt;
  }

  get isIdle(): boolean {
    return this.#waiting.size === 0;
  }

  get hasAnsweredCall(): boolean {
    return this.#hasAnsweredCall;
  }

  async request(peer: Peer, method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    if (this.#ending !== undefined) throw this.#ending;
    await this.#askForLogs(peer, context);
    const id = `p${this.#nextId++}`;
    const isCall = method === 'tools/call';
    const text = requestText(
      id,
      method,
      withMeta(params, peer, context, { clientInfo: CLIENT_INFO, progressToken: id, isCall }),
    );
    const deadline = openDeadline(context.signal, context.timeoutMs, context.maxMs);
    try {
      return await new Promise<RawResult>((resolve, reject) => {
        this.#waiting.set(id, {
          context,
          isCall,
          resolve,
          reject,
          onProgress: (progress) => {
            deadline.extend();
            context.onProgress?.(progress);
          },
        });
        const onAbort = (): void => reject(deadline.signal.reason as Error);
        if (deadline.signal.aborted) return onAbort();
        deadline.signal.addEventListener('abort', onAbort, { once: true });
        // The answer may be here before the sending is done.
        this.#parts.send(text, deadline.signal).catch(reject);
      });
    } catch (thrown) {
      if (deadline.signal.aborted && this.#ending === undefined) this.#tell('notifications/cancelled', id);
      if (thrown instanceof SessionLost) throw thrown;
      throw failureOf(thrown, {
        upstream: this.#parts.name,
        deadline,
        timeoutMs: context.timeoutMs,
        doing: method,
        maxMessageBytes: this.#parts.limits.maxMessageBytes,
      });
    } finally {
      this.#waiting.delete(id);
      deadline.dispose();
    }
  }

  /**
   * Takes a message's text, or a batch's (MCP 2025-03-26). What is none is passed over, but a program that prints
   * without ending its line has a message behind it.
   */
  receive(text: string): void {
    if (text.startsWith('[')) return messagesOf(text).forEach((one) => this.#receiveOne(one));
    const start = text.startsWith('{') ? 0 : text.indexOf('{"jsonrpc"');
    if (start !== -1) this.#receiveOne(text.slice(start));
  }

  #receiveOne(text: string): void {
    const message = readMessage(text);
    if (message.kind === 'invalid') return;
    this.#lastHeardAt = performance.now();
    switch (message.kind) {
      case 'result': {
        const waiting = this.#waiting.get(String(message.id));
        if (waiting === undefined) return isEndless(text) ? undefined : this.#passOn(JSON.parse(text));
        this.#hasAnsweredCall ||= waiting.isCall;
        return waiting.resolve(message.result);
      }
      case 'error': {
        const waiting = this.#waiting.get(String(message.id));
        if (waiting === undefined) return isEndless(text) ? undefined : this.#passOn(JSON.parse(text));
        this.#hasAnsweredCall ||= waiting.isCall;
        return waiting.reject(
          new UpstreamRejection(this.#parts.name, message.code, message.message, message.raw),
        );
      }
      case 'notification':
        return this.#notice(message);
      case 'request':
        this.#parts.send(answerText(message.id, message.method)).catch(() => undefined);
    }
  }

  /** Fails every request under way; the channel goes on. */
  fail(error: ProxyError): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }

  /** Nothing more comes, and `error` says why. */
  end(error: ProxyError): void {
    this.#ending ??= error;
    this.fail(this.#ending);
    this.transport.onclose?.();
  }

  #notice(message: Extract<InboundMessage, { kind: 'notification' }>): void {
    const { method, params } = message;
    if (method === 'notifications/progress') {
      const waiting = this.#waiting.get(String(params['progressToken']));
      if (waiting !== undefined) return waiting.onProgress(params);
    }
    if (method === 'notifications/message') {
      // It names no request. With one call under way it is that call's; with several nobody can say whose it is,
      // and what one caller's call logs is not for another's eyes.
      const calls = [...this.#waiting.values()].filter(({ isCall }) => isCall);
      if (calls.length === 1 && calls[0] !== undefined) passLog(params, calls[0].context);
      return;
    }
    this.#passOn(message.parsed);
  }

  /** Older peers have one level for the connection: the least severe anybody asked for. */
  async #askForLogs(peer: Peer, { logLevel, onLog }: RequestContext): Promise<void> {
    if (peer.takesLogLevel !== true || logLevel === undefined || onLog === undefined) return;
    if (!isQuieter(this.#logLevel, logLevel)) return;
    this.#logLevel = logLevel;
    const text = requestText(`p${this.#nextId++}`, 'logging/setLevel', { level: JSON.stringify(logLevel) });
    // Its answer says nothing that matters to the call.
    await this.#parts.send(text).catch(() => undefined);
  }

  #tell(method: string, requestId: string): void {
    const text = JSON.stringify({ jsonrpc: '2.0', method, params: { requestId } });
    this.#parts.send(text).catch(() => undefined);
  }

  #passOn(message: unknown): void {
    // The SDK reads each message with its own schemas.
    this.transport.onmessage?.(message as JSONRPCMessage);
  }
}
