import type { JsonObject } from '../catalog/tool.ts';
import { OPERATIONS } from './upstream-operation.ts';

/** The tools a model sees, as MCP tool definitions. Every word a model reads of us before it calls is here. */
export interface MetaToolDefinition {
  readonly name: MetaToolName;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations: JsonObject;
  readonly _meta: JsonObject;
}

export const META_TOOL_NAMES = [
  'call_read_tool',
  'call_read_tools',
  'call_write_tool',
  'describe_tool',
  'search_servers',
  'search_tools',
  'upstream_servers',
] as const;

export type MetaToolName = (typeof META_TOOL_NAMES)[number];

/** Names no upstream's tool may be exposed under. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set(META_TOOL_NAMES);

export const MAX_QUERIES = 5;
export const MAX_MATCHES = 25;
export const DEFAULT_MATCHES = 8;
export const MAX_DESCRIBED = 10;

export interface DefinitionOptions {
  /** What stands behind us; a model does not search a drawer without a label. */
  readonly upstreams: readonly { readonly name: string; readonly description?: string }[];
  /** 0 leaves `call_read_tools` out. */
  readonly maxBatchCalls: number;
  /** Whether `search_servers` is among them. */
  readonly discovery?: boolean;
  /** Whether `upstream_servers` is. */
  readonly manage?: boolean;
}

/**
 * Marks our tools for clients that defer tools until searched for: a search tool that has to be searched for first
 * helps nobody (Claude Code reads this key).
 */
const ALWAYS_LOADED: JsonObject = { 'anthropic/alwaysLoad': true };

/** Most characters spent on naming what is behind us. */
const LABEL_LENGTH = 400;

const NAME: JsonObject = { type: 'string', description: 'As search_tools gave it.' };
const ARGUMENTS: JsonObject = { type: 'object', description: 'Must fit the tool’s input schema.' };
const TOOLS: JsonObject = { type: 'array', items: { type: 'object' } };

/** The definitions, sorted by name; equal options give equal definitions, so clients' prompt caches hold. */
export function metaToolDefinitions(options: DefinitionOptions): readonly MetaToolDefinition[] {
  const { maxBatchCalls } = options;
  const definitions: MetaToolDefinition[] = [
    {
      name: 'call_read_tool',
      title: 'Call a read-only tool',
      description: `Call one tool that only reads (readOnly in search_tools).${maxBatchCalls > 0 ? ' For several independent reads use call_read_tools.' : ''} Returns the tool's own result, or, if the arguments do not fit, what is wrong and the schema. Refuses tools that may change anything: use call_write_tool.`,
      inputSchema: callSchema(),
      annotations: { readOnlyHint: true, openWorldHint: true },
      _meta: ALWAYS_LOADED,
    },
    {
      name: 'call_write_tool',
      title: 'Call a tool that may change things',
      description:
        "Call any tool, also one that may create, change, send or delete (not readOnly in search_tools). Effects are real and happen at once. Returns the tool's own result, or, if the arguments do not fit, what is wrong and the schema. For readOnly tools prefer call_read_tool.",
      inputSchema: callSchema(),
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
      _meta: ALWAYS_LOADED,
    },
    {
      name: 'describe_tool',
      title: 'Describe tools',
      description:
        'Full description, input and output schema of tools whose names you know. Not needed where search_tools already gave the input schema.',
      inputSchema: {
        type: 'object',
        properties: {
          names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_DESCRIBED },
        },
        required: ['names'],
      },
      outputSchema: {
        type: 'object',
        properties: {
          tools: TOOLS,
          unknown: { type: 'array', items: { type: 'string' } },
          similar: { type: 'object', description: 'Nearest names of each unknown one.' },
        },
        required: ['tools'],
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      _meta: ALWAYS_LOADED,
    },
    {
      name: 'search_tools',
      title: 'Search tools',
      description: `Find tools by what they can do, among all you may use. Returns names and short descriptions, best first, with the input schemas of the best few, so you can call one right away. Search before saying something cannot be done; do not search again for a tool you already have.${labelOf(options.upstreams)}`,
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'What you want to do, in your own words, any language.' },
          queries: {
            type: 'array',
            items: { type: 'string' },
            minItems: 1,
            maxItems: MAX_QUERIES,
            description:
              'Instead of query: several things to find at once, e.g. a tool for the task and one for a value it needs.',
          },
          limit: {
            type: 'integer',
            minimum: 1,
            maximum: MAX_MATCHES,
            default: DEFAULT_MATCHES,
            description: 'Per query.',
          },
          schemas: { type: 'boolean', default: true, description: 'Include input schemas of the best few.' },
        },
      },
      outputSchema: {
        type: 'object',
        properties: {
          tools: TOOLS,
          results: {
            type: 'array',
            items: { type: 'object' },
            description: 'With queries: {query, tools} of each.',
          },
          total: { type: 'integer', description: 'Tools you may use in all.' },
          unavailable: {
            type: 'array',
            items: { type: 'object' },
            description: 'Servers whose tools are missing now.',
          },
          ranking: { type: 'string' },
        },
        required: ['total'],
      },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      _meta: ALWAYS_LOADED,
    },
  ];
  if (maxBatchCalls > 0) {
    definitions.push({
      name: 'call_read_tools',
      title: 'Call several read-only tools at once',
      description: `Call 2 to ${maxBatchCalls} readOnly tools in parallel, when no call needs another's result; for one use call_read_tool. Results come in order, each labelled with its number, tool and ok or failed; one failure stops none. Refuses tools that may change anything.`,
      inputSchema: {
        type: 'object',
        properties: {
          calls: {
            type: 'array',
            minItems: 1,
            maxItems: maxBatchCalls,
            items: {
              type: 'object',
              properties: { name: { type: 'string' }, arguments: { type: 'object' } },
              required: ['name'],
            },
          },
        },
        required: ['calls'],
      },
      annotations: { readOnlyHint: true, openWorldHint: true },
      _meta: ALWAYS_LOADED,
    });
  }
  if (options.discovery === true) {
    definitions.push({
      name: 'search_servers',
      title: 'Find MCP servers',
      description:
        'Find MCP servers that could be added, in public registries, when no tool here can do it. Entries say how to reach or run a server; they are what strangers published, not endorsements.',
      inputSchema: {
        type: 'object',
        properties: {
          registry: { type: 'string', description: 'Id or name, or all; leave out for the list.' },
          search: { type: 'string', description: 'Words in name or description.' },
          tag: { type: 'string' },
          limit: { type: 'integer', default: 10, description: 'At most 50.' },
        },
      },
      annotations: { readOnlyHint: true, openWorldHint: true },
      _meta: ALWAYS_LOADED,
    });
  }
  if (options.manage === true) {
    definitions.push({
      name: 'upstream_servers',
      title: 'Add and manage MCP servers',
      description:
        "List, add or change the MCP servers whose tools search_tools finds. add takes the url search_servers gave, or registry and id; its tools can be called at once. Programs, private addresses and changes of the user's own servers answer needs_confirmation with a command for the user to run. Never ask for secrets: that command asks for them.",
      inputSchema: {
        type: 'object',
        properties: {
          operation: { type: 'string', enum: [...OPERATIONS] },
          name: { type: 'string', description: 'Of the server; for all but list.' },
          url: { type: 'string', description: 'MCP endpoint, for add or update.' },
          registry: { type: 'string', description: 'With id, instead of url.' },
          id: { type: 'string' },
          description: { type: 'string' },
          enabled: { type: 'boolean' },
        },
        required: ['operation'],
      },
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
      _meta: ALWAYS_LOADED,
    });
  }
  return definitions.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function callSchema(): JsonObject {
  return { type: 'object', properties: { name: NAME, arguments: ARGUMENTS }, required: ['name'] };
}

/** ` Behind it: github (issues and pull requests), files.` — as many upstreams as fit, in the order configured. */
function labelOf(upstreams: DefinitionOptions['upstreams']): string {
  const labels: string[] = [];
  let length = 0;
  for (const { name, description } of upstreams) {
    const label = plain(description === undefined ? name : `${name} (${description})`, 80);
    if (length + label.length > LABEL_LENGTH) break;
    labels.push(label);
    length += label.length + 2;
  }
  if (labels.length === 0) return '';
  const more = upstreams.length - labels.length;
  return ` Behind it: ${labels.join(', ')}${more > 0 ? ` and ${more} more` : ''}.`;
}

/** One line of at most `length` characters. */
export function plain(text: string, length: number): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}
