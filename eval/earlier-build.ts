import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DocumentPool } from '../src/search/index.ts';
import { PROJECT } from './evaluation-set.ts';

/**
 * Builds the ranking of another commit beside this one, in a git work tree under the system's temporary
 * folder, and lends it to `use`. The work tree is gone afterwards, whatever happens.
 */
export async function withEarlierRanking(
  ref: string,
  use: (createPool: () => DocumentPool) => void,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mcpproxy-eval-'));
  const tree = join(folder, 'tree');
  const git = (...args: readonly string[]): void => {
    execFileSync('git', args, { cwd: PROJECT, stdio: ['ignore', 'ignore', 'inherit'] });
  };
  try {
    git('worktree', 'add', '--detach', tree, ref);
    symlinkSync(join(PROJECT, 'node_modules'), join(tree, 'node_modules'));
    writeFileSync(join(tree, 'tsconfig.earlier.json'), JSON.stringify(ONLY_SEARCH));
    const compiler = join(PROJECT, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', 'tsconfig.earlier.json'], {
      cwd: tree,
      stdio: 'inherit',
    });
    const entry = pathToFileURL(join(tree, 'built/search/index.js')).href;
    const { createDocumentPool } = (await import(entry)) as { createDocumentPool: () => DocumentPool };
    use(createDocumentPool);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    git('worktree', 'prune');
  }
}

const ONLY_SEARCH = {
  extends: './tsconfig.json',
  compilerOptions: { noEmit: false, rootDir: 'src', outDir: 'built' },
  include: ['src/search', 'src/catalog'],
  exclude: ['**/*.test.ts'],
};
