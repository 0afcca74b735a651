import { UpstreamAuthError } from '../base/errors.ts';
import { HandshakeRefused } from './failure.ts';
import type { HttpParts, HttpTarget } from './http-target.ts';
import { HttpUpstream } from './http-upstream.ts';
import { SseUpstream } from './sse-upstream.ts';
import type { Peer, RawParams, RawResult, RequestContext, Upstream } from './upstream.ts';

/** Answers to the POST of a handshake that an HTTP+SSE server gives (MCP 2025-11-25, basic/transports, backwards compatibility). */
const SPEAKS_NO_STREAMABLE_HTTP = new Set([400, 404, 405]);

/**
 * An upstream reached by a URL: streamable HTTP, and the older HTTP+SSE where the handshake is refused as such a
 * server refuses it. What worked is a property of the peer and remembered for it, until it works no more.
 */
export class RemoteUpstream implements Upstream {
  readonly name: string;
  readonly #streamable: HttpUpstream;
  readonly #sse: SseUpstream;
  #isSse = false;

  constructor(name: string, target: HttpTarget, parts: HttpParts) {
    this.name = name;
    this.#streamable = new HttpUpstream(name, target, parts);
    this.#sse = new SseUpstream(name, target, parts);
  }

  async peer(context: RequestContext): Promise<Peer> {
    return this.#reach((upstream) => upstream.peer(context), context);
  }

  async request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    return this.#reach((upstream) => upstream.request(method, params, context), context);
  }

  async close(): Promise<void> {
    await Promise.all([this.#streamable.close(), this.#sse.close()]);
  }

  async #reach<T>(use: (upstream: Upstream) => Promise<T>, context: RequestContext): Promise<T> {
    if (this.#isSse) {
      try {
        return await use(this.#sse);
      } catch (thrown) {
        // It may have been upgraded; a refused handshake sent nothing of the request.
        if (!isRefused(thrown)) throw thrown;
        this.#isSse = false;
      }
    }
    try {
      return await use(this.#streamable);
    } catch (thrown) {
      if (!isRefused(thrown)) throw thrown;
      try {
        await this.#sse.peer(context);
      } catch (other) {
        // A refused credential has a remedy. Otherwise it speaks neither, and what it said first is the better reason.
        throw other instanceof UpstreamAuthError ? other : thrown;
      }
      this.#isSse = true;
      return use(this.#sse);
    }
  }
}

function isRefused(thrown: unknown): boolean {
  return thrown instanceof HandshakeRefused && SPEAKS_NO_STREAMABLE_HTTP.has(thrown.status);
}
