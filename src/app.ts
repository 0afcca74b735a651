import type { Observer } from './base/observer.ts';
import type { Config } from './config/config.ts';

/** What a tool looks like in `list-tools`. */
export interface ListedTool {
  readonly name: string;
  readonly upstream: string;
  readonly description: string;
  readonly readOnly: boolean;
}

/** An upstream whose tools are missing from an answer. */
export interface UnavailableUpstream {
  readonly name: string;
  readonly reason: string;
}

/** What commands use: the one caller of a local run. */
export interface LocalCaller {
  /**
   * Waits until every enabled upstream has listed its tools or failed to, `timeoutMs` at the longest.
   * Commands call it first, because unlike an agent they ask once.
   */
  settled(timeoutMs: number): Promise<void>;
  listTools(): Promise<{
    readonly tools: readonly ListedTool[];
    readonly unavailable: readonly UnavailableUpstream[];
    /** Tools their upstream listed that cannot be kept, each with why. */
    readonly dropped: readonly { readonly upstream: string; readonly name: string; readonly reason: string }[];
  }>;
  /** Calls one of the meta-tools exactly as a client would; gives the MCP `CallToolResult` as JSON text. */
  callMetaTool(name: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<string>;
}

/** The proxy, built from a settled configuration. Nothing is listening until `listen` or `serveStdio` is called. */
export interface Proxy {
  /** The whole HTTP surface (`/mcp`, `/healthz`, `/readyz`) as a web-standard handler. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Serves HTTP on `config.listen`; resolves with the address really listened on, such as `http://127.0.0.1:8080/mcp`. */
  listen(): Promise<string>;
  /** Serves MCP on stdin and stdout; resolves when the client has gone. */
  serveStdio(): Promise<void>;
  readonly local: LocalCaller;
  /** Stops listening, lets running requests finish (`limits.drainMs` at the longest), ends every child. */
  close(): Promise<void>;
}

export interface ProxyOptions {
  readonly observer?: Observer;
  /** Where `${env:NAME}` references are looked up; the process's environment when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export async function createProxy(_config: Config, _options: ProxyOptions = {}): Promise<Proxy> {
  throw new Error('being written');
}
