import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDocumentPool, type IndexedTool, type ToolIndex } from './index.ts';

/**
 * What a view answers depends on its own documents only. Each case plays a random life of a pool (views
 * opened and closed, documents shared, brought back, compacted away) and compares every open view with a
 * pool that was made for that view alone.
 */

const WORDS = `file files read write list issue issues github GitHub create delete remove repository repo user
 users message send mail weather forecast city search web page webpage file system filesystem failas failų
 nuotraukos der die und Datei 文件 创建文件 検索 погода прогноз the of`.split(/\s+/);
const QUESTION_WORDS = [
  ...WORDS,
  'fiel',
  'serch',
  'forcast',
  'unknownword',
  'get',
  'main',
  'login',
  'log',
  'in',
];

const text = (words: readonly string[], max: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...words), { minLength: 0, maxLength: max }).map((chosen) => chosen.join(' '));

const catalogTool: fc.Arbitrary<IndexedTool> = fc
  .record({
    verb: fc.constantFrom('read', 'write', 'list', 'create', 'osm__find', 'delete'),
    noun: fc.constantFrom('file', 'issue', 'user', 'mail', 'Page'),
    lead: text(WORDS, 6),
    rest: text(WORDS, 4),
    parameter: fc.constantFrom('path', 'user_id', 'city', 'query'),
    upstream: fc.constantFrom('main', 'other'),
  })
  .map(({ verb, noun, lead, rest, parameter, upstream }) => ({
    name: `${verb}_${noun}`,
    exposedName: '',
    upstream,
    description: `${lead}. ${rest}`,
    inputSchema: { properties: { [parameter]: { description: rest } } },
    digest: [verb, noun, lead, rest, parameter].join('|'),
  }));

const life = fc.record({
  tools: fc.array(catalogTool, { minLength: 4, maxLength: 24 }),
  steps: fc.array(
    fc.record({ close: fc.nat(5), take: fc.array(fc.nat(23), { minLength: 0, maxLength: 14 }) }),
    { minLength: 1, maxLength: 5 },
  ),
  questions: fc.array(text(QUESTION_WORDS, 6), { minLength: 1, maxLength: 3 }),
  limit: fc.integer({ min: 1, max: 6 }),
});

interface OpenView {
  readonly index: ToolIndex;
  /** The same view in a pool of its own. */
  readonly alone: ToolIndex;
}

test('a view of a pool answers exactly as an index of that view alone', { timeout: 600_000 }, () => {
  fc.assert(
    fc.property(life, ({ tools, steps, questions, limit }) => {
      const pool = createDocumentPool({ compactAfter: 3 });
      const open: OpenView[] = [];
      for (const { close, take } of steps) {
        if (open.length > 0 && close < 4) open.splice(close % open.length, 1)[0]!.index.close();
        const chosen = take.map((i, place) => ({
          ...tools[i % tools.length]!,
          exposedName: `t${i}_${place}`,
        }));
        const view = { index: pool.openView(chosen), alone: createDocumentPool().openView(chosen) };
        for (const index of [view.index, view.alone]) embed(index, chosen);
        open.push(view);
        for (const one of open) compare(one, questions, limit);
      }
      for (const { index } of open) index.close();
      return pool.size === 0;
    }),
    { numRuns: 10_000 },
  );
});

/** Numbers of the two parts of a vector. */
const PARTS = [5, 3] as const;

/** Vectors as an embedder would give them: the same for the same text; some documents never get theirs. */
function embed(index: ToolIndex, tools: readonly IndexedTool[]): void {
  PARTS.forEach((length, part) => {
    for (const position of index.unembedded(part)) {
      const { digest } = tools[position]!;
      if (hash(digest) % 7 >= part + 1 || hash(digest) % 3 === 0)
        index.setVector(position, vectorOf(`${part}${digest}`, length), part);
    }
  });
}

function vectorOf(text: string, length: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => (hash(`${text}${i}`) % 2_001) / 1_000 - 1);
}

function hash(text: string): number {
  let state = 17;
  for (let i = 0; i < text.length; i++) state = (Math.imul(state, 31) + text.charCodeAt(i)) >>> 0;
  return Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0;
}

function compare({ index, alone }: OpenView, questions: readonly string[], limit: number): void {
  for (const question of questions) {
    const vector = vectorOf(question, PARTS[0] + PARTS[1]);
    same(index.search(question, { limit, vector }), alone.search(question, { limit, vector }));
    const expected = alone.search(question, { limit });
    same(index.search(question, { limit }), expected);
    // The few that were asked for are the first of all: leaving early must not be seen.
    const all = alone.search(question, { limit: 1_000 });
    same(expected.matches, all.matches.slice(0, limit));
  }
}

/** Text tells equal scores to the last bit, and is quick where nothing differs. */
function same(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected);
}
