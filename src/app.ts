import { homedir } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { silentObserver } from './base/observer.ts';
import type { Observer } from './base/observer.ts';
import type { Views } from './callers/views.ts';
import type { Config } from './config/config.ts';
import type { Answer } from './meta-tools/answer.ts';
import { instructionsText } from './meta-tools/instructions.ts';
import type { MetaTools } from './meta-tools/meta-tools.ts';
import type { UpstreamRecord } from './roster/record.ts';
import type { Roster, RosterChange } from './roster/roster.ts';
import type { LanguageScores } from './search/measure.ts';
import type { Question, QuestionsFile } from './search/questions-file.ts';
import type { DocumentPool, ExplainedMatch, Explanation } from './search/tool-index.ts';
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

/** Why the tools of an answer stand where they stand. */
export interface ExplainedSearch extends Omit<Explanation, 'matches'> {
  readonly tools: readonly (Omit<ExplainedMatch, 'position'> & { readonly name: string })[];
  readonly total: number;
  readonly unavailable: readonly UnavailableUpstream[];
}

/** How well a file of questions is answered. */
export interface MeasuredSearch {
  /** Lines that are no question, each with what is wrong. */
  readonly problems: QuestionsFile['problems'];
  /** Each question with the names of the first ten tools of its answer. */
  readonly answers: readonly { readonly question: Question; readonly names: readonly string[] }[];
  readonly languages: readonly LanguageScores[];
  /** Right tools the questions name that no upstream has. */
  readonly unknown: readonly string[];
  readonly total: number;
  readonly unavailable: readonly UnavailableUpstream[];
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
    readonly dropped: readonly {
      readonly upstream: string;
      readonly name: string;
      readonly reason: string;
    }[];
  }>;
  /** The answer to a query with its reasons, for people. */
  explain(query: string, limit: number): Promise<ExplainedSearch>;
  /**
   * Asks questions whose right tools are known, one JSON object a line (`{"query": "…", "relevant": ["name"]}`), and
   * says how well they are answered.
   */
  measure(questions: string): Promise<MeasuredSearch>;
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
  /**
   * Takes another set of upstreams while running: unchanged ones stay connected, changed and removed ones end when
   * their running calls have. Our own tools and everything else of the configuration stay as they were at start.
   */
  reload(upstreams: readonly UpstreamRecord[]): Promise<RosterChange>;
  /** Stops listening, lets running requests finish (`limits.drainMs` at the longest), ends every child. */
  close(): Promise<void>;
}

export interface ProxyOptions {
  readonly observer?: Observer;
  /** Where `${env:NAME}` references are looked up; the process's environment when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Long enough for what a client wrote when it started us to be read. */
const PIPE_WAIT_MS = 1;

/** A client that opens the pipe and says nothing still finds its tools listed when it does. */
const GREETING_WAIT_MS = 500;

/** The rooms between the wire and the upstreams. */
interface Rooms {
  readonly roster: Roster;
  readonly views: Views;
  readonly metaTools: MetaTools;
  readonly closeHttp: () => Promise<void>;
}

/**
 * Builds the rooms and wires them. They are loaded here and not with this file, so that over stdio the handshake is
 * answered before any of them costs time.
 */
async function openRooms(config: Config, observer: Observer, env: ProxyOptions['env']): Promise<Rooms> {
  const { limits } = config;
  const [
    { systemClock },
    { createCallerKey },
    { Listings },
    { Views },
    { RESERVED_NAMES },
    { createMetaTools },
    { openUpstream },
    { Roster },
  ] = await Promise.all([
    import('./base/clock.ts'),
    import('./callers/caller.ts'),
    import('./callers/listings.ts'),
    import('./callers/views.ts'),
    import('./meta-tools/definitions.ts'),
    import('./meta-tools/meta-tools.ts'),
    import('./roster/open-upstream.ts'),
    import('./roster/roster.ts'),
  ]);
  const http = once(async () =>
    (await import('./net/http-client.ts')).openHttpClient({
      env: env ?? process.env,
      maxMessageBytes: limits.maxMessageBytes,
    }),
  );
  const pool = once(async (): Promise<DocumentPool> =>
    (await import('./search/index.ts')).createDocumentPool(),
  );
  const roster = new Roster(config.upstreams, {
    observer,
    open: (record, events) =>
      openUpstream(record, { http: http.get, limits, env: env ?? process.env }, events),
  });
  const views = new Views({
    roster,
    listings: new Listings({ limits, clock: systemClock, observer }),
    callerKey: createCallerKey(),
    pool: pool.get,
    limits,
    clock: systemClock,
    observer,
    writeTools: config.writeTools,
    reservedNames: RESERVED_NAMES,
  });
  const { maxBatchCalls, searchSchemas, maxInstructions } = config;
  const upstreams = roster.entries.map(({ record }) => record);
  const servers = once(async () => {
    const { createServerFinder } = await import('./registry/search-servers.ts');
    const { registries, registrySearch, checkServerRepo } = config;
    const place = { env: env ?? process.env, home: homedir(), platform: process.platform };
    return createServerFinder({ registries, registrySearch, checkServerRepo, limits, ...place });
  });
  const discovery = config.discovery && config.registrySearch;
  const metaTools = createMetaTools(
    { upstreams, maxBatchCalls, searchSchemas, maxInstructions, discovery, limits },
    { views, observer, servers: servers.get },
  );
  const closeHttp = async (): Promise<void> => {
    await (await servers.opened())?.close();
    await (await http.opened())?.close();
  };
  return { roster, views, metaTools, closeHttp };
}

async function openHttpApp(
  config: Config,
  { roster, views, metaTools }: Rooms,
  observer: Observer,
): Promise<HttpApp> {
  const { createHttpApp, hostNames, originNames } = await import('./server/http-app.ts');
  const { limits, allowedHosts, allowedOrigins, listen } = config;
  const isForwarding = roster.entries.some(({ record }) => record.auth === 'forward');
  const isGuarded = isLoopback(listen.host) || allowedHosts.length > 0;
  views.warm();
  return createHttpApp({
    metaTools,
    limits,
    observer,
    allowedHosts: isGuarded ? hostNames(allowedHosts) : undefined,
    allowedOrigins: originNames(allowedOrigins),
    instructionsWaitMs: isForwarding ? limits.instructionsWaitMs : 0,
  });
}

/** Makes a proxy of a configuration. Nothing is loaded, connected or listening until it is used. */
export async function createProxy(config: Config, options: ProxyOptions = {}): Promise<Proxy> {
  const { limits, maxBatchCalls, maxInstructions } = config;
  const observer = options.observer ?? silentObserver;
  const rooms = once(() => openRooms(config, observer, options.env));
  const app = once(async () => openHttpApp(config, await rooms.get(), observer));
  let listening: Listening | undefined;

  return {
    fetch: async (request) => (await app.get()).fetch(request),
    async listen() {
      const [{ listen }, opened] = await Promise.all([import('./server/listen.ts'), app.get()]);
      listening = await listen(config.listen, (request) => opened.fetch(request));
      const address = `${listening.origin}/mcp`;
      observer({ kind: 'listening', address });
      return address;
    },
    async serveStdio() {
      // One client's traffic needs no large young generation; V8 would grow it by some 20 MB and never give it back.
      setFlagsFromString('--semi-space-growth-factor=1');
      // Helper threads cost a small young generation more than they save.
      setFlagsFromString('--no-parallel-scavenge');
      const instructions = instructionsText([], { maxCharacters: maxInstructions, maxBatchCalls });
      const { ClientPipe } = await import('./server/client-pipe.ts');
      const pipe = new ClientPipe({ input: process.stdin, output: process.stdout, limits, instructions });
      // The handshake may be on its way already: it is read, and answered, before the SDK's loading takes the thread.
      await new Promise((resolve) => setTimeout(resolve, PIPE_WAIT_MS));
      const { serveStdio } = await import('./server/stdio.ts');
      const warm = async (): Promise<void> => (await rooms.get()).views.warm();
      const timer = setTimeout(() => void warm(), GREETING_WAIT_MS);
      await serveStdio({
        metaTools: async () => (await rooms.get()).metaTools,
        instructions: async () =>
          rooms.opened() === undefined ? instructions : (await rooms.get()).metaTools.instructions({}, 0),
        limits,
        observer,
        pipe,
        onGreeted: () => {
          clearTimeout(timer);
          void warm();
        },
      });
      clearTimeout(timer);
    },
    local: {
      async settled(timeoutMs) {
        await (await rooms.get()).views.settled(timeoutMs);
      },
      async listTools() {
        const { catalog, unavailable, dropped } = await (await rooms.get()).views.view({});
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
      async explain(query, limit) {
        const { catalog, index, unavailable } = await (await rooms.get()).views.view({});
        const { matches, ...question } = index.explain(query, { limit });
        return {
          ...question,
          tools: matches.map(({ position, ...reasons }) => ({
            name: catalog.tools[position]?.exposedName ?? '',
            ...reasons,
          })),
          total: catalog.tools.length,
          unavailable: unavailable.map(({ name, reason }) => ({ name, reason })),
        };
      },
      async measure(text) {
        const { byLanguage, measureAnswer, readQuestionsFile } = await import('./search/index.ts');
        const view = await (await rooms.get()).views.view({});
        const { catalog, unavailable } = view;
        const { questions, problems } = readQuestionsFile(text);
        const answers = questions.map((question) => {
          const right = question.relevant.map((name) => catalog.find(name)?.exposedName ?? name);
          const names = view.search(question.text, 10).map((tool) => tool.exposedName);
          return { question: { ...question, relevant: right }, names };
        });
        const wanted = new Set(answers.flatMap(({ question }) => question.relevant));
        return {
          problems,
          answers,
          languages: byLanguage(answers.map(({ question, names }) => measureAnswer(question, names))),
          unknown: [...wanted].filter((name) => catalog.find(name) === undefined),
          total: catalog.tools.length,
          unavailable: unavailable.map(({ name, reason }) => ({ name, reason })),
        };
      },
      async callMetaTool(name, args, signal = new AbortController().signal) {
        const { metaTools } = await rooms.get();
        const answer = metaTools.call(name, JSON.stringify(args), { caller: {}, signal });
        if (answer === undefined) throw new Error(`there is no meta-tool ${name}`);
        return localResult(await answer);
      },
    },
    async reload(upstreams) {
      const { roster, views } = await rooms.get();
      const change = roster.update(upstreams);
      views.forget([...change.changed, ...change.removed]);
      return change;
    },
    async close() {
      await listening?.close(limits.drainMs);
      await (await app.opened())?.close();
      const opened = await rooms.opened();
      if (opened === undefined) return;
      opened.views.close();
      await opened.roster.close();
      await opened.closeHttp();
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
function once<T>(open: () => Promise<T>): {
  readonly get: () => Promise<T>;
  readonly opened: () => Promise<T> | undefined;
} {
  let opening: Promise<T> | undefined;
  return { get: () => (opening ??= open()), opened: () => opening };
}
