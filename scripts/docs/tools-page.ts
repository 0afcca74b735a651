import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { metaToolDefinitions } from '../../src/meta-tools/definitions.ts';
import type { MetaToolDefinition, MetaToolName } from '../../src/meta-tools/definitions.ts';
import { block, code, json, page, table, WRITTEN } from './markdown.ts';
import { SAMPLE_TOOLS, textOf } from './try.ts';
import type { Try } from './try.ts';

/** An example call of each tool, in front of the sample catalog (`mcpproxy --builtin`). */
const EXAMPLES: Partial<Record<MetaToolName, readonly Readonly<Record<string, unknown>>[]>> = {
  search_tools: [
    { query: 'list of ferry sailings on a day', limit: 2 },
    { queries: ['renew a library loan', 'reserve a lane in the pool'], limit: 1, schemas: false },
  ],
  describe_tool: [{ names: ['library__renew_loan', 'library__renew_loans'] }],
  call_read_tool: [{ name: 'ferry__next_departure', arguments: { from: 'town pier' } }],
  call_read_tools: [
    {
      calls: [
        { name: 'ferry__next_departure', arguments: { from: 'town pier' } },
        { name: 'library__renew_loan', arguments: { loan_id: 'L-2040' } },
      ],
    },
  ],
  call_write_tool: [{ name: 'library__renew_loan', arguments: { loan_id: 'L-2040' } }],
};

/** The order a model meets them in. */
const ORDER: readonly MetaToolName[] = [
  'search_tools',
  'describe_tool',
  'call_read_tool',
  'call_read_tools',
  'call_write_tool',
];

/** `docs/tools.md`. */
export async function toolsPage(attempt: Try): Promise<string> {
  const definitions = metaToolDefinitions({
    upstreams: [],
    maxBatchCalls: 10,
    discovery: true,
    manage: true,
  });
  const ordered = [
    ...ORDER.flatMap((name) => definitions.find((definition) => definition.name === name) ?? []),
    ...definitions.filter(({ name }) => !ORDER.includes(name)),
  ];
  const sections: string[] = [];
  for (const definition of ordered) sections.push(...(await sectionOf(definition, attempt)));
  return page(
    '# The tools a model sees',
    WRITTEN,
    block('sh', 'mcpproxy demo --builtin'),
    `shows them at work. However many tools stand behind the proxy, a model is given these. The examples below are real answers, in front of the sample catalog of ${SAMPLE_TOOLS} invented tools (${code('mcpproxy --builtin')}).`,
    table(
      ['Tool', 'Annotations', 'Tokens'],
      ordered.map((definition) => [
        `[${code(definition.name)}](#${definition.name})`,
        annotationsOf(definition),
        String(tokensOf(definition)),
      ]),
    ),
    `The first five come to ${tokensOfAll(ordered.slice(0, ORDER.length))} tokens of name, description and input schema, which is what clients hand to a model (counted with o200k). The description of ${code('search_tools')} ends with the names of the servers behind the proxy, up to 400 characters more. The last two are there in a local run (stdio, or HTTP on this machine, nothing forwarded), where all come to ${tokensOfAll(ordered)}; behind a gateway ${code('discovery')} adds ${code('search_servers')} alone. [discovery.md](discovery.md#for-models) says what an agent may do with them.`,
    'Each carries `_meta: { "anthropic/alwaysLoad": true }`, for clients that would otherwise defer it: a search tool that has to be searched for first helps nobody.',
    ...sections,
    '## Names',
    'With one server behind the proxy, tools keep their own names. With several, a tool is called `<server>__<tool>`; its own name alone is understood too, where only one server has it. A server whose name is not fit for that (`music school`) is given one that is (`music-school`).',
    '## What counts as reading',
    'A tool reads only if its server marks it so (`readOnlyHint: true`), the server is one you configured (or approved, when an agent added it), and no `writeTools` pattern matches the tool. Everything else is a write, also what carries no mark.',
    '## Results',
    'A called tool’s result comes as its server wrote it: text, images, structured content, unknown fields, integers of any size. [compatibility-wire.md](compatibility-wire.md) says what is kept between which generations of the protocol, [errors.md](errors.md) what is answered when a call is refused or fails.',
  );
}

async function sectionOf(definition: MetaToolDefinition, attempt: Try): Promise<string[]> {
  const parts = [
    `## ${definition.name}`,
    definition.description,
    `Input schema:`,
    json(definition.inputSchema),
  ];
  if (definition.outputSchema !== undefined) parts.push('Output schema:', json(definition.outputSchema));
  for (const example of EXAMPLES[definition.name] ?? []) {
    const answer = await attempt.meta(definition.name, example);
    parts.push('Called with', json(example));
    if (definition.outputSchema !== undefined) {
      parts.push(
        'it answers (as structured content, and as text without the spaces)',
        json(answer.structuredContent),
      );
    } else parts.push('it answers, as the model reads it:', block('text', textOf(answer)));
  }
  return parts;
}

function tokensOfAll(definitions: readonly MetaToolDefinition[]): number {
  return definitions.map(tokensOf).reduce((sum, tokens) => sum + tokens, 0);
}

function annotationsOf({ annotations }: MetaToolDefinition): string {
  return Object.entries(annotations)
    .map(([name, value]) => `${code(name)} ${String(value)}`)
    .join(', ');
}

function tokensOf({ name, description, inputSchema }: MetaToolDefinition): number {
  return encode(JSON.stringify({ name, description, input_schema: inputSchema })).length;
}
