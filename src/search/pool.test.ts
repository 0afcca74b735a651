import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDocumentPool, type IndexedTool, type Match, type ToolIndex } from './index.ts';

let serial = 0;
function tool(name: string, description: string, more: Partial<IndexedTool> = {}): IndexedTool {
  return {
    exposedName: name,
    name,
    upstream: 'main',
    description,
    inputSchema: {},
    digest: `d${serial++}`,
    ...more,
  };
}

function names(tools: readonly IndexedTool[], question: string, limit = 3): readonly string[] {
  const index = createDocumentPool().openView(tools);
  return index.search(question, { limit }).matches.map(({ position }) => tools[position]!.exposedName);
}

const tools = [
  tool('create_issue', 'Create a new issue in a GitHub repository.'),
  tool('list_issues', 'List the issues of a repository, newest first.'),
  tool('read_file', 'Return the text of one file.'),
  tool('write_file', 'Write text into a file, replacing what is there.'),
  tool('weather_forecast', 'Forecast for a city for the next days.'),
];

test('finds a tool by words in any inflection', () => {
  expect(names(tools, 'forecasting the weather')[0]).toBe('weather_forecast');
  expect(names(tools, 'creates issues')[0]).toBe('create_issue');
});

test('finds a misspelt word by its near word', () => {
  expect(names(tools, 'wether forcast')[0]).toBe('weather_forecast');
});

test('finds a brand written in two humps by its lower-case form', () => {
  expect(names(tools, 'github')).toEqual(['create_issue']);
});

test('puts a named tool first, however the name is written', () => {
  for (const question of [
    'read_file',
    'read-file',
    'readFile',
    'Read file',
    'main:read_file',
    'main__read_file',
    'please use read_file to write the text',
  ])
    expect(names(tools, question)[0]).toBe('read_file');
  expect(names(tools, 'write_file, create_issue').slice(0, 2)).toEqual(['write_file', 'create_issue']);
});

test('puts a tool first whose name ends with the one asked for', () => {
  const gateway = [...tools, tool('osm__geocode_address', 'Turn an address into coordinates.')];
  expect(names(gateway, 'geocode_address')[0]).toBe('osm__geocode_address');
});

test('answers nothing when no word is known', () => {
  const index = createDocumentPool().openView(tools);
  expect(index.search('quxblorf zzyzx', { limit: 5 })).toEqual({ matches: [], coverage: 0, basis: 'words' });
});

test('holds a document once for all views, and gives it back when the last is closed', () => {
  const pool = createDocumentPool();
  const first = pool.openView(tools);
  const second = pool.openView(tools.slice(0, 2));
  expect(pool.size).toBe(5);
  first.close();
  first.close();
  expect(pool.size).toBe(2);
  expect(second.search('issue', { limit: 5 }).matches).toHaveLength(2);
  second.close();
  expect(pool.size).toBe(0);
  expect(() => second.search('issue', { limit: 5 })).toThrow('closed');
});

test('callers with the same tools share a view, and each may leave it', () => {
  const pool = createDocumentPool();
  const [one, other] = [pool.openView(tools), pool.openView(tools)];
  const renamed = tools.map((tool) => ({ ...tool, exposedName: `z_${tool.exposedName}` }));
  const third = pool.openView(renamed.toReversed());
  const ask = (index: ToolIndex): readonly Match[] => index.search('write a file', { limit: 2 }).matches;
  expect(ask(other)).toEqual(ask(one));
  expect(ask(third).map(({ position }) => renamed.toReversed()[position]!.name)).toEqual([
    'write_file',
    'read_file',
  ]);
  one.close();
  one.close();
  expect(ask(other)).toHaveLength(2);
  other.close();
  expect(pool.size).toBe(5);
  third.close();
  expect(pool.size).toBe(0);
});

test('explains a score by the terms and fields it is made of', () => {
  const index = createDocumentPool().openView(tools);
  const explanation = index.explain('please wriet a file into the repository', { limit: 3 });
  expect(explanation.ignored).toEqual(['a', 'into', 'the']);
  expect(explanation.words.map(({ word, known }) => [word, known])).toEqual([
    ['file', 1],
    ['repository', 1],
    ['please', 0],
    ['wriet', 0.6],
  ]);
  expect(explanation.matches[0]!.position).toBe(3);
  const near = explanation.matches[0]!.terms.find(({ kind }) => kind === 'near')!;
  expect(near).toMatchObject({ word: 'wriet', term: 'write', tools: 1 });
  expect(near.fields.map(({ field }) => field).sort()).toEqual(['lead', 'name']);
  for (const { score, named, metFactor, terms } of explanation.matches) {
    expect(named + metFactor * terms.reduce((sum, term) => sum + term.score, 0)).toBeCloseTo(score, 9);
    expect(terms.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
  }
});

test('answers any text, and explains every answer it gives', () => {
  const index = createDocumentPool().openView(tools);
  const nobody = createDocumentPool().openView([]);
  const words = fc.constantFrom(
    'file',
    'GitHub',
    'read_file',
    'wether',
    '文件',
    'ไฟล์',
    'ß',
    "it's",
    '__',
    '🎉',
    '\ud800',
  );
  const question = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.array(words, { maxLength: 40 }).map((chosen) => chosen.join(' ')),
  );
  fc.assert(
    fc.property(question, fc.integer({ min: 1, max: 30 }), (text, limit) => {
      const { matches, coverage } = index.search(text, { limit });
      const explained = index.explain(text, { limit });
      expect(explained.matches.map(({ position, score }) => ({ position, score }))).toEqual(matches);
      expect(explained.coverage).toBe(coverage);
      expect(coverage >= 0 && coverage <= 1).toBe(true);
      expect(nobody.search(text, { limit }).matches).toEqual([]);
      for (const { score, named, metFactor, terms } of explained.matches) {
        expect(named + metFactor * terms.reduce((sum, term) => sum + term.score, 0)).toBeCloseTo(score, 6);
      }
    }),
    { numRuns: 1_000 },
  );
});
