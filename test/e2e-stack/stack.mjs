// @ts-check
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/e2e-stack/', import.meta.url));
const REQUIREMENTS = join(HERE, 'requirements.txt');

/** Where a stack that `npm run e2e:up` started says where it is. */
export const UP_FILE = join(CACHE, 'up.json');

/** Bearer tokens of the gateway, and how many tools each may use. */
export const TOKENS = {
  keeper: { authorization: 'Bearer e2e-keeper', tools: 66 },
  gardener: { authorization: 'Bearer e2e-gardener', tools: 3 },
  passenger: { authorization: 'Bearer e2e-passenger', tools: 63 },
};

const INSTALL_MS = 300_000;
const START_MS = 60_000;

/**
 * A Python with FastMCP: a virtual environment in node_modules/.cache, made once for a version. Throws, with what
 * was missing, where there is no Python of at least 3.10 or the package cannot be had.
 *
 * @returns {Promise<string>} path of its interpreter
 */
export async function pythonWithGateway() {
  const version = createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex').slice(0, 12);
  const place = join(CACHE, `venv-${version}`);
  const python = join(place, 'bin', 'python');
  if (existsSync(python)) return python;
  mkdirSync(CACHE, { recursive: true });
  const draft = `${place}.${process.pid}`;
  const inDraft = join(draft, 'bin', 'python');
  try {
    await run('python3', ['-c', 'import sys; assert sys.version_info >= (3, 10)']);
    await run('python3', ['-m', 'venv', draft]);
    await run(inDraft, [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '-r',
      REQUIREMENTS,
    ]);
    await run(inDraft, ['-c', 'import fastmcp']);
    renameSync(draft, place);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return python;
}

/**
 * Starts the gateway; it answers when this resolves.
 *
 * @param {string} python
 * @param {{ port: number, proxyPort: number }} ports
 * @returns {Promise<{ origin: string, pid: number, stop: () => Promise<void> }>}
 */
export async function startGateway(python, { port, proxyPort }) {
  const args = [join(HERE, 'gateway.py'), String(port), String(proxyPort)];
  const child = spawn(python, args, {
    env: { ...process.env, FASTMCP_CHECK_FOR_UPDATES: 'off', PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => (said = `${said}${String(chunk)}`.slice(-4_000)));
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await exited;
    clearTimeout(timer);
  };
  /** @type {Promise<void>} */
  const ready = new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', () => resolve());
    void exited.then(() => reject(new Error(`the gateway ended: ${said}`)));
    setTimeout(
      () => reject(new Error(`the gateway is not ready after ${START_MS} ms: ${said}`)),
      START_MS,
    ).unref();
  });
  try {
    await ready;
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return { origin: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, stop };
}

/** @returns {Promise<number>} */
export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @returns {Promise<void>}
 */
function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: INSTALL_MS });
    let said = '';
    child.stderr.on('data', (chunk) => (said = `${said}${String(chunk)}`.slice(-2_000)));
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code}: ${said}`));
    });
  });
}
