// @ts-check
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The outside programs that judge us: the protocol's own conformance suite, one version for each generation, and
 * the inspector. They need a newer Node than ours and bring some 200 packages, so they are no dependencies of this
 * project: they are installed when the checks run, into a folder that Git ignores.
 */

export const CONFORMANCE_MODERN = '0.2.0-alpha.12';
export const CONFORMANCE_OLDER = '0.1.16';
export const INSPECTOR = '2.12.0';
const NODE = '24.22.3';
/** The inspector's own word; the conformance suite asks for 22. */
const OLDEST_NODE = [22, 19];
/** Packages below the pinned ones are taken as they were on this day, so that two runs install the same. */
const AS_OF = '2026-11-30';
const INSTALL_MS = 300_000;

const run = promisify(execFile);

/**
 * @typedef {object} Programs
 * @property {string} node the Node that runs them
 * @property {string} conformanceModern path of the suite that knows 2026-07-28
 * @property {string} conformanceOlder path of the suite for the versions before
 * @property {string} inspector path of the inspector
 */

/**
 * Installs the programs into `folder`, or finds them there; a sentence when they cannot be had here.
 * @param {string} folder
 * @returns {Promise<Programs | string>}
 */
export async function openPrograms(folder) {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const nodePackage = isNewEnough() ? undefined : `node-${platform}-${process.arch}`;
  const manifest = JSON.stringify(
    {
      private: true,
      dependencies: {
        'conformance-modern': `npm:@modelcontextprotocol/conformance@${CONFORMANCE_MODERN}`,
        'conformance-older': `npm:@modelcontextprotocol/conformance@${CONFORMANCE_OLDER}`,
        '@modelcontextprotocol/inspector': INSPECTOR,
        ...(nodePackage === undefined ? {} : { [nodePackage]: NODE }),
      },
    },
    undefined,
    2,
  );
  const installed = join(folder, 'installed.json');
  if (!existsSync(installed) || readFileSync(installed, 'utf8') !== manifest) {
    const problem = await install(folder, manifest);
    if (problem !== undefined) return problem;
    writeFileSync(installed, manifest);
  }
  const node =
    nodePackage === undefined ? process.execPath : join(folder, 'node_modules', nodePackage, 'bin', 'node');
  const programs = {
    node,
    conformanceModern: programOf(folder, 'conformance-modern', 'conformance'),
    conformanceOlder: programOf(folder, 'conformance-older', 'conformance'),
    inspector: programOf(folder, '@modelcontextprotocol/inspector', 'mcp-inspector'),
  };
  try {
    await run(node, ['--version']);
  } catch {
    return `the Node ${NODE} of package ${nodePackage} does not run on this machine`;
  }
  return programs;
}

function isNewEnough() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [needMajor = 0, needMinor = 0] = OLDEST_NODE;
  return major > needMajor || (major === needMajor && minor >= needMinor);
}

/**
 * @param {string} folder
 * @param {string} manifest
 * @returns {Promise<string | undefined>} why it could not be done
 */
async function install(folder, manifest) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), manifest);
  console.error('installing the conformance suite and the inspector (once) …');
  const args = [
    'install',
    '--prefix',
    folder,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  try {
    await run('npm', [...args, `--before=${AS_OF}`], { timeout: INSTALL_MS });
    return undefined;
  } catch (thrown) {
    const { stderr, message } = /** @type {{ stderr?: string, message: string }} */ (thrown);
    const line = (stderr ?? '').split('\n').find((text) => /error/i.test(text));
    return `npm could not install them: ${line ?? message.split('\n')[0]}`;
  }
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {string} bin
 */
function programOf(folder, name, bin) {
  const root = join(folder, 'node_modules', ...name.split('/'));
  const manifest = /** @type {{ bin: string | Record<string, string> }} */ (
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  );
  const path = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[bin];
  if (path === undefined) throw new Error(`package ${name} has no program ${bin}`);
  return join(root, path);
}
