import { expect, test } from 'vitest';
import { termsOf } from '../src/search/analyzer.ts';
import { createDocumentPool } from '../src/search/index.ts';
import { byLanguage, type LanguageScores } from '../src/search/measure.ts';
import { scanWords } from '../src/search/words.ts';
import { HAS_PACKED_MODEL, openEmbedderFor } from './embedder.ts';
import { OWN_SET, readSet } from './evaluation-set.ts';
import { embedSet, giveVectors, measure } from './rank.ts';

const set = readSet(OWN_SET);

function asked(language: string): number {
  return set.questions.filter((question) => question.language === language).length;
}

test('is large enough to tell rankings apart', () => {
  expect(set.tools.length).toBeGreaterThanOrEqual(400);
  expect(new Set(set.tools.map((tool) => tool.name)).size).toBe(set.tools.length);
  expect(new Set(set.tools.map((tool) => tool.name.split('__')[0])).size).toBeGreaterThanOrEqual(40);
  for (const language of ['en', 'lt', 'de']) expect(asked(language)).toBeGreaterThanOrEqual(240);
  for (const language of ['fr', 'es', 'it', 'pt', 'pl', 'ru', 'tr', 'zh', 'ja', 'ko'])
    expect(asked(language)).toBeGreaterThanOrEqual(60);
});

test('asks for tools that exist, each question once', () => {
  const names = new Set(set.tools.map((tool) => tool.name));
  for (const { relevant } of set.questions) for (const name of relevant) expect(names).toContain(name);
  expect(new Set(set.questions.map(({ id }) => id)).size).toBe(set.questions.length);
});

test("shares no stem between a question and its tool's name", () => {
  for (const { text, relevant } of set.questions) {
    const inName = new Set(relevant.flatMap(stems));
    expect(stems(text).filter((stem) => inName.has(stem))).toEqual([]);
  }
});

function stems(text: string): readonly string[] {
  const found: string[] = [];
  scanWords(text, (word, script) => found.push(...termsOf(word, script, 'english')));
  return found;
}

test('is hard for words, and holds the floor that words reach', () => {
  const rows = byLanguage(measure(createDocumentPool().openView(set.tools), set));
  expect(recall5(rows, 'en')).toBeGreaterThanOrEqual(0.5);
  expect(recall5(rows, 'en')).toBeLessThanOrEqual(0.6);
  expect(recall5(rows, 'lt')).toBeLessThanOrEqual(0.05);
});

/** The mean over languages is what choices are made by; each language is held to a floor of its own too. */
const LEAST_MEAN = 0.64;
const LEAST_OF_A_LANGUAGE = 0.45;
const LEAST_IN_ENGLISH = 0.73;

test.skipIf(!HAS_PACKED_MODEL)(
  'is answered in every language with the packed model, better than by words',
  { timeout: 300_000 },
  async () => {
    const embedder = openEmbedderFor('packed')!;
    const vectors = await embedSet(set, embedder);
    await embedder.close();
    const index = createDocumentPool().openView(set.tools);
    const words = byLanguage(measure(index, set));
    giveVectors(index, vectors);
    const both = byLanguage(measure(index, set, vectors.questions));
    const means = both.map(({ scores }) => scores.recall5.mean);
    expect(means.reduce((sum, one) => sum + one, 0) / means.length).toBeGreaterThanOrEqual(LEAST_MEAN);
    expect(recall5(both, 'en')).toBeGreaterThanOrEqual(LEAST_IN_ENGLISH);
    for (const { language, scores } of both) {
      expect(scores.recall5.mean, language).toBeGreaterThanOrEqual(LEAST_OF_A_LANGUAGE);
      expect(scores.recall5.mean, language).toBeGreaterThan(recall5(words, language));
    }
  },
);

function recall5(rows: readonly LanguageScores[], language: string): number {
  return rows.find((row) => row.language === language)!.scores.recall5.mean;
}
