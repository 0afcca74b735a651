// @ts-expect-error The package has no types; it is the oracle, not a dependency.
import { newStemmer } from 'snowball-stemmers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stemEnglish } from './porter2.ts';

const snowball = newStemmer('english');

const ROOTS = `gener commun arsen happi hop tap run sky news use compile organis nation relat condition digit
 feudal callous hopeful decis form homolog adopt commun activ effect proceed index vector file search
 abil allow analog beauti bow box boy play enjoy rate skate control roll fall instal electr triplicat mov fly
 try die tie cri say day pay y yes by eye bye singl gentl earli ugli only skis`.split(/\s+/);
const ENDINGS = `s es ed ing ingly edly eed eedly ies ied y ly li ational tional ation ator izer ization alism
 aliti alli fulness ousli ousness iveness iviti biliti bli ogi fulli lessli alize icate iciti ical ful ness
 ative al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize ion e l le ll sses us ss`.split(
  /\s+/,
);

test('stems every root with every ending as the Snowball algorithm does', () => {
  for (const root of ROOTS) {
    for (const ending of ['', ...ENDINGS])
      expect(stemEnglish(root + ending)).toBe(snowball.stem(root + ending));
  }
});

test('stems any lower-case word as the Snowball algorithm does', () => {
  const letters = fc.stringMatching(/^[a-eilnorstuxyw]{1,9}$/);
  const word = fc
    .tuple(letters, fc.constantFrom('', ...ENDINGS), fc.constantFrom('', 's', 'ly', 'ness'))
    .map((p) => p.join(''));
  fc.assert(
    fc.property(word, (w) => stemEnglish(w) === snowball.stem(w)),
    { numRuns: 20_000 },
  );
});
