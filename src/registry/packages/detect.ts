import { openDeadline } from '../../base/deadline.ts';
import type { ListedServer } from '../listed-server.ts';
import { isExactVersion, isPackageName, pypiName } from '../package-name.ts';
import { installOf } from '../launch.ts';
import type { PackageFacts } from '../server-entry.ts';
import { MAX_DESCRIPTION, cleaned } from '../text.ts';
import type { FoundPackage, PackageLookup } from './lookup.ts';
import { pageOfPackage } from './pages.ts';
import { candidateNames, isSameRepository } from './repository.ts';

export interface ServerPackages {
  readonly npm: PackageFacts | null;
  readonly pypi: PackageFacts | null;
}

/** Longest the packages of one server are looked up for; the answer does not wait longer. */
const DETECT_MS = 5_000;

/**
 * Finds out which packages a server comes as: those it declares, or else those its repository's name suggests. A
 * package of the right name may be somebody else's; `verified` is only what its own record says of this server.
 */
export async function detectPackages(
  server: ListedServer,
  lookup: PackageLookup,
  signal: AbortSignal | undefined,
): Promise<ServerPackages> {
  const deadline = openDeadline(signal, DETECT_MS);
  try {
    const guessed = server.packages.length === 0 && server.sourceUrl !== undefined;
    const candidates = guessed ? candidateNames(server.sourceUrl ?? '') : { npm: [], pypi: [] };
    const [npm, pypi] = await Promise.all(
      (['npm', 'pypi'] as const).map((type) => {
        const declared = server.packages.find((each) => each.type === type);
        const version =
          declared?.version !== undefined && isExactVersion(declared.version) ? declared.version : undefined;
        const names = declared === undefined ? candidates[type] : [declared.identifier];
        return detect(type, names, version, declared !== undefined, server, lookup, deadline.signal);
      }),
    );
    return { npm: npm ?? null, pypi: pypi ?? null };
  } finally {
    deadline.dispose();
  }
}

async function detect(
  type: 'npm' | 'pypi',
  names: readonly string[],
  version: string | undefined,
  isDeclared: boolean,
  server: ListedServer,
  lookup: PackageLookup,
  signal: AbortSignal,
): Promise<PackageFacts | null> {
  let unverified: PackageFacts | null = null;
  let unknown: string | undefined;
  for (const name of names) {
    if (!isPackageName(type, name)) continue;
    const looked = await lookup.look(type, name, version, signal);
    switch (looked.kind) {
      case 'missing':
        break;
      case 'unknown':
        unknown ??= name;
        break;
      case 'found': {
        const facts = factsOf(type, name, looked.found, belongsTo(looked.found, server));
        if (facts.verified) return facts;
        unverified ??= facts;
      }
    }
  }
  if (unverified !== null) return unverified;
  if (unknown !== undefined) return { ...emptyFacts(type, unknown), exists: null };
  const [first] = names;
  return isDeclared && first !== undefined && isPackageName(type, first)
    ? { ...emptyFacts(type, first), exists: false }
    : null;
}

function belongsTo(found: FoundPackage, server: ListedServer): boolean {
  if (found.mcpName !== undefined && [server.id, server.name].includes(found.mcpName)) return true;
  return found.links.some((link) => isSameRepository(link, server.sourceUrl));
}

function factsOf(type: 'npm' | 'pypi', name: string, found: FoundPackage, verified: boolean): PackageFacts {
  const { version, description } = found;
  return {
    ...emptyFacts(type, name),
    version: version !== undefined && isExactVersion(version) ? version : null,
    description: description === undefined ? null : cleaned(description, MAX_DESCRIPTION),
    exists: true,
    verified,
  };
}

function emptyFacts(type: 'npm' | 'pypi', written: string): PackageFacts {
  const name = type === 'pypi' ? pypiName(written) : written;
  return {
    type,
    package_name: name,
    version: null,
    description: null,
    install_cmd: installOf(type, name) ?? '',
    url: pageOfPackage(type, name),
    exists: null,
    verified: false,
  };
}
