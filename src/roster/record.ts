/** How an upstream is reached. Texts may hold `${env:NAME}` references; they are resolved when it is started. */
export type UpstreamTransport =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
      /** `lazy`: started when its tools are first needed. When absent: `eager`, with us. */
      readonly start?: 'eager' | 'lazy';
      /** Stopped after this long without a call, in milliseconds; 0 is never. When absent: 5 minutes for a lazy one, else never. */
      readonly idleStopMs?: number;
    }
  | {
      readonly kind: 'http';
      /** The MCP endpoint, `http:` or `https:`, without user information. */
      readonly url: string;
      /** Sent with every request of an `own` upstream; empty for a forwarded one. */
      readonly headers: Readonly<Record<string, string>>;
      /** The older HTTP+SSE transport and nothing else. When absent: streamable HTTP, and SSE where that is refused. */
      readonly type?: 'sse';
    };

/** One upstream as somebody added it. */
export interface UpstreamRecord {
  /** As its owner wrote it (`WeatherInfo`, `my files`); unique, compared without regard to case. */
  readonly name: string;
  /** A few words on what it is for, when its owner wrote them; told to the model. */
  readonly description?: string;
  /** Who added it: the operator's configuration, an import from another client's file, or an agent. */
  readonly origin: 'config' | 'import' | 'agent';
  /** Whether its `readOnlyHint` annotations count. The operator's are; what an agent added is not until approved. */
  readonly trusted: boolean;
  readonly enabled: boolean;
  /** `own`: its configured headers and environment. `forward`: the caller's `Authorization`, and nothing else of theirs. */
  readonly auth: 'own' | 'forward';
  readonly transport: UpstreamTransport;
  /**
   * True: it is reached at public addresses only, whatever its name resolves to at the time. So is what an agent
   * added, unless a person confirmed an address of their own network.
   */
  readonly publicOnly?: true;
}
