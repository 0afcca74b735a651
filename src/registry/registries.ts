import { distance } from 'fastest-levenshtein';
import { ProxyError } from '../base/errors.ts';
import { KNOWN_REGISTRIES } from './known.ts';
import type { KnownRegistry } from './known.ts';
import { isProtocol } from './protocol.ts';
import type { Protocol } from './protocol.ts';

/** A registry somebody wrote into their configuration; or, under an id of ours, switches for one we know. */
export interface ConfiguredRegistry {
  readonly id: string;
  readonly name?: string;
  readonly url?: string;
  readonly serversUrl?: string;
  readonly protocol?: string;
  readonly enabled?: boolean;
  readonly allowInsecure?: boolean;
  readonly allowPrivate?: boolean;
  /** Name of the environment variable that holds its key. */
  readonly apiKeyEnv?: string;
}

/** One registry of a run: known or configured, everything settled. */
export interface Registry {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly description: string;
  /** The page people read. */
  readonly homepage: string | undefined;
  /** Undefined: it has no listing a program can read. */
  readonly serversUrl: string | undefined;
  readonly protocol: Protocol;
  readonly tags: readonly string[];
  readonly isOfficial: boolean;
  readonly requiresKey: boolean;
  readonly apiKeyEnv: string | undefined;
  readonly enabled: boolean;
  readonly allowInsecure: boolean;
  readonly allowPrivate: boolean;
  readonly origin: 'known' | 'config';
}

/** The registries of a run, known ones first, each in its table's order. */
export class Registries {
  readonly all: readonly Registry[];

  constructor(configured: readonly ConfiguredRegistry[], known: readonly KnownRegistry[] = KNOWN_REGISTRIES) {
    const byId = new Map(known.map((row) => [row.id, fromTable(row)]));
    for (const one of configured) {
      const before = byId.get(one.id);
      byId.set(one.id, before === undefined ? fromConfig(one) : switched(before, one));
    }
    this.all = [...byId.values()];
  }

  /**
   * The registry of an id or a name, letters' case not counting. What somebody configured goes before an older name
   * of one we know.
   */
  find(wanted: string): Registry {
    const name = wanted.trim().toLowerCase();
    const found =
      this.all.find(({ id }) => id.toLowerCase() === name) ??
      this.all.find((registry) => registry.name.toLowerCase() === name) ??
      this.all.find(({ aliases }) => aliases.includes(name));
    if (found !== undefined) return found;
    const near = this.#near(name);
    const hint =
      near.length === 0 ? `Known are ${this.#searchable()}.` : `Did you mean ${near.join(' or ')}?`;
    throw new ProxyError('registry_not_found', `Registry with ID '${shown(wanted)}' not found. ${hint}`);
  }

  /** Those a search can ask: enabled, with a listing. */
  get searchable(): readonly Registry[] {
    return this.all.filter((registry) => registry.enabled && registry.serversUrl !== undefined);
  }

  /** The ids to choose from, for a sentence. */
  get choice(): string {
    return this.#searchable();
  }

  #searchable(): string {
    return this.searchable.map(({ id }) => id).join(', ');
  }

  #near(name: string): readonly string[] {
    const plain = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
    const wanted = plain(name);
    if (wanted.length < 2) return [];
    return this.all
      .map((registry) => {
        const names = [registry.id, registry.name, ...registry.aliases].map(plain);
        const far = Math.min(...names.map((each) => distance(wanted, each)));
        const contains = names.some(
          (each) => each.includes(wanted) || (each.length > 3 && wanted.includes(each)),
        );
        return { id: registry.id, far: contains ? Math.min(far, 1) : far };
      })
      .filter(({ far }) => far <= Math.max(1, Math.floor(wanted.length / 3)))
      .sort((a, b) => a.far - b.far)
      .slice(0, 3)
      .map(({ id }) => id);
  }
}

function shown(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 60);
}

function fromTable(row: KnownRegistry): Registry {
  return {
    id: row.id,
    name: row.name,
    aliases: row.aliases ?? [],
    description: row.description,
    homepage: row.url,
    serversUrl: row.serversUrl,
    protocol: row.protocol ?? 'default',
    tags: row.tags ?? [],
    isOfficial: row.tags?.includes('official') ?? false,
    requiresKey: row.requiresKey ?? false,
    apiKeyEnv: row.apiKeyEnv,
    enabled: true,
    allowInsecure: false,
    allowPrivate: false,
    origin: 'known',
  };
}

function fromConfig(one: ConfiguredRegistry): Registry {
  return {
    id: one.id,
    name: one.name ?? one.id,
    aliases: [],
    description: '',
    homepage: one.url,
    serversUrl: one.serversUrl,
    protocol: one.protocol !== undefined && isProtocol(one.protocol) ? one.protocol : 'default',
    tags: [],
    // Only a registry that ships with the program is one of the official ones.
    isOfficial: false,
    requiresKey: one.apiKeyEnv !== undefined,
    apiKeyEnv: one.apiKeyEnv,
    enabled: one.enabled ?? true,
    allowInsecure: one.allowInsecure ?? false,
    allowPrivate: one.allowPrivate ?? false,
    origin: 'config',
  };
}

/** A known registry with its owner's switches; where it is and what it speaks stays ours. */
function switched(known: Registry, one: ConfiguredRegistry): Registry {
  return {
    ...known,
    enabled: one.enabled ?? known.enabled,
    allowInsecure: one.allowInsecure ?? known.allowInsecure,
    apiKeyEnv: one.apiKeyEnv ?? known.apiKeyEnv,
  };
}
