/*
 * Reads one entry of `mcpServers`. Every key and every spelling other clients give it is here, so that an entry's
 * mistakes are found and told together.
 */
import { dirname } from 'node:path';
import type { UpstreamRecord, UpstreamTransport } from '../roster/record.ts';
import type { Findings, Hint } from './findings.ts';
import { absolutePath } from './absolute-path.ts';
import { plainValue } from './json-tree.ts';
import type { JsonMember, JsonNode } from './json-tree.ts';
import { quoted } from './problem.ts';
import { described } from './setting-value.ts';
import type { SourceFile } from './source-file.ts';
import { isPlainRemote, mistakeInUrl } from './upstream-url.ts';

/** Our names of an entry's keys, each with the names other clients give the same thing. */
export const ENTRY_KEYS = {
  name: ['name'],
  description: ['description'],
  command: ['command'],
  args: ['args'],
  env: ['env'],
  cwd: ['cwd', 'working_dir', 'workingDirectory'],
  url: ['url', 'httpUrl', 'serverUrl'],
  headers: ['headers'],
  type: ['type', 'transport', 'protocol'],
  start: ['start'],
  idleStopMs: ['idleStopMs', 'idle_stop_ms'],
  auth: ['auth'],
  origin: ['origin'],
  allowPrivate: ['allowPrivate', 'allow_private'],
  enabled: ['enabled'],
  disabled: ['disabled'],
} as const;

export type EntryKey = keyof typeof ENTRY_KEYS;

const KEY_OF = new Map<string, EntryKey>(
  Object.entries(ENTRY_KEYS).flatMap(([key, names]) =>
    names.map((name): [string, EntryKey] => [name, key as EntryKey]),
  ),
);

/** Keys of other clients that only concern their own screens, approvals or records. */
export const IGNORED_KEYS: ReadonlySet<string> = new Set(
  'alwaysAllow alwaysLoad autoApprove autoapprove created dev gallery icon source startup_timeout_sec timeout title tool_timeout_sec trust updated version'.split(
    ' ',
  ),
);

/** Keys of other clients that change what an entry does there and do nothing here, which its author should know. */
export const INEFFECTIVE_KEYS: ReadonlySet<string> = new Set(
  'authProviderType disabledTools disabled_tools enabledTools enabled_tools envFile excludeTools includeTools isolation oauth quarantined sandbox sandboxEnabled tools'.split(
    ' ',
  ),
);

/** Keys that hold upstreams; `servers` is VS Code's name for it. */
const SERVER_KEYS: ReadonlySet<string> = new Set(['mcpServers', 'mcp_servers', 'servers']);

export function isServers(member: JsonMember): boolean {
  return SERVER_KEYS.has(member.key);
}

/** The longest wait a timer can hold. */
const MAX_TIMER_MS = 2_147_483_647;

export interface EntryOptions {
  readonly insecureUpstream: boolean;
  readonly home: string;
}

export interface FoundUpstream {
  readonly record: UpstreamRecord;
  readonly file: SourceFile;
  readonly start: number;
}

/** Reads `mcpServers`: an object of entries by name, or an array of entries with a `name` each. */
export function readServers(
  member: JsonMember,
  file: SourceFile,
  findings: Findings,
  options: EntryOptions,
): FoundUpstream[] {
  const found: FoundUpstream[] = [];
  const { key, node } = member;
  if (node.kind === 'object') {
    for (const entry of node.members) {
      const reader = new EntryReader(
        entry.node,
        entry.keyStart,
        `${key}.${shown(entry.key)}`,
        file,
        findings,
      );
      const record = reader.read(entry.key, options);
      if (record !== undefined) found.push({ record, file, start: entry.keyStart });
    }
  } else if (node.kind === 'array') {
    for (const [index, entry] of node.elements.entries()) {
      const reader = new EntryReader(entry, entry.start, `${key}[${index}]`, file, findings);
      const record = reader.read(undefined, options);
      if (record !== undefined) found.push({ record, file, start: entry.start });
    }
  } else {
    findings.problem(
      file.originAt(node.start),
      `${key} must be an object of servers by name, or a list of them, not ${kindOf(node)}.`,
    );
  }
  return found;
}

function shown(key: string): string {
  return /^[\w-]+$/.test(key) ? key : quoted(key);
}

interface Mistake {
  readonly at: number;
  readonly message: string;
  readonly hint?: Hint;
}

/** Reads one entry. Values of `env` and `headers` appear in no message; only their names do. */
class EntryReader {
  readonly #node: JsonNode;
  readonly #start: number;
  readonly #path: string;
  readonly #file: SourceFile;
  readonly #findings: Findings;
  readonly #mistakes: Mistake[] = [];
  readonly #members = new Map<EntryKey, JsonMember>();

  constructor(node: JsonNode, start: number, path: string, file: SourceFile, findings: Findings) {
    this.#node = node;
    this.#start = start;
    this.#path = path;
    this.#file = file;
    this.#findings = findings;
  }

  /** The record, or undefined when something in the entry is wrong (which is then among the findings). */
  read(key: string | undefined, options: EntryOptions): UpstreamRecord | undefined {
    const isObject = this.#sortMembers();
    const isEnabled = isObject ? this.#isEnabled() : true;
    const record = isObject ? this.#record(key, isEnabled, options) : undefined;
    if (this.#mistakes.length === 0) return record;
    for (const { at, message, hint } of this.#mistakes) {
      // An entry that is switched off stops nothing: its author may be leaving it out just because of this.
      if (isEnabled) this.#findings.problem(this.#file.originAt(at), message, hint);
      else
        this.#findings.warning(
          this.#file.originAt(at),
          `${message} It is disabled, so it is left out.`,
          hint,
        );
    }
    return undefined;
  }

  #wrong(at: number, message: string, part = ''): undefined {
    this.#mistakes.push({ at, message: `${this.#path}${part} ${message}` });
    return undefined;
  }

  #sortMembers(): boolean {
    if (this.#node.kind !== 'object') {
      this.#wrong(this.#node.start, `must be an object with a command or a url, not ${kindOf(this.#node)}.`);
      return false;
    }
    for (const member of this.#node.members) {
      const key = KEY_OF.get(member.key);
      if (key === undefined) {
        this.#unknown(member);
        continue;
      }
      const before = this.#members.get(key);
      if (before !== undefined) {
        const both =
          before.key === member.key
            ? `has "${member.key}" twice`
            : `has both "${before.key}" and "${member.key}"`;
        this.#wrong(member.keyStart, `${both}; keep one.`);
      }
      this.#members.set(key, member);
    }
    return true;
  }

  #unknown(member: JsonMember): void {
    if (IGNORED_KEYS.has(member.key) || member.key.startsWith('$')) return;
    const origin = this.#file.originAt(member.keyStart);
    if (INEFFECTIVE_KEYS.has(member.key)) {
      this.#findings.warning(origin, `${this.#path} has "${member.key}", which has no effect here.`);
      return;
    }
    this.#findings.warning(
      origin,
      `${this.#path} has the unknown key ${quoted(member.key)}, which is ignored.`,
      {
        word: member.key,
        among: Object.keys(ENTRY_KEYS),
      },
    );
  }

  #isEnabled(): boolean {
    const enabled = this.#boolean('enabled');
    const disabled = this.#boolean('disabled');
    if (enabled !== undefined && disabled !== undefined && enabled === disabled) {
      this.#wrong(this.#start, 'says both enabled and disabled; keep one.');
      return true;
    }
    return enabled ?? !(disabled ?? false);
  }

  #boolean(key: EntryKey): boolean | undefined {
    const member = this.#members.get(key);
    if (member === undefined) return undefined;
    const { node } = member;
    if (node.kind === 'other' && typeof node.value === 'boolean') return node.value;
    return this.#wrong(
      node.start,
      `must be true or false, not ${described(plainValue(node))}.`,
      `.${member.key}`,
    );
  }

  #record(key: string | undefined, enabled: boolean, options: EntryOptions): UpstreamRecord | undefined {
    const name = this.#name(key);
    const auth = this.#auth();
    const transport = this.#transport(options.home);
    const description = this.#description();
    const origin = this.#origin();
    const allowPrivate = this.#boolean('allowPrivate') ?? false;
    if (auth === 'forward' && transport !== undefined) this.#checkForwarded(transport, options);
    if (auth === 'forward' && origin === 'agent') {
      this.#wrong(
        this.#start,
        'was added by an agent, so it may not be sent callers\' credentials ("auth").',
      );
    }
    if (name === undefined || auth === undefined || transport === undefined || origin === undefined)
      return undefined;
    return {
      name,
      origin,
      trusted: origin !== 'agent',
      enabled,
      auth,
      transport,
      ...(description === undefined ? {} : { description }),
      ...(origin === 'agent' && !allowPrivate ? { publicOnly: true } : {}),
    };
  }

  /** Who added it. What an agent added is not trusted, whatever else the entry says, until a person approves it. */
  #origin(): 'config' | 'agent' | undefined {
    const member = this.#members.get('origin');
    if (member === undefined) return 'config';
    const { node } = member;
    if (node.kind === 'string' && (node.value === 'config' || node.value === 'agent')) return node.value;
    return this.#wrong(node.start, 'must be "agent" (an agent added it) or "config" (you did).', '.origin');
  }

  /** On one line: it becomes part of a tool's description. */
  #description(): string | undefined {
    const member = this.#members.get('description');
    const text =
      member === undefined
        ? undefined
        : this.#text(member)
            ?.replaceAll(/[\s\p{Cc}]+/gu, ' ')
            .trim();
    return text === '' ? undefined : text;
  }

  #name(key: string | undefined): string | undefined {
    const member = this.#members.get('name');
    // In the object form the key is the name; a `name` inside is what some clients show.
    const given = key ?? (member === undefined ? undefined : this.#text(member));
    if (given === undefined) {
      if (member === undefined) this.#wrong(this.#start, 'has no name; in a list each server needs one.');
      return undefined;
    }
    const at = key === undefined ? (member?.node.start ?? this.#start) : this.#start;
    if (given.trim() === '') return this.#wrong(at, 'has an empty name.');
    if (given !== given.trim()) return this.#wrong(at, 'has a name with spaces around it; remove them.');
    if (/\p{Cc}/u.test(given)) return this.#wrong(at, 'has a control character in its name.');
    if (given.length > 100) return this.#wrong(at, 'has a name longer than 100 characters.');
    return given;
  }

  #auth(): 'own' | 'forward' | undefined {
    const member = this.#members.get('auth');
    if (member === undefined) return 'own';
    const { node } = member;
    if (node.kind === 'string' && (node.value === 'own' || node.value === 'forward')) return node.value;
    const message = `must be "own" (its configured headers) or "forward" (the caller's Authorization).`;
    return this.#wrong(node.start, message, '.auth');
  }

  #transport(home: string): UpstreamTransport | undefined {
    const command = this.#members.get('command');
    const url = this.#members.get('url');
    const type = this.#type();
    if (type === undefined) return undefined;
    if (command !== undefined && url !== undefined) {
      return this.#wrong(this.#start, `has both a command and a ${url.key}; keep the one that reaches it.`);
    }
    if ((type === 'http' || type === 'sse') && command !== undefined)
      return this.#wrong(this.#start, 'is of an HTTP type but has a command, not a url.');
    if (type === 'stdio' && url !== undefined)
      return this.#wrong(this.#start, `is of type stdio but has a ${url.key}, not a command.`);
    if (command !== undefined) return this.#stdio(command, home);
    if (url !== undefined) return this.#http(url, type === 'sse');
    return this.#wrong(this.#start, 'has neither a command nor a url; give the one that reaches it.');
  }

  #type(): 'http' | 'sse' | 'stdio' | 'unsaid' | undefined {
    const member = this.#members.get('type');
    if (member === undefined) return 'unsaid';
    const { node } = member;
    const value = node.kind === 'string' ? node.value : '';
    switch (value.toLowerCase().replaceAll(/[-_]/g, '')) {
      case 'stdio':
        return 'stdio';
      case 'http':
      case 'streamablehttp':
        return 'http';
      case 'sse':
        return 'sse';
      default:
        return this.#wrong(
          node.start,
          `must be "stdio", "http" or "sse", not ${described(plainValue(node))}.`,
          `.${member.key}`,
        );
    }
  }

  #stdio(command: JsonMember, home: string): UpstreamTransport | undefined {
    const text = this.#text(command);
    if (text?.trim() === '')
      return this.#wrong(command.node.start, 'is empty; give the program to run.', '.command');
    const args = this.#args();
    const env = this.#texts('env', (name) =>
      /^[^=]+$/.test(name) ? undefined : 'is no name a variable can have.',
    );
    const cwd = this.#members.get('cwd');
    const folder = cwd === undefined ? undefined : this.#text(cwd);
    if (this.#members.has('headers')) {
      this.#wrong(this.#start, 'has headers, but a command is sent none; give it what it needs as env.');
    }
    const life = this.#life();
    if (text === undefined || args === undefined || env === undefined || life === undefined) return undefined;
    const transport = { kind: 'stdio', command: text, args, env, ...life } as const;
    return folder === undefined
      ? transport
      : { ...transport, cwd: absolutePath(folder, dirname(this.#file.path), home) };
  }

  /** When the command runs, as far as the entry says so. */
  #life(): { readonly start?: 'eager' | 'lazy'; readonly idleStopMs?: number } | undefined {
    const start = this.#members.get('start');
    const idle = this.#members.get('idleStopMs');
    const how = start?.node.kind === 'string' ? start.node.value : undefined;
    if (start !== undefined && how !== 'eager' && how !== 'lazy') {
      const message = 'must be "eager" (with the proxy) or "lazy" (when its tools are first needed).';
      return this.#wrong(start.node.start, message, '.start');
    }
    const ms = idle?.node.kind === 'other' ? idle.node.value : undefined;
    const isTime = typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= MAX_TIMER_MS;
    if (idle !== undefined && !isTime) {
      const message = `must be a whole number of milliseconds, 0 (never) to ${MAX_TIMER_MS}.`;
      return this.#wrong(idle.node.start, message, `.${idle.key}`);
    }
    return {
      ...(how === 'eager' || how === 'lazy' ? { start: how } : {}),
      ...(isTime ? { idleStopMs: ms } : {}),
    };
  }

  #http(member: JsonMember, isSse: boolean): UpstreamTransport | undefined {
    const url = this.#text(member);
    const mistake = url === undefined ? undefined : mistakeInUrl(url);
    if (mistake !== undefined) return this.#wrong(member.node.start, mistake, `.${member.key}`);
    for (const key of ['args', 'env', 'cwd', 'start', 'idleStopMs'] as const) {
      const other = this.#members.get(key);
      if (other === undefined || isEmpty(other.node)) continue;
      const message = `${this.#path} has "${other.key}", which has no effect on a server reached by ${member.key}.`;
      this.#findings.warning(this.#file.originAt(other.keyStart), message);
    }
    // RFC 9110 §5.1: a header's name is a token.
    const isName = (name: string): boolean => /^[!#$%&'*+.^_`|~\w-]+$/.test(name);
    const headers = this.#texts('headers', (name) =>
      isName(name) ? undefined : 'is no name a header can have.',
    );
    if (url === undefined || headers === undefined) return undefined;
    this.#foreignReferences(member.node, `.${member.key}`);
    return { kind: 'http', url: url.trim(), headers, ...(isSse ? { type: 'sse' } : {}) };
  }

  #checkForwarded(transport: UpstreamTransport, options: EntryOptions): void {
    if (transport.kind === 'stdio') {
      this.#wrong(
        this.#start,
        'is a command with "auth": "forward"; only a server reached by url can be sent the caller\'s Authorization.',
      );
      return;
    }
    if (Object.keys(transport.headers).length > 0) {
      this.#wrong(
        this.#start,
        'has headers and "auth": "forward"; a forwarded server is sent the caller\'s Authorization and nothing else.',
      );
    }
    if (isPlainRemote(transport.url) && !options.insecureUpstream) this.#wrong(this.#start, PLAIN_FORWARD);
  }

  #args(): string[] | undefined {
    const member = this.#members.get('args');
    if (member === undefined) return [];
    const { node } = member;
    if (node.kind !== 'array') {
      return this.#wrong(node.start, 'must be a list, one text for each argument.', '.args');
    }
    const args = node.elements.map((element, index) => this.#scalar(element, `.args[${index}]`));
    return args.every((arg) => arg !== undefined) ? args : undefined;
  }

  /** `env` or `headers`: texts by name. */
  #texts(
    key: 'env' | 'headers',
    mistakeInName: (name: string) => string | undefined,
  ): Record<string, string> | undefined {
    const member = this.#members.get(key);
    if (member === undefined) return {};
    if (member.node.kind !== 'object') {
      return this.#wrong(member.node.start, 'must be an object of texts by name.', `.${key}`);
    }
    const texts = new Map<string, string>();
    for (const { key: name, keyStart, node } of member.node.members) {
      const part = `.${key}.${shown(name)}`;
      const mistake = mistakeInName(name);
      if (mistake !== undefined) {
        this.#wrong(keyStart, mistake, part);
        continue;
      }
      const text = this.#scalar(node, part);
      if (text === undefined) continue;
      if (key === 'headers' && /[\r\n]/.test(text))
        this.#wrong(node.start, 'holds a line break, which no header can.', part);
      this.#foreignReferences(node, part);
      texts.set(name, text);
    }
    return Object.fromEntries(texts);
  }

  #text(member: JsonMember): string | undefined {
    if (member.node.kind !== 'string') {
      return this.#wrong(
        member.node.start,
        `must be text in quotes, not ${kindOf(member.node)}.`,
        `.${member.key}`,
      );
    }
    return this.#scalar(member.node, `.${member.key}`);
  }

  /** A text, or a number or boolean as the file spells it (`1.10` stays `1.10`). Its value is in no message. */
  #scalar(node: JsonNode, part: string): string | undefined {
    if (node.kind === 'string') {
      if (node.value.includes('\0')) return this.#wrong(node.start, 'holds a NUL character.', part);
      return node.value;
    }
    if (node.kind === 'other' && node.value !== null) return this.#file.textOf(node);
    return this.#wrong(node.start, `must be text in quotes, not ${kindOf(node)}.`, part);
  }

  #foreignReferences(node: JsonNode, part: string): void {
    if (node.kind !== 'string' || !/\$\{(?!env:[A-Za-z_]\w*\})/.test(node.value)) return;
    const message = `${this.#path}${part} holds a \${…} that is not \${env:NAME}; it is sent as it is written.`;
    this.#findings.warning(this.#file.originAt(node.start), message);
  }
}

/** What a value is, without saying it: it may be a secret in the wrong place. */
function kindOf(node: JsonNode): string {
  switch (node.kind) {
    case 'object':
      return 'an object';
    case 'array':
      return 'a list';
    case 'string':
      return 'a text';
    case 'other':
      return node.value === null ? 'null' : `a ${typeof node.value}`;
  }
}

/** Why a forwarded upstream on plain http is refused, said of it. */
export const PLAIN_FORWARD =
  "would get callers' credentials over plain http; give its https URL, or set insecureUpstream (--insecure-upstream) if the network between is yours.";

function isEmpty(node: JsonNode): boolean {
  return (
    (node.kind === 'object' && node.members.length === 0) ||
    (node.kind === 'array' && node.elements.length === 0)
  );
}
