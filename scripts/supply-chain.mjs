// @ts-check
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { noticeText } from './supply-chain-notice.mjs';
import { mistakesOf } from './supply-chain-rules.mjs';

/**
 * `npm run supply-chain [-- --write]`: what this project promises about the packages it is made of. Fails when the
 * lock file breaks a rule of supply-chain-rules.mjs, when NOTICE is no longer true (`--write` writes it), or when the
 * registry knows an advisory against a package that runs. A registry without that service, or no network, is said and
 * passes: the rules' own list of oldest good versions holds without either.
 */

const AUDIT_MS = 20_000;

const run = promisify(execFile);

/**
 * @typedef {import('./supply-chain-rules.mjs').Manifest} Manifest
 * @typedef {import('./supply-chain-rules.mjs').Lock} Lock
 */

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(
    fileURLToPath(new URL('..', import.meta.url)),
    process.argv.includes('--write'),
  );
}

/**
 * @param {string} root
 * @param {boolean} write
 */
async function main(root, write) {
  const { manifest, lock } = readProject(root);
  const notice = noticeText(root, lock);
  if (write) writeFileSync(join(root, 'NOTICE'), notice);
  const { mistakes, direct, total } = mistakesOf(manifest, lock);
  if (!existsSync(join(root, 'NOTICE')) || readFileSync(join(root, 'NOTICE'), 'utf8') !== notice)
    mistakes.push('NOTICE is out of date: npm run supply-chain -- --write writes it anew');
  console.log(
    `${direct} direct and ${total} packages in all run; ${Object.keys(lock.packages).length - 1} are locked`,
  );
  const audit = await knownVulnerabilities(root);
  if (typeof audit === 'string') console.log(`advisories: skipped, ${audit}`);
  else {
    console.log(`advisories: ${audit.length === 0 ? 'none known' : audit.join('; ')}`);
    mistakes.push(...audit);
  }
  for (const mistake of mistakes) console.error(`supply chain: ${mistake}`);
  return mistakes.length === 0 ? 0 : 1;
}

/**
 * @param {string} root
 * @returns {{ manifest: Manifest, lock: Lock }}
 */
export function readProject(root) {
  /** @param {string} name */
  const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));
  return { manifest: read('package.json'), lock: read('package-lock.json') };
}

/**
 * What the registry has against the packages that run, a sentence each; or why it could not be asked.
 * @param {string} root
 * @returns {Promise<string[] | string>}
 */
async function knownVulnerabilities(root) {
  let answer;
  try {
    const { stdout } = await run('npm', ['audit', '--omit=dev', '--json'], {
      cwd: root,
      timeout: AUDIT_MS,
      maxBuffer: 2 ** 26,
    });
    answer = stdout;
  } catch (error) {
    // npm exits with 1 both when it found something and when nobody answered.
    answer = /** @type {{ stdout?: string }} */ (error).stdout ?? '';
  }
  return advisoriesIn(answer);
}

/**
 * @param {string} answer what `npm audit --json` printed
 * @returns {string[] | string} a sentence for each advisory, or why there are none to read
 */
export function advisoriesIn(answer) {
  /** @type {{ vulnerabilities?: Record<string, { name: string, severity: string, via: readonly unknown[] }> }} */
  let read;
  try {
    read = JSON.parse(answer);
  } catch {
    return 'npm audit did not answer in time';
  }
  if (read.vulnerabilities === undefined) return 'the registry of this machine has no advisory service';
  return Object.values(read.vulnerabilities).flatMap(({ name, severity, via }) =>
    via
      .filter((one) => typeof one === 'object' && one !== null)
      .map(
        (one) => `${name}: ${severity}: ${/** @type {{ title?: string }} */ (one).title ?? 'an advisory'}`,
      ),
  );
}
