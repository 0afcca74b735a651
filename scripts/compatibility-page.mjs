// @ts-check
import { ODDITIES, spokenVersions } from './compatibility-findings.mjs';

/**
 * @typedef {import('./compatibility-findings.mjs').Row} Row
 * @typedef {import('./compatibility-findings.mjs').Tried} Tried
 */

/**
 * The page `docs/compatibility.md`, from one run.
 * @param {readonly Row[]} rows
 * @param {{ readonly isIsolated: boolean, readonly day: string }} run
 */
export function compatibilityPage(rows, { isIsolated, day }) {
  const tried = rows.filter(isTried);
  const listing = tried.filter(({ session }) => session.total > 0);
  const tools = listing.reduce((sum, { session }) => sum + session.total, 0);
  const calls = listing.filter(({ session }) => session.call !== undefined);
  const refusals = listing.filter(({ session }) => session.refusal?.isRefused === true);
  const odd = ODDITIES.map((oddity) => ({
    ...oddity,
    servers: tried.flatMap((row) => {
      const found = oddity.find(row);
      return found === undefined ? [] : [`\`${row.server.package}\` (${found})`];
    }),
  })).filter(({ servers }) => servers.length > 0);
  return `# Servers we did not write

*Written by \`npm run compatibility\` on ${day}, on Node ${process.versions.node}.*

\`\`\`sh
npm run compatibility
\`\`\`

installs each of these servers, in just this version, into \`.compatibility/\` (no install scripts run; the Python ones
get an environment of their own), and puts the built proxy in front of it. It searches with the question in the
table, describes every tool and compares the schemas with what the server sent, calls a tool without the arguments it
requires, and makes one harmless call.${isIsolated ? ' While they run, the servers have no network.' : ''} \`npm run compatibility -- NAME…\` tries
some of them and leaves this page alone.

Of ${counted(tried.length, 'server')} ${listing.length} listed their tools, ${tools} in all. Every tool could be described, with the schemas
its server sent. ${calls.length} harmless calls went through, each answer just as the server wrote it. For ${refusals.length} servers a call that
lacked a required argument was refused, with what is missing, before the server heard of it.

## The servers

The time is from the start of the proxy to the first search that knew a tool: the proxy's start, the server's, the
handshake and the listing. It was taken once, on two cores with other work, and says something about the server
rather than about us.

| server | version | protocol | tools | first tool | asked | found first | called |
|---|---|---|---|---|---|---|---|
${rows.map(tableRow).join('\n')}

Searching goes by words in this build, so a question that shares none with a tool's definition finds nothing; the answer
then says how many tools there are, and the model asks again in other words.

## What was odd, and what the proxy does

${odd.map(({ title, answer, servers }) => `**${title}.** ${answer}\n\n${servers.join(', ')}`).join('\n\n')}

## What was looked for and not found

${ODDITIES.filter(({ label }) => !odd.some((found) => found.label === label))
  .map(({ title, answer }) => `**${title}.** ${answer}`)
  .join('\n\n')}
`;
}

/**
 * @param {Row} row
 * @returns {row is Tried}
 */
function isTried(row) {
  return row.session !== undefined;
}

/**
 * The table's row, also for the terminal.
 * @param {Row} row
 */
export function tableRow(row) {
  const { server, session, absent } = row;
  const head = `\`${server.package}\` | ${server.version}`;
  if (session === undefined) return `| ${head} | – | – | – | – | – | not started: ${absent} |`;
  const versions = spokenVersions(row).join(', ');
  const seconds = session.total > 0 ? `${(session.firstToolMs / 1_000).toFixed(1)} s` : '–';
  const found = session.found === undefined ? 'nothing' : `\`${session.found}\``;
  const asked = session.total > 0 ? `${server.question} | ${found}` : '– | –';
  return `| ${head} | ${versions} | ${session.total} | ${seconds} | ${asked} | ${calledOf(row)} |`;
}

/** @param {Row} row */
function calledOf({ server, session }) {
  if (session?.total === 0) return 'no tools, see below';
  if (typeof server.call === 'string') return `no: ${server.call}`;
  const call = session?.call;
  if (call === undefined) return 'no';
  const way = call.through === 'call_read_tool' ? 'read' : 'write';
  return `\`${call.tool}\`, a ${way}${call.isError ? ': its error' : ''}`;
}

/**
 * What was odd about one server, in words.
 * @param {Row} row
 */
export function oddLabels(row) {
  if (!isTried(row)) return [];
  return ODDITIES.filter((oddity) => oddity.find(row) !== undefined).map(({ label }) => label);
}

/**
 * @param {number} count
 * @param {string} thing
 */
const counted = (count, thing) => `${count} ${thing}${count === 1 ? '' : 's'}`;
