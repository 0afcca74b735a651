// @ts-check
import { createHash } from 'node:crypto';
import { nameOf, runningPackages } from './supply-chain-rules.mjs';

/**
 * A release's bill of materials, CycloneDX 1.6, straight from the lock file: every package that lies in the archive,
 * with its hash, its licence and what it depends on. npm's own `npm sbom --omit=dev` leaves out packages that
 * something for development wants as well (npm 11.19), which is why this is written here.
 */

/**
 * @typedef {import('./supply-chain-rules.mjs').Lock} Lock
 * @typedef {import('./supply-chain-rules.mjs').Locked & { name?: string } & Record<'dependencies' | 'optionalDependencies' | 'peerDependencies', Record<string, string> | undefined>} Package
 */

/**
 * @param {Lock} lock
 * @param {number} epoch seconds since 1970 that stand as its time
 * @returns {string}
 */
export function billOfMaterials(lock, epoch) {
  const packages = /** @type {Record<string, Package>} */ (lock.packages);
  const own = Object.keys(packages).filter((path) => path !== '' && !path.includes('node_modules/'));
  const inside = [...own, ...runningPackages(lock).map(([path]) => path)].sort();
  const refs = new Map(['', ...inside].map((path) => [path, purlOf(path, packages[path])]));
  const components = inside.map((path) => component(path, packages[path], refs.get(path) ?? ''));
  const dependencies = [...refs].map(([path, ref]) => ({
    ref,
    dependsOn: [...new Set(neededBy(path, packages).flatMap((to) => refs.get(to) ?? []))].sort(),
  }));
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    // The same bill has the same number.
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify([components, dependencies]))}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: { ...component('', packages[''], refs.get('') ?? ''), type: 'application' },
    },
    components: unique(components),
    dependencies: unique(dependencies),
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

/**
 * @param {string} path
 * @param {Package | undefined} locked
 * @param {string} ref
 */
function component(path, locked, ref) {
  const sha512 = /^sha512-(.+)$/.exec(locked?.integrity ?? '')?.[1];
  return {
    type: 'library',
    'bom-ref': ref,
    name: ownName(path, locked),
    version: locked?.version ?? '',
    purl: ref,
    ...(sha512 !== undefined && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }],
    }),
    ...(locked?.license !== undefined && { licenses: [{ license: { id: locked.license } }] }),
  };
}

/**
 * @param {string} path
 * @param {Package | undefined} locked
 */
function purlOf(path, locked) {
  return `pkg:npm/${ownName(path, locked).replace(/^@/, '%40')}@${locked?.version ?? ''}`;
}

/**
 * @param {string} path
 * @param {Package | undefined} locked
 */
function ownName(path, locked) {
  return path.includes('node_modules/') ? nameOf(path) : (locked?.name ?? path);
}

/**
 * The places of what a package needs, found as Node finds them: beside it, then outwards.
 * @param {string} path
 * @param {Readonly<Record<string, Package>>} packages
 */
function neededBy(path, packages) {
  const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).flatMap((name) => {
    for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
      const place = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
      const found = packages[place];
      if (found !== undefined) return [found.link === true ? (found.resolved ?? place) : place];
      if (at === '') return [];
    }
  });
}

/**
 * One for each thing: the same version may lie in several places.
 * @template {{ 'bom-ref'?: string, ref?: string }} T
 * @param {readonly T[]} list
 */
function unique(list) {
  return [...new Map(list.map((one) => [one['bom-ref'] ?? one.ref, one])).values()];
}

/** @param {string} text */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  // Version 8 of RFC 9562: the number's maker says what is in it.
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
