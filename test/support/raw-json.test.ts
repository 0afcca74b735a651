import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rawMember } from './raw-json.ts';

describe('rawMember', () => {
  it('gives the text of a value as it stands', () => {
    const text = '{ "a" : {"n": 12345678901234567890, "s":"}\\",:{"}, "b":[1, {"x":  1e400}] }';
    expect(rawMember(text, 'a')).toBe('{"n": 12345678901234567890, "s":"}\\",:{"}');
    expect(rawMember(text, 'a', 'n')).toBe('12345678901234567890');
    expect(rawMember(text, 'b', 1, 'x')).toBe('1e400');
    expect(rawMember(text, 'c')).toBeUndefined();
    expect(rawMember(text, 'a', 'n', 'deeper')).toBeUndefined();
  });

  it('agrees with JSON.parse on every member of generated objects', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (object) => {
        const text = JSON.stringify(object);
        for (const [key, value] of Object.entries(JSON.parse(text) as Record<string, unknown>)) {
          expect(rawMember(text, key)).toBe(JSON.stringify(value));
        }
      }),
    );
  });
});
