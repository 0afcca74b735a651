// @ts-check
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runInspector } from './conformance-inspector.mjs';
import { conformancePage, inspectorRows, suiteRow } from './conformance-page.mjs';
import { openPrograms } from './conformance-programs.mjs';
import { PROXY, startProxy } from './conformance-proxy.mjs';
import { judge, runSuites } from './conformance-suites.mjs';

/**
 * `npm run conformance [-- --write]`: lets the protocol's own programs judge the built proxy. Fails when a check
 * does not turn out as scripts/conformance-baseline.json says, or when docs/conformance.md is no longer true;
 * `--write` writes that page.
 */

/** @param {string} path */
const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const PAGE = at('docs/conformance.md');
const BASELINE = at('scripts/conformance-baseline.json');

process.exitCode = await main(process.argv.includes('--write'));

/** @param {boolean} write */
async function main(write) {
  if (!existsSync(PROXY)) {
    console.error('conformance: dist/ is missing; run "npm run build" first');
    return 1;
  }
  const programs = await openPrograms(at('.conformance'));
  if (typeof programs === 'string') {
    console.log(`conformance: SKIPPED, ${programs}`);
    return 0;
  }
  const baseline = /** @type {import('./conformance-suites.mjs').Baseline} */ (
    JSON.parse(readFileSync(BASELINE, 'utf8'))
  );
  const proxy = await startProxy();
  try {
    const suites = await runSuites(programs, proxy.url, proxy.scratch);
    const inspected = await runInspector(programs, proxy);

    console.log(
      '\n| side | protocol | suite | scenarios that apply | checks passed | that do not apply | open |',
    );
    console.log('|---|---|---|---|---|---|---|');
    for (const suite of suites) console.log(suiteRow(suite, baseline));
    console.log('\n| inspector | era | list | search | call | refused call: exit codes |');
    console.log('|---|---|---|---|---|---|');
    for (const row of inspectorRows(inspected)) console.log(row);

    const problems = judge(suites, baseline);
    for (const { transport, era, name, problem } of inspected) {
      if (problem !== undefined) problems.push(`inspector ${transport} ${era} ${name}: ${problem}`);
    }
    const page = conformancePage(suites, baseline, inspected);
    // A page of a run that went wrong would be compared with good ones.
    if (write && problems.length === 0) writeFileSync(PAGE, page);
    else if (!write && (!existsSync(PAGE) || readFileSync(PAGE, 'utf8') !== page)) {
      problems.push('docs/conformance.md differs from this run: npm run conformance -- --write');
    }
    console.log(problems.length === 0 ? '\nconformance: as the baseline says' : '');
    for (const problem of problems) console.error(`conformance: ${problem}`);
    return problems.length === 0 ? 0 : 1;
  } finally {
    await proxy.close();
  }
}
