import { dirname } from 'node:path';
import { LIMITS } from '../base/limits.ts';
import type { LimitName, Limits } from '../base/limits.ts';
import type { ConfiguredRegistry } from '../registry/registries.ts';
import type { UpstreamRecord } from '../roster/record.ts';
import { absolutePath } from './absolute-path.ts';
import type { Config, EmbedderChoice } from './config.ts';
import { defaultConfigPath } from './default-path.ts';
import { Findings } from './findings.ts';
import { plainValue } from './json-tree.ts';
import type { JsonMember } from './json-tree.ts';
import { isLoopbackHost } from './listen-address.ts';
import { quoted } from './problem.ts';
import type { Origin, Problem } from './problem.ts';
import { flagOf, placesOf, SETTING_NAMES, settingOf, snakeCase, variableOf } from './settings.ts';
import type { SettingName, Settings } from './settings.ts';
import { readSettingJson, readSettingText } from './setting-value.ts';
import type { ReadValue, SettingValue } from './setting-value.ts';
import { readRegistries } from './registry-entry.ts';
import type { KnownRegistryFacts } from './registry-entry.ts';
import { parseSource, readSource } from './source-file.ts';
import type { SourceFile } from './source-file.ts';
import { isServers, PLAIN_FORWARD, readServers } from './upstream-entry.ts';
import { UPSTREAM_TOKEN } from './upstream-token.ts';
import { isPlainRemote, mistakeInUrl } from './upstream-url.ts';

/** A setting as the command line gave it. */
export interface FlagValue {
  readonly name: SettingName;
  readonly text: string;
}

export interface LoadInput {
  /** In the order given: of one setting given twice, the last counts. */
  readonly flags: readonly FlagValue[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly platform: NodeJS.Platform;
  /** Stands for what is in the file: a text that is not written yet. */
  readonly fileText?: string;
  /** Whether whoever starts the program is the one who calls, as with every command but `serve`. */
  readonly hasOneCaller?: boolean;
  /** The registries that ship with the program; asked only when the file names registries of its own. */
  readonly knownRegistries?: () => Promise<KnownRegistryFacts>;
}

export type Loaded =
  | {
      readonly kind: 'settled';
      readonly config: Config;
      readonly settings: Settings;
      /** What its author will want to know, though it stops nothing. */
      readonly warnings: readonly Problem[];
      /** The file that was read, or would have been had it existed. */
      readonly path: string;
    }
  | {
      readonly kind: 'invalid';
      readonly problems: readonly Problem[];
      readonly warnings: readonly Problem[];
    };

/** What is known of a setting while places are joined: its value, and where that came from. */
interface Given {
  readonly value: SettingValue | undefined;
  readonly origin: Origin;
  /** The folder a relative path is taken from. */
  readonly folder: string;
}

/** Joins defaults < file < environment < flags into one configuration, or says everything that is wrong with them. */
export async function loadConfig(input: LoadInput): Promise<Loaded> {
  const findings = new Findings();
  const given = new Map<SettingName, Given>();
  // The weakest place first, so that a stronger one writes over it; each is read in full, so that no mistake hides.
  const byFlag = readFlags(input, findings);
  const byVariable = readVariables(input, findings);
  const named = byFlag.get('config') ?? byVariable.get('config');
  const path = named === undefined ? defaultConfigPath(input) : pathOf(named, input.home);
  const file = await openFile(path, named, input.fileText, findings);
  const members = file === undefined ? [] : membersOf(file, findings);
  const byFile = file === undefined ? [] : readFileSettings(file, members, findings);
  for (const place of [byFile, byVariable, byFlag]) for (const [name, value] of place) given.set(name, value);

  const settings = settle(given, input.home);
  checkTogether(settings, given, findings);
  const options = { insecureUpstream: settings.insecureUpstream, home: input.home };
  const found =
    file === undefined
      ? []
      : members.filter(isServers).flatMap((member) => readServers(member, file, findings, options));
  const upstreams: UpstreamRecord[] = [];
  for (const { record, start } of found) {
    if (file !== undefined && takes(upstreams, record.name)) {
      findings.problem(
        file.originAt(start),
        `a server named ${quoted(record.name)} was given before (letters' case does not count); rename one.`,
      );
    } else upstreams.push(record);
  }
  const forwarded = readForwarded(settings, given.get('upstream'), upstreams, findings, input);
  if (forwarded !== undefined) upstreams.push(forwarded);
  const registries =
    file === undefined ? [] : await registriesOf(members, file, findings, input.knownRegistries);
  const embedder = readEmbedder(settings, given, findings);
  const problems = await findings.problems();
  if (problems.length > 0) return { kind: 'invalid', problems, warnings: await findings.warnings() };
  if (upstreams.length === 0) {
    const message = `no upstream is configured: write mcpServers into ${path}, or give ${flagOf('upstream')} URL.`;
    findings.warning({ kind: 'default' }, message);
  }
  const warnings = await findings.warnings();
  return {
    kind: 'settled',
    config: configOf(settings, embedder, upstreams, registries),
    settings,
    warnings,
    path,
  };
}

async function registriesOf(
  members: readonly JsonMember[],
  file: SourceFile,
  findings: Findings,
  known: LoadInput['knownRegistries'],
): Promise<ConfiguredRegistry[]> {
  const member = members.find(({ key }) => key === 'registries');
  if (member === undefined) return [];
  return readRegistries(member, file, findings, (await known?.()) ?? { ids: new Set(), protocols: [] });
}

function takes(records: readonly UpstreamRecord[], name: string): boolean {
  return records.some((record) => record.name.toLowerCase() === name.toLowerCase());
}

function readFlags(input: LoadInput, findings: Findings): Map<SettingName, Given> {
  const given = new Map<SettingName, Given>();
  for (const { name, text } of input.flags) {
    const origin: Origin = { kind: 'flag', flag: flagOf(name) };
    if (name === 'upstream' && given.has(name)) {
      findings.problem(
        origin,
        'was given twice; give one, and write the others into mcpServers with "auth": "forward".',
      );
    }
    keep(given, name, readSettingText(name, text), origin, input.cwd, findings);
  }
  return given;
}

function readVariables(input: LoadInput, findings: Findings): Map<SettingName, Given> {
  const given = new Map<SettingName, Given>();
  const known = new Map(SETTING_NAMES.map((name) => [variableOf(name), name]));
  for (const [variable, text] of Object.entries(input.env)) {
    if (!variable.startsWith('MCPPROXY_') || variable === UPSTREAM_TOKEN) continue;
    const name = known.get(variable);
    const origin: Origin = { kind: 'variable', name: variable };
    if (name === undefined) {
      // A warning only: others may keep variables of this prefix for their references.
      findings.warning(origin, 'is no setting and is ignored.', { word: variable, among: [...known.keys()] });
      continue;
    }
    // Set but empty means unset: that is how compose files and CI pass what nobody gave.
    if (text === undefined || text === '') continue;
    keep(given, name, readSettingText(name, text), origin, input.cwd, findings);
  }
  return given;
}

function keep(
  given: Map<SettingName, Given>,
  name: SettingName,
  read: ReadValue,
  origin: Origin,
  folder: string,
  findings: Findings,
): void {
  if ('wrong' in read) findings.problem(origin, read.wrong);
  else given.set(name, { value: read.value, origin, folder });
}

function pathOf(given: Given, home: string): string {
  // Only settings that hold a path come here, and those are texts.
  return absolutePath(given.value as string, given.folder, home);
}

async function openFile(
  path: string,
  named: Given | undefined,
  text: string | undefined,
  findings: Findings,
): Promise<SourceFile | undefined> {
  const source = text === undefined ? await readSource(path) : await parseSource(path, text);
  switch (source.kind) {
    case 'read':
      return source.file;
    case 'missing':
      if (named !== undefined)
        findings.problem(named.origin, `there is no file ${path}; create it or name another.`);
      return undefined;
    case 'broken':
      for (const { origin, message } of source.problems) findings.problem(origin, message);
      return undefined;
  }
}

/** Keys other programs put beside their servers. */
const FOREIGN_KEYS: ReadonlySet<string> = new Set(['$schema', 'inputs']);

function membersOf(file: SourceFile, findings: Findings): readonly JsonMember[] {
  if (file.root.kind === 'object') return file.root.members;
  findings.problem(
    file.originAt(file.root.start),
    'the configuration must be an object: { "mcpServers": { … } }.',
  );
  return [];
}

function readFileSettings(
  file: SourceFile,
  members: readonly JsonMember[],
  findings: Findings,
): (readonly [SettingName, Given])[] {
  const known = new Map(
    SETTING_NAMES.flatMap((name) => [[name, name] as const, [snakeCase(name), name] as const]),
  );
  const given = new Map<SettingName, Given>();
  const seen = new Map<string, string>();
  const folder = dirname(file.path);
  for (const member of members) {
    const { key, keyStart, node } = member;
    const origin = file.originAt(keyStart);
    const name = known.get(key);
    const before = seen.get(name ?? key);
    seen.set(name ?? key, key);
    if (before !== undefined) {
      findings.problem(
        origin,
        before === key
          ? `"${key}" is given twice; keep one.`
          : `"${key}" is the same setting as "${before}"; keep one.`,
      );
    }
    if (isServers(member) || key === 'registries' || FOREIGN_KEYS.has(key)) continue;
    if (name === undefined) {
      const among = [
        ...SETTING_NAMES.filter((each) => placesOf(each).includes('file')),
        'mcpServers',
        'registries',
      ];
      findings.problem(origin, `${quoted(key)} is no setting.`, { word: key, among });
      continue;
    }
    if (!placesOf(name).includes('file')) {
      findings.problem(
        origin,
        `"${key}" cannot be set in the file it names; give ${flagOf(name)} or ${variableOf(name)}.`,
      );
      continue;
    }
    const read = readSettingJson(name, plainValue(node));
    if ('wrong' in read) findings.problem(file.originAt(node.start), `"${key}": ${read.wrong}`);
    else given.set(name, { value: read.value, origin: file.originAt(node.start), folder });
  }
  return [...given];
}

function settle(given: ReadonlyMap<SettingName, Given>, home: string): Settings {
  const settled = SETTING_NAMES.map((name) => {
    const found = given.get(name);
    const setting = settingOf(name);
    if (found !== undefined) return [name, setting.value.kind === 'path' ? pathOf(found, home) : found.value];
    if (setting.value.kind !== 'address' || setting.default === undefined) return [name, setting.default];
    const read = readSettingText(name, String(setting.default));
    return [name, 'value' in read ? read.value : undefined];
  });
  // Each value was read by its own row of the table, which the type is made of.
  return Object.fromEntries(settled) as Settings;
}

/** Pairs of limits of which the second is the outer one. */
const NESTED: readonly (readonly [LimitName, LimitName])[] = [
  ['callTimeoutMs', 'maxCallMs'],
  ['listingTtlMs', 'listingStaleMs'],
  ['registryAttemptMs', 'registrySearchMs'],
];

function checkTogether(settings: Settings, given: ReadonlyMap<SettingName, Given>, findings: Findings): void {
  for (const [inner, outer] of NESTED) {
    if (settings[inner] <= settings[outer]) continue;
    // Said of the one somebody gave; the defaults fit each other.
    const name = given.has(inner) ? inner : outer;
    const origin = given.get(name)?.origin ?? { kind: 'default' };
    findings.problem(
      origin,
      `${inner} (${settings[inner]}) may not be larger than ${outer} (${settings[outer]}).`,
    );
  }
}

/** The upstream of `--upstream URL`, named after the URL's host. */
function readForwarded(
  settings: Settings,
  given: Given | undefined,
  others: readonly UpstreamRecord[],
  findings: Findings,
  { env, hasOneCaller = false }: LoadInput,
): UpstreamRecord | undefined {
  const hasToken = (env[UPSTREAM_TOKEN] ?? '') !== '';
  const tokenOrigin: Origin = { kind: 'variable', name: UPSTREAM_TOKEN };
  if (settings.upstream === undefined || given === undefined) {
    if (hasToken)
      findings.warning(tokenOrigin, `is not used: it is for the server of ${flagOf('upstream')}.`);
    return undefined;
  }
  const usesToken = hasToken && (hasOneCaller || settings.stdio);
  if (hasToken && !usesToken)
    findings.warning(tokenOrigin, "is not used: over HTTP each caller's own credential goes there.");
  const url = settings.upstream;
  const mistake = mistakeInUrl(url);
  if (mistake !== undefined) {
    findings.problem(given.origin, `the URL ${mistake}`);
    return undefined;
  }
  if (isPlainRemote(url) && !settings.insecureUpstream) {
    findings.problem(given.origin, `the upstream ${PLAIN_FORWARD}`);
    return undefined;
  }
  const host = URL.canParse(url) ? new URL(url).hostname : 'upstream';
  let name = host;
  for (let n = 2; takes(others, name); n++) name = `${host}-${n}`;
  return {
    name,
    origin: 'config',
    trusted: true,
    enabled: true,
    ...(usesToken
      ? {
          auth: 'own',
          // By its name: the value is taken when it is sent.
          transport: { kind: 'http', url, headers: { Authorization: `Bearer \${env:${UPSTREAM_TOKEN}}` } },
        }
      : { auth: 'forward', transport: { kind: 'http', url, headers: {} } }),
  };
}

/** A model's name is that of a folder within the model folder, so it never leads out of it. */
const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Which embedding model is meant: `modelDir` alone selects the one in it, and `embedder` says which when both are given. */
function readEmbedder(
  { embedder, modelDir: folder, requireModel }: Settings,
  given: ReadonlyMap<SettingName, Given>,
  findings: Findings,
): EmbedderChoice {
  const asked = given.get('embedder');
  if (asked === undefined) {
    return folder === undefined ? { kind: 'packed' } : { kind: 'folder', folder, name: undefined };
  }
  const dir = given.get('modelDir');
  if (embedder === 'packed' || embedder === 'packed-small') {
    if (dir !== undefined) {
      const message = `is not used: ${flagOf('embedder')} ${embedder} is the model of the program.`;
      findings.warning(dir.origin, message);
    }
    return { kind: embedder };
  }
  if (embedder === 'none') {
    if (requireModel) {
      const origin = given.get('requireModel')?.origin ?? asked.origin;
      findings.problem(origin, `contradicts ${flagOf('embedder')} none; give one.`);
    }
    return { kind: 'none' };
  }
  if (!MODEL_NAME.test(embedder)) {
    const message = `${quoted(embedder)} is no model's name; give packed, packed-small, none or the name of a folder in ${flagOf('modelDir')}.`;
    findings.problem(asked.origin, message);
  } else if (folder === undefined) {
    const message = `${quoted(embedder)} is looked for in a model folder: give ${flagOf('modelDir')} DIR too, or packed, packed-small or none.`;
    findings.problem(asked.origin, message);
  } else return { kind: 'folder', folder, name: embedder };
  return { kind: 'none' };
}

/** Whether all callers are this machine's: nobody connects from elsewhere, and no caller's credential is passed on. */
function isLocal(settings: Settings, upstreams: readonly UpstreamRecord[]): boolean {
  const isForwarding = upstreams.some(({ auth, enabled }) => enabled && auth === 'forward');
  return !isForwarding && (settings.stdio || isLoopbackHost(settings.listen.host));
}

function configOf(
  settings: Settings,
  embedder: EmbedderChoice,
  upstreams: readonly UpstreamRecord[],
  registries: readonly ConfiguredRegistry[],
): Config {
  const names = Object.keys(LIMITS) as LimitName[];
  return {
    upstreams,
    listen: settings.listen,
    stdio: settings.stdio,
    allowedHosts: settings.allowedHosts,
    allowedOrigins: settings.allowedOrigins,
    writeTools: settings.writeTools,
    maxBatchCalls: settings.maxBatchCalls,
    maxInstructions: settings.maxInstructions,
    searchSchemas: settings.searchSchemas,
    embedder,
    requireModel: settings.requireModel,
    // Where an agent and its user are the only callers, finding servers is part of what it is for.
    discovery: settings.discovery ?? isLocal(settings, upstreams),
    agentAdds: settings.agentAdds,
    registrySearch: settings.registrySearch,
    checkServerRepo: settings.checkServerRepo,
    registries,
    limits: Object.fromEntries(names.map((name) => [name, settings[name]])) as {
      [Name in LimitName]: number;
    },
  } satisfies Config & { limits: Limits };
}
