// @ts-check
import { CONFORMANCE_MODERN, CONFORMANCE_OLDER, INSPECTOR } from './conformance-programs.mjs';
import { groupsOf } from './conformance-suites.mjs';

/**
 * The page `docs/conformance.md`, from one run. It holds nothing that changes from run to run (no times, no ports),
 * so that a difference is a change of behaviour.
 * @param {readonly import('./conformance-suites.mjs').Suite[]} suites
 * @param {import('./conformance-suites.mjs').Baseline} baseline
 * @param {readonly import('./conformance-inspector.mjs').Seen[]} inspected
 */
export function conformancePage(suites, baseline, inspected) {
  return `# Conformance

*Written by \`npm run conformance -- --write\`; the same command without \`--write\` fails when this page is no longer true.*

\`\`\`sh
npm run conformance
\`\`\`

It starts the built proxy in front of the reference server \`server-everything\` and lets the protocol's own programs
judge it: the conformance suite ${CONFORMANCE_MODERN} (for 2026-07-28 and 2025-11-25) and ${CONFORMANCE_OLDER} (for 2025-11-25 and
2025-06-18), and the inspector ${INSPECTOR}. They need Node 22.19 or newer. The command installs them, and such a Node on
Linux and macOS, into \`.conformance/\`; where that is not possible it says so and succeeds.

The suite's server scenarios look at what clients see. Its client scenarios look at how the proxy speaks to
upstreams: \`scripts/conformance-client.mjs\` searches, describes and calls through the proxy, and the scenario's
server checks what arrives.

## Results

| side | protocol | suite | scenarios that apply | checks passed | that do not apply | open |
|---|---|---|---|---|---|---|
${suites.map((suite) => suiteRow(suite, baseline)).join('\n')}

Each scenario with checks that passed, and how many:

${suites.map((suite) => `**${headOf(suite)}.** ${passedOf(suite, baseline)}`).join('\n\n')}

## What does not apply

A check listed here must fail, or the run does: one that passes belongs above.

${baseline.doesNotApply.map(({ reason, checks }) => `**${reason}**\n\n${checks.map((check) => `\`${check}\``).join(', ')}`).join('\n\n')}

Not run at all:

${baseline.notRun.map(({ reason, scenarios }) => `- ${scenarios.map((scenario) => `\`${scenario}\``).join(', ')}: ${reason}`).join('\n')}
${baseline.open.length === 0 ? '' : openSection(baseline)}
## The inspector

\`mcp-inspector --cli\` in each of its eras; the number is its exit code (5: the answer is an error, as it should be).

| transport | era | ${stepsOf(inspected).join(' | ')} |
|---|---|${stepsOf(inspected)
    .map(() => '---|')
    .join('')}
${inspectorRows(inspected).join('\n')}
`;
}

/** @param {import('./conformance-suites.mjs').Baseline} baseline */
function openSection({ open }) {
  return `
## Open

These apply and do not pass yet:

${open.map(({ reason, checks }) => `**${reason}**\n\n${checks.map((check) => `\`${check}\``).join(', ')}`).join('\n\n')}
`;
}

/** @param {import('./conformance-suites.mjs').Suite} suite */
function headOf({ side, revision, program }) {
  return `${side === 'server' ? 'Server' : 'Client'}, ${revision}, suite ${program}`;
}

/**
 * The table's row, also for the terminal.
 * @param {import('./conformance-suites.mjs').Suite} suite
 * @param {import('./conformance-suites.mjs').Baseline} baseline
 */
export function suiteRow({ side, revision, program, checks }, baseline) {
  const absent = namesIn(baseline.doesNotApply);
  const open = namesIn(baseline.open);
  const groups = [...groupsOf(checks)];
  const applying = new Set(
    groups.flatMap(([name, [first]]) =>
      absent.has(name) || first === undefined || isBare(first) ? [] : [first.scenario],
    ),
  );
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
  const count = (/** @type {Set<string>} */ names) => groups.filter(([name]) => names.has(name)).length;
  return `| ${side} | ${revision} | ${program} | ${applying.size} | ${passed} | ${count(absent)} | ${count(open)} |`;
}

/**
 * Every answer is checked against the protocol's schema. Where that is all that passes of a scenario, the scenario
 * does not apply.
 * @param {import('./conformance-suites.mjs').Check} check
 */
function isBare({ check, status }) {
  return check === 'wire-schema-valid' || status === 'INFO' || status === 'SKIPPED';
}

/**
 * @param {import('./conformance-suites.mjs').Suite} suite
 * @param {import('./conformance-suites.mjs').Baseline} baseline
 */
function passedOf({ checks }, baseline) {
  const listed = namesIn([...baseline.doesNotApply, ...baseline.open]);
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const check of checks) {
    if (check.status !== 'SUCCESS' || isBare(check) || listed.has(`${check.scenario}/${check.check}`))
      continue;
    counts.set(check.scenario, (counts.get(check.scenario) ?? 0) + 1);
  }
  const schema = checks.filter(
    ({ check, status }) => check === 'wire-schema-valid' && status === 'SUCCESS',
  ).length;
  const list = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, count]) => `${name} ${count}`);
  const all =
    schema === 0
      ? ''
      : ` In ${schema} of all its scenarios every message was checked against the protocol's schema, and fits.`;
  return `${list.join(', ')}.${all}`;
}

/** @param {readonly { checks: string[] }[]} groups */
function namesIn(groups) {
  return new Set(groups.flatMap(({ checks }) => checks));
}

/** @param {readonly import('./conformance-inspector.mjs').Seen[]} inspected */
function stepsOf(inspected) {
  return [...new Set(inspected.map(({ name }) => name))];
}

/**
 * @param {readonly import('./conformance-inspector.mjs').Seen[]} inspected
 * @returns {string[]}
 */
export function inspectorRows(inspected) {
  /** @type {Map<string, string[]>} */
  const rows = new Map();
  for (const { transport, era, exitCode, problem } of inspected) {
    const row = rows.get(`${transport} | ${era}`) ?? [];
    row.push(problem === undefined ? String(exitCode) : `${exitCode} (wrong)`);
    rows.set(`${transport} | ${era}`, row);
  }
  return [...rows].map(([target, codes]) => `| ${target} | ${codes.join(' | ')} |`);
}
