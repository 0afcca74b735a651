import { expect, test } from 'vitest';
import { createDocumentPool, meaningText, type IndexedTool, type ToolIndex } from './index.ts';

/** A toy space: how much a text is about animals, money, weather. */
const CONCEPTS = [/cat|dog|katze|zoo/iu, /money|invoice|geld|pay/iu, /rain|storm|wetter|forecast/iu];

function vectorOf(text: string): Float32Array {
  const raw = CONCEPTS.map((concept) => (concept.test(text) ? 1 : 0.05));
  const length = Math.hypot(...raw);
  return Float32Array.from(raw, (number) => number / length);
}

function tool(name: string, description: string, more: Partial<IndexedTool> = {}): IndexedTool {
  return {
    name,
    exposedName: name,
    upstream: 'main',
    description,
    inputSchema: {},
    digest: name + description,
    ...more,
  };
}

const TOOLS = [
  tool('list_dogs', 'Every dog of the shelter.'),
  tool('create_invoice', 'Bills a customer money.'),
  tool('read_forecast', 'Whether rain is near.'),
  tool('open_door', 'Unlocks the front door.'),
];

function embedded(tools: readonly IndexedTool[], pool = createDocumentPool()): ToolIndex {
  const index = pool.openView(tools);
  for (const position of index.unembedded())
    index.setVector(position, vectorOf(meaningText(tools[position]!)));
  return index;
}

function namesOf(index: ToolIndex, query: string, vector?: Float32Array, limit = 3): string[] {
  const { matches } = index.search(query, { limit, ...(vector === undefined ? {} : { vector }) });
  return matches.map(({ position }) => TOOLS[position]!.name);
}

test('finds by meaning what no word finds, and says so', () => {
  const index = embedded(TOOLS);
  expect(namesOf(index, 'wie wird das Wetter')).toEqual([]);
  expect(namesOf(index, 'wie wird das Wetter', vectorOf('Wetter'))[0]).toBe('read_forecast');
  expect(index.search('wie wird das Wetter', { limit: 1, vector: vectorOf('Wetter') }).basis).toBe('meaning');
  expect(index.search('wie wird das Wetter', { limit: 1 }).basis).toBe('words');
});

test('keeps a named tool first, whatever its meaning', () => {
  const index = embedded(TOOLS);
  for (const query of ['open_door', 'openDoor', 'Open door', 'please open_door for the dog'])
    expect(namesOf(index, query, vectorOf('dog'))[0]).toBe('open_door');
  expect(namesOf(index, 'open_door', vectorOf('dog'))[1]).toBe('list_dogs');
});

test('goes by words when the vector is like nothing', () => {
  const index = embedded(TOOLS);
  const outcome = index.search('front door', { limit: 5, vector: new Float32Array(3) });
  expect(outcome).toEqual(index.search('front door', { limit: 5 }));
  expect(outcome.basis).toBe('words');
});

test('counts documents without a vector, goes by words until a quarter are there, then by both', () => {
  const tools = [...TOOLS, tool('close_door', 'Locks the front door.')];
  const index = createDocumentPool().openView(tools);
  const vector = vectorOf('dog');
  const basis = (): string => index.search('storm', { limit: 4, vector }).basis;
  expect(index.documents).toEqual({ all: 5, embedded: [] });
  expect(index.unembedded()).toEqual([0, 1, 2, 3, 4]);
  const bases = tools.map((one, position) => {
    index.setVector(position, vectorOf(one.description));
    return basis();
  });
  expect(bases).toEqual(['words', 'part', 'part', 'part', 'meaning']);
  expect(index.unembedded()).toEqual([]);
});

test('a document without a vector is guessed by its words', () => {
  const index = createDocumentPool().openView(TOOLS);
  for (const position of [0, 1, 2]) index.setVector(position, vectorOf(TOOLS[position]!.description));
  expect(namesOf(index, 'unlock the front door', vectorOf('dog'))[0]).toBe('open_door');
  expect(namesOf(index, 'Katze', vectorOf('Katze'))[0]).toBe('list_dogs');
});

test('a vector belongs to the document, in every view that has it, and survives compaction', () => {
  const pool = createDocumentPool({ compactAfter: 2 });
  const others = Array.from({ length: 12 }, (_, i) => tool(`other_${i}`, `Thing ${i}.`));
  const all = embedded([...others, ...TOOLS], pool);
  const some = pool.openView(TOOLS);
  expect(some.documents).toEqual({ all: 4, embedded: [4] });
  const vector = vectorOf('Geld');
  const before = some.search('Geld', { limit: 4, vector });
  all.close();
  expect(pool.size).toBe(4);
  expect(some.search('Geld', { limit: 4, vector })).toEqual(before);
  const again = pool.openView(TOOLS.slice(1));
  expect(again.documents).toEqual({ all: 3, embedded: [3] });
});

test('a second part of vectors counts once all documents have it; until then the answer says it goes by the first', () => {
  const index = embedded(TOOLS);
  // By the first part this is about dogs; the second, twice as weighty, says doors.
  const vector = Float32Array.of(...vectorOf('dog'), 0, 2);
  const first = index.search('x', { limit: 4, vector: vectorOf('dog') });
  const names = (): [string, string] => {
    const { matches, basis } = index.search('x', { limit: 4, vector });
    return [TOOLS[matches[0]!.position]!.name, basis];
  };
  expect(index.unembedded(1)).toEqual([0, 1, 2, 3]);
  expect(names()).toEqual(['list_dogs', 'first']);
  for (const position of [3, 2, 1]) {
    index.setVector(position, position === 3 ? Float32Array.of(0, 1) : Float32Array.of(1, 0), 1);
    expect(names()).toEqual(['list_dogs', 'first']);
    expect(index.search('x', { limit: 4, vector }).matches).toEqual(first.matches);
  }
  expect(index.documents).toEqual({ all: 4, embedded: [4, 3] });
  expect(index.unembedded(1)).toEqual([0]);
  index.setVector(0, Float32Array.of(1, 0), 1);
  expect(names()).toEqual(['open_door', 'meaning']);
  const { matches } = index.explain('x', { limit: 1, vector });
  const door = vectorOf(meaningText(TOOLS[3]!));
  expect(matches[0]!.similarity).toBeCloseTo(
    2 + vectorOf('dog').reduce((sum, x, i) => sum + x * door[i]!, 0),
    2,
  );
});

test('a document without any vector is guessed whatever parts the others have', () => {
  const index = createDocumentPool().openView(TOOLS);
  for (const position of [0, 3])
    for (const part of [0, 1])
      index.setVector(position, Float32Array.of(position === 0 ? 1 : 0.1, 0.2), part);
  expect(index.search('x', { limit: 4, vector: Float32Array.of(1, 0, 1, 0) }).basis).toBe('part');
});

test('a second part alone tells when the question is like nothing in the first', () => {
  const index = embedded(TOOLS);
  for (const position of index.unembedded(1))
    index.setVector(position, position === 2 ? Float32Array.of(0, 1) : Float32Array.of(1, 0), 1);
  expect(namesOf(index, 'x', Float32Array.of(0, 0, 0, 0, 1))[0]).toBe('read_forecast');
  expect(index.search('x', { limit: 3, vector: new Float32Array(5) }).basis).toBe('words');
  // Parts may come in any order.
  const other = createDocumentPool().openView(TOOLS);
  for (const position of other.unembedded(1)) other.setVector(position, Float32Array.of(1, 0), 1);
  const vector = Float32Array.of(...vectorOf('dog'), 1, 0);
  expect(other.search('x', { limit: 3, vector }).basis).toBe('words');
  for (const position of other.unembedded()) other.setVector(position, vectorOf('dog'));
  expect(other.search('x', { limit: 3, vector }).basis).toBe('meaning');
});

test('a question’s vector that is too short is a mistake', () => {
  const index = embedded(TOOLS);
  expect(() => index.search('x', { limit: 3, vector: new Float32Array(2) })).toThrow(RangeError);
  index.setVector(0, Float32Array.of(1, 0), 1);
  expect(() => index.search('x', { limit: 3, vector: new Float32Array(4).fill(1) })).toThrow(RangeError);
});

test('similarities are set against the tools of the view alone', () => {
  const pool = createDocumentPool();
  embedded([...TOOLS, ...Array.from({ length: 30 }, (_, i) => tool(`dog_${i}`, `Dog ${i}`))], pool);
  const mine = pool.openView(TOOLS);
  const alone = embedded(TOOLS);
  const question = { limit: 4, vector: vectorOf('dog') } as const;
  expect(mine.search('dogs in the rain', question)).toEqual(alone.search('dogs in the rain', question));
});

test('words that say very much count more, so that no likeness overrules them', () => {
  const long = 'Calibrates spectrograph gratings against neon emission lines before twilight exposures begin';
  const tools = [
    ...Array.from({ length: 400 }, (_, i) => tool(`thing_${i}`, `Widget number ${i}.`)),
    tool('calibrate', `${long}.`),
    tool('list_dogs', 'Every dog.'),
  ];
  const index = embedded(tools);
  const { matches } = index.explain(long, { limit: 2, vector: vectorOf('dog') });
  expect(matches.map(({ position }) => tools[position]!.name)).toEqual(['calibrate', 'list_dogs']);
  const [{ words, metFactor, terms }] = matches as [(typeof matches)[0]];
  const sum = metFactor * terms.reduce((total, { score }) => total + score, 0);
  expect(sum).toBeGreaterThan(65);
  expect(words).toBeCloseTo((0.15 * sum * sum) / 65, 6);
});

test('views of one tool, of equal tools and of none answer', () => {
  const vector = vectorOf('dog');
  expect(embedded(TOOLS.slice(0, 1)).search('x', { limit: 3, vector }).matches).toHaveLength(1);
  expect(embedded([]).search('x', { limit: 3, vector }).matches).toEqual([]);
  const same = [TOOLS[0]!, { ...TOOLS[0]!, exposedName: 'again' }];
  expect(
    embedded(same)
      .search('dog', { limit: 3, vector })
      .matches.map(({ position }) => position),
  ).toEqual([1, 0]);
});

test('an explanation adds up to the score, from both sides', () => {
  const index = embedded(TOOLS);
  for (const vector of [vectorOf('rain'), undefined]) {
    const options = { limit: 4, ...(vector === undefined ? {} : { vector }) };
    const { matches, basis } = index.explain('forecast of rain, open_door', options);
    expect(matches.map(({ position, score }) => ({ position, score }))).toEqual(
      index.search('forecast of rain, open_door', options).matches,
    );
    for (const { score, named, words, meaning } of matches)
      expect(named + words + meaning).toBeCloseTo(score, 6);
    expect(basis).toBe(vector === undefined ? 'words' : 'meaning');
    expect(matches.some(({ similarity }) => similarity !== undefined)).toBe(vector !== undefined);
  }
});

test('an embedder reads whose a tool is, its name as words and the beginning of its description', () => {
  const text = (more: Partial<IndexedTool>): string => meaningText(tool('x', 'Does it.', more));
  expect(text({ name: 'osm-mcp__geocodeAddress', exposedName: 'osm-mcp__geocodeAddress' })).toBe(
    'osm mcp geocode Address. Does it.',
  );
  expect(text({ name: 'list_files', exposedName: 'list_files', upstream: 'My Disk' })).toBe(
    'list files. Does it.',
  );
  expect(text({ name: 'list_files', exposedName: 'my-disk__list_files', upstream: 'My Disk' })).toBe(
    'My Disk list files. Does it.',
  );
  expect(text({ description: 'a'.repeat(1_000) })).toHaveLength(1 + 2 + 400);
});
