// @ts-check
import { parse, resultsOf } from './compatibility-session.mjs';

/** What was odd about a server, found in what it really sent, and what the proxy does about each oddity. */

/** From the start of its process to its answer to the handshake. */
const SLOW_START_MS = 5_000;
/** Of JSON; at some four characters a token these are 12,500 tokens. */
const LARGE_CHARACTERS = 50_000;
const LONG_DESCRIPTION = 1_000;
const NEWER_PROTOCOL = '2026-07-28';

/**
 * @typedef {import('./compatibility-session.mjs').Session} Session
 * @typedef {import('./compatibility-session.mjs').Definition} Definition
 * @typedef {import('./compatibility-session.mjs').Json} Json
 *
 * @typedef {object} Row everything that is known of one server
 * @property {import('./compatibility-servers.mjs').Server} server
 * @property {string} [absent] why it could not be tried at all
 * @property {string} [runtime]
 * @property {string} [refusedBare] the proxy's words when it was started without a key
 * @property {{ readonly versions?: readonly string[], readonly ms: number }} [discovered] what it said to a client
 *   that asked for the newer protocol, and when
 * @property {Session} [session]
 *
 * @typedef {Row & { readonly session: Session }} Tried
 *
 * @typedef {object} Oddity
 * @property {string} label as it stands in the table
 * @property {string} title
 * @property {string} answer what the proxy does
 * @property {(row: Tried) => string | undefined} find the particulars, when a server has it
 */

/** @type {readonly Oddity[]} */
export const ODDITIES = [
  {
    label: 'wants a key',
    title: 'Does not start without a key',
    answer:
      'Search answers name the server as unavailable, with its exit code and the last line it wrote to stderr; the other servers serve on. A later request starts it again. For the rest of this run it was given a key nobody issued.',
    find: ({ refusedBare }) => refusedBare,
  },
  {
    label: 'does not start',
    title: 'Ends before it has greeted',
    answer:
      'Search answers name the server as unavailable, with its exit code and the last line it wrote to stderr; the other servers serve on. A later request starts it again.',
    find: ({ session }) => (session.total === 0 && !hasGreeted(session) ? session.unavailable : undefined),
  },
  {
    label: 'does not list',
    title: 'Greets and answers the listing with an error',
    answer:
      'Search answers name the server as unavailable, with the words of its error; the other servers serve on. A later request asks for the tools again.',
    find: ({ session }) => (session.total === 0 && hasGreeted(session) ? session.unavailable : undefined),
  },
  {
    label: 'slow start',
    title: `Takes more than ${SLOW_START_MS / 1_000} s to greet`,
    answer:
      'The client is greeted at once and its own tools are there at once. A search waits a moment for the server (startWaitMs, emptyWaitMs) and then answers with what there is, naming it as still starting. Slow depends on the machine: here all of them shared two busy cores.',
    find: ({ session, discovered }) => {
      // The quicker of its two starts: the machine may have been busy with something else.
      const ms = Math.min(greetedAt(session), discovered?.ms ?? Infinity);
      return ms > SLOW_START_MS ? `${(ms / 1_000).toFixed(1)} s` : undefined;
    },
  },
  {
    label: 'newer protocol only',
    title: `Speaks ${NEWER_PROTOCOL} and refuses the older handshake`,
    answer:
      'The proxy greets with the older handshake first, which servers of every generation answer; one that refuses it is started again and asked for the newer protocol, and the proxy remembers that. The client need not know of either.',
    find: ({ session }) => {
      const refusal = session.tap.map(({ at, line = '' }) =>
        at === 'out' ? parse(line)?.['error'] : undefined,
      );
      const [error] = /** @type {({ code: number, message: string } | undefined)[]} */ (
        refusal.filter(Boolean)
      );
      return error?.code === -32022 ? `answered ${error.code}, "${error.message}"` : undefined;
    },
  },
  {
    label: 'both protocols',
    title: `Speaks the older protocols and ${NEWER_PROTOCOL}`,
    answer:
      'Children are greeted with the older handshake and stay on it ([why](decisions/0002-handshakes.md)).',
    find: ({ discovered, session }) =>
      answeredVersion(session) === undefined ? undefined : discovered?.versions?.join(', '),
  },
  {
    label: 'older protocol',
    title: 'Answers the handshake with an older version than it was asked for',
    answer:
      'The proxy speaks every published version, with each server its own; the client sees no difference.',
    find: ({ session }) => {
      const version = answeredVersion(session);
      return version === undefined || version === '2025-11-25' ? undefined : version;
    },
  },
  {
    label: 'noise on stdout',
    title: 'Writes other things than messages to stdout',
    answer: 'Lines that are no JSON-RPC are passed over; the messages between them are all taken.',
    find: ({ session }) => {
      const noise = session.tap.filter(
        ({ at, line = '' }) => at === 'out' && parse(line)?.['jsonrpc'] !== '2.0',
      );
      return noise.length === 0
        ? undefined
        : `${counted(noise.length, 'line')}, such as "${(noise[0]?.line ?? '').slice(0, 60)}"`;
    },
  },
  {
    label: 'talks on stderr',
    title: 'Writes to stderr while all is well',
    answer:
      'It never reaches the client. The last line is kept for the sentence that says how a server ended, without the values of its environment.',
    find: ({ session }) => {
      const lines = session.tap.filter(({ at }) => at === 'err').length;
      return lines === 0 || session.total === 0 ? undefined : counted(lines, 'line');
    },
  },
  {
    label: 'logs to the client',
    title: 'Sends log messages nobody asked for',
    answer:
      'While one call is under way, its client gets them if it asked for that level; outside of a call they belong to nobody and stay here. Nothing waits for them.',
    find: ({ session }) => {
      const count = sentMethods(session).filter((method) => method === 'notifications/message').length;
      return count === 0 ? undefined : counted(count, 'message');
    },
  },
  {
    label: 'announces changes at once',
    title: 'Says that its tools changed right after the handshake',
    answer:
      'The tools are listed again behind, while the listing that is there serves. The proxy’s own tools do not change, so no client has to list again.',
    find: ({ session }) => {
      const count = sentMethods(session).filter(
        (method) => method === 'notifications/tools/list_changed',
      ).length;
      return count === 0 ? undefined : `${count} times`.replace(/^1 times$/, 'once');
    },
  },
  {
    label: 'asks the client',
    title: 'Asks the client for something',
    answer:
      'A ping is answered; anything else is refused at once with an error that says why, so that nothing waits.',
    find: ({ session }) => {
      const asked = session.tap
        .filter(({ at }) => at === 'out')
        .map(({ line = '' }) => parse(line))
        .filter((message) => message?.['method'] !== undefined && message['id'] !== undefined)
        .map((message) => String(message?.['method']));
      return asked.length === 0 ? undefined : [...new Set(asked)].join(', ');
    },
  },
  {
    label: 'no annotations',
    title: 'Does not say which of its tools only read',
    answer:
      'What is not marked as reading counts as a write: `call_read_tool` refuses it and names `call_write_tool`, so a client that asks its person before writes asks here too.',
    find: ({ session: { listed } }) => {
      const silent = listed.filter(({ annotations }) => typeof annotations?.['readOnlyHint'] !== 'boolean');
      return silent.length === 0 ? undefined : `${silent.length} of ${counted(listed.length, 'tool')}`;
    },
  },
  {
    label: 'contradicts itself',
    title: 'Marks a tool as reading and as destructive',
    answer: 'The read mark counts; `writeTools` in your configuration makes any tool a write.',
    find: ({ session: { listed } }) =>
      names(
        listed.filter(({ annotations: a }) => a?.['readOnlyHint'] === true && a['destructiveHint'] === true),
      ),
  },
  {
    label: 'draft-07',
    title: 'Schemas in draft-07',
    answer:
      'Each schema is read as the dialect it names. Arguments that do not fit are refused before the server hears of them.',
    find: ({ session: { listed } }) => {
      const older = listed.filter(({ inputSchema }) => String(inputSchema?.['$schema']).includes('draft-07'));
      return older.length === 0 ? undefined : counted(older.length, 'tool');
    },
  },
  {
    label: 'schema without object',
    title: 'Schemas that do not say "type": "object" at the root',
    answer: 'The tool stays: it is listed, described as it is, and its arguments are an object all the same.',
    find: ({ session: { listed } }) =>
      names(listed.filter(({ inputSchema }) => inputSchema?.['type'] !== 'object')),
  },
  {
    label: 'alternatives at the root',
    title: 'Schemas with anyOf, oneOf, allOf or $ref at the root',
    answer:
      'The tool stays and its arguments are checked; several clients drop such a tool, or all of its server.',
    find: ({ session: { listed } }) =>
      names(
        listed.filter(({ inputSchema = {} }) =>
          ['anyOf', 'oneOf', 'allOf', '$ref'].some((keyword) => keyword in inputSchema),
        ),
      ),
  },
  {
    label: '$ref',
    title: 'Schemas whose parts refer to each other',
    answer:
      'References within a schema are followed when arguments are checked, and the definitions go along in search and describe answers; none is fetched from elsewhere.',
    find: ({ session: { listed } }) => {
      const referring = listed.filter(({ inputSchema }) => JSON.stringify(inputSchema)?.includes('"$ref":'));
      return referring.length === 0 ? undefined : counted(referring.length, 'tool');
    },
  },
  {
    label: 'odd names',
    title: 'Tool names with capitals, dots, slashes or spaces',
    answer: 'Names are looked up, never taken apart, so any name can be called just as the server spells it.',
    find: ({ session: { listed } }) => names(listed.filter(({ name }) => !/^[a-z0-9_-]{1,64}$/.test(name))),
  },
  {
    label: 'large',
    title: `Definitions of more than ${LARGE_CHARACTERS.toLocaleString('en')} characters`,
    answer:
      'This is what a client would load into the model before it says hello. Behind the proxy the model sees the schemas of the best few matches of a search and nothing of the rest.',
    find: ({ session: { listed } }) => {
      const characters = JSON.stringify(listed).length;
      return characters > LARGE_CHARACTERS
        ? `${characters.toLocaleString('en')} characters for ${counted(listed.length, 'tool')}`
        : undefined;
    },
  },
  {
    label: 'long descriptions',
    title: `A description of more than ${LONG_DESCRIPTION.toLocaleString('en')} characters`,
    answer: 'All of it is searched. A search answer shows its beginning; `describe_tool` gives the whole.',
    find: ({ session: { listed } }) => {
      const longest = Math.max(0, ...listed.map(({ description = '' }) => description.length));
      return longest > LONG_DESCRIPTION ? `up to ${longest.toLocaleString('en')}` : undefined;
    },
  },
  {
    label: 'other name',
    title: 'Calls itself something else than its package',
    answer: 'The name in your configuration counts everywhere: in answers, in exposed names, in the log.',
    find: (row) => {
      const info = /** @type {{ name?: string, version?: string } | undefined} */ (serverInfo(row.session));
      if (info === undefined || info.version === row.server.version) return undefined;
      return `"${[info.name, info.version].filter(Boolean).join(' ')}"`;
    },
  },
  {
    label: 'newer Node',
    title: 'Needs a newer Node than the proxy',
    answer: 'A server is a process of its own: its `command` can be any Node.',
    find: ({ server, runtime }) => (server.newerNode === true ? `runs on ${runtime}` : undefined),
  },
  {
    label: 'answers with an error',
    title: 'The harmless call fails here',
    answer:
      'An answer with `isError` is an answer: it comes through as the server wrote it, for the model to read.',
    find: ({ session: { call } }) =>
      call?.isError === true
        ? `\`${call.tool}\`: "${call.text.replaceAll(/\s+/g, ' ').slice(0, 110)}…"`
        : undefined,
  },
  {
    label: 'ends only when told',
    title: 'Keeps running when its stdin is closed',
    answer: 'It gets 2 s, then SIGTERM, 3 s later SIGKILL, with everything it started.',
    find: ({ session }) => (session.tap.some(({ at }) => at === 'sigterm') ? 'ended by SIGTERM' : undefined),
  },
];

/**
 * What must not be: each is a defect of the proxy (or of this script).
 * @param {Row} row
 * @returns {string[]}
 */
export function problemsOf({ server, session }) {
  if (session === undefined) return [];
  const { total, listed, lost, changed, call, refusal, survivors, exit } = session;
  const problems = [];
  if (total !== listed.length)
    problems.push(`the server listed ${listed.length} tools, the proxy has ${total}`);
  if (lost.length > 0) problems.push(`cannot be described: ${lost.join(', ')}`);
  if (changed.length > 0) problems.push(`described with other schemas: ${changed.join(', ')}`);
  if (call?.isUnchanged === false)
    problems.push(`the answer of ${call.tool} is not what the server sent: ${call.text}`);
  if (refusal?.isRefused === false) problems.push(`${refusal.tool} without arguments was not refused`);
  if (survivors > 0) problems.push(`${survivors} processes were left`);
  if (exit !== 0) problems.push(`the proxy ended with ${exit}`);
  return problems.map((problem) => `${server.package}: ${problem}`);
}

/**
 * The versions a server speaks, as it says itself.
 * @param {Row} row
 */
export function spokenVersions({ session, discovered }) {
  if (session === undefined) return [];
  return [...new Set([answeredVersion(session) ?? [], discovered?.versions ?? []].flat())];
}

/** @param {Session} session */
const answeredVersion = (session) =>
  /** @type {string | undefined} */ (resultsOf(session.tap, 'initialize').at(-1)?.['protocolVersion']);

/** @param {Session} session */
const hasGreeted = ({ tap }) =>
  tap.some(({ at, line = '' }) => at === 'out' && parse(line)?.['result'] !== undefined);

/** @param {Session} session */
const serverInfo = (session) => resultsOf(session.tap, 'initialize').at(-1)?.['serverInfo'];

/** @param {Session} session */
const greetedAt = ({ tap }) =>
  tap.find(({ at, line = '' }) => at === 'out' && parse(line) !== undefined)?.ms ?? 0;

/** @param {Session} session */
function sentMethods({ tap }) {
  return tap.flatMap(({ at, line = '' }) => {
    const method = at === 'out' ? parse(line)?.['method'] : undefined;
    return typeof method === 'string' ? [method] : [];
  });
}

/** @param {readonly Definition[]} tools */
function names(tools) {
  if (tools.length === 0) return undefined;
  const some = tools.slice(0, 3).map(({ name }) => `\`${name}\``);
  return `${some.join(', ')}${tools.length > 3 ? ` and ${tools.length - 3} more` : ''}`;
}

/**
 * @param {number} count
 * @param {string} thing
 */
const counted = (count, thing) => `${count} ${thing}${count === 1 ? '' : 's'}`;
