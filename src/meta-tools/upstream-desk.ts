/*
 * Everything that can be done with upstreams while running. Agents and people go through the same operations here,
 * so that what an agent may not do is decided beside what a person may.
 */
import { createHash } from 'node:crypto';
import { openDeadline } from '../base/deadline.ts';
import { ProxyError } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import { ANONYMOUS } from '../callers/caller.ts';
import type { Views } from '../callers/views.ts';
import { accessOf } from '../catalog/access.ts';
import type { JsonObject, Tool } from '../catalog/tool.ts';
import { addableServer } from '../registry/addable.ts';
import type { AddableServer, GivenInputs, MissingInput } from '../registry/addable.ts';
import type { ServerFinder } from '../registry/server-finder.ts';
import { pinsOf } from '../roster/admission.ts';
import type { Withheld } from '../roster/admission.ts';
import { targetOf, withApproval, withoutApproval } from '../roster/approval-state.ts';
import type { ApprovalState } from '../roster/approval-state.ts';
import type { UpstreamRecord } from '../roster/record.ts';
import type { AgentAdds, Roster, RosterChange } from '../roster/roster.ts';
import { shellWord } from '../base/shell-word.ts';
import { shownDifference, shownTarget } from '../roster/shown-entry.ts';
import type { UpstreamChange, UpstreamEdit, UpstreamStore } from '../roster/store.ts';
import type { UpstreamLine, UpstreamLog } from '../roster/upstream-log.ts';
import type { Operation } from './upstream-operation.ts';

/** What an agent may ask for. There is no command, no header, no variable and no secret among it. */
export interface AgentRequest {
  readonly operation: Operation;
  readonly name?: string;
  readonly url?: string;
  readonly registry?: string;
  readonly id?: string;
  readonly description?: string;
  readonly enabled?: boolean;
}

/** What a person may ask for on the command line: everything. */
export interface PersonRequest extends AgentRequest, GivenInputs {
  /** A program and its arguments, to add or to run instead. */
  readonly command?: readonly string[];
  /** A merge patch of the entry (RFC 7396), for `update`. */
  readonly patch?: JsonObject;
  /** The program of a registry's server, also where it has an endpoint. */
  readonly local?: boolean;
  /** Its tools count as writes until somebody approves it, as if an agent had added it. */
  readonly unverified?: boolean;
  /** What a registry says may be started was looked at. */
  readonly confirmed?: string;
}

/** One upstream as `list` shows it. */
export interface ListedUpstream {
  readonly name: string;
  readonly enabled: boolean;
  /** Its URL, or its command line; nothing secret. */
  readonly reached_by: string;
  readonly added_by?: 'agent';
  /** Of what an agent added: whether a person approved it. */
  readonly verified?: boolean;
  readonly auth?: 'forward';
  readonly state: 'ready' | 'starting' | 'failed' | 'disabled' | 'idle';
  readonly tools?: number;
  readonly reason?: string;
}

/** What became of a request. */
export type UpstreamReport =
  | { readonly status: 'listed'; readonly servers: readonly ListedUpstream[] }
  | ({
      readonly status: 'added' | 'updated' | 'enabled' | 'refreshed' | 'restarted';
      readonly name: string;
      /** What the change is, line by line. */
      readonly changes?: readonly string[];
    } & ServerState)
  | { readonly status: 'removed' | 'disabled'; readonly name: string; readonly changes?: readonly string[] }
  | {
      readonly status: 'unchanged';
      readonly name: string;
    }
  | { readonly status: 'logs'; readonly name: string; readonly lines: readonly UpstreamLine[] }
  /** A person has to say yes; nothing was done. */
  | {
      readonly status: 'needs_confirmation';
      readonly reason: string;
      /** What would run, one text each. */
      readonly starts?: readonly string[];
      /** The command a person runs to do it. */
      readonly command: string;
      /** Identifies just this question. */
      readonly digest: string;
    }
  /** A person has to give what the server needs; nothing was done. */
  | {
      readonly status: 'needs_input';
      readonly inputs: readonly MissingInput[];
      readonly command: string;
      readonly starts?: readonly string[];
    }
  | { readonly status: 'denied'; readonly reason: string };

/** How an upstream is, once it has listed its tools or said why not. */
interface ServerState {
  readonly state: 'ready' | 'starting' | 'failed' | 'disabled';
  readonly unverified?: true;
  readonly tools: number;
  /** Exposed names; of very many the first. */
  readonly names: readonly string[];
  readonly reason?: string;
  readonly next?: string;
}

/** What a person looks at before they approve. */
export interface Review {
  readonly name: string;
  readonly reachedBy: string;
  readonly approvedAt?: string;
  /** Every tool listed now, and what calling it would count as once approved. */
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly access: 'read' | 'write';
  }[];
  readonly differences: readonly Withheld[];
  /** Identifies the definitions; what is approved is these and no others. */
  readonly digest: string;
}

export interface UpstreamDeskParts {
  readonly roster: Roster;
  readonly views: Views;
  readonly store: UpstreamStore;
  readonly log: UpstreamLog;
  readonly servers: () => Promise<ServerFinder>;
  readonly agentAdds: AgentAdds;
  readonly writeTools: readonly string[];
  readonly limits: Limits;
  /** Whether there is a program of that name to start. */
  readonly hasProgram: (command: string) => Promise<boolean>;
  /** Where a URL leads: `private` and `plain` (http) are for a person to decide. */
  readonly reachOf: (url: string) => Promise<{ readonly kind: 'public' | 'private' | 'plain' }>;
  /** Takes the configured upstreams as they are now. */
  readonly apply: (records: readonly UpstreamRecord[]) => RosterChange;
}

/** Most names an answer carries; `search_tools` finds the rest. */
const MAX_NAMES = 40;
/** Longest an answer waits for a server to list its tools: clients give a call a minute. */
const MAX_WAIT_MS = 45_000;

/** Programs registries' packages are run with. */
const HOW_TO_GET: Readonly<Record<string, string>> = {
  npx: 'It comes with Node.js',
  uvx: 'It comes with uv (docs.astral.sh/uv)',
  docker: 'Install Docker',
  dnx: 'It comes with the .NET SDK',
};

type By = 'agent' | 'person';

/**
 * Where upstreams are added, changed and removed while the proxy runs: by a person at the command line, and by an
 * agent, who may do alone only what can do little harm. An agent's additions start nothing, reach public addresses
 * only, carry no credential of anybody, and their tools count as writes; the rest waits for a person.
 */
export class UpstreamDesk {
  readonly #parts: UpstreamDeskParts;

  constructor(parts: UpstreamDeskParts) {
    this.#parts = parts;
  }

  /** `confirmed`: the digest of a question that a person answered with yes. */
  async asAgent(request: AgentRequest, signal: AbortSignal, confirmed?: string): Promise<UpstreamReport> {
    const { operation, name, url, registry, id, description, enabled } = request;
    const asked = [name, url, registry, id, description].some((text) => text?.includes('${'));
    if (asked) {
      return {
        status: 'denied',
        reason: 'A ${…} would put a variable of this machine into it, so only a person may write one.',
      };
    }
    // Whoever may forward other people's credentials has no say over where they could go.
    if (this.#parts.roster.records.some(({ auth, enabled: isOn }) => isOn && auth === 'forward')) {
      return { status: 'denied', reason: 'Behind a gateway its operator alone adds and changes servers.' };
    }
    const settled: PersonRequest = {
      operation,
      // What is empty was not given: that is how some clients send what they leave out.
      ...(isEmpty(name) ? {} : { name: name.trim() }),
      ...(isEmpty(url) ? {} : { url: url.trim() }),
      ...(isEmpty(registry) ? {} : { registry }),
      ...(isEmpty(id) ? {} : { id }),
      ...(isEmpty(description) ? {} : { description }),
      ...(enabled === undefined ? {} : { enabled }),
      ...(confirmed === undefined ? {} : { confirmed }),
    };
    return this.#run(settled, 'agent', signal);
  }

  asPerson(request: PersonRequest, signal: AbortSignal): Promise<UpstreamReport> {
    return this.#run(request, 'person', signal);
  }

  async #run(request: PersonRequest, by: By, signal: AbortSignal): Promise<UpstreamReport> {
    switch (request.operation) {
      case 'list':
        return { status: 'listed', servers: await this.#list() };
      case 'add':
        return this.#add(request, by, signal);
      case 'remove':
        return this.#remove(this.#named(request), request, by);
      case 'enable':
      case 'disable':
        return this.#switch(this.#named(request), request, by, signal);
      case 'update':
        return this.#update(this.#named(request), request, by, signal);
      case 'refresh': {
        const { name } = this.#running(request);
        this.#parts.views.forget([name]);
        return { status: 'refreshed', name, ...(await this.#stateOf(name, signal)) };
      }
      case 'restart': {
        const { name } = this.#running(request);
        this.#parts.roster.reopen(name);
        this.#parts.views.forget([name]);
        return { status: 'restarted', name, ...(await this.#stateOf(name, signal)) };
      }
      case 'logs': {
        const { name, enabled, auth } = this.#named(request);
        // The command line is a process of its own, in which nothing has happened yet.
        if (by === 'person' && enabled && auth === 'own') await this.#stateOf(name, signal);
        return { status: 'logs', name, lines: this.#parts.log.lines(name) };
      }
    }
  }

  async #list(): Promise<readonly ListedUpstream[]> {
    const { roster, views } = this.#parts;
    return roster.records.map((record): ListedUpstream => {
      const entry = roster.entries.find((each) => each.record.name === record.name);
      const known = entry === undefined ? undefined : views.peek(entry);
      const waiting = roster.waiting(record.name);
      const common = {
        name: record.name,
        enabled: record.enabled,
        reached_by: shownTarget(record),
        ...(record.origin === 'agent' ? { added_by: 'agent' as const, verified: record.trusted } : {}),
        ...(record.auth === 'forward' ? { auth: 'forward' as const } : {}),
      };
      if (!record.enabled) return { ...common, state: 'disabled' };
      switch (known?.kind) {
        case undefined:
          return { ...common, state: 'idle' };
        case 'starting':
          return { ...common, state: 'starting' };
        case 'failed':
          return { ...common, state: 'failed', reason: known.error.message };
        case 'ready': {
          const reason = waiting === undefined ? {} : { reason: waiting };
          return { ...common, state: 'ready', tools: known.listing.tools.length, ...reason };
        }
      }
    });
  }

  async #add(request: PersonRequest, by: By, signal: AbortSignal): Promise<UpstreamReport> {
    const { agentAdds, roster } = this.#parts;
    if (by === 'agent' && agentAdds === 'deny') {
      return {
        status: 'denied',
        reason: 'Agents add no servers here (agentAdds: deny). Tell the user which one would help.',
      };
    }
    const found = await this.#wanted(request, signal);
    const name = request.name ?? found.name;
    if (roster.records.some((each) => each.name.toLowerCase() === name.toLowerCase())) {
      throw new ProxyError(
        'upstream_exists',
        `There is a server named '${name}' already. Choose another name, or update that one.`,
      );
    }
    const isAgents = by === 'agent' || request.unverified === true;
    const starts = argvOf(found.entry);
    const running = starts === undefined ? {} : { starts };
    if (found.missing.length > 0) {
      const command = this.#commandFor('add', request, name, isAgents);
      return { status: 'needs_input', inputs: found.missing, command, ...running };
    }
    const isPrivate = isAgents && starts === undefined && (await this.#isPrivate(found.entry, signal));
    const entry: JsonObject = {
      ...found.entry,
      ...(request.description === undefined ? {} : { description: request.description }),
      ...(request.enabled === false ? { enabled: false } : {}),
      ...(isAgents ? { origin: 'agent' } : {}),
      ...(isPrivate === false ? {} : { allowPrivate: true }),
    };
    const reason = await this.#reasonToAsk(request, by, starts, isPrivate);
    if (reason !== undefined) {
      const question = this.#question(request, reason, this.#addCommand(name, entry), { name, entry });
      if (question !== undefined) return { ...question, ...running };
    }
    if (starts !== undefined && request.enabled !== false) await this.#mustBeThere(starts[0] ?? '');
    // What was approved or pinned under this name before was another server.
    if (Object.hasOwn((await this.#approvals()).upstreams, name)) {
      roster.setApprovals(await this.#parts.store.changeApprovals((state) => withoutApproval(state, name)));
    }
    await this.#change({ kind: 'add', name, entry });
    return { status: 'added', name, ...(await this.#stateOf(name, signal)) };
  }

  async #mustBeThere(command: string): Promise<void> {
    if (command !== '' && (await this.#parts.hasProgram(command))) return;
    const how = HOW_TO_GET[command];
    throw new ProxyError(
      'upstream_unresolved',
      `There is no program '${command}' to start on this machine's PATH. ${how ?? 'Install it, or give its full path'}, or add the server with --enabled=false.`,
    );
  }

  /** The entry a request asks for: of a URL, a command, or what a registry says of an id. */
  async #wanted(request: PersonRequest, signal: AbortSignal): Promise<AddableServer> {
    const { url, command, registry, id, headers, env, name } = request;
    const ways = [url, command, id].filter((way) => way !== undefined);
    if (ways.length !== 1 || (id !== undefined) !== (registry !== undefined)) {
      throw new ProxyError(
        'usage',
        'Say what to add in one way: its url, or the registry and the id a registry lists it under.',
      );
    }
    if (registry !== undefined && id !== undefined) {
      const finder = await this.#parts.servers();
      const server = await finder.find(registry, id, { signal });
      return addableServer(server, request, { local: request.local === true });
    }
    if (url !== undefined) {
      if (env !== undefined)
        throw new ProxyError('usage', 'A server reached by URL is given headers, not variables.');
      const host = URL.canParse(url) ? new URL(url).hostname : 'server';
      const entry = { url, ...(headers === undefined ? {} : { headers }) };
      return { name: name ?? host, entry, missing: [] };
    }
    const [program = '', ...args] = command ?? [];
    const given = { ...(env === undefined ? {} : { env }), ...(headers === undefined ? {} : { headers }) };
    const entry = { command: program, args, ...given };
    return { name: name ?? lastOf(program), entry, missing: [] };
  }

  /** Whether an address is not public; `listed`: a registry says so that may list the operator's own network. */
  async #isPrivate(entry: JsonObject, signal: AbortSignal): Promise<false | 'private' | 'plain' | 'listed'> {
    const url = String(entry['url']);
    // What is wrong with it is said where entries are read.
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return false;
    const { kind } = await this.#parts.reachOf(url);
    if (kind === 'public') return false;
    const finder = await this.#parts.servers();
    return (await finder.listsPrivate(url, { signal })) ? 'listed' : kind;
  }

  /** Why a person has to say yes first, or undefined. What a person typed themselves is a yes. */
  async #reasonToAsk(
    request: PersonRequest,
    by: By,
    starts: readonly string[] | undefined,
    isPrivate: false | 'private' | 'plain' | 'listed',
  ): Promise<string | undefined> {
    if (starts !== undefined && (by === 'agent' || request.command === undefined))
      return 'It is a program that would be started on this machine. A person has to look at the command line first.';
    if (by === 'person') return undefined;
    switch (isPrivate) {
      case 'private':
        return 'Its address is on this machine or in a private network, where only a person may send an agent.';
      case 'plain':
        return 'Its address is plain http: what is sent can be read and changed on the way.';
      case 'listed':
      case false:
        return undefined;
    }
  }

  async #remove(record: UpstreamRecord, request: PersonRequest, by: By): Promise<UpstreamReport> {
    const { name } = record;
    if (by === 'agent' && record.origin !== 'agent') {
      const question = this.#question(
        request,
        `'${name}' is a server the user configured, and its entry cannot be brought back.`,
        this.#commandFor('remove', request, name, false),
        { name },
      );
      if (question !== undefined) return question;
    }
    await this.#change({ kind: 'remove', name });
    if (Object.hasOwn((await this.#approvals()).upstreams, name)) {
      this.#parts.roster.setApprovals(
        await this.#parts.store.changeApprovals((state) => withoutApproval(state, name)),
      );
    }
    return { status: 'removed', name };
  }

  async #switch(
    record: UpstreamRecord,
    request: PersonRequest,
    by: By,
    signal: AbortSignal,
  ): Promise<UpstreamReport> {
    const { name } = record;
    const enabled = request.operation === 'enable';
    if (record.enabled === enabled) return { status: 'unchanged', name };
    if (enabled && by === 'agent' && record.transport.kind === 'stdio') {
      const reason = `'${name}' is a program that would be started on this machine.`;
      const command = this.#commandFor('enable', request, name, false);
      const question = this.#question(request, reason, command, { name, target: targetOf(record.transport) });
      const { command: program, args } = record.transport;
      if (question !== undefined) return { ...question, starts: [program, ...args] };
    }
    await this.#change({ kind: 'patch', name, patch: { enabled } });
    if (!enabled) return { status: 'disabled', name };
    return { status: 'enabled', name, ...(await this.#stateOf(name, signal)) };
  }

  async #update(
    record: UpstreamRecord,
    request: PersonRequest,
    by: By,
    signal: AbortSignal,
  ): Promise<UpstreamReport> {
    const { name } = record;
    const patch = patchOf(request);
    if (Object.keys(patch).length === 0)
      throw new ProxyError('usage', 'Say what to change: url, description or enabled.');
    if (by === 'agent') {
      const reason = await this.#reasonAgainst(record, patch, signal);
      if (reason !== undefined) {
        const command = `${this.#program} update ${shellWord(name)} ${shellWord(JSON.stringify(patch))}`;
        const question = this.#question(request, reason, command, { name, patch });
        if (question !== undefined) return question;
      }
    }
    const { before = {}, after = {} } = await this.#change({ kind: 'patch', name, patch });
    const changes = shownDifference(before, after);
    if (changes.length === 0) return { status: 'unchanged', name };
    return { status: 'updated', name, changes, ...(await this.#stateOf(name, signal)) };
  }

  /** Why an agent may not make this change alone. */
  async #reasonAgainst(
    record: UpstreamRecord,
    patch: JsonObject,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { transport, origin, name } = record;
    if (origin !== 'agent') return `'${name}' is a server the user configured.`;
    if (patch['enabled'] === true && !record.enabled && transport.kind === 'stdio')
      return `'${name}' is a program that would be started on this machine.`;
    const { url } = patch;
    if (url === undefined) return undefined;
    if (this.#parts.agentAdds === 'deny') return 'Agents add no servers here (agentAdds: deny).';
    if (transport.kind === 'http' && Object.keys(transport.headers).length > 0)
      return `'${name}' has headers a person gave it, which would go to the new address.`;
    const reach = await this.#isPrivate({ url }, signal);
    if (reach === false || reach === 'listed') return undefined;
    return 'The new address is plain http, on this machine, or in a private network.';
  }

  /** The question to a person; undefined when it was answered with yes. */
  #question(
    request: PersonRequest,
    reason: string,
    command: string,
    what: JsonObject,
  ): Extract<UpstreamReport, { status: 'needs_confirmation' }> | undefined {
    const digest = createHash('sha256')
      .update(JSON.stringify([request.operation, what]))
      .digest('base64url');
    if (request.confirmed === digest) return undefined;
    return { status: 'needs_confirmation', reason, command, digest };
  }

  get #program(): string {
    return `${this.#parts.store.program} upstream_servers`;
  }

  /** The command that adds exactly this entry. */
  #addCommand(name: string, entry: JsonObject): string {
    const words = [this.#program, 'add', '--name', shellWord(name)];
    if (entry['origin'] === 'agent') words.push('--unverified');
    if (entry['enabled'] === false) words.push('--enabled=false');
    if (typeof entry['description'] === 'string')
      words.push('--description', shellWord(entry['description']));
    for (const [key, flag, join] of [
      ['headers', '--header', ': '],
      ['env', '-e', '='],
    ] as const) {
      for (const [each, value] of Object.entries((entry[key] ?? {}) as JsonObject))
        words.push(flag, shellWord(`${each}${join}${String(value)}`));
    }
    const argv = argvOf(entry);
    if (argv === undefined) words.push('--url', shellWord(String(entry['url'])));
    else words.push('--', ...argv.map(shellWord));
    return words.join(' ');
  }

  #commandFor(operation: string, request: PersonRequest, name: string, isUnverified: boolean): string {
    const { registry, id } = request;
    const words = [this.#program, operation];
    if (operation !== 'add') return [...words, shellWord(name)].join(' ');
    if (registry !== undefined && id !== undefined)
      words.push('--registry', shellWord(registry), '--id', shellWord(id));
    words.push('--name', shellWord(name));
    if (isUnverified) words.push('--unverified');
    return words.join(' ');
  }

  #named({ name, operation }: AgentRequest): UpstreamRecord {
    if (name === undefined || name === '')
      throw new ProxyError('usage', `Say which server: ${operation} needs its name.`);
    const { records } = this.#parts.roster;
    const found =
      records.find((each) => each.name === name) ??
      records.find((each) => each.name.toLowerCase() === name.toLowerCase());
    if (found !== undefined) return found;
    const known = records.map((each) => each.name).slice(0, 30);
    const hint = known.length === 0 ? 'There are none yet.' : `There are ${known.join(', ')}.`;
    throw new ProxyError('upstream_not_found', `There is no server named '${name}'. ${hint}`);
  }

  #running(request: AgentRequest): UpstreamRecord {
    const record = this.#named(request);
    if (record.auth === 'forward') {
      throw new ProxyError(
        'usage',
        `'${record.name}' is listed for each caller with their own credential; there is nothing to ${request.operation}.`,
      );
    }
    if (record.enabled) return record;
    throw new ProxyError('usage', `'${record.name}' is disabled; enable it first.`);
  }

  async #change(edit: UpstreamEdit): Promise<UpstreamChange> {
    const change = await this.#parts.store.change(edit);
    this.#parts.apply(change.records);
    return change;
  }

  async #approvals(): Promise<ApprovalState> {
    return this.#parts.store.readApprovals();
  }

  /** Waits until the server has listed its tools or said why not, and says how it is then. */
  async #stateOf(name: string, signal: AbortSignal): Promise<ServerState> {
    const { views, roster, limits } = this.#parts;
    const record = roster.records.find((each) => each.name === name);
    if (record?.enabled !== true) return { state: 'disabled', tools: 0, names: [] };
    const unverified = record.origin === 'agent' && !record.trusted ? { unverified: true as const } : {};
    const none = { ...unverified, tools: 0, names: [] };
    const waitMs = Math.min(MAX_WAIT_MS, limits.connectTimeoutMs + limits.listTimeoutMs);
    const deadline = openDeadline(signal, waitMs);
    try {
      const state = await views.listed(name, deadline.signal);
      if (signal.aborted) throw signal.reason;
      if (state === undefined) {
        const reason = 'its tools are listed for each caller with their own credential';
        return { state: 'ready', ...none, reason };
      }
      if (state.kind === 'starting')
        return {
          state: 'starting',
          ...none,
          reason: `it has not listed its tools after ${waitMs / 1_000} s`,
        };
      if (state.kind === 'failed') return { state: 'failed', ...none, reason: state.error.message };
    } finally {
      deadline.dispose();
    }
    const { catalog } = await views.view(ANONYMOUS, signal);
    const names = catalog.tools.filter((tool) => tool.upstream === name).map((tool) => tool.exposedName);
    const waiting = roster.waiting(name);
    return {
      state: 'ready',
      ...unverified,
      tools: names.length,
      names: names.slice(0, MAX_NAMES),
      ...(waiting === undefined ? {} : { reason: waiting }),
      ...(names.length === 0 ? {} : { next: nextOf(names.length, unverified.unverified === true) }),
    };
  }

  /** What a person looks at before they approve: the server is asked for its tools as they are now. */
  async review(wanted: string, signal: AbortSignal): Promise<Review> {
    const { roster, views } = this.#parts;
    const record = this.#named({ operation: 'refresh', name: wanted });
    const { name } = record;
    if (record.origin !== 'agent') {
      throw new ProxyError('usage', `'${name}' is a server you configured yourself; it needs no approval.`);
    }
    if (!record.enabled) throw new ProxyError('usage', `'${name}' is disabled; enable it first.`);
    views.forget([name]);
    const state = await this.#stateOf(name, signal);
    if (state.state !== 'ready') {
      throw new ProxyError(
        'upstream_unreachable',
        `'${name}' has to show its tools to be approved: ${state.reason ?? state.state}`,
        { retryable: true },
      );
    }
    const tools = roster.listed(name);
    const approvedAt = roster.approval(name)?.approvedAt;
    return {
      name,
      reachedBy: shownTarget(record),
      ...(approvedAt === undefined ? {} : { approvedAt }),
      tools: tools.map((tool) => ({
        name: tool.name,
        description: tool.description,
        access: accessOf(tool, tool.name, { trusted: true, writeTools: this.#parts.writeTools }),
      })),
      differences: roster.withheld(name),
      digest: digestOf(tools),
    };
  }

  /** Approves what was reviewed: these definitions count as the server says, until they change. */
  async approve({ name, digest }: Review, now: Date): Promise<void> {
    const { roster, store, views } = this.#parts;
    const record = this.#named({ operation: 'refresh', name });
    const tools = roster.listed(name);
    if (digestOf(tools) !== digest) {
      throw new ProxyError('usage', `'${name}' lists other tools by now; look at them again.`);
    }
    const approval = {
      target: targetOf(record.transport),
      approvedAt: now.toISOString(),
      tools: pinsOf(tools),
    };
    const state = await store.changeApprovals((before) => withApproval(before, name, approval));
    views.forget(roster.setApprovals(state));
  }
}

function patchOf(request: PersonRequest): JsonObject {
  const { url, command, description, enabled, headers, env, patch } = request;
  const [program, ...args] = command ?? [];
  return {
    ...patch,
    ...(url === undefined ? {} : { url }),
    ...(program === undefined ? {} : { command: program, args }),
    ...(description === undefined ? {} : { description }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(headers === undefined ? {} : { headers }),
    ...(env === undefined ? {} : { env }),
  };
}

function isEmpty(text: string | undefined): text is undefined {
  return text === undefined || text.trim() === '';
}

function argvOf(entry: JsonObject): readonly string[] | undefined {
  const { command, args } = entry;
  return typeof command === 'string'
    ? [command, ...(Array.isArray(args) ? args.map(String) : [])]
    : undefined;
}

function lastOf(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

function digestOf(tools: readonly Tool[]): string {
  const digests = tools.map(({ digest }) => digest).sort();
  return createHash('sha256').update(digests.join(' ')).digest('base64url');
}

function nextOf(count: number, isUnverified: boolean): string {
  const more = count > MAX_NAMES ? ` Find the others with search_tools.` : '';
  return isUnverified
    ? `Call its tools with call_write_tool: nobody has vouched for this server, so all of them count as writes.${more}`
    : `Call its tools with call_read_tool or call_write_tool, as search_tools says.${more}`;
}
