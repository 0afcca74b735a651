import { repositoryOf } from './packages/repository.ts';
import type { ServerEntry } from './server-entry.ts';

/**
 * Joins what several registries list of one server: the same endpoint, the same package, or the same repository and
 * the same last part of the name (one repository may hold many servers). The first one found stays, and says where
 * else it is listed.
 */
export function merged<T extends { readonly entry: ServerEntry }>(found: readonly T[]): readonly T[] {
  const kept: T[] = [];
  const seen = new Map<string, number>();
  for (const each of found) {
    const marks = marksOf(each.entry);
    const at = marks.map((mark) => seen.get(mark)).find((index) => index !== undefined);
    const before = at === undefined ? undefined : kept[at];
    if (at === undefined || before === undefined || before.entry.registry_id === each.entry.registry_id) {
      for (const mark of marks) if (!seen.has(mark)) seen.set(mark, kept.length);
      kept.push(each);
      continue;
    }
    for (const mark of marks) if (!seen.has(mark)) seen.set(mark, at);
    const note = `also listed by ${each.entry.registry} as ${each.entry.id}`;
    const notes = [...(before.entry.notes ?? []), note];
    kept[at] = { ...before, entry: { ...before.entry, notes } };
  }
  return kept;
}

function marksOf(entry: ServerEntry): readonly string[] {
  const marks: string[] = [];
  for (const url of [entry.url, entry.connectUrl]) {
    if (url !== null) marks.push(`url ${url.replace(/\/+$/, '').toLowerCase()}`);
  }
  for (const each of entry.alternatives ?? []) {
    if (each.kind === 'package') marks.push(`package ${each.type} ${each.identifier.toLowerCase()}`);
    else marks.push(`url ${each.url.replace(/\/+$/, '').toLowerCase()}`);
  }
  // A single package is in no list of alternatives; its install command names it.
  if (entry.installCmd !== null) marks.push(`install ${entry.installCmd.toLowerCase()}`);
  const repository = entry.source_code_url === null ? undefined : repositoryOf(entry.source_code_url);
  if (repository !== undefined) {
    const name = entry.name.slice(entry.name.lastIndexOf('/') + 1).toLowerCase();
    marks.push(`repository ${repository.host}/${repository.owner}/${repository.name} ${name}`);
  }
  return marks;
}
