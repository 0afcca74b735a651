import type { ConfiguredRegistry } from '../registry/registries.ts';
import type { Findings } from './findings.ts';
import { plainValue } from './json-tree.ts';
import type { JsonMember, JsonNode } from './json-tree.ts';
import { quoted } from './problem.ts';
import { described } from './setting-value.ts';
import type { SourceFile } from './source-file.ts';

/** Our names of an entry's keys, each with the other names it is read under. */
export const REGISTRY_KEYS = {
  id: ['id'],
  name: ['name'],
  url: ['url'],
  serversUrl: ['serversUrl', 'servers_url'],
  protocol: ['protocol'],
  enabled: ['enabled'],
  allowInsecure: ['allowInsecure', 'allow_insecure'],
  allowPrivate: ['allowPrivate', 'allow_private'],
  apiKeyEnv: ['apiKeyEnv', 'api_key_env'],
} as const;

export type RegistryKey = keyof typeof REGISTRY_KEYS;

const KEY_OF = new Map<string, RegistryKey>(
  Object.entries(REGISTRY_KEYS).flatMap(([key, names]) =>
    names.map((name): [string, RegistryKey] => [name, key as RegistryKey]),
  ),
);

/** Keys lists of registries carry elsewhere, which only describe. */
const DESCRIBING: ReadonlySet<string> = new Set(['description', 'tags', 'count']);

const SWITCHES: ReadonlySet<RegistryKey> = new Set(['enabled', 'allowInsecure', 'allowPrivate']);

/** What an entry under the id of a registry that ships may say; where it is and what it speaks is not among it. */
const FOR_KNOWN: ReadonlySet<RegistryKey> = new Set(['id', 'enabled', 'allowInsecure', 'apiKeyEnv']);

/** What has to be known of the registries that ship; asked only when a file names registries. */
export interface KnownRegistryFacts {
  readonly ids: ReadonlySet<string>;
  readonly protocols: readonly string[];
}

/** Reads `registries`: a list of entries with an `id` each. */
export function readRegistries(
  member: JsonMember,
  file: SourceFile,
  findings: Findings,
  known: KnownRegistryFacts,
): ConfiguredRegistry[] {
  const { key, node } = member;
  if (node.kind !== 'array') {
    findings.problem(
      file.originAt(node.start),
      `${key} must be a list of registries, such as [{ "id": "acme", "servers_url": "https://…" }].`,
    );
    return [];
  }
  const found: ConfiguredRegistry[] = [];
  for (const [index, element] of node.elements.entries()) {
    const registry = readEntry(element, `${key}[${index}]`, file, findings, known);
    if (registry === undefined) continue;
    if (found.some(({ id }) => id.toLowerCase() === registry.id.toLowerCase())) {
      findings.problem(
        file.originAt(element.start),
        `a registry ${quoted(registry.id)} was given before; rename one.`,
      );
    } else found.push(registry);
  }
  return found;
}

function readEntry(
  node: JsonNode,
  path: string,
  file: SourceFile,
  findings: Findings,
  known: KnownRegistryFacts,
): ConfiguredRegistry | undefined {
  let isWrong = false;
  const wrong = (at: number, message: string): undefined => {
    isWrong = true;
    findings.problem(file.originAt(at), `${path}${message}`);
    return undefined;
  };
  if (node.kind !== 'object') return wrong(node.start, ' must be an object with an id and a servers_url.');

  const values = new Map<RegistryKey, JsonMember>();
  for (const member of node.members) {
    const key = KEY_OF.get(member.key);
    if (key !== undefined) values.set(key, member);
    else if (!DESCRIBING.has(member.key)) {
      findings.warning(
        file.originAt(member.keyStart),
        `${path} has the unknown key ${quoted(member.key)}, which is ignored.`,
        { word: member.key, among: Object.keys(REGISTRY_KEYS) },
      );
    }
  }
  const texts = new Map<RegistryKey, string>();
  const switches = new Map<RegistryKey, boolean>();
  for (const [key, { key: written, node: value }] of values) {
    if (SWITCHES.has(key)) {
      if (value.kind === 'other' && typeof value.value === 'boolean') switches.set(key, value.value);
      else wrong(value.start, `.${written} must be true or false, not ${described(plainValue(value))}.`);
    } else if (value.kind === 'string') {
      if (value.value.trim() !== '') texts.set(key, value.value.trim());
    } else wrong(value.start, `.${written} must be text in quotes, not ${described(plainValue(value))}.`);
  }

  const id = texts.get('id');
  if (id === undefined)
    return isWrong ? undefined : wrong(node.start, ' has no id; searches name it by that.');
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(id) || id.toLowerCase() === 'all') {
    return wrong(
      node.start,
      `.id ${quoted(id)} cannot be used; give letters, digits, ".", "_" and "-", and not "all".`,
    );
  }
  const isKnown = known.ids.has(id.toLowerCase());
  if (isKnown) {
    const more = [...values.keys()].find((key) => !FOR_KNOWN.has(key));
    if (more !== undefined) {
      return wrong(
        values.get(more)?.keyStart ?? node.start,
        ` redefines ${quoted(id)}, which ships with the program: only enabled, allowInsecure and apiKeyEnv can be set for it. Give yours another id.`,
      );
    }
  } else checkAddress(texts.get('serversUrl'), switches, values, node, wrong);

  const protocol = texts.get('protocol');
  if (protocol !== undefined && !known.protocols.includes(protocol)) {
    findings.warning(
      file.originAt(values.get('protocol')?.node.start ?? node.start),
      `${path}.protocol ${quoted(protocol)} is not one we know, so the default parser reads it.`,
      { word: protocol, among: known.protocols },
    );
  }
  const variable = texts.get('apiKeyEnv');
  if (variable !== undefined && !/^[A-Za-z_]\w*$/.test(variable)) {
    wrong(
      values.get('apiKeyEnv')?.node.start ?? node.start,
      '.apiKeyEnv must be the name of an environment variable, never the key itself.',
    );
  }
  if (isWrong) return undefined;
  // Each value was read by the kind its key has.
  return {
    ...Object.fromEntries(texts),
    ...Object.fromEntries(switches),
    id: isKnown ? id.toLowerCase() : id,
  };
}

function checkAddress(
  url: string | undefined,
  switches: ReadonlyMap<RegistryKey, boolean>,
  values: ReadonlyMap<RegistryKey, JsonMember>,
  node: JsonNode,
  wrong: (at: number, message: string) => undefined,
): void {
  const member = values.get('serversUrl');
  const at = member?.node.start ?? node.start;
  // Without an address it is a registry to show, with its page, as some that ship are.
  if (url === undefined) {
    if (!values.has('url')) wrong(at, ' has neither a servers_url to read nor a url to show.');
    return;
  }
  const path = `.${member?.key ?? 'servers_url'}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    wrong(at, `${path} must be an https URL.`);
    return;
  }
  const { protocol, username, password } = new URL(url);
  if (username !== '' || password !== '') {
    wrong(at, `${path} holds credentials; name the variable that holds its key with apiKeyEnv.`);
  }
  if (protocol === 'http:' && switches.get('allowInsecure') !== true) {
    wrong(
      at,
      `${path} is plain http; give its https URL, or set "allowInsecure": true (and "allowPrivate": true, if it is in your own network).`,
    );
  }
}
