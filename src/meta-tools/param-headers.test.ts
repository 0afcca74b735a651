import { expect, it } from 'vitest';
import { paramHeaders } from './param-headers.ts';

it('mirrors arguments, and reads a schema only for the first call', () => {
  let reads = 0;
  const schema = {
    type: 'object',
    get properties() {
      reads++;
      return { region: { type: 'string', 'x-mcp-header': 'Region' } };
    },
  };
  const headersOf = (region: string): unknown =>
    paramHeaders(schema, { raw: JSON.stringify({ region }), value: { region } });

  expect(headersOf('west')).toEqual({ 'mcp-param-region': 'west' });
  const readsOfOne = reads;
  expect(headersOf('east')).toEqual({ 'mcp-param-region': 'east' });
  expect(reads).toBe(readsOfOne);
});
