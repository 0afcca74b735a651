import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  depthOf,
  elementsOf,
  endOfValue,
  membersOf,
  rawAt,
  skipSpace,
  withMemberFirst,
} from './json-text.ts';

describe('JSON text', () => {
  it('finds every member of a generated object at its very text', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.integer({ min: 0, max: 3 }),
        (object, indent) => {
          const text = JSON.stringify(object, null, indent);
          const members = membersOf(text, 0);
          const parsed = JSON.parse(text) as Record<string, unknown>;
          expect([...members.keys()].sort()).toEqual(Object.keys(parsed).sort());
          for (const [key, span] of members) {
            expect(JSON.parse(text.slice(span.start, span.end))).toEqual(parsed[key]);
          }
          expect(endOfValue(text, skipSpace(text, 0))).toBe(text.length);
        },
      ),
    );
  });

  it('finds every element of a generated array', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.integer({ min: 0, max: 3 }), (array, indent) => {
        const text = JSON.stringify(array, null, indent);
        expect(elementsOf(text, 0).map((span) => JSON.parse(text.slice(span.start, span.end)))).toEqual(
          JSON.parse(text),
        );
      }),
    );
  });

  it('keeps integers that JSON.parse would round', () => {
    const text = '{"params":{"arguments":{"id":12345678901234567890}}}';
    expect(rawAt(text, ['params', 'arguments'])).toBe('{"id":12345678901234567890}');
    expect(rawAt(text, ['params', 'missing'])).toBeUndefined();
    expect(rawAt(text, ['params', 'arguments', 'id', 'deeper'])).toBeUndefined();
  });

  it('takes the last of duplicate keys, as JSON.parse does', () => {
    const text = '{"a":1,"a":2,"\\u0061":3}';
    expect(rawAt(text, ['a'])).toBe('3');
    expect((JSON.parse(text) as { a: number }).a).toBe(3);
  });

  it('is not fooled by quotes, brackets and backslashes inside strings', () => {
    const text = '{ "a" : "}\\"{[\\\\" , "b" : [ "]" , 1 ] }';
    expect(rawAt(text, ['a'])).toBe('"}\\"{[\\\\"');
    expect(rawAt(text, ['b'])).toBe('[ "]" , 1 ]');
  });

  it('puts a member first in empty and filled objects', () => {
    expect(withMemberFirst('{}', 'resultType', '"complete"')).toBe('{"resultType":"complete"}');
    expect(withMemberFirst('{ "a": 1 }', 'resultType', '"complete"')).toBe(
      '{"resultType":"complete","a": 1 }',
    );
  });

  it('measures depth without recursion', () => {
    expect(depthOf('{"a":["[[["]}')).toBe(2);
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    expect(depthOf(deep)).toBe(200_000);
    expect(endOfValue(deep, 0)).toBe(deep.length);
  });
});
