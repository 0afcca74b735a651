// @ts-check

/**
 * The rules of the lock file. They need no network. What they do not see: what is inside the packages; that is what
 * the hashes and the exact versions are for: nothing changes unless a person changes it.
 */

/** Of direct dependencies that run; the house's own figure. */
export const MOST_DIRECT = 20;
/** Of packages that run in all; the house's own figure. */
export const MOST_TOTAL = 90;

/** Packages that may run something while they are installed. */
const INSTALL_SCRIPTS = new Set();

/** Licences a package that runs may be under: permissive ones, which ask for no more than their text kept (NOTICE). */
const LICENCES = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]);

/**
 * The oldest version of a package, wherever it is in the tree, that has no advisory known when this was written; for
 * undici by major version, since each has its own repair.
 * @type {readonly { name: string, major?: number, oldest: string, why: string }[]}
 */
export const OLDEST_GOOD = [
  { name: '@modelcontextprotocol/sdk', oldest: '1.26.0', why: 'CVE-2026-25536, CVE-2026-0621' },
  {
    name: '@modelcontextprotocol/server-filesystem',
    oldest: '2025.7.1',
    why: 'CVE-2025-53109, CVE-2025-53110',
  },
  { name: 'ajv', oldest: '8.18.0', why: 'CVE-2025-69873' },
  { name: 'undici', major: 6, oldest: '6.23.0', why: 'CVE-2026-22036' },
  { name: 'undici', major: 7, oldest: '7.18.2', why: 'CVE-2026-22036' },
];

/**
 * @typedef {object} Manifest
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {readonly string[]} [workspaces]
 *
 * @typedef {object} Locked
 * @property {string} [version]
 * @property {string} [resolved]
 * @property {string} [integrity]
 * @property {string} [license]
 * @property {boolean} [link]
 * @property {boolean} [dev]
 * @property {boolean} [hasInstallScript]
 *
 * @typedef {object} Lock
 * @property {number} lockfileVersion
 * @property {Record<string, Locked>} packages
 */

/**
 * What breaks a rule, a sentence each, and how many packages run.
 * @param {Manifest} manifest
 * @param {Lock} lock
 * @returns {{ mistakes: string[], direct: number, total: number }}
 */
export function mistakesOf(manifest, lock) {
  /** @type {string[]} */
  const mistakes = [];
  const own = new Set(manifest.workspaces);
  const running = runningPackages(lock);
  const direct = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }).filter(
    (name) => lock.packages[`node_modules/${name}`]?.link !== true,
  ).length;

  if (lock.lockfileVersion !== 3) mistakes.push(`the lock file is of version ${lock.lockfileVersion}, not 3`);
  for (const [kind, range] of rangesOf(manifest)) {
    if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(range)) mistakes.push(`${kind} is not pinned: "${range}"`);
  }
  for (const [path, locked] of Object.entries(lock.packages)) {
    if (path === '' || own.has(path)) continue;
    const name = `${nameOf(path)} ${locked.version ?? ''}`.trim();
    if (locked.link === true) {
      if (!own.has(locked.resolved ?? ''))
        mistakes.push(`${name} is a link to ${locked.resolved}, no workspace`);
      continue;
    }
    if (locked.resolved !== undefined) {
      mistakes.push(
        /^https:\/\/[^/]+\/.*\/-\/[^/]+\.tgz$/.test(locked.resolved)
          ? `${name} names the registry's host in the lock file; .npmrc says that it must not`
          : `${name} does not come from the registry but from ${locked.resolved}`,
      );
    }
    if (!/^sha512-[\w+/]{86}==$/.test(locked.integrity ?? '')) mistakes.push(`${name} has no sha512 hash`);
    if (locked.hasInstallScript === true && !INSTALL_SCRIPTS.has(nameOf(path)))
      mistakes.push(`${name} wants to run a script while it is installed`);
    const floor = OLDEST_GOOD.find(
      (one) => one.name === nameOf(path) && (one.major ?? major(locked.version)) === major(locked.version),
    );
    if (floor !== undefined && isOlder(locked.version ?? '0', floor.oldest))
      mistakes.push(`${name} is older than ${floor.oldest}, which repairs ${floor.why}`);
  }
  for (const [path, { version, license }] of running) {
    if (license === undefined || !LICENCES.has(license))
      mistakes.push(`${nameOf(path)} ${version} is under ${license ?? 'no licence it names'}; see LICENCES`);
  }
  if (direct > MOST_DIRECT) mistakes.push(`${direct} direct packages run, at most ${MOST_DIRECT} may`);
  if (running.length > MOST_TOTAL)
    mistakes.push(`${running.length} packages run in all, at most ${MOST_TOTAL} may`);
  return { mistakes, direct, total: running.length };
}

/**
 * The packages of others that are installed with the program, by their paths in the lock file.
 * @param {Lock} lock
 */
export function runningPackages(lock) {
  return Object.entries(lock.packages).filter(
    ([path, { dev, link }]) => path.includes('node_modules/') && dev !== true && link !== true,
  );
}

/** @param {string} path of a package in the lock file */
export function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** @param {Manifest} manifest */
function rangesOf({ dependencies, optionalDependencies, devDependencies }) {
  return Object.entries({ dependencies, optionalDependencies, devDependencies }).flatMap(([kind, list]) =>
    Object.entries(list ?? {}).map(([name, range]) => /** @type {const} */ ([`${name} of ${kind}`, range])),
  );
}

/** @param {string | undefined} version */
function major(version) {
  return Number(version?.split('.')[0]);
}

/**
 * By the three numbers alone: of a version before its release nothing is known here.
 * @param {string} version
 * @param {string} oldest
 */
function isOlder(version, oldest) {
  const [a, b] = [version, oldest].map((text) => text.split(/[.-]/).slice(0, 3).map(Number));
  for (let i = 0; i < 3; i++) {
    const [left = 0, right = 0] = [a?.[i], b?.[i]];
    if (left !== right) return left < right;
  }
  return false;
}
