import { homedir } from 'node:os';
import { printable } from './meta-answer.ts';
import type { RegistryListing, SearchSinks, ServerFinder, ServerQuery } from '../registry/server-finder.ts';
import type { ServerEntry } from '../registry/server-entry.ts';
import { configOf } from './context.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { untilStopped } from './stop-signal.ts';
import { firstSentence, tableText } from './table.ts';

/** Finds MCP servers in registries; starts no upstream for it. */
export async function searchServers(context: Context): Promise<number> {
  const { createServerFinder } = await import('../registry/search-servers.ts');
  const { registries, registrySearch, checkServerRepo, limits } = configOf(context);
  const finder = createServerFinder({
    registries,
    registrySearch,
    checkServerRepo,
    limits,
    env: process.env,
    home: homedir(),
    platform: process.platform,
  });
  try {
    return await searchServersWith(finder, context);
  } finally {
    await finder.close();
  }
}

/** The command in front of any finder. */
export async function searchServersWith(finder: ServerFinder, context: Context): Promise<number> {
  const { flags } = context.line;
  if (flags.has('list-registries')) return listRegistries(finder, context);
  const registry = flags.get('registry');
  if (registry === undefined) {
    context.output.error(
      `--registry is required (use \`mcpproxy search-servers --list-registries\` to see options): ${finder.choice}, or all.`,
    );
    return EXIT.usage;
  }
  const limit = flags.get('limit');
  const query: ServerQuery = {
    registry,
    ...given('search', flags.get('search')),
    ...given('tag', flags.get('tag')),
    ...(limit === undefined ? {} : { limit: Number(limit) }),
  };
  const stop = new AbortController();
  const stopped = untilStopped().then((code) => {
    stop.abort(new Error('stopped'));
    return code;
  });
  return Promise.race([search(finder, query, context, stop.signal), stopped]);
}

function given(name: 'search' | 'tag', text: string | undefined): Partial<ServerQuery> {
  return text === undefined ? {} : { [name]: text };
}

async function search(
  finder: ServerFinder,
  query: ServerQuery,
  { line, output }: Context,
  signal: AbortSignal,
): Promise<number> {
  let isDone = output.progress(`asking ${query.registry ?? ''}…`);
  const sinks: SearchSinks = {
    signal,
    onProgress: (text) => {
      isDone();
      isDone = output.progress(`${text}…`);
    },
    ...(line.flags.has('verbose') ? { onRequest: (text: string) => output.note(text) } : {}),
  };
  const answer = await finder.search(query, sinks).finally(() => isDone());
  const { servers, matched, warnings, truncated, next } = answer;
  const [first] = servers;
  if (output.isJson) await output.print(JSON.stringify(servers, undefined, 2));
  else if (first !== undefined) await output.print(serverBlocks(servers));
  if (first === undefined) {
    const nothing = nothingFound(query, finder);
    if (output.isJson) output.note(nothing);
    else await output.print(nothing);
  }
  for (const warning of warnings) output.note(`mcpproxy: note: ${printable(warning)}`);
  if (truncated && first !== undefined) {
    const more =
      matched > servers.length
        ? `the best ${servers.length} of ${matched}`
        : `${servers.length}; there may be more`;
    output.note(`shown: ${more} (--limit, at most 50)`);
  }
  if (line.flags.has('verbose')) output.note(`source: ${answer.source}, as of ${answer.asOf}`);
  if (next !== undefined) output.note(printable(next));
  return EXIT.done;
}

function nothingFound({ registry = '', search, tag }: ServerQuery, finder: ServerFinder): string {
  const name =
    finder.registries.find(({ id }) => id.toLowerCase() === registry.toLowerCase())?.name ?? registry;
  const parts = [
    `registry ${name}`,
    ...(search === undefined ? [] : [`query ${search}`]),
    ...(tag === undefined ? [] : [`tag ${tag}`]),
  ];
  return `No servers found for ${printable(parts.join(' and '))}.`;
}

/** A block for each server, not a table: an address that is cut or broken into lines is of no use. */
function serverBlocks(servers: readonly ServerEntry[]): string {
  return servers
    .map((entry) => {
      const title = entry.title === null || entry.title === entry.name ? '' : `  ${entry.title}`;
      const from = `  [${entry.registry}]`;
      const lines = [
        firstSentence(entry.description ?? ''),
        ...reachOf(entry),
        ...needsOf(entry),
        ...(entry.notes ?? []).map((note) => `note: ${note}`),
      ].filter((text) => text !== '');
      return [`${entry.name}${title}${from}`, ...lines.map((line) => `    ${line}`)]
        .map(printable)
        .join('\n');
    })
    .join('\n\n');
}

function reachOf(entry: ServerEntry): string[] {
  const lines: string[] = [];
  if (entry.url !== null) lines.push(entry.url);
  else if (entry.connectUrl !== null) lines.push(entry.connectUrl);
  if (entry.launch !== null) lines.push(entry.launch.map(quotedArgument).join(' '));
  else if (entry.installCmd !== null) lines.push(entry.installCmd);
  for (const facts of [entry.repository_info.npm, entry.repository_info.pypi]) {
    if (facts?.exists === true) {
      lines.push(
        `${facts.type}: ${facts.package_name} ${facts.version ?? ''} ${facts.verified ? '(verified)' : '(not verified to be this server)'}`,
      );
    }
  }
  return lines;
}

/** For reading; nobody is invited to paste it. */
function quotedArgument(argument: string): string {
  return /^[\w@%+=:,./{}-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", String.raw`'\''`)}'`;
}

function needsOf({ required_inputs: { env, headers, url, args = [] } }: ServerEntry): string[] {
  const names = [...env, ...headers, ...url, ...args]
    .filter(({ required, default: value }) => required && value === null)
    .map(({ name, secret }) => (secret ? `${name} (secret)` : name));
  return names.length === 0 ? [] : [`needs ${names.join(', ')}`];
}

async function listRegistries({ registries }: ServerFinder, { output }: Context): Promise<number> {
  if (output.isJson) {
    await output.print(JSON.stringify(registries, undefined, 2));
    return EXIT.done;
  }
  const open = registries.filter(({ searchable, enabled }) => searchable || !enabled);
  const closed = registries.filter((registry) => !open.includes(registry));
  const rows = open.map((registry) => [registry.id, registry.name, capabilitiesOf(registry)]);
  await output.print(await tableText(output, ['ID', 'NAME', 'WHAT IT CAN DO'], rows));
  if (closed.length > 0) {
    await output.print('\nThese have no servers endpoint; browse them:');
    await output.print(
      await tableText(
        output,
        ['ID', 'PAGE'],
        closed.map(({ id, url }) => [id, url ?? '']),
      ),
    );
  }
  return EXIT.done;
}

function capabilitiesOf(registry: RegistryListing): string {
  if (!registry.enabled) return 'switched off in the configuration';
  const parts = [
    registry.server_search === 'names' ? 'searches names' : 'searchable',
    registry.server_tags ? 'tags' : '',
    registry.addable ? 'addable' : 'rarely addable',
    registry.key_required
      ? `needs a key (${registry.key_variable ?? ''}${registry.key_present ? ', present' : ', not set'})`
      : '',
    registry.insecure ? 'insecure: plain http' : '',
    registry.unconfirmed ? 'format not confirmed' : '',
    registry.origin === 'config' ? 'yours' : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}
