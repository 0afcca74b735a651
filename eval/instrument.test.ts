import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDocumentPool } from '../src/search/index.ts';
import { byLanguage } from '../src/search/measure.ts';
import { optionsFrom } from './arguments.ts';
import { withEarlierRanking } from './earlier-build.ts';
import { OWN_SET, PROJECT, readSet } from './evaluation-set.ts';
import { misspelt } from './misspell.ts';
import { measure } from './rank.ts';
import { differenceTable, scoreTable } from './tables.ts';

test('understands its arguments, and says so when it does not', () => {
  expect(optionsFrom(['--data', 'a', '--data', 'b', '--misspelt', '--compare', 'v1'])).toMatchObject({
    data: ['a', 'b'],
    misspelt: true,
    compare: 'v1',
    json: false,
  });
  expect(optionsFrom(['--among', 'a', '--among-most', '500'])).toMatchObject({
    among: ['a'],
    amongMost: 500,
  });
  for (const args of [['--dtaa', 'a'], ['--data'], ['--among-most', 'x']])
    expect(optionsFrom(args)).toBeUndefined();
});

test('misspells half of the longer words by one letter, the same ones in every run', () => {
  const set = readSet(OWN_SET);
  const wrong = misspelt(set);
  expect(misspelt(set)).toEqual(wrong);
  let longer = 0;
  let changed = 0;
  wrong.questions.forEach(({ text }, i) => {
    const before = set.questions[i]!.text.split(' ');
    text.split(' ').forEach((word, place) => {
      if (/^\p{L}{5,}$/u.test(before[place]!)) longer++;
      if (word !== before[place]) changed++;
    });
  });
  expect(changed / longer).toBeGreaterThan(0.4);
  expect(changed / longer).toBeLessThan(0.65);
});

test('prints n and intervals for every language', () => {
  const measured = [
    { id: 'a', language: 'en', relevant: 1, ranks: [0] },
    { id: 'b', language: 'en', relevant: 1, ranks: [7] },
    { id: 'c', language: 'lt', relevant: 1, ranks: [] },
  ];
  expect(scoreTable(byLanguage(measured)).split('\n')).toEqual([
    expect.stringMatching(/^language {2}n {2}recall@1 +recall@5 +recall@10 +MRR +nDCG@10$/),
    expect.stringMatching(
      /^en +2 {2}\.500 \[\.095–\.905\] {2}\.500 \[\.095–\.905\] {2}1\.000 \[\.342–1\.000\] /,
    ),
    expect.stringMatching(/^lt +1 {2}\.000 \[\.000–\.793\]/),
  ]);
  expect(differenceTable(measured, measured)).toContain('0.0 [0.0, 0.0]');
});

const isCheckout = existsSync(join(PROJECT, '.git'));

test.skipIf(!isCheckout)(
  'compares with an earlier commit and leaves nothing behind',
  { timeout: 120_000 },
  async () => {
    const whole = readSet(OWN_SET);
    const set = { ...whole, questions: whole.questions.slice(0, 30) };
    let earlier = '';
    await withEarlierRanking('HEAD', (createPool) => {
      const before = measure(createPool().openView(set.tools), set);
      earlier = differenceTable(before, measure(createDocumentPool().openView(set.tools), set));
    });
    expect(earlier.split('\n')[1]).toMatch(/^en +\d+ /);
    const trees = execFileSync('git', ['worktree', 'list'], { cwd: PROJECT, encoding: 'utf8' });
    expect(trees).not.toContain('mcpproxy-eval-');
    await expect(withEarlierRanking('no-such-ref', () => undefined)).rejects.toThrow();
  },
);
