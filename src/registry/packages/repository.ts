/** A code repository, however its URL was written. */
export interface Repository {
  readonly host: string;
  readonly owner: string;
  readonly name: string;
}

const SHORT_HOSTS: Readonly<Record<string, string>> = {
  github: 'github.com',
  gitlab: 'gitlab.com',
  bitbucket: 'bitbucket.org',
};

/**
 * Reads `https://github.com/Acme/Tide.git`, `git+ssh://git@github.com/acme/tide`, `git@github.com:acme/tide.git`,
 * `github:acme/tide` and `acme/tide`, all as the same repository. Letters' case does not count on code hosts.
 */
export function repositoryOf(text: string): Repository | undefined {
  const plain = text
    .trim()
    .replace(/^git\+/, '')
    .replace(/[#?].*$/, '');
  const short = /^(?:(github|gitlab|bitbucket):)?([\w.-]+)\/([\w.-]+)$/.exec(plain);
  if (short !== null) return of(SHORT_HOSTS[short[1] ?? 'github'] ?? '', short[2] ?? '', short[3] ?? '');
  const scp = /^[\w.-]+@([\w.-]+):([\w.-]+)\/([\w.-]+)\/?$/.exec(plain);
  if (scp !== null) return of(scp[1] ?? '', scp[2] ?? '', scp[3] ?? '');
  if (!URL.canParse(plain)) return undefined;
  const url = new URL(plain);
  if (!/^(?:https?|git|ssh):$/.test(url.protocol)) return undefined;
  const [owner, name] = url.pathname.split('/').filter((part) => part !== '');
  return owner === undefined || name === undefined ? undefined : of(url.hostname, owner, name);
}

function of(host: string, owner: string, name: string): Repository | undefined {
  const bare = name.toLowerCase().replace(/\.git$/, '');
  if (host === '' || owner === '' || bare === '') return undefined;
  return { host: host.toLowerCase().replace(/^www\./, ''), owner: owner.toLowerCase(), name: bare };
}

export function isSameRepository(a: string | undefined, b: string | undefined): boolean {
  const [one, other] = [a, b].map((text) => (text === undefined ? undefined : repositoryOf(text)));
  return (
    one !== undefined &&
    other !== undefined &&
    one.host === other.host &&
    one.owner === other.owner &&
    one.name === other.name
  );
}

/** Names a package of this repository may go by, the likelier first. Guesses: nothing is believed without proof. */
export function candidateNames(sourceUrl: string): {
  readonly npm: readonly string[];
  readonly pypi: readonly string[];
} {
  const repository = repositoryOf(sourceUrl);
  if (repository === undefined) return { npm: [], pypi: [] };
  const { owner, name } = repository;
  return { npm: [name, `@${owner}/${name}`], pypi: [name] };
}
