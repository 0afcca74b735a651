// @ts-check
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { PROXY } from './conformance-proxy.mjs';

/**
 * What a person with the protocol's inspector sees: our tools are listed, found and called over both transports and
 * in each of the inspector's eras. Its exit code is part of what is checked: 0 for an answer, 5 for an error result.
 */

const CALL_MS = 30_000;
const ERAS = ['legacy', 'auto', 'modern'];
const NAMES =
  'call_read_tool call_read_tools call_write_tool describe_tool search_servers search_tools upstream_servers';

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string[]} args
 * @property {number} exitCode
 * @property {(result: any) => boolean} fits whether the answer is right
 *
 * @typedef {{ transport: string, era: string, name: string, exitCode: number, problem?: string }} Seen
 */

/** @param {string} tool @param {object} input */
const callOf = (tool, input) => [
  '--method',
  'tools/call',
  '--tool-name',
  tool,
  '--tool-args-json',
  JSON.stringify(input),
];

/** @type {Step[]} */
const STEPS = [
  {
    name: 'tools/list',
    // Strict: a schema that some client cannot read is an error, too.
    args: ['--method', 'tools/list', '--strict'],
    exitCode: 0,
    fits: (result) =>
      result.tools.map((/** @type {{ name: string }} */ tool) => tool.name).join(' ') === NAMES,
  },
  {
    name: 'search_tools',
    args: callOf('search_tools', { query: 'add two numbers' }),
    exitCode: 0,
    fits: (result) => result.structuredContent.tools[0].name === 'get-sum',
  },
  {
    name: 'call_read_tool',
    args: callOf('call_read_tool', { name: 'echo', arguments: { message: 'Labas, 世界' } }),
    exitCode: 0,
    fits: (result) => result.content[0].text === 'Echo: Labas, 世界',
  },
  {
    name: 'call_read_tool, refused',
    args: callOf('call_read_tool', { name: 'toggle-simulated-logging', arguments: {} }),
    exitCode: 5,
    fits: (result) => result.isError === true && result.content[0].text.startsWith('Not called: '),
  },
];

/**
 * @param {import('./conformance-programs.mjs').Programs} programs
 * @param {import('./conformance-proxy.mjs').RunningProxy} proxy
 * @returns {Promise<Seen[]>}
 */
export async function runInspector(programs, proxy) {
  const home = join(proxy.scratch, 'home');
  mkdirSync(home);
  const targets = {
    http: [[proxy.url, '--transport', 'http'], []],
    stdio: [[], ['--', process.execPath, PROXY, '--stdio', '--config', proxy.config]],
  };
  /** @type {Seen[]} */
  const seen = [];
  for (const [transport, [before = [], after = []]] of Object.entries(targets)) {
    for (const era of ERAS) {
      for (const step of STEPS) {
        const args = ['--cli', ...before, '--protocol-era', era, '--format', 'json', ...step.args, ...after];
        const outcome = await inspect(programs, args, home);
        const problem = problemOf(step, outcome);
        seen.push({
          transport,
          era,
          name: step.name,
          exitCode: outcome.exitCode,
          ...(problem === undefined ? {} : { problem }),
        });
      }
    }
  }
  return seen;
}

/**
 * @param {import('./conformance-programs.mjs').Programs} programs
 * @param {string[]} args
 * @param {string} home where it may keep its files
 * @returns {Promise<{ exitCode: number, stdout: string, stderr: string }>}
 */
function inspect(programs, args, home) {
  const env = { ...process.env, HOME: home, USERPROFILE: home };
  return new Promise((resolve) => {
    execFile(
      programs.node,
      [programs.inspector, ...args],
      { env, timeout: CALL_MS },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code;
        resolve({ exitCode: typeof code === 'number' ? code : -1, stdout, stderr });
      },
    );
  });
}

/**
 * @param {Step} step
 * @param {{ exitCode: number, stdout: string, stderr: string }} outcome
 */
function problemOf(step, { exitCode, stdout, stderr }) {
  if (exitCode !== step.exitCode)
    return `exit code ${exitCode} instead of ${step.exitCode}: ${stderr.trim()}`;
  try {
    return step.fits(JSON.parse(stdout).result) ? undefined : `unexpected answer: ${stdout.slice(0, 300)}`;
  } catch {
    return `not the JSON of an answer: ${stdout.slice(0, 300)}`;
  }
}
