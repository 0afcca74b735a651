// @ts-check
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { problemsOf } from './compatibility-findings.mjs';
import { install } from './compatibility-install.mjs';
import { compatibilityPage, oddLabels, tableRow } from './compatibility-page.mjs';
import { SERVERS } from './compatibility-servers.mjs';
import { discover, isolation, makeScratch, openSession } from './compatibility-session.mjs';

/**
 * `npm run compatibility [-- NAME…] [--program FILE]`: puts the built proxy in front of real servers, one after the
 * other, and writes docs/compatibility.md. With names it tries only the packages whose names contain one of them
 * and writes nothing. Fails when the proxy lost or changed something; a server that cannot be had or started here
 * is a row that says why.
 */

/** @param {string} path */
const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const PAGE = at('docs/compatibility.md');
const CACHE = at('.compatibility');

process.exitCode = await main(process.argv.slice(2));

/** @param {readonly string[]} args */
async function main(args) {
  const programAt = args.indexOf('--program');
  const proxy = programAt === -1 ? at('dist/bin.js') : (args[programAt + 1] ?? '');
  const names = args.filter((_arg, n) => programAt === -1 || (n !== programAt && n !== programAt + 1));
  if (!existsSync(proxy)) {
    console.error(`compatibility: ${proxy} is missing; run "npm run build" first`);
    return 1;
  }
  const prefix = await isolation();
  if (prefix.length === 0) console.error('compatibility: the servers cannot be kept from the network here');
  const chosen = SERVERS.filter(
    ({ package: name }) => names.length === 0 || names.some((part) => name.includes(part)),
  );
  const rows = [];
  const problems = [];
  console.log('| server | version | protocol | tools | first tool | asked | found first | called | odd |');
  console.log('|---|---|---|---|---|---|---|---|---|');
  for (const server of chosen) {
    const row = await tryServer(server, proxy, prefix);
    rows.push(row);
    problems.push(...problemsOf(row));
    console.log(`${tableRow(row)} ${oddLabels(row).join(', ')} |`);
  }
  if (names.length === 0) {
    const day = new Date().toISOString().slice(0, 10);
    writeFileSync(PAGE, compatibilityPage(rows, { isIsolated: prefix.length > 0, day }));
  }
  for (const problem of problems) console.error(`compatibility: ${problem}`);
  return problems.length === 0 ? 0 : 1;
}

/**
 * @param {import('./compatibility-servers.mjs').Server} server
 * @param {string} proxy
 * @param {readonly string[]} prefix
 * @returns {Promise<import('./compatibility-findings.mjs').Row>}
 */
async function tryServer(server, proxy, prefix) {
  const installed = await install(server, CACHE);
  if (typeof installed === 'string') return { server, absent: installed };
  const scratch = await makeScratch();
  try {
    const command = [...prefix, installed.command, ...installed.args, ...(server.args?.(scratch) ?? [])];
    const bareEnv = server.env?.(scratch) ?? {};
    const bare = await openSession({ proxy, server, command, env: bareEnv, scratch });
    const isRefused = bare.total === 0 && server.madeUp !== undefined;
    const env = { ...bareEnv, ...(isRefused && server.madeUp?.(scratch)) };
    const session = isRefused ? await openSession({ proxy, server, command, env, scratch }) : bare;
    const discovered = await discover(command, env, scratch.home);
    return tidy(
      {
        server,
        runtime: installed.runtime,
        session,
        ...(discovered && { discovered }),
        ...(isRefused && bare.unavailable !== undefined && { refusedBare: bare.unavailable }),
      },
      scratch.home,
    );
  } finally {
    scratch.remove();
  }
}

/**
 * The same row without the places of this machine.
 * @param {import('./compatibility-findings.mjs').Row} row
 * @param {string} home
 * @returns {import('./compatibility-findings.mjs').Row}
 */
function tidy(row, home) {
  const text = JSON.stringify(row).replaceAll(home, '…').replaceAll(CACHE, '.compatibility');
  return {
    .../** @type {import('./compatibility-findings.mjs').Row} */ (JSON.parse(text)),
    server: row.server,
  };
}
