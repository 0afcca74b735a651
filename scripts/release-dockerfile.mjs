// @ts-check
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, statSync } from 'node:fs';
import { basename, join, relative } from 'node:path';

/**
 * Runs a Dockerfile's steps without an engine: each stage is a folder, COPY copies, RUN runs in the folder WORKDIR
 * names. It shows that the steps work from a clean start with nothing but what is copied; what it cannot show is the
 * base image: programs are this machine's.
 */

/**
 * @typedef {object} Built
 * @property {string} folder the last stage
 * @property {Record<string, string>} env what ENV set
 * @property {string[]} command ENTRYPOINT and CMD, with paths of the image made paths of the folder
 * @property {string[]} health HEALTHCHECK's command
 * @property {{ uid: number, gid: number }} user
 */

/**
 * @param {object} options
 * @param {string} options.text the Dockerfile
 * @param {string} options.context the folder COPY copies from
 * @param {string} options.into an empty folder
 * @param {NodeJS.ProcessEnv} options.env of RUN
 * @param {(line: string) => void} options.say hears every step
 * @returns {Built}
 */
export function runDockerfile({ text, context, into, env, say }) {
  /** @type {Map<string, string>} */
  const stages = new Map();
  /** @type {Record<string, string>} */
  let variables = {};
  /** @type {Built} */
  let built = { folder: '', env: {}, command: [], health: [], user: { uid: 0, gid: 0 } };
  let workdir = '/';
  /** @type {{ entrypoint: string[], command: string[] }} */
  const start = { entrypoint: [], command: [] };

  for (const { word, rest } of instructionsOf(text)) {
    const words = filled(rest, variables).split(/\s+/);
    say(`${word} ${rest}`);
    switch (word) {
      case 'ARG': {
        const [name = '', value = ''] = rest.split('=');
        variables = { ...variables, [name]: value };
        break;
      }
      case 'FROM': {
        const name = words[1]?.toUpperCase() === 'AS' ? (words[2] ?? '') : 'last';
        built = { folder: join(into, name), env: {}, command: [], health: [], user: { uid: 0, gid: 0 } };
        mkdirSync(built.folder, { recursive: true });
        stages.set(name, built.folder);
        workdir = '/';
        break;
      }
      case 'WORKDIR':
        workdir = rest;
        mkdirSync(join(built.folder, workdir), { recursive: true });
        break;
      case 'COPY': {
        const from = /^--from=(\S+)$/.exec(words[0] ?? '')?.[1];
        const source = from === undefined ? context : stages.get(from);
        if (source === undefined) throw new Error(`there is no stage ${from}`);
        const names = words.slice(from === undefined ? 0 : 1);
        copy({
          source,
          patterns: names.slice(0, -1),
          to: join(built.folder, workdir, names.at(-1) ?? '.'),
          // What packaging/Dockerfile.dockerignore keeps from the builder within the folders it lets through.
          isLeftOut: (file) => from === undefined && file.endsWith('.test.ts'),
        });
        break;
      }
      case 'RUN': {
        const ran = spawnSync('sh', ['-c', rest], {
          cwd: join(built.folder, workdir),
          env: { ...env, ...built.env },
          encoding: 'utf8',
        });
        if (ran.status !== 0) throw new Error(`RUN ${rest} ended with ${ran.status}: ${ran.stderr}`);
        break;
      }
      case 'ENV':
        for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) built.env[name] = value;
        break;
      case 'USER': {
        const [uid = 0, gid = 0] = rest.split(':').map(Number);
        built.user = { uid, gid };
        break;
      }
      case 'HEALTHCHECK':
        built.health = JSON.parse(rest.slice(rest.indexOf('CMD') + 'CMD'.length));
        break;
      case 'ENTRYPOINT':
        start.entrypoint = JSON.parse(rest);
        break;
      case 'CMD':
        start.command = JSON.parse(rest);
        break;
      case 'LABEL':
      case 'EXPOSE':
        break;
      default:
        throw new Error(`cannot run a Dockerfile's ${word}`);
    }
  }
  built.command = [...start.entrypoint, ...start.command].map((word) =>
    word.startsWith('/') ? join(built.folder, word) : word,
  );
  return built;
}

/**
 * Starts what was built as the image's user, waits until its health check agrees, and stops it.
 * @param {Built} built
 * @param {number} port in place of the image's 8080, which may be taken here
 * @param {string[]} args after the command
 * @returns {Promise<string>} what it said
 */
export async function tryImage(built, port, args) {
  const env = { PATH: process.env['PATH'], ...built.env, MCPPROXY_LISTEN: `0.0.0.0:${port}` };
  const isRoot = process.getuid?.() === 0;
  if (built.user.uid === 0) throw new Error('the image runs as root');
  const [program = '', ...rest] = built.command;
  const child = spawn(program, [...rest, ...args], {
    env,
    cwd: built.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Another user cannot write what root copied, as in a read-only root file system.
    ...(isRoot ? built.user : {}),
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
  try {
    const [check = '', ...checkArgs] = built.health.map((word) => word.replace(':8080', `:${port}`));
    for (let attempt = 1; spawnSync(check, checkArgs, { env }).status !== 0; attempt++) {
      if (attempt === 50 || child.exitCode !== null) throw new Error(`the image is not healthy: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  } finally {
    child.kill('SIGTERM');
  }
  const code = await ended;
  if (code !== 0) throw new Error(`the image ended with ${code}: ${said}`);
  return said;
}

/** @param {string} text */
export function instructionsOf(text) {
  return text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
      return { word: word.toUpperCase(), rest: rest.trim() };
    });
}

/**
 * @param {string} text
 * @param {Readonly<Record<string, string>>} variables
 */
function filled(text, variables) {
  return text.replaceAll(/\$\{(\w+)\}/g, (_all, name) => variables[name] ?? '');
}

/**
 * @param {object} options
 * @param {string} options.source
 * @param {readonly string[]} options.patterns
 * @param {string} options.to
 * @param {(file: string) => boolean} options.isLeftOut
 */
function copy({ source, patterns, to, isLeftOut }) {
  for (const pattern of patterns) {
    const path = join(source, pattern);
    // Of a folder COPY takes what is in it; a file goes into a target that is a folder.
    const target = statSync(path).isDirectory() ? to : join(to, basename(path));
    cpSync(path, target, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => !isLeftOut(relative(source, file)),
    });
  }
}
