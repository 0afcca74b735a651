import { ProxyError } from '../base/errors.ts';

/** Looks up environment variables; undefined where there is none. */
export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * `text` with every `${env:NAME}` replaced by that variable's value; anything else in `${…}` stays as it is.
 * A missing variable is an error that names it (never a value), because a request with an empty credential would
 * be refused somewhere far away.
 */
export function resolveReferences(
  text: string,
  env: Environment,
  where: { upstream: string; part: string },
): string {
  return text.replaceAll(REFERENCE, (_whole, name: string) => {
    const value = env[name];
    if (value === undefined) {
      throw new ProxyError(
        'upstream_unresolved',
        `Upstream '${where.upstream}' needs the environment variable ${name} (for ${where.part}), which is not set.`,
        { upstream: where.upstream },
      );
    }
    return value;
  });
}

/** The values of the variables that `text` references, as far as they are set. */
export function referencedIn(text: string, env: Environment): readonly string[] {
  return [...text.matchAll(REFERENCE)].flatMap(([, name = '']) => env[name] ?? []);
}
