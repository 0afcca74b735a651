import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

/** A git checkout with our script and hooks, and npm scripts that say what they would have done. */
function checkout(): { readonly folder: string; readonly git: (...args: readonly string[]) => string } {
  const folder = mkdtempSync(join(tmpdir(), 'git-hooks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'scripts'));
  for (const name of ['git-hooks.mjs', 'hooks'])
    cpSync(join(import.meta.dirname, name), join(folder, 'scripts', name), { recursive: true });
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1' };
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  git('init', '-q');
  return { folder, git };
}

const install = (folder: string): string =>
  spawnSync(process.execPath, ['scripts/git-hooks.mjs'], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
  }).stdout;

const scripts = (lint: string): string => JSON.stringify({ scripts: { 'format:check': 'node -e 0', lint } });

it('a commit that does not lint is stopped, and one that does goes through', () => {
  const { folder, git } = checkout();
  expect(install(folder)).toBe('git hooks are taken from scripts/hooks\n');
  writeFileSync(join(folder, 'package.json'), scripts('node -e "process.exit(1)"'));
  git('add', 'package.json');
  expect(() => git('commit', '-qm', 'one')).toThrow();
  writeFileSync(join(folder, 'package.json'), scripts('node -e 0'));
  git('add', 'package.json');
  git('commit', '-qm', 'two');
  expect(git('log', '--format=%s')).toBe('two\n');
});

it('hooks somebody has set already are left alone', () => {
  const { folder, git } = checkout();
  git('config', 'core.hooksPath', 'mine');
  expect(install(folder)).toContain('git already takes its hooks from mine');
  expect(git('config', 'core.hooksPath')).toBe('mine\n');
  expect(install(folder)).toContain('left as it is');
});

it('outside a checkout nothing happens', () => {
  const folder = mkdtempSync(join(tmpdir(), 'no-git-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'scripts'));
  cpSync(join(import.meta.dirname, 'git-hooks.mjs'), join(folder, 'scripts/git-hooks.mjs'));
  expect(install(folder)).toBe('not a git checkout: no hooks to install\n');
});
