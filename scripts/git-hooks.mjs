// Points git at the hooks in scripts/hooks: `mise install` runs it, and so can you with `node scripts/git-hooks.mjs`.
// Hooks somebody has set already are theirs: they are left alone, with a word.
import { execFileSync } from 'node:child_process';

const FOLDER = 'scripts/hooks';

/** Standard output of git, without the line's end; undefined when git says no, or is not there. */
function git(...args) {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

if (git('rev-parse', '--is-inside-work-tree') !== 'true') {
  console.log('not a git checkout: no hooks to install');
} else {
  const before = git('config', '--get', 'core.hooksPath');
  if (before !== undefined && before !== FOLDER) {
    console.log(`git already takes its hooks from ${before}; left as it is (ours are in ${FOLDER})`);
  } else {
    git('config', '--local', 'core.hooksPath', FOLDER);
    console.log(`git hooks are taken from ${FOLDER}`);
  }
}
