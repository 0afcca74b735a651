// @ts-check
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { runDockerfile, tryImage } from './release-dockerfile.mjs';
import { openTool } from './release-tools.mjs';

/** @typedef {import('./release-scene.mjs').Scene} Scene */

const VERSION = '[0-9]+.[0-9]+.[0-9]+';
const QUESTION = 'renew a library loan';
const ANSWER = 'library';
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'me', version: '1' } },
});
/** How open `systemd-analyze security` may find the service, in tenths; 0 is shut, 100 wide open. */
const MOST_EXPOSED = 20;

/**
 * Each tries one kind of file; resolves with why it could not be tried here, or with nothing when all is well.
 * @type {Readonly<Record<string, (scene: Scene) => Promise<string | undefined>>>}
 */
export const CHECKS = { npm, archive, deb, rpm, unit, homebrew, image, compose };

/** @param {Scene} scene */
async function npm(scene) {
  const tarballs = readdirSync(scene.home).filter((file) => file.endsWith('.tgz'));
  mkdirSync(join(scene.home, 'empty'));
  const install = tarballs.map((file) => `../${file}`).join(' ');
  scene.type(`cd empty && npm install ${install}`, { show: (output) => output.trim() });
  scene.type('cd empty && npx --no-install mcpproxy --version', {
    show: expecting(/^mcp-toolsearch-proxy \d/),
  });
  scene.type(`cd empty && npx --no-install mcpproxy --builtin search-tools ${QUESTION}`, {
    show: firstTool,
  });
  greet(scene, 'cd empty && npx --no-install mcpproxy --builtin --stdio');
  return undefined;
}

/** @param {Scene} scene */
async function archive(scene) {
  scene.type('sha256sum --check --ignore-missing SHA256SUMS', { show: expecting('.tar.gz: OK') });
  scene.type('tar -xzf mcp-toolsearch-proxy-*.tar.gz');
  const [folder = ''] = readdirSync(scene.home).filter((file) => /^mcp-toolsearch-proxy-[\d.]+$/.test(file));
  await useProgram(scene, `${folder}/bin/mcpproxy`);
  return undefined;
}

/** @param {Scene} scene */
async function deb(scene) {
  const [file] = readdirSync(scene.home).filter((name) => name.endsWith('.deb'));
  if (file === undefined) return 'this release has no .deb';
  if (!scene.has('dpkg')) return 'there is no dpkg on this machine';
  scene.type(`dpkg --field ${file} Package Version Architecture Maintainer Depends`, {
    show: (output) => expecting(/^Maintainer: .+ <.+@.+>$/m)(expecting(/^Depends: nodejs/m)(output)),
  });
  // A root of its own: nothing of this system is touched. Node is this machine's, however it came here.
  mkdirSync(join(scene.home, 'root/var/lib/dpkg/updates'), { recursive: true });
  mkdirSync(join(scene.home, 'root/var/lib/dpkg/info'));
  writeFileSync(join(scene.home, 'root/var/lib/dpkg/status'), '');
  const dpkg = 'dpkg --root="$HOME/root" --force-not-root --force-script-chrootless --log=/dev/null';
  scene.type(`${dpkg} --ignore-depends=nodejs --install ${file}`, { show: expecting('Setting up') });
  scene.type(
    'dpkg --root="$HOME/root" --listfiles mcp-toolsearch-proxy | grep -v /usr/lib/mcp-toolsearch-proxy/',
    {
      show: (output) => {
        const paths = output.split('\n');
        for (const path of [
          '/usr/bin/mcpproxy',
          '/usr/lib/systemd/system/mcpproxy.service',
          '/etc/mcpproxy/config.json',
        ])
          if (!paths.includes(path)) throw new Error(`it holds no ${path} but ${output}`);
        // Folders it shares with others say nothing.
        return paths.filter((path) => /mcp/.test(path)).join('\n');
      },
    },
  );
  await useProgram(scene, 'root/usr/bin/mcpproxy', 'root/etc/mcpproxy/config.json');
  scene.type(`${dpkg} --remove mcp-toolsearch-proxy`, { show: lastLine });
  scene.type(`${dpkg} --purge mcp-toolsearch-proxy`, { show: lastLine });
  const left = scene.type('find root -type f -not -path "root/var/lib/dpkg/*"', { quiet: true });
  if (left !== '') throw new Error(`these files stay when it is removed:\n${left}`);
  return undefined;
}

/** @param {Scene} scene */
async function rpm(scene) {
  const [file] = readdirSync(scene.home).filter((name) => name.endsWith('.rpm'));
  if (file === undefined) return 'this release has no .rpm';
  if (!scene.has('rpm')) return 'there is no rpm on this machine';
  const database = '--root="$HOME/root" --dbpath=/var/lib/rpm';
  mkdirSync(join(scene.home, 'root/var/lib/rpm'), { recursive: true });
  scene.type(`rpm --query --package --queryformat '%{NAME} %{VERSION} %{ARCH}\\n' ${file}`, {
    show: expecting(new RegExp(`^mcp-toolsearch-proxy ${VERSION} noarch$`, 'm')),
  });
  scene.type(`rpm --query --package --requires ${file}`, { show: expecting('nodejs >= ') });
  // Its scripts want a shell in that root, and Node is this machine's.
  scene.type(`rpm ${database} --nodeps --noscripts --install ${file}`);
  await useProgram(scene, 'root/usr/bin/mcpproxy', 'root/etc/mcpproxy/config.json');
  scene.type(`rpm ${database} --nodeps --noscripts --erase mcp-toolsearch-proxy`);
  const left = scene.type('find root -type f -not -path "root/var/lib/rpm/*"', { quiet: true });
  if (left !== '') throw new Error(`these files stay when it is removed:\n${left}`);
  return undefined;
}

/** @param {Scene} scene */
async function unit(scene) {
  if (!scene.has('systemd-analyze')) return 'there is no systemd-analyze on this machine';
  scene.type('tar -xzf mcp-toolsearch-proxy-*.tar.gz --strip-components=1', { quiet: true });
  // As installed, in a root of its own: the unit names the program by its path.
  for (const folder of ['root/usr/bin', 'root/usr/lib/systemd/system'])
    mkdirSync(join(scene.home, folder), { recursive: true });
  const target = '[Unit]\nDescription=A target\n';
  for (const name of ['multi-user', 'network-online', 'sysinit', 'basic', 'shutdown', 'system'])
    writeFileSync(join(scene.home, `root/usr/lib/systemd/system/${name}.target`), target);
  scene.type('cp share/systemd/mcpproxy.service root/usr/lib/systemd/system/', { quiet: true });
  writeFileSync(join(scene.home, 'root/usr/bin/mcpproxy'), '#!/bin/sh\n', { mode: 0o755 });
  scene.type('systemd-analyze verify --root="$HOME/root" --man=no mcpproxy.service', {
    show: (output) => {
      // Of a root with nothing in it systemd misses its own slices; anything it says of ours is a fault.
      if (/mcpproxy/.test(output)) throw new Error(output);
      return '';
    },
  });
  scene.type(
    `systemd-analyze security --offline=true --no-pager --threshold=${MOST_EXPOSED} share/systemd/mcpproxy.service`,
    { show: lastLine },
  );
  return undefined;
}

/** @param {Scene} scene */
async function homebrew(scene) {
  const sums = readFileSync(join(scene.home, 'SHA256SUMS'), 'utf8');
  const sum = /^(\w{64}) {2}mcp-toolsearch-proxy-[\d.]+\.tar\.gz$/m.exec(sums)?.[1] ?? 'no sum';
  for (const kind of ['formula', 'cask']) {
    const text = readFileSync(join(scene.home, `homebrew-${kind}.rb`), 'utf8');
    if (!text.includes(`sha256 "${sum}"`)) throw new Error(`the ${kind} has another hash than the archive`);
    if (/\{\{/.test(text)) throw new Error(`the ${kind} is not filled in`);
  }
  if (!scene.has('ruby')) return 'hashes agree, but there is no ruby on this machine to read the files';
  for (const kind of ['formula', 'cask'])
    scene.type(`ruby -c homebrew-${kind}.rb`, { show: expecting('Syntax OK') });
  return undefined;
}

/** @param {Scene} scene */
async function image(scene) {
  const file = join(scene.root, 'packaging/Dockerfile');
  const hadolint = await openTool(scene.root, 'hadolint');
  if (hadolint === undefined) scene.note('(hadolint cannot be had here)');
  else scene.type(`${hadolint} ${file}`, { quiet: true });
  const into = join(scene.home, 'stages');
  mkdirSync(into);
  const built = runDockerfile({
    text: readFileSync(file, 'utf8'),
    context: scene.root,
    into,
    env: scene.env,
    say: (line) => scene.note(line.length > 100 ? `${line.slice(0, 99)}…` : line),
  });
  const said = await tryImage(built, await freePort(), ['--upstream', 'http://127.0.0.1:9/mcp']);
  expecting('listening on http://0.0.0.0:')(said);
  scene.note('healthy, and ended with 0 when it was told to stop');
  return undefined;
}

/** @param {Scene} scene */
async function compose(scene) {
  const command = ['docker compose', 'docker-compose'].find((name) => {
    if (!scene.has(name.split(' ')[0] ?? '')) return false;
    try {
      scene.type(`${name} version`, { quiet: true });
      return true;
    } catch {
      return false;
    }
  });
  if (command === undefined) return 'there is no docker compose on this machine';
  const file = join(scene.root, 'packaging/compose.yaml');
  const read = scene.type(
    `MCPPROXY_UPSTREAM=https://gateway.example.com/mcp ${command} --file ${file} config`,
    {
      quiet: true,
    },
  );
  for (const line of [
    'read_only: true',
    'no-new-privileges:true',
    'MCPPROXY_UPSTREAM: https://gateway.example.com/mcp',
  ])
    expecting(line)(read);
  scene.note(`$ ${command} --file packaging/compose.yaml config --quiet`);
  return undefined;
}

/**
 * What a new user does first: asks for the version, finds a tool, speaks MCP, serves.
 * @param {Scene} scene
 * @param {string} program
 * @param {string} [config] a configuration that was installed with it
 */
async function useProgram(scene, program, config) {
  scene.type(`${program} --version`, { show: expecting(/^mcp-toolsearch-proxy \d/) });
  scene.type(`${program} --builtin search-tools ${QUESTION}`, { show: firstTool });
  greet(scene, `${program} --builtin --stdio`);
  const source = config === undefined ? '--builtin' : `--config ${config}`;
  await scene.whileServing(`${program} serve ${source} --listen 127.0.0.1:0`, async (url) => {
    scene.type(`curl --silent http://${url.host}/healthz`, { show: expecting('ok') });
  });
}

/**
 * @param {Scene} scene
 * @param {string} command that speaks MCP on stdin and stdout
 */
function greet(scene, command) {
  writeFileSync(join(scene.home, 'initialize.json'), `${INITIALIZE}\n`);
  const from = command.startsWith('cd empty') ? '../initialize.json' : 'initialize.json';
  scene.type(`${command} < ${from}`, {
    show: (output) => {
      const answer = expecting('"serverInfo"')(output);
      return answer.length > 100 ? `${answer.slice(0, 100)}…` : answer;
    },
  });
}

/**
 * @param {string | RegExp} what an output must hold
 * @returns {(output: string) => string}
 */
function expecting(what) {
  return (output) => {
    if (typeof what === 'string' ? !output.includes(what) : !what.test(output))
      throw new Error(`it does not say ${what} but: ${output}`);
    return output;
  };
}

/** @param {string} output of a search */
function firstTool(output) {
  return `${expecting(ANSWER)(output).split('\n').slice(0, 3).join('\n')}\n…`;
}

/** @param {string} output */
function lastLine(output) {
  return output.trim().split('\n').at(-1)?.trim() ?? '';
}

/** @returns {Promise<number>} */
async function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
