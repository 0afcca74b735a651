import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Client } from '@modelcontextprotocol/client';
import { openDeadline, pause } from '../base/deadline.ts';
import { messageOf, ProxyError } from '../base/errors.ts';
import { createLineSplitter } from '../base/json-lines.ts';
import type { Limits } from '../base/limits.ts';
import { killChild, startChild, stopChild } from './child-process.ts';
import type { ChildSpec } from './child-process.ts';
import { failureOf } from './failure.ts';
import { PeerChannel } from './peer-channel.ts';
import { shakeHands } from './peer-session.ts';
import { RestartPolicy } from './restart-policy.ts';
import { StderrTail } from './stderr-tail.ts';
import type {
  Era,
  Peer,
  RawParams,
  RawResult,
  RequestContext,
  Upstream,
  UpstreamEvents,
} from './upstream.ts';

/** When a child runs. */
export interface ChildLife {
  /** `eager`: started with us, and again when it crashed. `lazy`: started when first needed. */
  readonly start: 'eager' | 'lazy';
  /** Stopped after this long without a call, in milliseconds; 0 is never. */
  readonly idleStopMs: number;
}

export interface StdioUpstreamParts {
  readonly life: ChildLife;
  readonly limits: Limits;
  readonly events: UpstreamEvents;
}

/**
 * An upstream as a child process speaking MCP on its stdin and stdout. A child that crashed is started again, at once
 * the first time, then with growing waits, and not at all for a while when it ends again and again. Children are
 * greeted with the older handshake, which servers of every generation answer; only one that refuses it is asked for
 * the newer protocol (docs/decisions/0002-handshakes.md).
 */
export class StdioUpstream implements Upstream {
  readonly name: string;
  readonly connectMs: number;
  readonly #spec: ChildSpec;
  readonly #life: ChildLife;
  readonly #limits: Limits;
  readonly #events: UpstreamEvents;
  readonly #restarts = new RestartPolicy();
  readonly #closing = new AbortController();
  #connection: Promise<ChildConnection> | undefined;
  /** The child of that connection, also while it still shakes hands. */
  #child: ChildConnection | undefined;
  #era: Era = 'legacy';
  #hasServed = false;
  /** Why the last child that crashed did. */
  #lastCrash: ProxyError | undefined;
  #running = 0;
  #lastUsedAt = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Resolves when the child stopped for idleness is gone. */
  #stopping: Promise<void> | undefined;
  readonly #memory = new SleepMemory();

  constructor(name: string, spec: ChildSpec, parts: StdioUpstreamParts) {
    this.name = name;
    this.#spec = spec;
    this.#life = parts.life;
    this.#limits = parts.limits;
    this.connectMs = parts.limits.startTimeoutMs;
    this.#events = parts.events;
  }

  async peer(context: RequestContext): Promise<Peer> {
    return this.#memory.peer ?? (await this.#connected(context)).peer;
  }

  async request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    const isListing = method === 'tools/list';
    const remembered = isListing ? this.#memory.page(params) : undefined;
    if (remembered !== undefined) return remembered;
    this.#running++;
    clearTimeout(this.#idleTimer);
    try {
      const connection = await this.#connected(context);
      const result = await connection.request(method, params, context);
      if (isListing && this.#life.idleStopMs > 0) this.#memory.keep(params, result);
      return result;
    } finally {
      this.#running--;
      // Listings come by themselves every few minutes; they must not keep an unused child awake.
      if (!isListing) this.#lastUsedAt = performance.now();
      this.#watchIdleness();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the upstream was closed'));
    clearTimeout(this.#idleTimer);
    await Promise.all([this.#child?.close(), this.#stopping]);
  }

  /** A connection, or what ends the waiting for one: whoever asked may go away while others wait. */
  #connected(context: RequestContext): Promise<ChildConnection> {
    const { signal } = context;
    const connection = this.#connect();
    if (signal === undefined) return connection;
    return new Promise((resolve, reject) => {
      const onAbort = (): void =>
        reject(
          new ProxyError('cancelled', `The request was cancelled while upstream '${this.name}' started.`, {
            upstream: this.name,
            outcome: 'not_sent',
          }),
        );
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      connection.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  #connect(): Promise<ChildConnection> {
    if (this.#closing.signal.aborted) return Promise.reject(this.#closedError());
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
    await this.#stopping;
    const verdict = this.#restarts.verdict(performance.now());
    if (verdict.kind === 'refused') throw this.#loopError(verdict.forMs);
    await pause(verdict.waitMs, this.#closing.signal);
    if (this.#closing.signal.aborted) throw this.#closedError();
    try {
      return await this.#openAs(this.#era);
    } catch (thrown) {
      if (this.#closing.signal.aborted || !refusesOlderHandshake(thrown)) throw thrown;
      this.#era = 'modern';
      return this.#openAs('modern');
    }
  }

  async #openAs(era: Era): Promise<ChildConnection> {
    const connection = new ChildConnection(this.name, this.#spec, this.#limits, this.#events);
    this.#child = connection;
    void connection.ended.then(() => this.#onEnded(connection));
    try {
      await connection.shakeHands(era).catch((thrown: unknown) => this.#askAnew(connection, era, thrown));
    } catch (thrown) {
      await connection.close();
      throw thrown;
    }
    this.#events.onState('ready');
    // Whatever it has now may differ from what was listed of the one before.
    if (this.#hasServed) this.#events.onToolsChanged();
    this.#hasServed = true;
    this.#memory.wake(connection.peer);
    this.#lastUsedAt = performance.now();
    this.#watchIdleness();
    return connection;
  }

  /** A child that refused the older handshake and is still there is asked in the newer way, on the same pipes. */
  async #askAnew(connection: ChildConnection, era: Era, refusal: unknown): Promise<void> {
    const isThere = connection.ending === undefined && !this.#closing.signal.aborted;
    if (era === 'modern' || !isThere || !refusesOlderHandshake(refusal)) throw refusal;
    try {
      await connection.shakeHands('modern');
    } catch {
      // It may take the newer handshake as the first thing it hears.
      throw refusal;
    }
    this.#era = 'modern';
  }

  #onEnded(connection: ChildConnection): void {
    const { crash } = connection;
    if (crash === undefined || this.#closing.signal.aborted) return;
    this.#lastCrash = crash;
    const { livedMs, hasAnsweredCall: answeredCall, hasShakenHands } = connection;
    this.#restarts.crashed({ now: performance.now(), livedMs, answeredCall });
    // One that never got as far is tried again by the listing that wanted it, and one that left of its own will
    // (exit code 0) by the next call.
    if (this.#life.start === 'lazy' || !hasShakenHands || connection.exitCode === 0) return;
    // A turn later, when the ended connection is forgotten.
    setImmediate(() => {
      this.#connect().catch(() => undefined);
    });
  }

  #watchIdleness(): void {
    const { idleStopMs } = this.#life;
    if (idleStopMs === 0 || this.#running > 0 || this.#closing.signal.aborted) return;
    clearTimeout(this.#idleTimer);
    const left = Math.max(0, this.#lastUsedAt + idleStopMs - performance.now());
    this.#idleTimer = setTimeout(() => this.#stopIdle(), left);
    this.#idleTimer.unref();
  }

  #stopIdle(): void {
    const child = this.#child;
    if (this.#running > 0 || child === undefined || !child.hasShakenHands || child.ending !== undefined)
      return;
    this.#connection = undefined;
    this.#memory.sleep();
    this.#events.onState('stopped', `not used for ${Math.round(this.#life.idleStopMs / 1_000)} s`);
    const stopping = child.close().finally(() => {
      if (this.#stopping === stopping) this.#stopping = undefined;
    });
    this.#stopping = stopping;
  }

  #loopError(forMs: number): ProxyError {
    const why = this.#lastCrash?.message ?? `Upstream '${this.name}' ended`;
    return new ProxyError(
      'upstream_exited',
      `${why} That was the ${this.#restarts.inARow}th time in a row; it is started again in ${Math.ceil(forMs / 1_000)} s, or when its configuration changes.`,
      { upstream: this.name, outcome: 'not_sent', cause: this.#lastCrash },
    );
  }

  #closedError(): ProxyError {
    return new ProxyError('upstream_closed', `Upstream '${this.name}' was closed.`, {
      upstream: this.name,
      outcome: 'not_sent',
    });
  }
}

/** A server of the newer generation alone does not know `initialize`, or names the versions it does know. */
function refusesOlderHandshake(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = cause instanceof Error ? (cause as { code?: unknown }).code : undefined;
  return code === -32601 || code === -32022;
}

/**
 * What is known of a child while it sleeps: who it is and what it listed. Nothing announces itself meanwhile, and a
 * look at its tools every few minutes would only wake it.
 */
class SleepMemory {
  readonly #pages = new Map<string, RawResult>();
  #peer: Peer | undefined;
  #isAsleep = false;

  get peer(): Peer | undefined {
    return this.#isAsleep ? this.#peer : undefined;
  }

  page(params: RawParams): RawResult | undefined {
    return this.#isAsleep ? this.#pages.get(params['cursor'] ?? '') : undefined;
  }

  keep(params: RawParams, result: RawResult): void {
    const cursor = params['cursor'] ?? '';
    if (cursor === '') this.#pages.clear();
    this.#pages.set(cursor, result);
  }

  sleep(): void {
    this.#isAsleep = true;
  }

  wake(peer: Peer): void {
    this.#peer = peer;
    this.#isAsleep = false;
  }
}

/** One life of the child. */
class ChildConnection {
  readonly #name: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #limits: Limits;
  readonly #events: UpstreamEvents;
  readonly #channel: PeerChannel;
  readonly #stderr: StderrTail;
  readonly #startedAt = performance.now();
  /** Resolves when the child has ended. */
  readonly ended: Promise<void>;
  #isStopping = false;
  #endedAt: number | undefined;
  #exitCode: number | null = null;
  #client: Client | undefined;
  #peer: Peer | undefined;

  constructor(name: string, spec: ChildSpec, limits: Limits, events: UpstreamEvents) {
    const child = startChild(spec);
    this.#name = name;
    this.#child = child;
    this.#limits = limits;
    this.#events = events;
    this.#stderr = new StderrTail(spec.secrets);
    const channel = new PeerChannel({
      name,
      limits,
      send: (text) => this.#write(text),
      // These two names are how the SDK tells a child process from HTTP when it probes.
      traits: { stderr: null, pid: child.pid ?? null },
    });
    this.#channel = channel;
    const splitter = createLineSplitter({
      maxBytes: limits.maxMessageBytes,
      onLine: (line) => channel.receive(line),
      // Which request the dropped line answered is unknown, so every waiting one fails with the reason.
      onTooLong: (bytes) => channel.fail(this.#tooLargeError(bytes)),
      // It would go on for as long as it likes, with nothing else getting through.
      onEndless: (bytes) => {
        channel.fail(this.#tooLargeError(bytes));
        killChild(child);
      },
    });
    child.stdout.on('data', (chunk: Buffer) => splitter.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => this.#stderr.push(chunk));
    // A child that went away makes writes fail; its exit tells the waiting ones.
    child.stdin.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      const end = (error: ProxyError): void => {
        this.#endedAt ??= performance.now();
        channel.end(error);
        if (!this.#isStopping) events.onState('exited', error.message);
        resolve();
      };
      child.once('error', (error) => end(this.#spawnError(error)));
      child.once('close', (code, signal) => {
        this.#exitCode = code;
        end(this.#exitError(code, signal));
      });
    });
  }

  get peer(): Peer {
    if (this.#peer === undefined) throw new Error('the handshake has not been made');
    return this.#peer;
  }

  get hasShakenHands(): boolean {
    return this.#peer !== undefined;
  }

  get hasAnsweredCall(): boolean {
    return this.#channel.hasAnsweredCall;
  }

  get livedMs(): number {
    return (this.#endedAt ?? performance.now()) - this.#startedAt;
  }

  get exitCode(): number | null {
    return this.#exitCode;
  }

  get ending(): ProxyError | undefined {
    return this.#channel.ending;
  }

  /** Why it ended, when nobody had asked it to; a command that is not there never began. */
  get crash(): ProxyError | undefined {
    const { ending } = this.#channel;
    return this.#isStopping || ending?.code !== 'upstream_exited' ? undefined : ending;
  }

  async shakeHands(era: Era): Promise<void> {
    const timeoutMs = this.#limits.startTimeoutMs;
    const deadline = openDeadline(undefined, timeoutMs);
    try {
      // A child may end before the SDK listens on its channel; whoever waits must hear of it all the same.
      const { client, peer } = await Promise.race([
        shakeHands(this.#channel.transport, era, {
          signal: deadline.signal,
          timeoutMs,
          onToolsChanged: this.#events.onToolsChanged,
        }),
        this.ended.then(() => Promise.reject(this.ending ?? new Error('the child ended'))),
      ]);
      this.#client = client;
      this.#peer = peer;
    } catch (thrown) {
      // The SDK only sees its channel close; why it closed is ours to know.
      await Promise.race([this.ended, new Promise((resolve) => setTimeout(resolve, 50))]);
      const { ending } = this;
      // Whatever was waiting for the handshake has not been sent.
      if (ending !== undefined) {
        throw new ProxyError(ending.code, ending.message, {
          upstream: this.#name,
          outcome: 'not_sent',
          cause: ending,
        });
      }
      throw failureOf(thrown, {
        upstream: this.#name,
        deadline,
        timeoutMs,
        doing: 'connecting',
        maxMessageBytes: this.#limits.maxMessageBytes,
      });
    } finally {
      deadline.dispose();
    }
  }

  request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    return this.#channel.request(this.peer, method, params, context);
  }

  async close(): Promise<void> {
    this.#isStopping = true;
    await this.#client?.close().catch(() => undefined);
    await stopChild(this.#child);
  }

  /** Arguments travel as the client wrote them, which may be over several lines; a message here is one line. */
  #write(text: string): Promise<void> {
    const line = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, ' ') : text;
    this.#child.stdin.write(`${line}\n`);
    return Promise.resolve();
  }

  #tooLargeError(bytes: number): ProxyError {
    return new ProxyError(
      'upstream_too_large',
      `Upstream '${this.#name}' sent a message of ${bytes} bytes; the limit maxMessageBytes is ${this.#limits.maxMessageBytes}.`,
      { upstream: this.#name, outcome: 'unknown' },
    );
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
    const lines = this.#stderr.lines();
    const said = lines.length === 0 ? '.' : `; it last said: ${lines.join(' | ')}.`;
    return new ProxyError('upstream_exited', `Upstream '${this.#name}' ended ${how}${said}`, {
      upstream: this.#name,
      outcome: 'unknown',
    });
  }
}
