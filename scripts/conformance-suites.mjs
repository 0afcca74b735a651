// @ts-check
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONFORMANCE_MODERN, CONFORMANCE_OLDER } from './conformance-programs.mjs';

/**
 * Runs the conformance suites and compares each single check with the baseline, which lists those that cannot apply
 * to a proxy that shows its own few tools. A check outside the baseline must pass, one inside it must not: a
 * baseline that hides a passing check would hide its failing, too. Warnings count as not passed.
 */

const SUITE_MS = 120_000;
const SCENARIO_MS = 30_000;
const CLIENT = fileURLToPath(new URL('./conformance-client.mjs', import.meta.url));

/** What stands for our leg towards upstreams; the other client scenarios are listed in the baseline. */
const CLIENT_SCENARIOS = {
  '2026-07-28': [
    'tools_call',
    'request-metadata',
    'http-standard-headers',
    'http-custom-headers',
    'http-invalid-tool-headers',
    'sep-2322-client-request-state',
    'json-schema-ref-no-deref',
    'json-schema-2020-12-preservation',
  ],
  '2025-11-25': ['initialize', 'tools_call', 'sse-retry'],
};

/**
 * @typedef {'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'} Status
 * @typedef {{ scenario: string, check: string, status: Status, message: string }} Check
 * @typedef {{ side: 'server' | 'client', program: string, revision: string, checks: Check[] }} Suite
 * @typedef {{ reason: string, checks: string[] }} Listed checks by `scenario/check`, and why they fail
 * @typedef {{ doesNotApply: Listed[], open: Listed[], notRun: { reason: string, scenarios: string[] }[] }} Baseline
 */

/**
 * @param {import('./conformance-programs.mjs').Programs} programs
 * @param {string} url
 * @param {string} scratch
 * @returns {Promise<Suite[]>}
 */
export async function runSuites(programs, url, scratch) {
  /** @type {Suite[]} */
  const suites = [];
  const { conformanceModern: modern, conformanceOlder: older } = programs;
  const server = /** @type {const} */ ([
    [modern, CONFORMANCE_MODERN, '2026-07-28', ['--requirements', '2026-07-28']],
    [modern, CONFORMANCE_MODERN, '2025-11-25', ['--requirements', '2025-11-25']],
    [older, CONFORMANCE_OLDER, '2025-11-25', ['--suite', 'all', '--spec-version', '2025-11-25']],
    [older, CONFORMANCE_OLDER, '2025-06-18', ['--suite', 'all', '--spec-version', '2025-06-18']],
  ]);
  for (const [program, version, revision, which] of server) {
    const out = join(scratch, `server-${version}-${revision}`);
    const checks = await run(programs.node, [program, 'server', '--url', url, ...which], out);
    suites.push({ side: 'server', program: version, revision, checks });
  }
  for (const [revision, scenarios] of Object.entries(CLIENT_SCENARIOS)) {
    /** @type {Check[]} */
    const checks = [];
    for (const scenario of scenarios) {
      const out = join(scratch, `client-${revision}-${scenario}`);
      const command = `"${process.execPath}" "${CLIENT}"`;
      const args = ['client', '--command', command, '--scenario', scenario, '--spec-version', revision];
      checks.push(...(await run(programs.node, [modern, ...args, '--timeout', String(SCENARIO_MS)], out)));
    }
    suites.push({ side: 'client', program: CONFORMANCE_MODERN, revision, checks });
  }
  return suites;
}

/**
 * Runs the suite's program and reads what it wrote. Its exit code says only that something failed, which the
 * baseline knows better.
 * @param {string} node
 * @param {string[]} args
 * @param {string} out
 * @returns {Promise<Check[]>}
 */
async function run(node, args, out) {
  let said = '';
  await new Promise((resolve, reject) => {
    const child = spawn(node, [...args, '-o', out], { stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), SUITE_MS);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        said = (said + String(chunk)).slice(-2_000);
      });
    }
    child.once('error', reject);
    child.once('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
  });
  try {
    return readdirSync(out).flatMap((folder) => checksIn(join(out, folder), scenarioOf(folder)));
  } catch (thrown) {
    throw new Error(`the conformance suite wrote no results; it said:\n${said}`, { cause: thrown });
  }
}

/** @param {string} folder such as `server-ping-2026-11-30T19-48-39-736Z` */
function scenarioOf(folder) {
  return folder.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '').replace(/^server-/, '');
}

/**
 * @param {string} folder
 * @param {string} scenario
 * @returns {Check[]}
 */
function checksIn(folder, scenario) {
  const found = /** @type {{ id: string, status: Status, errorMessage?: string }[]} */ (
    JSON.parse(readFileSync(join(folder, 'checks.json'), 'utf8'))
  );
  return found.map(({ id, status, errorMessage = '' }) => ({
    scenario,
    check: id,
    status,
    message: errorMessage,
  }));
}

/**
 * What is not as the baseline says, a sentence each.
 * @param {readonly Suite[]} suites
 * @param {Baseline} baseline
 * @returns {string[]}
 */
export function judge(suites, baseline) {
  const listed = new Set([...baseline.doesNotApply, ...baseline.open].flatMap(({ checks }) => checks));
  const seen = new Set();
  /** @type {string[]} */
  const problems = [];
  for (const { side, program, revision, checks } of suites) {
    const where = `${side} ${revision} (${program})`;
    if (checks.length === 0) problems.push(`${where}: no check ran`);
    for (const [name, group] of groupsOf(checks)) {
      const bad =
        group.find(({ status }) => status === 'FAILURE') ?? group.find(({ status }) => status === 'WARNING');
      seen.add(name);
      if (bad !== undefined && !listed.has(name)) {
        problems.push(`${where}: ${name} ${bad.status.toLowerCase()}: ${bad.message}`);
      }
      if (bad === undefined && listed.has(name)) {
        problems.push(`${where}: ${name} is in the baseline and does not fail any more: take it out`);
      }
    }
  }
  for (const name of listed)
    if (!seen.has(name)) problems.push(`${name} is in the baseline and never ran: take it out`);
  return problems;
}

/**
 * Checks by `scenario/check`: some appear several times, for several messages.
 * @param {readonly Check[]} checks
 * @returns {Map<string, Check[]>}
 */
export function groupsOf(checks) {
  /** @type {Map<string, Check[]>} */
  const groups = new Map();
  for (const check of checks) {
    const name = `${check.scenario}/${check.check}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [check]);
    else group.push(check);
  }
  return groups;
}
