import { LIMITS } from '../base/limits.ts';
import type { LimitName } from '../base/limits.ts';

/** Where a setting may be given. `config` cannot be given in the file it names. */
export type SettingPlace = 'flag' | 'variable' | 'file';

/** What a setting's value looks like; `setting-value.ts` reads each kind from text and from JSON. */
export type SettingKind =
  | { readonly kind: 'switch' }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number; readonly unit: string }
  | { readonly kind: 'text'; readonly shape: string }
  /** A file or folder; a relative one is taken from the working folder, or from the config file's folder. */
  | { readonly kind: 'path'; readonly shape: string }
  | { readonly kind: 'list'; readonly of: 'pattern' | 'host'; readonly shape: string }
  | { readonly kind: 'choice'; readonly choices: readonly string[]; readonly shape: string }
  | { readonly kind: 'address' };

interface Setting {
  readonly value: SettingKind;
  readonly default: boolean | number | string | readonly string[] | undefined;
  /** An example of a good value, as one would type it after the flag. */
  readonly example: string;
  /** One sentence for the help and the reference page; the default is added by what prints it. */
  readonly sentence: string;
  readonly places?: readonly SettingPlace[];
}

/** The longest wait a timer can hold (Node turns anything above into 1 ms). */
const MAX_TIMER_MS = 2_147_483_647;
/** A message is one string, and V8 holds none longer than about 2^29 characters. */
const MAX_BYTES = 500_000_000;
const MAX_COUNT = 1_000_000;

/** Limits that may be 0, and what that means is plain: do not wait. Every other limit is at least 1. */
const MAY_BE_ZERO: ReadonlySet<LimitName> = new Set([
  'startWaitMs',
  'instructionsWaitMs',
  'drainMs',
  'maxQueuedCalls',
]);

const OWN = {
  listen: {
    value: { kind: 'address' },
    default: '127.0.0.1:8080',
    example: '127.0.0.1:8080',
    sentence:
      'Where to serve HTTP, at /mcp; without a host (:8080) only this machine can connect, 0.0.0.0:8080 opens it to the network.',
  },
  stdio: {
    value: { kind: 'switch' },
    default: false,
    example: 'true',
    sentence: 'Serve one client on stdin and stdout instead of HTTP.',
  },
  config: {
    value: { kind: 'path', shape: 'FILE' },
    default: undefined,
    example: 'mcpproxy.json',
    sentence: 'The configuration file: JSON with mcpServers and any of these settings; comments are allowed.',
    places: ['flag', 'variable'],
  },
  upstream: {
    value: { kind: 'text', shape: 'URL' },
    default: undefined,
    example: 'https://gateway.example.com/mcp',
    sentence: "One MCP server to stand in front of, called with each caller's own Authorization header.",
  },
  writeTools: {
    value: { kind: 'list', of: 'pattern', shape: 'NAMES' },
    default: [],
    example: 'files__*,run_query',
    sentence:
      'Tools that count as writes whatever their upstream says, by own or exposed name; * stands for any characters.',
  },
  maxBatchCalls: {
    value: { kind: 'integer', min: 0, max: 100, unit: 'calls' },
    default: 10,
    example: '10',
    sentence: 'Most calls in one call_read_tools; 0 leaves that tool out.',
  },
  maxInstructions: {
    value: { kind: 'integer', min: 0, max: 1_000_000, unit: 'characters' },
    default: 10_000,
    example: '10000',
    sentence:
      "Most characters of the upstreams' own instructions passed on; longer ones are cut, with a note saying so.",
  },
  searchSchemas: {
    value: { kind: 'integer', min: 0, max: 25, unit: 'matches' },
    default: 3,
    example: '3',
    sentence: "How many of a search's best matches carry their input schema.",
  },
  embedder: {
    value: { kind: 'text', shape: 'NAME' },
    default: 'packed',
    example: 'packed',
    sentence:
      'What searches by meaning beside words: packed (the built-in model), packed-small (its smaller half), none, or the name of a model in the model folder.',
  },
  modelDir: {
    value: { kind: 'path', shape: 'DIR' },
    default: undefined,
    example: './model',
    sentence: 'The folder an embedding model lies in (see fetch-model); given alone, it selects that model.',
  },
  requireModel: {
    value: { kind: 'switch' },
    default: false,
    example: 'true',
    sentence:
      'Do not start without the embedding model; off, one that is missing or damaged means searching by words alone.',
  },
  allowedHosts: {
    value: { kind: 'list', of: 'host', shape: 'HOSTS' },
    default: [],
    example: 'mcp.example.com',
    sentence: 'Host names requests may name besides the loopback ones; empty on a network address: any.',
  },
  allowedOrigins: {
    value: { kind: 'list', of: 'host', shape: 'HOSTS' },
    default: [],
    example: 'app.example.com',
    sentence: 'Host names of web pages that may call the proxy from a browser, besides loopback ones.',
  },
  insecureUpstream: {
    value: { kind: 'switch' },
    default: false,
    example: 'true',
    sentence: "Allow callers' credentials to be forwarded over plain http to another machine.",
  },
  allowUnauthenticated: {
    value: { kind: 'switch' },
    default: false,
    example: 'true',
    sentence:
      'Allow serving upstreams that use your own credentials on a network address, to anybody who can reach it.',
  },
  discovery: {
    value: { kind: 'switch' },
    default: undefined,
    example: 'true',
    sentence:
      'Offer models search_servers, which finds MCP servers in public registries, and (where only this machine can connect and no server is forwarded) upstream_servers, which adds them. On there, off elsewhere.',
  },
  agentAdds: {
    value: { kind: 'choice', choices: ['allow', 'approve', 'deny'], shape: 'HOW' },
    default: 'allow',
    example: 'approve',
    sentence:
      'What models may add: allow public https servers at once, their tools counting as writes until you approve them; approve hides those tools until then; deny.',
  },
  registrySearch: {
    value: { kind: 'switch' },
    default: true,
    example: 'false',
    sentence: 'Let registries of servers be searched; off, none is ever asked.',
  },
  checkServerRepo: {
    value: { kind: 'switch' },
    default: true,
    example: 'false',
    sentence: 'Look up in npm and the Python index which packages found servers come as.',
  },
  logLevel: {
    value: { kind: 'choice', choices: ['silent', 'warn', 'info', 'debug'], shape: 'LEVEL' },
    default: 'info',
    example: 'warn',
    sentence: 'What is logged to stderr while serving: nothing, what goes wrong, each call, or everything.',
  },
  logFormat: {
    value: { kind: 'choice', choices: ['auto', 'lines', 'json'], shape: 'HOW' },
    default: 'auto',
    example: 'json',
    sentence:
      'How it is logged: lines for people, JSON for machines, or auto: lines on a terminal, else JSON.',
  },
  logCallers: {
    value: { kind: 'switch' },
    default: true,
    example: 'false',
    sentence:
      'Mark log lines of one caller with the same eight digits, which are new at each start and say nothing about who it is.',
  },
  auditLog: {
    value: { kind: 'path', shape: 'FILE' },
    default: undefined,
    example: './audit.jsonl',
    sentence:
      'A file to which each call of a tool is appended: when, which, read or write, how it went; no arguments.',
  },
  metricsListen: {
    value: { kind: 'address' },
    default: undefined,
    example: '127.0.0.1:9090',
    sentence:
      'Where to serve /metrics for Prometheus, /healthz and /readyz for the operator; nowhere when not given.',
  },
} as const satisfies Record<string, Setting>;

function limitSettings(): {
  readonly [Name in LimitName]: Setting & { readonly value: { readonly kind: 'integer' } };
} {
  const rows = Object.entries(LIMITS).map(([name, limit]) => {
    const min = MAY_BE_ZERO.has(name as LimitName) ? 0 : 1;
    const max = limit.unit === 'ms' ? MAX_TIMER_MS : limit.unit === 'bytes' ? MAX_BYTES : MAX_COUNT;
    const value = { kind: 'integer', min, max, unit: limit.unit } as const;
    return [
      name,
      { value, default: limit.default, example: String(limit.default), sentence: limit.sentence },
    ];
  });
  // fromEntries forgets the keys, which are LIMITS' own.
  return Object.fromEntries(rows) as ReturnType<typeof limitSettings>;
}

/** Every setting there is, in the order people read them. Flags, variables, file keys, help and the reference page come from here. */
const SETTINGS = { ...OWN, ...limitSettings() };

export type SettingName = keyof typeof SETTINGS;

/** Names in the table's order. */
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

export function settingOf(name: SettingName): Setting {
  return SETTINGS[name];
}

export function placesOf(name: SettingName): readonly SettingPlace[] {
  return settingOf(name).places ?? ['flag', 'variable', 'file'];
}

/** `maxBatchCalls` → `--max-batch-calls`; one dash does as well. */
export function flagOf(name: SettingName): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `maxBatchCalls` → `MCPPROXY_MAX_BATCH_CALLS`. */
export function variableOf(name: SettingName): string {
  return `MCPPROXY_${snakeCase(name).toUpperCase()}`;
}

/** `maxBatchCalls` → `max_batch_calls`, which the file may use too. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type ValueOf<Kind extends SettingKind> = Kind extends { kind: 'switch' }
  ? boolean
  : Kind extends { kind: 'integer' }
    ? number
    : Kind extends { kind: 'list' }
      ? readonly string[]
      : Kind extends { kind: 'choice'; choices: readonly (infer Choice)[] }
        ? Choice
        : Kind extends { kind: 'address' }
          ? ListenAddress
          : string;

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

type Absent<Name extends SettingName> = (typeof SETTINGS)[Name]['default'] extends undefined
  ? undefined
  : never;

/** The settled value of every setting. */
export type Settings = {
  readonly [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]['value']> | Absent<Name>;
};
