// @ts-check
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameOf, runningPackages } from './supply-chain-rules.mjs';

/** @typedef {import('./supply-chain-rules.mjs').Lock} Lock */

const HEAD = `mcp-toolsearch-proxy is under the MIT licence, see LICENSE.

It runs with the packages below, each under its own licence. Archives, .deb and .rpm packages and images bring
them along in node_modules, where each has its licence's text; npm fetches them beside the program.

Written by \`npm run supply-chain -- --write\` from the lock file and the packages themselves.
`;

/**
 * The text of NOTICE: the packages of others that are installed with the program, by licence, with the copyright
 * lines they carry.
 * @param {string} root where the lock file's packages are installed
 * @param {Lock} lock
 */
export function noticeText(root, lock) {
  /** @type {Map<string, Set<string>>} */
  const byLicence = new Map();
  for (const [path, { version, license = 'no licence named' }] of runningPackages(lock)) {
    const entry = [
      `${nameOf(path)} ${version}`,
      ...copyrightsIn(join(root, path)).map((line) => `    ${line}`),
    ];
    byLicence.set(license, (byLicence.get(license) ?? new Set()).add(entry.join('\n')));
  }
  const parts = [...byLicence]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([licence, entries]) =>
        `\n${licence}\n${'-'.repeat(licence.length)}\n${[...entries].sort().join('\n')}\n`,
    );
  return HEAD + parts.join('');
}

/** @param {string} folder of an installed package */
function copyrightsIn(folder) {
  const files = readdirSync(folder).filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name));
  const lines = files.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
  const found = lines
    .map((line) => line.replace(/^[\s*#-]+/, '').trim())
    // Not the licences' own sentences about copyright, nor Apache's form to fill in.
    .filter((line) => /^Copyright (?:\([cC]\)|©|\d{4}|[A-Z])/.test(line) && !line.includes('['));
  return [...new Set(found)];
}
