import { describe, expect, it } from 'vitest';
import { createDocumentPool } from './index.ts';
import { withNeighbours } from './neighbours.ts';

const tools = [
  { name: 'paint_circle', description: 'Draw a circle on the canvas' },
  { name: 'paint_square', description: 'Put a square on the canvas' },
  { name: 'clear_canvas', description: 'Wipe the canvas clean' },
  { name: 'send_mail', description: 'Send a message to somebody' },
];
const index = createDocumentPool().openView(
  tools.map((tool) => ({
    ...tool,
    exposedName: tool.name,
    upstream: 'u',
    inputSchema: {},
    digest: tool.name,
  })),
);

const found = (question: string, limit: number): string[] =>
  withNeighbours(index, tools, index.search(question, { limit }).matches, limit).map(
    ({ position }) => tools[position]?.name ?? '',
  );

describe('neighbours', () => {
  it('fill the places that a short question leaves, below every match', () => {
    expect(index.search('circle', { limit: 3 }).matches).toHaveLength(1);
    expect(found('circle', 3)).toEqual(['paint_circle', 'paint_square', 'clear_canvas']);
  });

  it('are not asked for when there are matches enough, or none at all', () => {
    expect(found('canvas', 2)).toHaveLength(2);
    expect(found('zebra', 3)).toEqual([]);
  });
});
