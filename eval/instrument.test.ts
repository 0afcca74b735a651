import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDocumentPool } from '../src/search/index.ts';
import { byLanguage, type Measured } from '../src/search/measure.ts';
import { optionsFrom } from './arguments.ts';
import { withEarlierRanking } from './earlier-build.ts';
import { OWN_SET, PROJECT, readSet } from './evaluation-set.ts';
import { openFileEmbedder } from './file-embedder.ts';
import { misspelt } from './misspell.ts';
import { embedSet, measure, measureModelAlone } from './rank.ts';
import { differenceTable, scoreTable, sidesTable } from './tables.ts';

test('understands its arguments, and says so when it does not', () => {
  expect(optionsFrom(['--data', 'a', '--data', 'b', '--misspelt', '--compare', 'v1'])).toMatchObject({
    data: ['a', 'b'],
    misspelt: true,
    compare: 'v1',
    json: false,
    embedder: 'packed',
  });
  expect(optionsFrom(['--embedder', 'none', '--cap', '500'])).toMatchObject({ embedder: 'none', cap: 500 });
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

test('sets words, the model alone and both side by side', () => {
  const at = (id: string, ranks: readonly number[]): Measured => ({ id, language: 'en', relevant: 1, ranks });
  const words = [at('a', [0]), at('b', [])];
  const model = [at('a', [7]), at('b', [2])];
  const both = [at('a', [1]), at('b', [3])];
  expect(sidesTable(words, model, both).split('\n')).toEqual([
    expect.stringMatching(/^language {2}n {2}words +model +both +both − words$/),
    expect.stringMatching(
      /^en +2 {2}\.500 \[\.095–\.905\] {2}\.500 \[\.095–\.905\] {2}1\.000 \[\.342–1\.000\] {2}\+50\.0 \[/,
    ),
  ]);
});

test('measures the model alone by similarity, and reads vectors made elsewhere', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpproxy-vectors-'));
  try {
    const texts: [string, string, number[]][] = [
      ['document', 'one. First.', [1, 0]],
      ['document', 'two. Second.', [0.6, 0.8]],
      ['question', 'which?', [0, 1]],
    ];
    writeFileSync(
      join(folder, 'texts.jsonl'),
      texts.map(([role, text]) => JSON.stringify([role, text])).join('\n'),
    );
    writeFileSync(join(folder, 'vectors.f32'), Float32Array.from(texts.flatMap(([, , vector]) => vector)));
    const tools = [
      ['one', 'First.'],
      ['two', 'Second.'],
    ].map(([name, description]) => ({
      name: name!,
      exposedName: name!,
      upstream: 'bench',
      description: description!,
      inputSchema: {},
      digest: name!,
    }));
    const set = { tools, questions: [{ id: 'q', text: 'which?', language: 'en', relevant: ['two'] }] };
    const embedder = openFileEmbedder(folder);
    expect(embedder.dimensions).toBe(2);
    const vectors = await embedSet(set, embedder);
    expect(measureModelAlone(set, vectors)[0]!.ranks).toEqual([0]);
    await expect(embedder.embed(['another'], 'question')).rejects.toThrow('another');
  } finally {
    rmSync(folder, { recursive: true });
  }
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
