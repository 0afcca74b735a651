import type { Peer, RawParams, RawResult, RequestContext, Upstream } from '../upstream/upstream.ts';

/** An upstream that can be taken out of service while calls are still running at it. */
export class RetiringUpstream implements Upstream {
  readonly name: string;
  readonly connectMs?: number;
  readonly #upstream: Upstream;
  #running = 0;
  #onIdle: (() => void) | undefined;

  constructor(upstream: Upstream) {
    this.name = upstream.name;
    if (upstream.connectMs !== undefined) this.connectMs = upstream.connectMs;
    this.#upstream = upstream;
  }

  peer(context: RequestContext): Promise<Peer> {
    return this.#upstream.peer(context);
  }

  async request(method: string, params: RawParams, context: RequestContext): Promise<RawResult> {
    this.#running++;
    try {
      return await this.#upstream.request(method, params, context);
    } finally {
      this.#running--;
      if (this.#running === 0) this.#onIdle?.();
    }
  }

  close(): Promise<void> {
    return this.#upstream.close();
  }

  /** Closes as soon as no request runs; those that do run to their end, each within its own deadline. */
  async retire(): Promise<void> {
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.#upstream.close();
  }
}
