import { mistakeInGuardedUrl } from '../net/guarded-fetch.ts';
import { launchOf } from './launch.ts';
import type { ListedPackage, ListedRemote, ListedServer } from './listed-server.ts';
import { wellKnownNear } from './near-package.ts';
import type { ServerPackages } from './packages/detect.ts';
import type { Registry } from './registries.ts';
import type { Alternative, ServerEntry } from './server-entry.ts';
import { filled } from './server-json.ts';

/** Labels we derive of every server, whatever its registry says. */
export const DERIVED_TAGS = ['remote', 'local', 'npm', 'pypi', 'oci', 'official'] as const;

/**
 * What is decided of a listed server: how it is reached, how it is run, what has to be given, how it is labelled.
 * `found` is what the package registries know of it, once they were asked.
 */
export function entryOf(
  server: ListedServer,
  registry: Registry,
  found: ServerPackages = { npm: null, pypi: null },
): ServerEntry {
  const notes = [...server.notes];
  const remotes = server.remotes.map((remote) => judgeRemote(remote, registry, notes));
  const usable = remotes.filter((remote) => remote.url !== null);
  const main =
    usable.find(({ listed }) => listed.transport === 'streamable-http') ??
    usable[0] ??
    remotes.find(({ template }) => template !== null);
  const second = usable.find((remote) => remote !== main);
  const packages = server.packages.length > 0 ? server.packages : provenPackages(found);
  const launches = packages.map((listed) => ({ listed, launch: launchOf(listed, versionIn(found, listed)) }));
  const chosen = launches.find(({ launch }) => launch.argv !== null) ?? launches[0];
  for (const { launch } of launches) if (launch.note !== undefined) notes.push(launch.note);
  const argv = chosen?.launch.argv ?? null;
  for (const { type, identifier } of packages) {
    const near = type === 'npm' || type === 'pypi' ? wellKnownNear(type, identifier) : undefined;
    if (near !== undefined)
      notes.push(`look twice: its package ${identifier} is one letter away from the well-known ${near}`);
  }
  const argInputs = chosen?.listed.argInputs ?? [];
  const tags = labelsOf(server, packages, remotes, registry);
  return {
    id: server.id,
    name: server.name,
    title: server.title ?? null,
    description: server.description ?? null,
    url: main?.url ?? null,
    connectUrl: main?.template ?? second?.url ?? null,
    source_code_url: server.sourceUrl ?? null,
    installCmd: chosen?.launch.installCmd ?? null,
    launch: argv,
    repository_info: { npm: found.npm, pypi: found.pypi },
    required_inputs: {
      env: chosen?.listed.env ?? [],
      headers: main?.listed.headers ?? [],
      url: main?.listed.variables ?? [],
      ...(argInputs.length === 0 ? {} : { args: argInputs }),
    },
    transport:
      main === undefined
        ? (chosen?.listed.transport ?? (argv === null ? null : 'stdio'))
        : main.listed.transport,
    tags,
    updatedAt: server.updatedAt ?? null,
    createdAt: server.createdAt ?? null,
    registry: registry.name,
    registry_id: registry.id,
    ...(launches.length + remotes.length > 1 ? { alternatives: alternativesOf(remotes, launches) } : {}),
    ...(notes.length === 0 ? {} : { notes: [...new Set(notes)] }),
  };
}

/** A package nobody declared, but whose own record names this server, counts as one it comes as. */
function provenPackages(found: ServerPackages): readonly ListedPackage[] {
  return [found.npm, found.pypi]
    .filter((facts) => facts?.verified === true)
    .flatMap((facts) =>
      facts === null
        ? []
        : [
            {
              type: facts.type,
              identifier: facts.package_name,
              version: facts.version ?? undefined,
              runtime: undefined,
              runtimeArgs: [],
              packageArgs: [],
              argInputs: [],
              env: [],
              transport: 'stdio',
            },
          ],
    );
}

function versionIn(found: ServerPackages, listed: ListedPackage): string | undefined {
  const facts = listed.type === 'npm' ? found.npm : listed.type === 'pypi' ? found.pypi : null;
  return facts?.version ?? undefined;
}

interface JudgedRemote {
  readonly listed: ListedRemote;
  /** Ready to connect to; null when something has to be filled in first, or it may not be used. */
  readonly url: string | null;
  /** The listed URL, when it has places. */
  readonly template: string | null;
}

/**
 * A listed URL is data of strangers: only https (or http, said so) reaches an entry, and a private address only from
 * a registry whose operator said it lists their own network.
 */
function judgeRemote(listed: ListedRemote, registry: Registry, notes: string[]): JudgedRemote {
  const nothing = { listed, url: null, template: null };
  const hasPlaces = /\{[\w.-]+\}/.test(listed.url);
  const defaults = Object.fromEntries(listed.variables.map(({ name, default: value }) => [name, { value }]));
  const url = hasPlaces ? filled(listed.url, defaults) : listed.url;
  const isOpen = /\{[\w.-]+\}/.test(url);
  // Places of the kind a host name or a path can hold, so that the rest of the template is judged too.
  const probe = url.replaceAll(/\{[\w.-]+\}/g, 'x');
  if (/^wss?:/i.test(probe)) {
    notes.push('it lists a WebSocket address, which MCP has no transport for');
    return nothing;
  }
  const startsOpen = /^\{[\w.-]+\}/.test(url);
  const checked = startsOpen ? 'https://x.example/' : probe;
  const mistake = mistakeInGuardedUrl(checked, { allowInsecure: true, allowPrivate: registry.allowPrivate });
  if (mistake !== undefined || /[\s"'`<>\\\p{Cc}\p{Cf}]/u.test(url)) {
    notes.push(`an address it lists is left out: it ${mistake ?? 'holds characters no URL has'}`);
    return nothing;
  }
  if (isLocalName(checked) && !registry.allowPrivate) {
    notes.push('an address it lists is left out: it names this machine');
    return nothing;
  }
  if (checked.toLowerCase().startsWith('http:'))
    notes.push('its address is plain http: what is sent can be read on the way');
  return { listed, url: isOpen ? null : url, template: hasPlaces ? listed.url : null };
}

function isLocalName(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname.endsWith('.localhost');
}

function labelsOf(
  server: ListedServer,
  packages: readonly ListedPackage[],
  remotes: readonly JudgedRemote[],
  registry: Registry,
): readonly string[] {
  const types = packages.map(({ type }) => type);
  const derived = [
    remotes.some(({ url, template }) => url !== null || template !== null) ? 'remote' : '',
    packages.length > 0 ? 'local' : '',
    ...['npm', 'pypi', 'oci'].filter((type) => types.includes(type)),
    registry.isOfficial ? 'official' : '',
  ].filter((tag) => tag !== '');
  return [...new Set([...derived, ...server.tags])];
}

function alternativesOf(
  remotes: readonly JudgedRemote[],
  launches: readonly {
    readonly listed: ListedPackage;
    readonly launch: { readonly argv: readonly string[] | null };
  }[],
): readonly Alternative[] {
  return [
    ...remotes.flatMap(({ listed, url, template }): Alternative[] => {
      const shown = url ?? template;
      if (shown === null) return [];
      const { transport, headers, variables } = listed;
      return [{ kind: 'remote', transport, url: shown, headers, variables }];
    }),
    ...launches.map(({ listed, launch }): Alternative => ({
      kind: 'package',
      type: listed.type,
      identifier: listed.identifier,
      version: listed.version ?? null,
      launch: launch.argv,
      env: listed.env,
    })),
  ];
}
