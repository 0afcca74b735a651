import fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, Vocabulary } from './vocabulary.ts';

/** The textbook definition, slow and plain. */
function plainDistance(a: string, b: string): number {
  const d = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : i)),
  );
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replaced = d[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      d[i]![j] = Math.min(d[i - 1]![j]! + 1, d[i]![j - 1]! + 1, replaced);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        d[i]![j] = Math.min(d[i]![j]!, d[i - 2]![j - 2]! + 1);
    }
  }
  return d[a.length]![b.length]!;
}

const word = fc.stringMatching(/^[abcdeą]{5,10}$/);

test('measures edit distance as the textbook does, up to the bound', () => {
  fc.assert(
    fc.property(word, word, fc.integer({ min: 1, max: 3 }), (a, b, most) => {
      const plain = plainDistance(a, b);
      return plain <= most ? editDistance(a, b, most) === plain : editDistance(a, b, most) > most;
    }),
    { numRuns: 5_000 },
  );
});

test('finds every near word that comparing with all of them finds', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(word, { maxLength: 60 }),
      word,
      fc.integer({ min: 1, max: 2 }),
      (terms, asked, most) => {
        const vocabulary = new Vocabulary();
        for (const term of terms) vocabulary.add(term);
        const found = vocabulary
          .near(asked, most)
          .map(({ number, distance }) => `${vocabulary.term(number)} ${distance}`);
        const expected = terms
          .map((term) => ({ term, distance: plainDistance(asked, term) }))
          .filter(({ distance }) => distance <= most);
        expect(found.sort()).toEqual(expected.map(({ term, distance }) => `${term} ${distance}`).sort());
      },
    ),
    { numRuns: 500 },
  );
});
