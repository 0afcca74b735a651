import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../command.ts';
import { CLI_FLAGS } from '../command-line.ts';
import { flagOf, placesOf, SETTING_NAMES } from '../../config/settings.ts';
import { completionOf } from './completion.ts';
import { SHELLS } from './words.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'completion-'));
  for (const shell of SHELLS) writeFileSync(join(folder, shell), completionOf(shell));
  mkdirSync(join(folder, 'models'));
  writeFileSync(join(folder, 'my config.json'), '{}');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(SHELLS)('the completions of %s', (shell) => {
  it('know every command and every flag', () => {
    const text = completionOf(shell);
    const flags = SETTING_NAMES.filter((name) => placesOf(name).includes('flag')).map(flagOf);
    const all = [...flags, ...Object.keys(CLI_FLAGS).map((name) => `--${name}`)];
    // fish names long flags without their dashes.
    const written = all.map((flag) => (shell === 'fish' ? `-l ${flag.slice(2)} ` : flag));
    for (const word of [...Object.keys(COMMANDS), ...written]) expect(text).toContain(word);
  });

  it('are understood by the shell, where it is installed', ({ skip }) => {
    const file = join(folder, shell);
    const check = {
      bash: ['bash', '-n', file],
      zsh: ['zsh', '-f', '-n', file],
      fish: ['fish', '--no-execute', file],
      powershell: [
        'pwsh',
        '-NoProfile',
        '-Command',
        `$e = $null; [void][System.Management.Automation.Language.Parser]::ParseFile('${file}', [ref]$null, [ref]$e); $e; exit $e.Count`,
      ],
    }[shell];
    const [program = '', ...args] = check;
    const { status, error, stderr, stdout } = spawnSync(program, args, { encoding: 'utf8' });
    if (error !== undefined) return skip(`${program} is not installed`);
    expect(stderr + stdout).toBe('');
    expect(status).toBe(0);
  });
});

/** What a real bash offers after these words; the last one is being typed. */
function offered(...words: readonly string[]): string[] {
  const script = `
source "$0" || exit 9
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_mcpproxy
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const args = ['--noprofile', '--norc', '-c', script, join(folder, 'bash'), 'mcpproxy', ...words];
  const { stdout, stderr, status } = spawnSync('bash', args, { encoding: 'utf8', cwd: folder });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.split('\n').filter((line) => line !== '');
}

describe.skipIf(spawnSync('bash', ['-c', 'exit 0']).status !== 0)('in a real bash', () => {
  it('commands come first, and after flags with their values', () => {
    expect(offered('')).toEqual([...Object.keys(COMMANDS), 'help']);
    expect(offered('lis')).toEqual(['list-tools']);
    expect(offered('se')).toEqual(Object.keys(COMMANDS).filter((name) => name.startsWith('se')));
    expect(offered('--config', 'serve', '-q', 'li')).toEqual(['list-tools']);
  });

  it('flags of the command are offered, and those of others are not', () => {
    expect(offered('search-tools', 'x', '--l')).toEqual(
      expect.arrayContaining(['--limit', '--listen', '--list-timeout-ms']),
    );
    expect(offered('list-tools', '--l')).not.toContain('--limit');
    expect(offered('call-tool', 'x', '--y')).toEqual(['--yes']);
    expect(offered('--y')).toEqual([]);
    expect(offered('--bu')).toEqual(['--builtin']);
  });

  it('long flags with one dash become ones with two', () => {
    expect(offered('-upst')).toEqual(['--upstream']);
    expect(offered('-embedder', 'p')).toEqual(['packed', 'packed-small']);
  });

  it('known values are offered, also after an equals sign', () => {
    expect(offered('-o', '')).toEqual(['json', 'table']);
    expect(offered('list-tools', '--output', '=', 'j')).toEqual(['json']);
    expect(offered('list-tools', '--output', '=')).toEqual(['json', 'table']);
    expect(offered('completion', '')).toEqual([...SHELLS]);
    expect(offered('help', 'dem')).toEqual(['demo']);
  });

  it('files and folders are offered where one is wanted', () => {
    expect(offered('--config', 'my')).toEqual(['my config.json']);
    expect(offered('--model-dir', 'm')).toEqual(['models']);
    expect(offered('--model-dir=x', '--config', 'mo')).toEqual(['models']);
  });

  it('where nobody can guess, nothing is offered', () => {
    expect(offered('--upstream', '')).toEqual([]);
    expect(offered('call-tool', '')).toEqual([]);
  });
});
