// @ts-check
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The program as it is published. */
export const PROXY = fileURLToPath(new URL('../dist/bin.js', import.meta.url));

const START_MS = 20_000;

/**
 * @typedef {object} RunningProxy
 * @property {string} url where it serves
 * @property {string} config its configuration file, for other ways to start it
 * @property {string} scratch a folder of its own
 * @property {() => Promise<void>} close ends it and removes what it left
 */

/**
 * Starts the built proxy over HTTP in front of the protocol's reference server, on a free port.
 * @returns {Promise<RunningProxy>}
 */
export async function startProxy() {
  const scratch = mkdtempSync(join(tmpdir(), 'conformance-'));
  const config = join(scratch, 'config.json');
  const everything = createRequire(import.meta.url).resolve(
    '@modelcontextprotocol/server-everything/package.json',
  );
  const args = [join(dirname(everything), 'dist', 'index.js'), 'stdio'];
  writeFileSync(config, JSON.stringify({ mcpServers: { everything: { command: process.execPath, args } } }));
  const child = spawn(process.execPath, [PROXY, '--config', config, '--listen', '127.0.0.1:0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  let said = '';
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    const fail = () => reject(new Error(`the proxy did not start; it said:\n${said}`));
    const timer = setTimeout(fail, START_MS);
    child.once('close', fail);
    child.stderr.on('data', (chunk) => {
      said += String(chunk);
      const found = /listening on (http[^\s"]+)/.exec(said)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
  });
  return {
    url,
    config,
    scratch,
    async close() {
      child.kill('SIGTERM');
      await ended;
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}
