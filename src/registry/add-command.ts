import type { ServerEntry } from './server-entry.ts';

/**
 * The command line that adds a server, for a person to run; undefined when nothing of it can be added. It holds
 * texts of strangers and ends up in somebody's shell: what is not plain is not put into it.
 */
export function addCommand(entry: ServerEntry): string | undefined {
  const needsMore = [...entry.required_inputs.headers, ...entry.required_inputs.url].some(
    ({ required, default: given }) => required && given === null,
  );
  if (entry.url !== null && !needsMore && isPlainUrl(entry.url)) {
    return `mcpproxy upstream_servers add --name "${plainName(entry)}" --url "${entry.url}"`;
  }
  const canBeAdded = entry.url !== null || entry.connectUrl !== null || entry.launch !== null;
  if (!canBeAdded || !/^[\w@./:+-]+$/.test(entry.id) || !/^[\w-]+$/.test(entry.registry_id)) return undefined;
  return `mcpproxy upstream_servers add --registry ${entry.registry_id} --id ${entry.id}`;
}

/** Characters that mean nothing to a shell within double quotes. */
function isPlainUrl(url: string): boolean {
  return /^[\w:/.~?&=%@+,;()[\]{}*#-]+$/.test(url);
}

function plainName(entry: ServerEntry): string {
  const name = entry.name
    .replaceAll(/[^\p{L}\p{N} ._/@-]+/gu, '')
    .replace(/^[\s-]+/, '')
    .trim();
  return name === '' ? entry.id.replaceAll(/[^\w.-]+/g, '-') : name;
}
