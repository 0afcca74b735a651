import type { JsonObject } from '../catalog/tool.ts';
import type { Field } from './fields.ts';
import type { IndexedTool } from './tool-index.ts';

/** The pieces of text of each field of a tool. */
export type ToolText = Readonly<Record<Field, readonly string[]>>;

// Bounds for untrusted definitions: what lies beyond adds nothing to a ranking but time.
const LONGEST_LEAD = 400;
const LONGEST_REST = 8_000;
const LONGEST_PARAMETER_TEXT = 4_000;
const LONGEST_NAME = 300;
const MOST_PARAMETERS = 400;
const MOST_SUBSCHEMAS = 4_000;
const MOST_CHOICES = 40;
const MOST_CHOICES_IN_ALL = 1_000;
const DEEPEST = 5;

/**
 * Divides a tool into the fields that are ranked apart.
 *
 * A gateway's own names may carry a server before `__`; that part is read as the server, since it says
 * where the tool lives and not what it does.
 */
export function toolText(tool: IndexedTool): ToolText {
  const ownName = tool.name.slice(0, LONGEST_NAME);
  const cut = ownName.lastIndexOf('__');
  const hasPrefix = cut > 0 && cut + 2 < ownName.length;
  const upstream = tool.upstream.slice(0, LONGEST_NAME);
  const { lead, rest } = divideDescription(tool.description);
  const schema = schemaText(tool.inputSchema);
  return {
    name: [hasPrefix ? ownName.slice(cut + 2) : ownName],
    title: tool.title === undefined ? [] : [tool.title.slice(0, LONGEST_NAME)],
    server: hasPrefix ? [upstream, ownName.slice(0, cut)] : [upstream],
    lead: [lead],
    rest: [rest],
    parameter: schema.names,
    parameterText: schema.texts,
    choice: schema.choices,
  };
}

/** A sentence ends at its mark before white space and no small letter ("e.g. this"), or at the end of a line. */
const SENTENCE_END = /[.!?](?=\s+[^\s\p{Ll}])|[。！？]|\n/u;
const SHORTEST_LEAD = 12;

/** The first sentence says what the tool does and is worth 14 points of recall@5; the rest says when and how. */
function divideDescription(description: string): { lead: string; rest: string } {
  const text = description.slice(0, LONGEST_LEAD + LONGEST_REST).trim();
  const head = text.slice(0, LONGEST_LEAD);
  let end = 0;
  while (end < SHORTEST_LEAD) {
    const found = head.slice(end).search(SENTENCE_END);
    if (found < 0) {
      end = LONGEST_LEAD;
      break;
    }
    end += found + 1;
  }
  return { lead: text.slice(0, end), rest: text.slice(end) };
}

interface SchemaText {
  readonly names: string[];
  readonly texts: string[];
  readonly choices: string[];
  textLength: number;
  visited: number;
}

function schemaText(schema: JsonObject): SchemaText {
  const found: SchemaText = { names: [], texts: [], choices: [], textLength: 0, visited: 0 };
  collect(schema, 0, found);
  return found;
}

const SUBSCHEMAS = ['items', 'additionalProperties'] as const;
const SUBSCHEMA_LISTS = ['anyOf', 'oneOf', 'allOf'] as const;
const SUBSCHEMA_MAPS = ['$defs', 'definitions'] as const;

function collect(schema: unknown, depth: number, found: SchemaText): void {
  if (depth > DEEPEST || !isObject(schema) || found.visited++ > MOST_SUBSCHEMAS) return;
  const choices = schema['enum'];
  if (Array.isArray(choices)) {
    for (const choice of choices.slice(0, MOST_CHOICES))
      if (typeof choice === 'string' && found.choices.length < MOST_CHOICES_IN_ALL) {
        found.choices.push(choice.slice(0, LONGEST_NAME));
      }
  }
  const properties = schema['properties'];
  if (isObject(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      if (found.names.length >= MOST_PARAMETERS) return;
      found.names.push(name.slice(0, LONGEST_NAME));
      const description = isObject(property) ? property['description'] : undefined;
      if (typeof description === 'string' && found.textLength < LONGEST_PARAMETER_TEXT) {
        found.texts.push(description.slice(0, LONGEST_PARAMETER_TEXT - found.textLength));
        found.textLength += description.length;
      }
      collect(property, depth + 1, found);
    }
  }
  for (const key of SUBSCHEMAS) collect(schema[key], depth + 1, found);
  for (const key of SUBSCHEMA_LISTS) {
    const list = schema[key];
    if (Array.isArray(list))
      for (const entry of list.slice(0, MOST_CHOICES)) collect(entry, depth + 1, found);
  }
  for (const key of SUBSCHEMA_MAPS) {
    const map = schema[key];
    if (isObject(map))
      for (const entry of Object.values(map).slice(0, MOST_PARAMETERS)) collect(entry, depth + 1, found);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
