import type { Readable, Writable } from 'node:stream';
import { createLineSplitter } from '../base/json-lines.ts';
import { depthOf } from '../base/json-text.ts';
import { isJsonObject } from '../base/json-value.ts';
import type { Limits } from '../base/limits.ts';
import { PRODUCT } from '../base/product.ts';
import { LEGACY_VERSIONS, RPC, rpcErrorText, wrongMessage } from './protocol.ts';

export interface ClientPipeParts {
  readonly input: Readable;
  readonly output: Writable;
  readonly limits: Limits;
  /** What the handshake tells the client; known before anything else is. */
  readonly instructions: string;
}

/**
 * The two streams a client speaks on, a JSON-RPC message a line. Open from the first moment of the program, before
 * what answers is loaded: an older client's `initialize` that comes first is answered at once, in the SDK's words
 * (a test holds them equal), because a client starts counting when it starts us and loading the SDK is most of a
 * start. Everything, this message too, waits here for whoever takes the pipe; the SDK's own answer to it is dropped.
 */
export class ClientPipe {
  /** Resolves when the client has gone: its end of our stdin is closed, or it no longer reads. */
  readonly ended: Promise<void>;
  readonly #output: Writable;
  readonly #parts: ClientPipeParts;
  readonly #waiting: string[] = [];
  #onLine: ((line: string) => void) | undefined;
  #onUnread: () => void = () => undefined;
  #end: () => void = () => undefined;
  #isUnread = false;
  #hasBegun = false;
  #greeted: string | undefined;
  #agreed: string | undefined;

  constructor(parts: ClientPipeParts) {
    const { input, output, limits } = parts;
    this.#parts = parts;
    this.#output = output;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    const splitter = createLineSplitter({
      maxBytes: limits.maxMessageBytes,
      onLine: (line) => this.#receive(line),
      onTooLong: (bytes) => {
        const limit = `the limit maxMessageBytes is ${limits.maxMessageBytes}`;
        this.write(
          rpcErrorText('null', RPC.invalidRequest, `Invalid Request: a message of ${bytes} bytes; ${limit}`),
        );
      },
    });
    input.on('data', (chunk: Buffer) => splitter.push(chunk));
    input.once('end', () => this.end());
    input.once('close', () => this.end());
    input.on('error', () => this.end());
    // A client that no longer reads is gone; without a listener its broken pipe would end us with a stack.
    output.on('error', () => {
      this.#isUnread = true;
      this.#onUnread();
      this.end();
    });
  }

  /** Whether the client no longer reads, so that nothing needs an answer any more. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /** The id (JSON text) of the handshake that was answered here, whose second answer must not be sent. */
  get greeted(): string | undefined {
    return this.#greeted;
  }

  /** The protocol version that this handshake's answer named. */
  get agreed(): string | undefined {
    return this.#agreed;
  }

  /** Gives everything that came so far, and from now on every line as it comes. */
  take(onLine: (line: string) => void, onUnread: () => void): void {
    this.#onLine = onLine;
    this.#onUnread = onUnread;
    for (const line of this.#waiting.splice(0)) onLine(line);
  }

  write(text: string): void {
    // A line break inside an upstream's JSON would end our line; JSON knows them as white space only.
    const line = /[\r\n]/.test(text) ? text.replaceAll(/[\r\n]+/g, ' ') : text;
    this.#output.write(`${line}\n`);
  }

  end(): void {
    this.#end();
  }

  #receive(line: string): void {
    if (this.#onLine !== undefined) return this.#onLine(line);
    if (!this.#hasBegun) this.#greet(line);
    this.#hasBegun = true;
    this.#waiting.push(line);
  }

  #greet(line: string): void {
    const { limits, instructions } = this.#parts;
    const message = depthOf(line) > limits.maxJsonDepth ? undefined : parse(line);
    if (!isJsonObject(message) || message['method'] !== 'initialize' || message['id'] === undefined) return;
    if (wrongMessage(message) !== undefined || !isJsonObject(message['params'])) return;
    const { protocolVersion, _meta } = message['params'];
    // A newer client's envelope makes it another message altogether.
    if (_meta !== undefined) return;
    this.#greeted = JSON.stringify(message['id']);
    this.#agreed = LEGACY_VERSIONS.find((version) => version === protocolVersion) ?? LEGACY_VERSIONS[0];
    const result = {
      protocolVersion: this.#agreed,
      capabilities: { tools: {} },
      serverInfo: PRODUCT,
      instructions,
    };
    this.write(JSON.stringify({ result, jsonrpc: '2.0', id: message['id'] }));
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
