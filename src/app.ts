import { systemClock } from './base/clock.ts';
import { silentObserver } from './base/observer.ts';
import type { Observer } from './base/observer.ts';
import { createCallerKey, ANONYMOUS } from './callers/caller.ts';
import { Listings } from './callers/listings.ts';
import { Views } from './callers/views.ts';
import type { Config } from './config/config.ts';
import type { Answer } from './meta-tools/answer.ts';
import { RESERVED_NAMES } from './meta-tools/definitions.ts';
import { createMetaTools } from './meta-tools/meta-tools.ts';
import { openUpstream } from './roster/open-upstream.ts';
import { Roster } from './roster/roster.ts';
import type { DocumentPool } from './search/tool-index.ts';
import type { HttpApp } from './server/http-app.ts';
import type { Listening } from './server/listen.ts';

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

/** A client that opens the pipe and says nothing still finds its tools listed when it does. */
const GREETING_WAIT_MS = 500;

/** Builds the rooms from a configuration. Nothing is connected and nothing listens yet. */
export async function createProxy(config: Config, options: ProxyOptions = {}): Promise<Proxy> {
  const { limits } = config;
  const observer = options.observer ?? silentObserver;
  const http = once(async () => (await import('./net/http-client.ts')).openHttpClient());
  const pool = once(async (): Promise<DocumentPool> => (await import('./search/index.ts')).createDocumentPool());

  const roster = new Roster(config.upstreams, {
    observer,
    open: (record, events) => openUpstream(record, { http: http.get, limits, env: options.env ?? process.env }, events),
  });
  const views = new Views({
    roster,
    listings: new Listings({ limits, clock: systemClock, observer }),
    callerKey: createCallerKey(),
    pool: pool.get,
    limits,
    clock: systemClock,
    writeTools: config.writeTools,
    reservedNames: RESERVED_NAMES,
  });
  const metaTools = createMetaTools(
    {
      upstreams: roster.entries.map(({ record }) => record),
      maxBatchCalls: config.maxBatchCalls,
      searchSchemas: config.searchSchemas,
      maxInstructions: config.maxInstructions,
      limits,
    },
    { views, observer },
  );
  const app = once(() => openHttpApp());
  let listening: Listening | undefined;

  async function openHttpApp(): Promise<HttpApp> {
    const { createHttpApp, hostNames, originNames } = await import('./server/http-app.ts');
    const isForwarding = roster.entries.some(({ record }) => record.auth === 'forward');
    const isGuarded = isLoopback(config.listen.host) || config.allowedHosts.length > 0;
    return createHttpApp({
      metaTools,
      limits,
      observer,
      allowedHosts: isGuarded ? hostNames(config.allowedHosts) : undefined,
      allowedOrigins: originNames(config.allowedOrigins),
      instructionsWaitMs: isForwarding ? limits.instructionsWaitMs : 0,
    });
  }

  return {
    fetch: async (request) => {
      if (app.opened() === undefined) views.warm();
      return (await app.get()).fetch(request);
    },
    async listen() {
      const [{ listen }, { fetch }] = await Promise.all([import('./server/listen.ts'), app.get()]);
      listening = await listen(config.listen, fetch);
      views.warm();
      const address = `${listening.origin}/mcp`;
      observer({ kind: 'listening', address });
      return address;
    },
    async serveStdio() {
      // Loading what answers the handshake comes first; listing starts when the answer is out.
      const { serveStdio } = await import('./server/stdio.ts');
      const timer = setTimeout(() => views.warm(), GREETING_WAIT_MS);
      const onGreeted = (): void => {
        clearTimeout(timer);
        views.warm();
      };
      await serveStdio({ metaTools, limits, observer, input: process.stdin, output: process.stdout, onGreeted });
      clearTimeout(timer);
    },
    local: {
      async settled(timeoutMs) {
        await views.settled(timeoutMs);
      },
      async listTools() {
        const { catalog, unavailable, dropped } = await views.view(ANONYMOUS);
        return {
          tools: catalog.tools.map(({ exposedName, upstream, access, tool }) => ({
            name: exposedName,
            upstream,
            description: tool.description,
            readOnly: access === 'read',
          })),
          unavailable: unavailable.map(({ name, reason }) => ({ name, reason })),
          dropped,
        };
      },
      async callMetaTool(name, args, signal = new AbortController().signal) {
        const answer = metaTools.call(name, JSON.stringify(args), { caller: ANONYMOUS, signal });
        if (answer === undefined) throw new Error(`there is no meta-tool ${name}`);
        return localResult(await answer);
      },
    },
    async close() {
      await listening?.close(limits.drainMs);
      await app.opened()?.then((opened) => opened.close());
      views.close();
      await roster.close();
      await http.opened()?.then((opened) => opened.close());
    },
  };
}

/** A command has no HTTP status and no protocol error to show; the words are in the result. */
function localResult(answer: Answer): string {
  const text = answer.kind === 'unauthorized' ? answer.sentence : answer.raw;
  if (answer.kind === 'result') return answer.raw;
  return JSON.stringify({ content: [{ type: 'text', text }], isError: true });
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Something opened on first use, and only then closed. */
function once<T>(open: () => Promise<T>): { readonly get: () => Promise<T>; readonly opened: () => Promise<T> | undefined } {
  let opening: Promise<T> | undefined;
  return { get: () => (opening ??= open()), opened: () => opening };
}
