/**
 * Names and versions as the package registries' own grammars have them. What does not fit is never shown as part of
 * a command, however it is quoted.
 */
const GRAMMAR: Readonly<Record<string, RegExp>> = {
  npm: /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/i,
  pypi: /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i,
  oci: /^[a-z0-9][a-z0-9._/-]*(?::[0-9]+\/[a-z0-9._/-]+)?(?::[\w][\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/i,
  nuget: /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?$/i,
};

export function isPackageName(type: string, name: string): boolean {
  return name.length <= 214 && (GRAMMAR[type]?.test(name) ?? false);
}

/** One exact version; `latest`, ranges and whatever a shell or a package manager could read differently are none. */
export function isExactVersion(version: string): boolean {
  return /^v?\d[\w.+!-]{0,99}$/.test(version);
}

/** PEP 503: `Foo._Bar` and `foo-bar` are one project. */
export function pypiName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}
