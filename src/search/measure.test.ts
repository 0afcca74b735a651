import { expect, test } from 'vitest';
import { byLanguage, estimate, pairedDifference, scoresOf } from './measure.ts';

test('scores one question', () => {
  const scores = scoresOf({ id: 'q', language: 'en', relevant: 2, ranks: [1, 6] });
  expect(scores).toMatchObject({ recall1: 0, recall5: 0.5, recall10: 1, mrr: 0.5 });
  const ideal = 1 + 1 / Math.log2(3);
  expect(scores.ndcg).toBeCloseTo((1 / Math.log2(3) + 1 / Math.log2(8)) / ideal, 12);
  expect(scoresOf({ id: 'q', language: 'en', relevant: 1, ranks: [] })).toMatchObject({
    recall10: 0,
    mrr: 0,
    ndcg: 0,
  });
});

test('gives an interval that is honest for few and for extreme values', () => {
  expect(estimate([1, 1, 1, 1])).toMatchObject({ mean: 1, high: 1 });
  expect(estimate([1, 1, 1, 1]).low).toBeCloseTo(0.51, 2);
  expect(estimate([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])).toMatchObject({ mean: 0.5 });
  expect(estimate([0, 1, 0, 1, 0, 1, 0, 1, 0, 1]).low).toBeCloseTo(0.237, 3);
});

test('keeps languages apart', () => {
  const rows = byLanguage([
    { id: 'a', language: 'en', relevant: 1, ranks: [0] },
    { id: 'b', language: 'lt', relevant: 1, ranks: [] },
    { id: 'c', language: 'en', relevant: 1, ranks: [9] },
  ]);
  expect(rows.map(({ language, questions, scores }) => [language, questions, scores.recall5.mean])).toEqual([
    ['en', 2, 0.5],
    ['lt', 1, 0],
  ]);
});

test('compares question by question, the same way in every run', () => {
  const before = Array.from({ length: 100 }, (_, i) => i % 2);
  const after = before.map((value, i) => (i < 10 ? 1 : value));
  const difference = pairedDifference(before, after);
  expect(difference.mean).toBeCloseTo(0.05, 12);
  expect(difference.low).toBeGreaterThanOrEqual(0);
  expect(difference.high).toBeLessThan(0.12);
  expect(pairedDifference(before, after)).toEqual(difference);
  expect(pairedDifference(before, before)).toEqual({ mean: 0, low: 0, high: 0 });
});
