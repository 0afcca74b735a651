import { stubTool, textResult, type StubTool } from './stub-upstream.ts';
import type { StdioTool } from './stdio-upstream.ts';

/** A small made-up upstream, the same over HTTP and stdio: reads, writes, one that fails. */
export const HARBOUR_INSTRUCTIONS = 'Ships report to the harbour office before they moor.';

const tideTable = {
  description: 'Gives the times of high and low water in a port on a day.',
  properties: {
    port: { type: 'string', description: 'Name of the port.' },
    day: { type: 'string', description: 'Date, such as 2031-05-04.' },
  },
  required: ['port'],
  readOnly: true,
};

const bookBerth = {
  description: 'Books a berth for a ship.',
  properties: {
    ship: { type: 'string' },
    berth: { type: 'integer', minimum: 1 },
    side: { enum: ['port', 'starboard'] },
  },
  required: ['ship', 'berth'],
};

export const harbourTools: readonly StubTool[] = [
  stubTool('read_tide_table', {
    ...tideTable,
    answer: ({ argumentsText }) => textResult(`tide for ${argumentsText}`),
  }),
  stubTool('list_ships', {
    description: 'Lists the ships in the harbour.',
    readOnly: true,
    answer: () => textResult('Petrel, Heron'),
  }),
  stubTool('book_berth', {
    ...bookBerth,
    answer: ({ argumentsText }) => textResult(`booked ${argumentsText}`),
  }),
  stubTool('read_lost_log', {
    description: 'Reads a log book that was lost at sea.',
    readOnly: true,
    answer: () => textResult('the log is lost', { isError: true }),
  }),
];

const text = (value: string, more: object = {}): string =>
  JSON.stringify({ resultType: 'complete', content: [{ type: 'text', text: value }], ...more });

export const harbourChild: readonly StdioTool[] = [
  { definition: stubTool('read_tide_table', tideTable).definition, does: { kind: 'echo' } },
  {
    definition: stubTool('list_ships', { description: 'Lists the ships in the harbour.', readOnly: true })
      .definition,
    does: { kind: 'raw', raw: text('Petrel, Heron') },
  },
  { definition: stubTool('book_berth', bookBerth).definition, does: { kind: 'echo' } },
  {
    definition: stubTool('read_lost_log', {
      description: 'Reads a log book that was lost at sea.',
      readOnly: true,
    }).definition,
    does: { kind: 'raw', raw: text('the log is lost', { isError: true }) },
  },
];

/** What a local run shows. */
export const LOCAL_TOOLS = [
  'call_read_tool',
  'call_read_tools',
  'call_write_tool',
  'describe_tool',
  'search_servers',
  'search_tools',
  'upstream_servers',
];

/** What every run shows. */
export const META_TOOLS = [
  'call_read_tool',
  'call_read_tools',
  'call_write_tool',
  'describe_tool',
  'search_tools',
];
