// @ts-check
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/**
 * Where a check plays: a new user's empty home with the release's files in it, a shell, and a record of what was
 * typed and seen. Nothing of the developer's own set-up is there but npm's cache, so that nothing is fetched twice.
 */

const COMMAND_MS = 180_000;
const START_MS = 30_000;
/** Longer than a drain may take. */
const END_MS = 45_000;

/** @typedef {ReturnType<typeof openScene>} Scene */

/**
 * @param {object} options
 * @param {string} options.root of the project
 * @param {string} options.out where the release's files are
 */
export function openScene({ root, out }) {
  const home = mkdtempSync(join(tmpdir(), 'scene-'));
  // Whoever a program is started as may go in.
  chmodSync(home, 0o755);
  for (const file of readdirSync(out)) cpSync(join(out, file), join(home, file));
  const cache = spawnSync('npm', ['config', 'get', 'cache'], { cwd: root, encoding: 'utf8' }).stdout.trim();
  /** @type {NodeJS.ProcessEnv} */
  const env = {
    HOME: home,
    PATH: [dirname(process.execPath), '/usr/local/sbin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'].join(':'),
    LANG: 'C.UTF-8',
    npm_config_cache: cache,
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
  };
  /** @type {string[]} */
  const lines = [];
  /** @type {import('node:child_process').ChildProcess[]} */
  const started = [];
  /** @param {string} text */
  const shown = (text) => text.replaceAll(home, '~').trimEnd();

  return {
    root,
    home,
    env,
    /** @returns {string} what was typed and seen */
    transcript: () => lines.join('\n'),

    /** @param {string} name whether there is such a program */
    has: (name) => spawnSync('sh', ['-c', `command -v ${name}`], { env }).status === 0,

    /**
     * Types a command and gives all it prints.
     * @param {string} command
     * @param {{ show?: (output: string) => string, quiet?: boolean }} [options] what of its output is recorded
     */
    type(command, { show = (output) => output, quiet = false } = {}) {
      const ran = spawnSync('sh', ['-c', command], {
        cwd: home,
        env,
        encoding: 'utf8',
        timeout: COMMAND_MS,
        maxBuffer: 2 ** 26,
      });
      const output = `${ran.stdout}${ran.stderr}`;
      if (ran.status !== 0) throw new Error(`"${command}" ended with ${ran.status ?? ran.signal}: ${output}`);
      const seen = shown(show(output.trimEnd()));
      if (!quiet) lines.push(`$ ${shown(command)}`, ...(seen === '' ? [] : [seen]));
      return output;
    },

    /**
     * Starts something that serves, waits for the address it prints, lets `use` try it, and ends it as a person does.
     * @param {string} command
     * @param {(url: URL) => Promise<void>} use
     */
    async whileServing(command, use) {
      const child = spawn('sh', ['-c', `exec ${command}`], {
        cwd: home,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      started.push(child);
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          said += text;
        });
      const ended = new Promise((done) => child.once('close', (code, signal) => done(code ?? signal)));
      lines.push(`$ ${shown(command)} &`);
      const until = Date.now() + START_MS;
      let url;
      while (url === undefined) {
        url = /http:\/\/[\w.]+:\d+\/mcp/.exec(said)?.[0];
        if (url === undefined && (Date.now() > until || child.exitCode !== null))
          throw new Error(`"${command}" does not serve: ${said}`);
        await new Promise((done) => setTimeout(done, 50));
      }
      lines.push(shown(said));
      await use(new URL(url));
      child.kill('SIGTERM');
      const overdue = setTimeout(() => child.kill('SIGKILL'), END_MS);
      const code = await ended;
      clearTimeout(overdue);
      if (code !== 0) throw new Error(`"${command}" ended with ${code}: ${said}`);
      lines.push('$ kill %1');
    },

    /** @param {string} line of the record, such as what was done by hand */
    note: (line) => void lines.push(line),

    async close() {
      for (const child of started) child.kill('SIGKILL');
      rmSync(home, { recursive: true, force: true });
    },
  };
}
