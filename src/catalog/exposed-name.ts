/** Longest slug, so that `<slug>__<tool>` leaves most of the 64 characters clients allow to the tool. */
const SLUG_LENGTH = 32;

/**
 * A prefix for each upstream name: characters `[A-Za-z0-9_-]`, at most 32, never containing `__`, unique without
 * regard to case. The same names in the same order give the same slugs; an upstream's slug depends only on the
 * names before it, so adding one at the end renames none.
 */
export function slugsOf(upstreamNames: readonly string[]): Map<string, string> {
  const slugs = new Map<string, string>();
  const taken = new Set<string>();
  for (const name of upstreamNames) {
    const base = slugOf(name);
    let slug = base;
    for (let n = 2; taken.has(slug.toLowerCase()); n++) {
      const suffix = `-${n}`;
      slug = base.slice(0, SLUG_LENGTH - suffix.length) + suffix;
    }
    taken.add(slug.toLowerCase());
    slugs.set(name, slug);
  }
  return slugs;
}

function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replaceAll(/_{2,}/g, '_')
    .slice(0, SLUG_LENGTH)
    .replaceAll(/^[-_]+|[-_]+$/g, '');
  return slug === '' ? 'upstream' : slug;
}

/** The name a caller uses for a tool when several upstreams are behind us. */
export function prefixedName(slug: string, toolName: string): string {
  return `${slug}__${toolName}`;
}
