import { createHash } from 'node:crypto';
import { OWN_SET, readSet } from '../eval/evaluation-set.ts';
import type { JsonObject } from '../src/catalog/tool.ts';
import { SAMPLE_SERVERS } from '../src/cli/builtin/sample-servers.ts';
import { definitionOf } from '../src/cli/builtin/tool.ts';

/** A tool as its server lists it, and as clients hand it to a model. */
export interface BenchTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly annotations?: JsonObject;
}

/** As many as the largest catalog of the benchmark. */
export const MOST_TOOLS = 1_490;

/** What a call answers: about what one record of a business system is. */
export const RECORD = {
  id: 'R-20417',
  status: 'open',
  opened_on: '2026-03-14',
  responsible: 'M. Petrauskienė',
  place: 'north gate',
  notes: ['Called back on Tuesday, will come by in the morning.', 'Keys are with the porter.'],
};

/**
 * A catalog of `count` tools, all of them invented: the 500 of our evaluation set, the 312 of the sample catalog, and
 * made ones (below) for the rest. `among` says which come first: `mixed` takes from all three alike, so that small
 * catalogs are made of the same as large ones; `asked` has the whole evaluation set first, so that its questions have
 * their answers.
 */
export function benchCatalog(count: number, among: 'mixed' | 'asked'): readonly BenchTool[] {
  const asked = readSet(OWN_SET).tools.map(({ name, description, inputSchema }) => ({
    name,
    description: description ?? '',
    inputSchema,
  }));
  const sample = SAMPLE_SERVERS.flatMap((server) =>
    server.tools.map((tool) => {
      const { name, description, inputSchema, annotations } = definitionOf(tool) as unknown as BenchTool;
      return {
        name: `${server.name.replaceAll(' ', '-')}__${name}`,
        description,
        inputSchema,
        ...(annotations && { annotations }),
      };
    }),
  );
  const others = [...sample, ...madeTools(MOST_TOOLS - asked.length - sample.length)];
  const tools = among === 'asked' ? [...asked, ...shuffled(others)] : shuffled([...asked, ...others]);
  if (count > tools.length) throw new Error(`there are ${tools.length} tools, not ${count}`);
  return tools.slice(0, count);
}

/** Always the same order, and none that means anything. */
function shuffled(tools: readonly BenchTool[]): readonly BenchTool[] {
  const key = ({ name }: BenchTool): string => createHash('sha256').update(name).digest('hex');
  return tools
    .map((tool) => ({ tool, key: key(tool) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ tool }) => tool);
}

const OFFICES = [
  'harbour',
  'mill',
  'depot',
  'clinic',
  'quarry',
  'vineyard',
  'studio',
  'orchard',
  'tram',
  'foundry',
];
const THINGS = [
  'order',
  'permit',
  'invoice',
  'shift',
  'delivery',
  'inspection',
  'contract',
  'repair',
  'batch',
  'visitor',
];
const DEEDS = [
  ['list', 'Lists the THINGs of the OFFICE, newest first, with who is responsible and where each stands.'],
  ['get', 'Gives one THING of the OFFICE with its history and the notes people left on it.'],
  ['create', 'Opens a new THING for the OFFICE. Fails when one for the same day and person is open already.'],
  ['update', 'Changes what is given of a THING of the OFFICE and leaves the rest as it is.'],
  ['cancel', 'Cancels a THING of the OFFICE, tells whoever waits for it, and keeps the record.'],
  ['assign', 'Hands a THING of the OFFICE to somebody else, from a day on.'],
  ['export', 'Writes the THINGs of the OFFICE in a span of days to a file to download.'],
] as const;

/** Every deed to every thing of every office; 700 in all, about as long as the evaluation set's. */
function madeTools(count: number): readonly BenchTool[] {
  const tools = DEEDS.flatMap(([deed, says]) =>
    OFFICES.flatMap((office) =>
      THINGS.map((thing): BenchTool => {
        const isRead = deed === 'list' || deed === 'get' || deed === 'export';
        const text = { type: 'string' };
        const properties: JsonObject =
          deed === 'list' || deed === 'export'
            ? {
                from: { ...text, format: 'date', description: 'First day' },
                to: { ...text, format: 'date', description: 'Last day, that day included' },
                status: { ...text, enum: ['open', 'waiting', 'done', 'cancelled'] },
                limit: { type: 'integer', minimum: 1, maximum: 200, description: 'Most records' },
              }
            : {
                [`${thing}_id`]: { ...text, description: `Number of the ${thing}` },
                person: { ...text, description: 'Who is responsible for it' },
                day: { ...text, format: 'date', description: 'When it counts from' },
                note: { ...text, description: 'A word for whoever reads the record' },
              };
        return {
          name: `${office}__${deed}_${thing}${deed === 'list' || deed === 'export' ? 's' : ''}`,
          description: says.replaceAll('THING', thing).replaceAll('OFFICE', office),
          inputSchema: { type: 'object', properties, required: Object.keys(properties).slice(0, 1) },
          annotations: { readOnlyHint: isRead },
        };
      }),
    ),
  );
  if (count > tools.length) throw new Error(`${tools.length} tools can be made, not ${count}`);
  return shuffled(tools).slice(0, count);
}

/** The least a schema takes: its required properties, each with the first value that comes to mind. */
export function argumentsFor(schema: JsonObject): Record<string, unknown> {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>;
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.fromEntries(required.map((name) => [name, valueFor(properties[name] ?? {})]));
}

function valueFor(schema: JsonObject): unknown {
  const choices = schema['enum'] as readonly unknown[] | undefined;
  if (choices !== undefined) return choices[0];
  switch (schema['type']) {
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return [valueFor((schema['items'] ?? {}) as JsonObject)];
    case 'object':
      return argumentsFor(schema);
    default:
      if (schema['format'] === 'date') return '2026-03-14';
      if (schema['format'] === 'date-time') return '2026-03-14T10:30:00Z';
      return schema['pattern'] === undefined ? 'R-20417' : '10:30';
  }
}
