// @ts-check
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Installs one server into a folder of its own below the cache folder, so that none shares a dependency with
 * another or with this project. Install scripts of npm packages do not run.
 */

const run = promisify(execFile);

/** Packages below the pinned ones are taken as they were on this day, so that two runs install the same. */
const AS_OF = '2026-11-30';
const INSTALL_MS = 180_000;
/** For servers that ask for a newer Node than the one that runs this script. */
const NEWER_NODE = '24.22.3';
const NEWER_NODE_MAJOR = 24;

/**
 * How to start an installed server.
 * @typedef {object} Installed
 * @property {string} command
 * @property {string[]} args
 * @property {string} runtime what runs it, such as `node 20.20.2`
 */

/**
 * Installs a server, or finds it there; a sentence when it cannot be had here.
 * @param {import('./compatibility-servers.mjs').Server} server
 * @param {string} cache
 * @returns {Promise<Installed | string>}
 */
export async function install(server, cache) {
  return server.registry === 'npm' ? installNpm(server, cache) : installPython(server, cache);
}

/**
 * @param {import('./compatibility-servers.mjs').Server} server
 * @param {string} cache
 * @returns {Promise<Installed | string>}
 */
async function installNpm({ package: name, version, program, newerNode = false }, cache) {
  const folder = join(cache, 'npm', name.replaceAll(/[^a-z0-9.-]+/gi, '-'));
  const problem = await npmPackage(name, version, folder);
  if (problem !== undefined) return problem;
  const node = newerNode
    ? await openNewerNode(cache)
    : { path: process.execPath, version: process.versions.node };
  if (typeof node === 'string') return node;
  const root = join(folder, 'node_modules', ...name.split('/'));
  const { bin } = /** @type {{ bin: string | Record<string, string> }} */ (
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  );
  const file = typeof bin === 'string' ? bin : bin[program];
  if (file === undefined) return `the package has no program ${program}`;
  return { command: node.path, args: [join(root, file)], runtime: `Node ${node.version}` };
}

/**
 * @param {string} cache
 * @returns {Promise<{ path: string, version: string } | string>}
 */
async function openNewerNode(cache) {
  const { node } = process.versions;
  if (Number(node.split('.')[0]) >= NEWER_NODE_MAJOR) return { path: process.execPath, version: node };
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const folder = join(cache, 'node');
  const problem = await npmPackage(name, NEWER_NODE, folder);
  if (problem !== undefined) return `it needs a newer Node, and ${problem}`;
  const path = join(folder, 'node_modules', name, 'bin', 'node');
  try {
    await run(path, ['--version'], { timeout: 10_000 });
  } catch {
    return `it needs a newer Node, and Node ${NEWER_NODE} of package ${name} does not run on this machine`;
  }
  return { path, version: NEWER_NODE };
}

/**
 * @param {string} name
 * @param {string} version
 * @param {string} folder
 * @returns {Promise<string | undefined>} why it could not be installed
 */
async function npmPackage(name, version, folder) {
  const manifest = JSON.stringify({ private: true, dependencies: { [name]: version } });
  return once(folder, `${manifest} as of ${AS_OF}`, async () => {
    writeFileSync(join(folder, 'package.json'), manifest);
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', ['install', '--prefix', folder, ...quiet, `--before=${AS_OF}`], { timeout: INSTALL_MS });
  });
}

/**
 * @param {import('./compatibility-servers.mjs').Server} server
 * @param {string} cache
 * @returns {Promise<Installed | string>}
 */
async function installPython({ package: name, version, program }, cache) {
  const python = await findPython();
  if (python === undefined) return 'skipped: there is no Python 3.10 or newer with venv on this machine';
  const folder = join(cache, 'python', name);
  const bin = join(folder, 'environment', process.platform === 'win32' ? 'Scripts' : 'bin');
  const problem = await once(folder, `${name}==${version} on ${python.version}`, async () => {
    await run(python.command, ['-m', 'venv', join(folder, 'environment')], { timeout: INSTALL_MS });
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input'];
    await run(join(bin, 'python'), ['-m', 'pip', 'install', ...quiet, `${name}==${version}`], {
      timeout: INSTALL_MS,
    });
  });
  if (problem !== undefined) return problem;
  return { command: join(bin, program), args: [], runtime: `Python ${python.version}` };
}

/** @returns {Promise<{ command: string, version: string } | undefined>} */
async function findPython() {
  for (const command of ['python3', 'python']) {
    try {
      const ask = 'import sys, venv; print(".".join(map(str, sys.version_info[:3])))';
      const { stdout } = await run(command, ['-c', ask], { timeout: 10_000 });
      const [major = 0, minor = 0] = stdout.trim().split('.').map(Number);
      if (major > 3 || (major === 3 && minor >= 10)) return { command, version: stdout.trim() };
    } catch {
      // Not there, or without venv: the next name.
    }
  }
  return undefined;
}

/**
 * Does the work unless the folder says that just this was done before; a failed try leaves nothing behind.
 * @param {string} folder
 * @param {string} what
 * @param {() => Promise<void>} work
 * @returns {Promise<string | undefined>} why it could not be done
 */
async function once(folder, what, work) {
  const mark = join(folder, 'installed.txt');
  if (existsSync(mark) && readFileSync(mark, 'utf8') === what) return undefined;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  try {
    await work();
    writeFileSync(mark, what);
    return undefined;
  } catch (thrown) {
    rmSync(folder, { recursive: true, force: true });
    const { stderr = '', message } = /** @type {{ stderr?: string, message: string }} */ (thrown);
    const line = stderr.split('\n').find((text) => /error/i.test(text)) ?? message.split('\n')[0];
    return `it could not be installed: ${line}`;
  }
}
