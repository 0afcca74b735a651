/*
 * The composition root: the only file that knows every room. It stays whole so that how they are wired is read in
 * one place.
 */
import { homedir } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { silentObserver } from './base/observer.ts';
import { messageOf } from './base/errors.ts';
import type { Observer } from './base/observer.ts';
import type { Tracer } from './base/tracer.ts';
import type { Views } from './callers/views.ts';
import type { Config } from './config/config.ts';
import type { Answer } from './meta-tools/answer.ts';
import { instructionsText } from './meta-tools/instructions.ts';
import type { MetaTools } from './meta-tools/meta-tools.ts';
import type { UpstreamDesk } from './meta-tools/upstream-desk.ts';
import type { ConfiguredRegistry } from './registry/registries.ts';
import type { ServerFinder } from './registry/server-finder.ts';
import type { Approval, ApprovalState } from './roster/approval-state.ts';
import { IDLE } from './observe/sample.ts';
import type { Sample, UpstreamHealth } from './observe/sample.ts';
import type { UpstreamRecord } from './roster/record.ts';
import type { Roster, RosterChange } from './roster/roster.ts';
import type { UpstreamStore } from './roster/store.ts';
import type { LanguageScores } from './search/measure.ts';
import type { Question, QuestionsFile } from './search/questions-file.ts';
import type { KeptVectors } from './model/kept-vectors.ts';
import type { ToolVectors } from './model/tool-vectors.ts';
import type { Embedder } from './search/embedder.ts';
import type { DocumentPool, ExplainedMatch, Explanation } from './search/tool-index.ts';
import type { HttpApp, HttpAppParts } from './server/http-app.ts';
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
  /** How many of them were ranked by words alone, or while tools still lacked their vectors. */
  readonly byWords: number;
  readonly languages: readonly LanguageScores[];
  /** Right tools the questions name that no upstream has. */
  readonly unknown: readonly string[];
  readonly total: number;
  readonly unavailable: readonly UnavailableUpstream[];
}

/** What commands use: the one caller of a local run. */
export interface LocalCaller {
  /** Where upstreams are added, changed and approved; only of a proxy that was given a store to keep them in. */
  readonly desk: () => Promise<UpstreamDesk>;
  /**
   * Waits until every enabled upstream has listed its tools or failed to, and until all tools have their vectors or
   * will get none; each `timeoutMs` at the longest. Commands call it first, because unlike an agent they ask once.
   * `onEmbedding` hears now and then how far that is.
   */
  settled(timeoutMs: number, onEmbedding?: (progress: ToolVectors['progress']) => void): Promise<void>;
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
  /**
   * How many of the tools have their vectors on disk under a model, where a proxy that is running keeps them too;
   * undefined without a model. Rejects when its files cannot be used.
   */
  keptVectors(choice: Config['embedder']): Promise<KeptVectors | undefined>;
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
   * their running calls have. Registries, when given, are searched from now on. Our own tools and everything else of
   * the configuration stay as they were at start.
   */
  reload(
    upstreams: readonly UpstreamRecord[],
    registries?: readonly ConfiguredRegistry[],
  ): Promise<RosterChange>;
  /** Takes what people have approved since; gives the names of the upstreams it made a difference to. */
  reloadApprovals(): Promise<readonly string[]>;
  /** What is under way and what is kept; for metrics. */
  sample(): Sample;
  /** The enabled upstreams that are asked with our own credential (or none), and how each is. */
  health(): readonly UpstreamHealth[];
  /** Stops listening, lets running requests finish (`limits.drainMs` at the longest), ends every child. */
  close(): Promise<void>;
}

export interface ProxyOptions {
  readonly observer?: Observer;
  /** Where `${env:NAME}` references are looked up; the process's environment when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where upstreams are kept; without it none can be added while running, and `upstream_servers` is not offered. */
  readonly store?: UpstreamStore;
  /**
   * An embedder of your own in place of the configured one. Asked for once, when the first tools have been listed; a
   * rejection means searching by words. The proxy closes it.
   */
  readonly embedder?: () => Promise<Embedder>;
  /** Begins the spans of calls; none are made when left out. */
  readonly tracer?: Tracer;
  /** Whether events of one caller carry the same mark, new with each start; not when left out. */
  readonly marksCallers?: boolean;
}

/** Long enough for what a client wrote when it started us to be read. */
const PIPE_WAIT_MS = 1;

/** A client that opens the pipe and says nothing still finds its tools listed when it does. */
const GREETING_WAIT_MS = 500;

/** How often whoever waits for vectors hears how many there are. */
const PROGRESS_MS = 200;

/** The rooms between the wire and the upstreams. */
interface Rooms {
  readonly roster: Roster;
  readonly views: Views;
  readonly sample: (requests: number) => Sample;
  readonly health: () => readonly UpstreamHealth[];
  readonly metaTools: MetaTools;
  /** Undefined where words rank alone. */
  readonly vectors: ToolVectors | undefined;
  readonly desk: () => Promise<UpstreamDesk>;
  /** Searches these registries from now on. */
  readonly setRegistries: (registries: readonly ConfiguredRegistry[]) => Promise<void>;
  /** How clients sign in at the first upstream that checks them; undefined where none does. */
  readonly signIn: HttpAppParts['signIn'];
  readonly closeHttp: () => Promise<void>;
}

/**
 * Builds the rooms and wires them. They are loaded here and not with this file, so that over stdio the handshake is
 * answered before any of them costs time.
 */
async function openRooms(config: Config, given: Observer, options: ProxyOptions): Promise<Rooms> {
  const { limits, agentAdds } = config;
  const { env, store } = options;
  const [
    { systemClock },
    { createCallerKey, createCallerMark },
    { Listings },
    { Views },
    { callsAt },
    { RESERVED_NAMES },
    { createMetaTools },
    { openUpstream },
    { Roster },
    { UpstreamLog },
  ] = await Promise.all([
    import('./base/clock.ts'),
    import('./callers/caller.ts'),
    import('./callers/listings.ts'),
    import('./callers/views.ts'),
    import('./meta-tools/call-upstream.ts'),
    import('./meta-tools/definitions.ts'),
    import('./meta-tools/meta-tools.ts'),
    import('./roster/open-upstream.ts'),
    import('./roster/roster.ts'),
    import('./roster/upstream-log.ts'),
  ]);
  const log = new UpstreamLog(Date.now);
  const observer = log.around(given);
  const { maxMessageBytes, dialTimeoutMs } = limits;
  const wire = { env: env ?? process.env, maxMessageBytes, dialTimeoutMs };
  const http = once(async () => (await import('./net/http-client.ts')).openHttpClient(wire));
  const publicHttp = once(async () =>
    (await import('./net/public-http-client.ts')).openPublicHttpClient(wire),
  );
  let documents: DocumentPool | undefined;
  const pool = once(
    async (): Promise<DocumentPool> => (documents = (await import('./search/index.ts')).createDocumentPool()),
  );
  const roster = new Roster(config.upstreams, {
    observer,
    open: (record, events) =>
      openUpstream(
        record,
        { http: http.get, publicHttp: publicHttp.get, limits, env: env ?? process.env },
        events,
      ),
    agentAdds,
    ...(store === undefined ? {} : { program: store.program }),
    keepPins: (name, approval) => void keepPins(name, approval),
  });
  if (store !== undefined) roster.setApprovals(await readApprovals(store, observer));
  const vectors = await openVectors(config, observer, options);
  const listings = new Listings({ limits, clock: systemClock, observer });
  const views = new Views({
    ...(vectors === undefined ? {} : { meaning: vectors }),
    roster,
    listings,
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
  let registries = config.registries;
  const openServers = async (): Promise<ServerFinder> => {
    const { createServerFinder } = await import('./registry/search-servers.ts');
    const { registrySearch, checkServerRepo } = config;
    const place = { env: env ?? process.env, home: homedir(), platform: process.platform };
    return createServerFinder({ registries, registrySearch, checkServerRepo, limits, observer, ...place });
  };
  let servers = once(openServers);
  /** Definitions that were listed first are kept, unless another process was first. */
  async function keepPins(name: string, approval: Approval): Promise<void> {
    if (store === undefined) return;
    try {
      const { withPins } = await import('./roster/approval-state.ts');
      const state = await store.changeApprovals((before) => withPins(before, name, approval));
      const changed = roster.setApprovals(state);
      if (changed.length > 0) views.forget(changed);
    } catch (error) {
      observer({ kind: 'note', message: `what '${name}' listed first is not kept: ${String(error)}` });
    }
  }
  const apply = (records: readonly UpstreamRecord[]): RosterChange => {
    const change = roster.update(records);
    views.forget([...change.changed, ...change.removed]);
    return change;
  };
  const desk = once(async () => {
    if (store === undefined) throw new Error('upstreams are managed only where they can be kept');
    const [{ UpstreamDesk }, { reachOfUrl }, { isProgramThere }] = await Promise.all([
      import('./meta-tools/upstream-desk.ts'),
      import('./net/reach.ts'),
      import('./upstream/find-program.ts'),
    ]);
    const hasProgram = (command: string): Promise<boolean> => isProgramThere(command, env ?? process.env);
    const { writeTools } = config;
    const rooms = { roster, views, store, log, servers: () => servers.get() };
    return new UpstreamDesk({
      ...rooms,
      agentAdds,
      writeTools,
      limits,
      hasProgram,
      reachOf: reachOfUrl,
      apply,
    });
  });
  const discovery = config.discovery && config.registrySearch;
  const isForwarding = upstreams.some(({ auth }) => auth === 'forward');
  const isLocal = !isForwarding && (config.stdio || isLoopback(config.listen.host));
  const manage = config.discovery && isLocal && store !== undefined;
  const metaTools = createMetaTools(
    { upstreams, maxBatchCalls, searchSchemas, maxInstructions, discovery, manage, limits },
    {
      views,
      observer,
      ...(options.tracer === undefined ? {} : { tracer: options.tracer }),
      ...(options.marksCallers === true ? { markOf: createCallerMark() } : {}),
      servers: () => servers.get(),
      desk: desk.get,
    },
  );
  const closeHttp = async (): Promise<void> => {
    await (await servers.opened())?.close();
    await Promise.all([http, publicHttp].map(async (each) => (await each.opened())?.close()));
  };
  const signIns = new Map<string, HttpAppParts['signIn']>();
  const signIn: HttpAppParts['signIn'] = async (resource) => {
    const forwarded = roster.entries.find(({ record }) => record.auth === 'forward');
    if (forwarded?.upstream === undefined || forwarded.record.transport.kind !== 'http') return undefined;
    const { createSignIn } = await import('./upstream/sign-in.ts');
    const { resolveReferences } = await import('./upstream/references.ts');
    const { name, transport } = forwarded.record;
    const url = resolveReferences(transport.url, env ?? process.env, { upstream: name, part: 'url' });
    const known = signIns.get(url) ?? createSignIn(url, http.get);
    signIns.set(url, known);
    return known(resource);
  };
  const setRegistries = async (next: readonly ConfiguredRegistry[]): Promise<void> => {
    if (isDeepStrictEqual(next, registries)) return;
    registries = next;
    const old = servers;
    servers = once(openServers);
    await (await old.opened())?.close();
  };
  const health = (): readonly UpstreamHealth[] =>
    roster.entries.map((entry): UpstreamHealth => {
      const { name } = entry.record;
      if (entry.upstream === undefined) return { name, state: 'failed', reason: entry.failure.message };
      const known = views.peek(entry);
      if (known?.kind === 'failed') return { name, state: 'failed', reason: known.error.message };
      return { name, state: known?.kind ?? 'idle' };
    });
  const sample = (requests: number): Sample => {
    const states = health();
    return {
      requests,
      upstreams: roster.entries.map(({ record, upstream }, at) => {
        const calls = upstream === undefined ? undefined : callsAt(upstream);
        const kept = roster.withheld(record.name);
        return {
          name: record.name,
          isUp: states[at]?.state !== 'failed',
          inFlight: calls?.running ?? 0,
          queued: calls?.queued ?? 0,
          changed: kept.filter(({ kind }) => kind === 'changed').length,
          added: kept.filter(({ kind }) => kind === 'new').length,
        };
      }),
      catalogs: listings.held.listings,
      catalogBytes: listings.held.bytes,
      poolDefinitions: documents?.size ?? 0,
      poolBytes: documents?.bytes ?? 0,
    };
  };
  return {
    roster,
    views,
    sample,
    health,
    metaTools,
    vectors,
    desk: desk.get,
    setRegistries,
    signIn,
    closeHttp,
  };
}

/** What gives tools and questions their vectors; the model itself is opened when the first tools are there. */
async function openVectors(
  { limits, embedder: choice }: Config,
  observer: Observer,
  options: ProxyOptions,
): Promise<ToolVectors | undefined> {
  const { embedder } = options;
  if (embedder === undefined && choice.kind === 'none') return undefined;
  const { ToolVectors } = await import('./model/tool-vectors.ts');
  const openChosen = async (): Promise<Embedder> => {
    const { openEmbedder } = await import('./model/open-embedder.ts');
    const opened = await openEmbedder(choice, { cacheFolder: await cacheFolder(options) });
    if (opened === undefined) throw new Error('no embedder was chosen');
    return opened;
  };
  return new ToolVectors({
    open: embedder ?? openChosen,
    observer,
    questionWaitMs: limits.questionVectorMs,
  });
}

/** Where vectors are kept between runs. */
async function cacheFolder({ env = process.env }: ProxyOptions): Promise<string> {
  const { defaultCacheFolder } = await import('./model/cache-folder.ts');
  return defaultCacheFolder({ env, home: homedir(), platform: process.platform });
}

async function openHttpApp(
  config: Config,
  { roster, views, metaTools, signIn }: Rooms,
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
    signIn,
  });
}

/** Makes a proxy of a configuration. Nothing is loaded, connected or listening until it is used. */
export async function createProxy(config: Config, options: ProxyOptions = {}): Promise<Proxy> {
  const { limits, maxBatchCalls, maxInstructions } = config;
  const observer = options.observer ?? silentObserver;
  let opened: Rooms | undefined;
  const rooms = once(async () => (opened = await openRooms(config, observer, options)));
  const app = once(async () => openHttpApp(config, await rooms.get(), observer));
  let listening: Listening | undefined;
  /** The only case in which a model is opened before anybody is served: nobody shall be, without it. */
  const requireModel = async (): Promise<void> => {
    if (config.requireModel) await (await rooms.get()).vectors?.opened();
  };

  return {
    fetch: async (request) => (await app.get()).fetch(request),
    async listen() {
      await requireModel();
      const [{ listen }, opened] = await Promise.all([import('./server/listen.ts'), app.get()]);
      listening = await listen(config.listen, opened, { limits, observer });
      const address = `${listening.origin}/mcp`;
      observer({ kind: 'listening', address });
      return address;
    },
    async serveStdio() {
      await requireModel();
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
      desk: async () => (await rooms.get()).desk(),
      async settled(timeoutMs, onEmbedding) {
        const { views, vectors } = await rooms.get();
        await views.settled(timeoutMs);
        if (vectors === undefined) return;
        // Asking for the view is what makes its tools want vectors.
        await views.view({});
        const report = setInterval(() => onEmbedding?.(vectors.progress), PROGRESS_MS);
        await vectors.settled(timeoutMs).finally(() => clearInterval(report));
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
      async keptVectors(choice) {
        const { catalog } = await (await rooms.get()).views.view({});
        const { meaningTextOf } = await import('./callers/views.ts');
        const { keptVectors } = await import('./model/kept-vectors.ts');
        return keptVectors(choice, catalog.tools.map(meaningTextOf), {
          cacheFolder: await cacheFolder(options),
        });
      },
      async explain(query, limit) {
        const view = await (await rooms.get()).views.view({});
        const [vector] = await view.questionVectors([query]);
        const { catalog, index, unavailable } = view;
        const { matches, ...question } = index.explain(query, {
          limit,
          ...(vector === undefined ? {} : { vector }),
        });
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
        const answers: { question: Question; names: readonly string[] }[] = [];
        let byWords = 0;
        for (const question of questions) {
          const right = question.relevant.map((name) => catalog.find(name)?.exposedName ?? name);
          // One after the other: each is to come within the time a question is given.
          const [vector] = await view.questionVectors([question.text]);
          const { tools, basis } = view.search(question.text, 10, vector);
          if (basis !== 'meaning') byWords++;
          const names = tools.map((tool) => tool.exposedName);
          answers.push({ question: { ...question, relevant: right }, names });
        }
        const wanted = new Set(answers.flatMap(({ question }) => question.relevant));
        return {
          problems,
          answers,
          byWords,
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
    async reload(upstreams, registries) {
      const { roster, views, setRegistries } = await rooms.get();
      if (registries !== undefined) await setRegistries(registries);
      const change = roster.update(upstreams);
      views.forget([...change.changed, ...change.removed]);
      return change;
    },
    async reloadApprovals() {
      const { store } = options;
      if (store === undefined) return [];
      const { roster, views } = await rooms.get();
      const changed = roster.setApprovals(await readApprovals(store, observer));
      views.forget(changed);
      return changed;
    },
    sample: () => opened?.sample(listening?.running() ?? 0) ?? IDLE,
    health: () => opened?.health() ?? [],
    async close() {
      await listening?.close(limits.drainMs);
      await (await app.opened())?.close();
      const open = await rooms.opened();
      if (open === undefined) return;
      open.views.close();
      await open.vectors?.close();
      await open.roster.close();
      await open.closeHttp();
    },
  };
}

/** A command has no HTTP status and no protocol error to show; the words are in the result. */
function localResult(answer: Answer): string {
  const text = answer.kind === 'unauthorized' ? answer.sentence : answer.raw;
  if (answer.kind === 'result') return answer.raw;
  return JSON.stringify({ content: [{ type: 'text', text }], isError: true });
}

/** What people approved; when nobody can tell, nothing that needs it may be used, and the reason is said. */
async function readApprovals(
  store: UpstreamStore,
  observer: Observer,
): Promise<ApprovalState | 'unreadable'> {
  try {
    return await store.readApprovals();
  } catch (error) {
    observer({ kind: 'note', message: messageOf(error) });
    return 'unreadable';
  }
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
