import { shellWord } from '../base/shell-word.ts';
import type { ServerEntry } from './server-entry.ts';

/** What has to be said to add a server: where it is, or where it is listed. */
export type Addition =
  | { readonly name: string; readonly url: string }
  | { readonly registry: string; readonly id: string };

/**
 * How a found server is added; undefined when it cannot be. By its URL where nothing else is needed to reach it,
 * otherwise by reference, so that what it needs is asked for by name.
 */
export function additionOf(entry: ServerEntry): Addition | undefined {
  const { env, headers, url, args = [] } = entry.required_inputs;
  const isOpen = [...headers, ...url].some((input) => input.required && input.default === null);
  const plain = entry.name.replaceAll(/[^\p{L}\p{N} ._/@-]+/gu, '').trim();
  const name = plain === '' ? entry.id : plain;
  if (entry.url !== null && !isOpen && headers.length === 0) return { name, url: entry.url };
  const hasWay = entry.url !== null || entry.launch !== null || (entry.connectUrl !== null && url.length > 0);
  const reference = { registry: entry.registry_id, id: entry.id };
  return hasWay || env.length + args.length > 0 ? reference : undefined;
}

/** What to do with the one server that was found, for a person. */
export function nextStep(entry: ServerEntry): { readonly next?: string } {
  const addition = additionOf(entry);
  if (addition === undefined) return {};
  const flags = Object.entries(addition).map(([name, value]) => `--${name} ${shellWord(value)}`);
  return { next: `Found 1 server. Run \`mcpproxy upstream_servers add ${flags.join(' ')}\` to add it.` };
}
