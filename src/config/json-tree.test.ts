import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainValue, readTree } from './json-tree.ts';
import type { JsonNode } from './json-tree.ts';

async function rootOf(text: string): Promise<JsonNode> {
  const tree = await readTree(text);
  if ('mistakes' in tree) throw new Error(tree.mistakes.map(({ message }) => message).join());
  return tree.root;
}

/** The tree without its members' order of fields, for comparing. */
function shapeOf(node: JsonNode, text: string): unknown {
  switch (node.kind) {
    case 'object':
      return node.members.map(({ key, keyStart, node: value }) => [
        key,
        text.slice(keyStart, keyStart + 1),
        shapeOf(value, text),
      ]);
    case 'array':
      return node.elements.map((element) => shapeOf(element, text));
    case 'string':
    case 'other':
      return text.slice(node.start, node.end);
  }
}

describe('JSON with its places', () => {
  it('gives the values JSON.parse gives, each at its very text', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 5 }),
        fc.integer({ min: 0, max: 3 }),
        async (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          const root = await rootOf(text);
          expect(plainValue(root)).toEqual(JSON.parse(text));
          expect(text.slice(root.start, root.end)).toBe(text);
        },
      ),
    );
  });

  it('gives the same tree with and without the library that reads comments', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
        const text = JSON.stringify(value, null, 2);
        const commented = `${text} // end`;
        expect(shapeOf(await rootOf(commented), commented)).toEqual(shapeOf(await rootOf(text), text));
      }),
    );
  });

  it('keeps both of two equal keys', async () => {
    const root = await rootOf('{"a":1,"a":2}');
    expect(root.kind === 'object' && root.members.length).toBe(2);
  });
});
