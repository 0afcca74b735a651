import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { noticeText } from './supply-chain-notice.mjs';
import { MOST_DIRECT, MOST_TOTAL, mistakesOf } from './supply-chain-rules.mjs';
import { advisoriesIn, readProject } from './supply-chain.mjs';

const root = join(import.meta.dirname, '..');
const INTEGRITY = `sha512-${'a'.repeat(86)}==`;
const GOOD = { version: '1.0.0', integrity: INTEGRITY, license: 'MIT' };

const judge = (packages: object, manifest: object = {}): string[] =>
  mistakesOf(manifest, { lockfileVersion: 3, packages: { '': {}, ...packages } }).mistakes;

describe('the lock file', () => {
  it('of this project keeps every rule', () => {
    const { manifest, lock } = readProject(root);
    const { mistakes, direct, total } = mistakesOf(manifest, lock);
    expect(mistakes).toEqual([]);
    // What is counted is really there.
    expect(direct).toBeGreaterThan(10);
    expect(total).toBeGreaterThan(direct);
  });

  it('may name no host, no other place than the registry, and nothing without a hash', () => {
    expect(judge({ 'node_modules/a': GOOD })).toEqual([]);
    expect(judge({ 'node_modules/a': { ...GOOD, integrity: undefined } })).toEqual([
      'a 1.0.0 has no sha512 hash',
    ]);
    expect(judge({ 'node_modules/a': { ...GOOD, integrity: 'sha1-abc=' } })).toEqual([
      'a 1.0.0 has no sha512 hash',
    ]);
    expect(judge({ 'node_modules/a': { ...GOOD, resolved: 'git+ssh://git@h.example/a.git#1' } })).toEqual([
      'a 1.0.0 does not come from the registry but from git+ssh://git@h.example/a.git#1',
    ]);
    expect(judge({ 'node_modules/a': { ...GOOD, resolved: 'https://h.example/a/-/a-1.0.0.tgz' } })).toEqual([
      "a 1.0.0 names the registry's host in the lock file; .npmrc says that it must not",
    ]);
    expect(judge({ 'node_modules/a': { resolved: '../a', link: true } })).toEqual([
      'a is a link to ../a, no workspace',
    ]);
  });

  it('may hold the packages of this project itself', () => {
    const packages = {
      'packages/own': { version: '1.0.0', license: 'MIT' },
      'node_modules/own': { resolved: 'packages/own', link: true },
    };
    expect(judge(packages, { workspaces: ['packages/own'], dependencies: { own: '1.0.0' } })).toEqual([]);
  });

  it('may hold no package that runs something while it is installed, wherever it hangs', () => {
    expect(
      judge({ 'node_modules/a/node_modules/@b/c': { ...GOOD, dev: true, hasInstallScript: true } }),
    ).toEqual(['@b/c 1.0.0 wants to run a script while it is installed']);
  });

  it('may hold no version with a known hole', () => {
    const at = (name: string, version: string): string[] =>
      judge({ [`node_modules/${name}`]: { ...GOOD, version } });
    expect(at('undici', '7.18.1')).toEqual([
      'undici 7.18.1 is older than 7.18.2, which repairs CVE-2026-22036',
    ]);
    expect(at('undici', '6.23.0')).toEqual([]);
    expect(at('undici', '6.22.9')).toHaveLength(1);
    expect(at('ajv', '8.9.0')).toEqual(['ajv 8.9.0 is older than 8.18.0, which repairs CVE-2025-69873']);
    expect(at('ajv', '8.20.0')).toEqual([]);
  });

  it('may hold no package that runs under a licence not agreed on', () => {
    expect(judge({ 'node_modules/a': { ...GOOD, license: 'GPL-3.0-only' } })).toEqual([
      'a 1.0.0 is under GPL-3.0-only; see LICENCES',
    ]);
    expect(judge({ 'node_modules/a': { ...GOOD, license: 'GPL-3.0-only', dev: true } })).toEqual([]);
  });

  it('is counted', () => {
    const many = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`node_modules/a${n}`, GOOD]));
    expect(judge(many(MOST_TOTAL))).toEqual([]);
    expect(judge(many(MOST_TOTAL + 1))).toEqual([
      `${MOST_TOTAL + 1} packages run in all, at most ${MOST_TOTAL} may`,
    ]);
    const dependencies = Object.fromEntries(
      Array.from({ length: MOST_DIRECT + 1 }, (_, n) => [`a${n}`, '1.0.0']),
    );
    expect(judge({}, { dependencies })).toEqual([
      `${MOST_DIRECT + 1} direct packages run, at most ${MOST_DIRECT} may`,
    ]);
  });
});

describe('package.json', () => {
  it('may ask for no range', () => {
    expect(judge({}, { devDependencies: { a: '^1.0.0' } })).toEqual([
      'a of devDependencies is not pinned: "^1.0.0"',
    ]);
  });
});

describe('advisories', () => {
  it('are read from what npm prints, and its silence is no clean bill', () => {
    const via = [{ title: 'Something reads too much' }, 'another-package'];
    const found = { vulnerabilities: { a: { name: 'a', severity: 'high', via } } };
    expect(advisoriesIn(JSON.stringify(found))).toEqual(['a: high: Something reads too much']);
    expect(advisoriesIn(JSON.stringify({ vulnerabilities: {} }))).toEqual([]);
    expect(advisoriesIn('{"error":{"code":"E405"}}')).toBe(
      'the registry of this machine has no advisory service',
    );
    expect(advisoriesIn('')).toBe('npm audit did not answer in time');
  });
});

describe('NOTICE', () => {
  it('is fresh', () => {
    expect(
      readFileSync(join(root, 'NOTICE'), 'utf8'),
      'NOTICE is out of date: npm run supply-chain -- --write writes it anew',
    ).toBe(noticeText(root, readProject(root).lock));
  });
});

/** What lies beside the program in its package. Decide, then change this, `files` and the changelog. */
const BESIDE = ['CHANGELOG.md', 'LICENSE', 'NOTICE', 'README.md', 'package.json'];
const COMPILED: Readonly<Record<string, readonly string[]>> = {
  '.ts': ['.js', '.js.map', '.d.ts'],
  '.mjs': ['.mjs', '.mjs.map', '.d.mts'],
};

/** The packed models: of many languages, and of English. */
const WEIGHTS = ['encoder.safetensors', 'english.safetensors'];

function packedOf(folder: string): string[] {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--workspaces=false'], {
      cwd: folder,
      encoding: 'utf8',
    }),
  ) as [{ files: readonly { path: string }[] }];
  return packed.files.map(({ path }) => path).sort();
}

function compiledSources(): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .flatMap((file) => {
      const [, stem = '', extension = ''] = /^(.*?)(\.ts|\.mjs)$/.exec(file) ?? [];
      if (stem.endsWith('.test') || stem.endsWith('.d')) return [];
      return (COMPILED[extension] ?? []).map((ending) => `dist/${stem}${ending}`);
    });
}

describe('the package', () => {
  // `npm test` builds first; a folder built some time ago may hold files whose sources have gone.
  it.runIf(existsSync(join(root, 'dist/bin.js')))(
    'holds the program, and nothing else of this repository',
    () => {
      expect(packedOf(root)).toEqual([...BESIDE, ...compiledSources()].sort());
    },
  );

  it('of the weights holds them and whose they are', () => {
    const folder = join(root, 'packages/model');
    // A checkout without the weights packs the rest.
    const beside = ['LICENSE', 'NOTICE', 'README.md', 'package.json'];
    const there = WEIGHTS.filter((file) => existsSync(join(folder, file)));
    expect(packedOf(folder)).toEqual([...beside, ...there].sort());
  });
});
