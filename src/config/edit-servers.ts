import type { FormattingOptions, JSONPath } from 'jsonc-parser';
import { ProxyError } from '../base/errors.ts';
import type { JsonObject } from '../roster/store.ts';
import type { UpstreamEdit } from '../roster/store.ts';
import { insertMember } from './insert-member.ts';
import { plainValue, readTree } from './json-tree.ts';
import type { JsonNode } from './json-tree.ts';
import { quoted } from './problem.ts';
import { ENTRY_KEYS, isServers } from './upstream-entry.ts';

/** A file's text with one upstream changed; all the rest of it, comments too, to the letter as it was. */
export interface EditedServers {
  readonly text: string;
  readonly before?: JsonObject;
  readonly after?: JsonObject;
}

/** Where an entry stands in a file. */
interface Found {
  readonly path: JSONPath;
  readonly node: JsonNode;
}

/** An upstream's entry in the text of a configuration file, by its name. */
export async function findServer(text: string, name: string): Promise<JsonObject | undefined> {
  const found = serverIn(await rootOf(text), name);
  // The reading of the file has made sure that entries are objects; what is none is shown as an empty one.
  return found === undefined ? undefined : objectOf(found.node);
}

/**
 * Changes one upstream in the text of a configuration file. `upstream_exists` when the name of a new one is taken,
 * letters' case not counting; `upstream_not_found` when there is none of that name.
 */
export async function editServers(text: string, edit: UpstreamEdit, file: string): Promise<EditedServers> {
  const { modify, applyEdits } = await import('jsonc-parser');
  const base = text.trim() === '' || text.trim() === '\uFEFF' ? '{}\n' : text;
  const formattingOptions = formatOf(base);
  // Without formatting options nothing around what is removed is laid out anew.
  const change = (from: string, path: JSONPath, value: unknown): string =>
    applyEdits(from, modify(from, path, value, value === undefined ? {} : { formattingOptions }));

  const root = await rootOf(base);
  const found = serverIn(root, edit.name);
  if (edit.kind === 'add') {
    if (found !== undefined) {
      throw new ProxyError(
        'upstream_exists',
        `There is a server named ${quoted(edit.name)} already, in ${file}. Choose another name, or update that one.`,
      );
    }
    return { text: added(base, root, edit.name, edit.entry, formattingOptions), after: edit.entry };
  }
  if (found === undefined) {
    throw new ProxyError('upstream_not_found', `There is no server named ${quoted(edit.name)} in ${file}.`);
  }
  const before = objectOf(found.node);
  if (edit.kind === 'remove') return { text: change(base, found.path, undefined), before };
  let edited = base;
  for (const [path, value] of changesOf(before, withOwnKeys(edit.patch, before))) {
    edited = change(edited, [...found.path, ...path], value);
  }
  return { text: edited, before, after: objectOf(serverIn(await rootOf(edited), edit.name)?.node) };
}

/** Puts a new entry at the end of the servers there are, in the form they are written in. */
function added(
  text: string,
  root: JsonNode,
  name: string,
  entry: JsonObject,
  { insertSpaces = true, tabSize = 2, eol = '\n' }: FormattingOptions,
): string {
  const layout = { unit: insertSpaces ? ' '.repeat(tabSize) : '\t', eol };
  const member = root.kind === 'object' ? root.members.find(isServers) : undefined;
  switch (member?.node.kind) {
    case 'array':
      return insertMember(text, member.node, undefined, { name, ...entry }, layout);
    case 'object':
      return insertMember(text, member.node, name, entry, layout);
    case undefined:
      if (root.kind === 'object') return insertMember(text, root, 'mcpServers', { [name]: entry }, layout);
      break;
    case 'string':
    case 'other':
      break;
  }
  // What is wrong with the file is said when the outcome is read.
  return text;
}

function serverIn(root: JsonNode, name: string): Found | undefined {
  if (root.kind !== 'object') return undefined;
  const all = root.members.filter(isServers).flatMap(({ key, node }): (Found & { name: string })[] => {
    if (node.kind === 'object')
      return node.members.map((each) => ({ name: each.key, path: [key, each.key], node: each.node }));
    if (node.kind !== 'array') return [];
    return node.elements.map((each, index) => ({
      name: String(objectOf(each)['name']),
      path: [key, index],
      node: each,
    }));
  });
  const same = (each: { name: string }): boolean => each.name.toLowerCase() === name.toLowerCase();
  return all.find((each) => each.name === name) ?? all.find(same);
}

async function rootOf(text: string): Promise<JsonNode> {
  const tree = await readTree(text.trim() === '' ? '{}' : text.replace(/^\uFEFF/, ' '));
  if ('root' in tree) return tree.root;
  throw new ProxyError(
    'config_invalid',
    `The configuration file is not valid JSON, so nothing in it is changed: ${tree.mistakes[0]?.message ?? ''}`,
  );
}

function objectOf(node: JsonNode | undefined): JsonObject {
  return node?.kind === 'object' ? (plainValue(node) as JsonObject) : {};
}

/** A patch's keys as the entry writes them: `url` is `serverUrl` where the entry says so. */
function withOwnKeys(patch: JsonObject, entry: JsonObject): JsonObject {
  const all = Object.entries(patch).map(([key, value]) => {
    const names = Object.values(ENTRY_KEYS).find((each) => (each as readonly string[]).includes(key)) ?? [];
    return [names.find((name) => Object.hasOwn(entry, name)) ?? key, value] as const;
  });
  // An entry says whether it is on in one way.
  if (Object.hasOwn(patch, 'enabled') && Object.hasOwn(entry, 'disabled')) all.push(['disabled', null]);
  return Object.fromEntries(all);
}

/** The places a merge patch (RFC 7396) changes, each with its new value; `undefined` removes. */
function* changesOf(before: unknown, patch: JsonObject): Generator<readonly [JSONPath, unknown]> {
  const old = isObject(before) ? before : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      if (Object.hasOwn(old, key)) yield [[key], undefined];
    } else if (isObject(value)) {
      if (isObject(old[key]))
        for (const [path, inner] of changesOf(old[key], value)) yield [[key, ...path], inner];
      else yield [[key], withoutNulls(value)];
    } else yield [[key], value];
  }
}

function withoutNulls(value: JsonObject): JsonObject {
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([key, inner]) => [key, isObject(inner) ? withoutNulls(inner) : inner]));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Indentation and line ends as the file has them. */
function formatOf(text: string): FormattingOptions {
  const [, indent = '  '] = /\n([ \t]+)\S/.exec(text) ?? [];
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return indent.startsWith('\t')
    ? { insertSpaces: false, tabSize: 1, eol }
    : { insertSpaces: true, tabSize: indent.length, eol };
}
