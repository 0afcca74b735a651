import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Client, Transport } from '@modelcontextprotocol/client';
import { openDeadline } from '../base/deadline.ts';
import { messageOf, ProxyError, UpstreamRejection } from '../base/errors.ts';
import { createLineSplitter } from '../base/json-lines.ts';
import type { Limits } from '../base/limits.ts';
import { PRODUCT } from '../base/product.ts';
import type { JsonObject } from '../catalog/tool.ts';
import { startChild, stopChild } from './child-process.ts';
import type { ChildSpec } from './child-process.ts';
import { withMeta } from './envelope.ts';
import { failureOf } from './failure.ts';
import type { InboundMessage } from './message.ts';
import { readMessage, requestText } from './message.ts';
import { shakeHands } from './peer-session.ts';
import type {
  Era,
  Peer,
  RawParams,
  RawResult,
  RequestContext,
  Upstream,
  UpstreamEvents,
} from './upstream.ts';

const CLIENT_INFO = JSON.stringify(PRODUCT);

/** How much of a child's stderr is kept for the sentence that says why it ended. */
const STDERR_LINE_LENGTH = 200;

/**
 * An upstream as a child process speaking MCP on its stdin and stdout. A child that ended is started again by the
 * next request. Children are greeted with the older handshake, which servers of every generation answer; only one
 * that refuses it is asked for the newer protocol (docs/decisions/0002-handshakes.md).
 */
export class StdioUpstream implements Upstream {
  readonly name: string;
  readonly #spec: ChildSpec;
  readonly #limits: Limits;
  readonly #events: UpstreamEvents;
  #connection: Promise<ChildConnection> | undefined;
  /** The child of that connection, also while it still shakes hands. */
  #child: ChildConnection | undefined;
  #era: Era = 'legacy';
  #isClosed = false;

  constructor(
    name: string,
    spec: ChildSpec,
    parts: { readonly limits: Limits; readonly events: UpstreamEvents },
  ) {
    this.name = name;
    this.#spec = spec;
    this.#limits = parts.limits;
    this.#events = parts.events;
  }

  async peer(_context: RequestContext): Promise<Peer> {
    return (await this.#connect()).peer;
  }

  async request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    const connection = await this.#connect();
    return connection.request(method, params, context);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#child?.close();
  }

  #connect(): Promise<ChildConnection> {
    if (this.#isClosed) {
      return Promise.reject(
        new ProxyError('upstream_closed', `Upstream '${this.name}' was closed.`, {
          upstream: this.name,
          outcome: 'not_sent',
        }),
      );
    }
    if (this.#connection !== undefined) return this.#connection;
    const opening = this.#open();
    this.#connection = opening;
    const forget = (): void => {
      if (this.#connection === opening) this.#connection = undefined;
    };
    opening.then((connection) => connection.ended.then(forget), forget);
    return opening;
  }

  async #open(): Promise<ChildConnection> {
    try {
      return await this.#openAs(this.#era);
    } catch (thrown) {
      if (this.#isClosed || !refusesOlderHandshake(thrown)) throw thrown;
      this.#era = 'modern';
      return this.#openAs('modern');
    }
  }

  async #openAs(era: Era): Promise<ChildConnection> {
    const connection = new ChildConnection(
      this.name,
      startChild(this.#spec),
      this.#spec.env,
      this.#limits,
      this.#events,
    );
    this.#child = connection;
    try {
      await connection.shakeHands(era);
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
    this.#events.onState('ready');
    return connection;
  }
}

/** A server of the newer generation alone does not know `initialize`, or names the versions it does know. */
function refusesOlderHandshake(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = cause instanceof Error ? (cause as { code?: unknown }).code : undefined;
  return code === -32601 || code === -32022;
}

interface Waiting {
  readonly resolve: (result: RawResult) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: (params: JsonObject) => void;
}

/** One life of the child. */
class ChildConnection {
  readonly #name: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #limits: Limits;
  readonly #events: UpstreamEvents;
  readonly #waiting = new Map<string, Waiting>();
  readonly #transport: Transport;
  /** Resolves when the child has ended. */
  readonly ended: Promise<void>;
  #ending: ProxyError | undefined;
  #isStopping = false;
  #lastStderr = '';
  #client: Client | undefined;
  #peer: Peer | undefined;
  #nextId = 1;

  constructor(
    name: string,
    child: ChildProcessWithoutNullStreams,
    env: Readonly<Record<string, string>>,
    limits: Limits,
    events: UpstreamEvents,
  ) {
    this.#name = name;
    this.#child = child;
    this.#limits = limits;
    this.#events = events;
    this.#transport = this.#sdkTransport();
    const splitter = createLineSplitter({
      maxBytes: limits.maxMessageBytes,
      onLine: (line) => this.#receive(line),
      onTooLong: (bytes) => this.#onTooLong(bytes),
    });
    child.stdout.on('data', (chunk: Buffer) => splitter.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => {
      const line = chunk.toString('utf8').trim().split('\n').at(-1) ?? '';
      if (line !== '') this.#lastStderr = withoutValues(line, env).slice(0, STDERR_LINE_LENGTH);
    });
    // A child that went away makes writes fail; its exit tells the waiting ones.
    child.stdin.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      const end = (error: ProxyError): void => {
        this.#ending = error;
        for (const waiting of this.#waiting.values()) waiting.reject(error);
        this.#waiting.clear();
        this.#transport.onclose?.();
        if (!this.#isStopping) events.onState('exited', error.message);
        resolve();
      };
      child.once('error', (error) => end(this.#spawnError(error)));
      child.once('close', (code, signal) => end(this.#exitError(code, signal)));
    });
  }

  get peer(): Peer {
    if (this.#peer === undefined) throw new Error('the handshake has not been made');
    return this.#peer;
  }

  async shakeHands(era: Era): Promise<void> {
    const timeoutMs = this.#limits.connectTimeoutMs;
    const deadline = openDeadline(undefined, timeoutMs);
    try {
      // A child may end before the SDK listens on its channel; whoever waits must hear of it all the same.
      const { client, peer } = await Promise.race([
        shakeHands(this.#transport, era, {
          signal: deadline.signal,
          timeoutMs,
          onToolsChanged: this.#events.onToolsChanged,
        }),
        this.ended.then(() => Promise.reject(this.#ending ?? new Error('the child ended'))),
      ]);
      this.#client = client;
      this.#peer = peer;
    } catch (thrown) {
      // The SDK only sees its channel close; why it closed is ours to know.
      await Promise.race([this.ended, new Promise((resolve) => setTimeout(resolve, 50))]);
      throw this.#ending ?? failureOf(thrown, this.#failureContext(deadline, timeoutMs, 'connecting'));
    } finally {
      deadline.dispose();
    }
  }

  async request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    if (this.#ending !== undefined) throw this.#ending;
    const id = `p${this.#nextId++}`;
    const text = requestText(
      id,
      method,
      withMeta(params, this.peer, context, { clientInfo: CLIENT_INFO, progressToken: id }),
    );
    const deadline = openDeadline(context.signal, context.timeoutMs, context.maxMs);
    try {
      return await new Promise<RawResult>((resolve, reject) => {
        this.#waiting.set(id, {
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
        this.#write(text);
      });
    } catch (thrown) {
      if (deadline.signal.aborted && this.#ending === undefined) {
        this.#write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"${id}"}}`);
      }
      throw failureOf(thrown, this.#failureContext(deadline, context.timeoutMs, method));
    } finally {
      this.#waiting.delete(id);
      deadline.dispose();
    }
  }

  async close(): Promise<void> {
    this.#isStopping = true;
    await this.#client?.close().catch(() => undefined);
    await stopChild(this.#child);
  }

  /** Arguments travel as the client wrote them, which may be over several lines; a message here is one line. */
  #write(text: string): void {
    const line = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, ' ') : text;
    this.#child.stdin.write(`${line}\n`);
  }

  /** Our own replies and progress are taken here; everything else is the SDK's. Noise on stdout is passed over. */
  #receive(line: string): void {
    const message = readMessage(line);
    switch (message.kind) {
      case 'result': {
        const waiting = this.#waiting.get(String(message.id));
        if (waiting !== undefined) return waiting.resolve(message.result);
        return this.#transport.onmessage?.(JSON.parse(line));
      }
      case 'error': {
        const waiting = this.#waiting.get(String(message.id));
        if (waiting === undefined) return this.#transport.onmessage?.(JSON.parse(line));
        return waiting.reject(new UpstreamRejection(this.#name, message.code, message.message, message.raw));
      }
      case 'notification':
      case 'request':
        return this.#passOn(message);
      case 'invalid':
        return undefined;
    }
  }

  #passOn(message: Extract<InboundMessage, { kind: 'notification' | 'request' }>): void {
    if (message.kind === 'notification' && message.method === 'notifications/progress') {
      const waiting = this.#waiting.get(String(message.params['progressToken']));
      if (waiting !== undefined) return waiting.onProgress(message.params);
    }
    this.#transport.onmessage?.(message.parsed as never);
  }

  /** Which request the dropped line answered is unknown, so every waiting one fails with the reason. */
  #onTooLong(bytes: number): void {
    const error = new ProxyError(
      'upstream_too_large',
      `Upstream '${this.#name}' sent a message of ${bytes} bytes; the limit maxMessageBytes is ${this.#limits.maxMessageBytes}.`,
      { upstream: this.#name, outcome: 'unknown' },
    );
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }

  /** The child's channel as the SDK wants it. */
  #sdkTransport(): Transport {
    return {
      start: () => Promise.resolve(),
      send: (message) => {
        this.#write(JSON.stringify(message));
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
      // These two names are how the SDK tells a child process from HTTP when it probes.
      stderr: null,
      pid: this.#child.pid ?? null,
    } as Transport & { stderr: null; pid: number | null };
  }

  #failureContext(
    deadline: ReturnType<typeof openDeadline>,
    timeoutMs: number,
    doing: string,
  ): Parameters<typeof failureOf>[1] {
    return {
      upstream: this.#name,
      deadline,
      timeoutMs,
      doing,
      maxMessageBytes: this.#limits.maxMessageBytes,
    };
  }

  #spawnError(error: Error): ProxyError {
    const command = this.#child.spawnfile;
    const isMissing = (error as { code?: unknown }).code === 'ENOENT';
    const why = isMissing
      ? `its command '${command}' was not found on the PATH this program was started with, or its working directory does not exist`
      : `its command '${command}' could not be started: ${messageOf(error)}`;
    return new ProxyError(
      isMissing ? 'upstream_unresolved' : 'upstream_unreachable',
      `Upstream '${this.#name}': ${why}.`,
      {
        upstream: this.#name,
        outcome: 'not_sent',
        cause: error,
      },
    );
  }

  #exitError(code: number | null, signal: NodeJS.Signals | null): ProxyError {
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const said = this.#lastStderr === '' ? '' : `; it last said: ${this.#lastStderr}`;
    return new ProxyError('upstream_exited', `Upstream '${this.#name}' ended ${how}${said}`, {
      upstream: this.#name,
      outcome: 'unknown',
    });
  }
}

/** A child may print its environment; what it was given must not come back in a sentence. */
function withoutValues(line: string, env: Readonly<Record<string, string>>): string {
  return Object.values(env)
    .filter((value) => value.length >= 4)
    .reduce((text, value) => text.replaceAll(value, '[secret]'), line);
}
