/**
 * How the sample catalog is written down: one line of words for each tool, from which its schema is made. The
 * servers and everything they know are invented.
 */
export interface SampleServer {
  readonly name: string;
  /** A few words, told to the model. */
  readonly description: string;
  readonly instructions: string;
  /** Words its answers are made of, by the field they fill. */
  readonly words: Readonly<Record<string, readonly string[]>>;
  readonly tools: readonly SampleTool[];
}

export interface SampleTool {
  readonly name: string;
  readonly description: string;
  readonly isReadOnly: boolean;
  /**
   * What each argument means, by `name`, `name?` (may be left out) or `name TYPE`. A type is `date`, `time`,
   * `number`, `yesno`, `list` (of texts), `1..50` (a whole number) or `a|b|c` (one of these); none is a text.
   */
  readonly takes: Readonly<Record<string, string>>;
  /** The fields of its answer: `loan_id, due_on`, or for a list of them `loans[] loan_id, due_on`. */
  readonly gives: string;
}

/** A tool that changes nothing. */
export function reads(
  name: string,
  description: string,
  takes: SampleTool['takes'],
  gives: string,
): SampleTool {
  return { name, description, isReadOnly: true, takes, gives };
}

/** A tool that would change something, were it not invented. */
export function writes(
  name: string,
  description: string,
  takes: SampleTool['takes'],
  gives: string,
): SampleTool {
  return { name, description, isReadOnly: false, takes, gives };
}

/** The tool as `tools/list` gives it. */
export function definitionOf(tool: SampleTool): Readonly<Record<string, unknown>> {
  const { name, description, isReadOnly } = tool;
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const [key, meaning] of Object.entries(tool.takes)) {
    const [label = '', type = ''] = key.split(' ');
    const argument = label.replace(/\?$/, '');
    properties[argument] = { ...schemaOf(type), description: meaning };
    if (!label.endsWith('?')) required.push(argument);
  }
  const inputSchema = { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
  return { name, description, inputSchema, annotations: { readOnlyHint: isReadOnly } };
}

function schemaOf(type: string): object {
  const range = /^(\d+)\.\.(\d+)$/.exec(type);
  if (range !== null) return { type: 'integer', minimum: Number(range[1]), maximum: Number(range[2]) };
  if (type.includes('|')) return { type: 'string', enum: type.split('|') };
  switch (type) {
    case '':
      return { type: 'string' };
    case 'date':
      return { type: 'string', format: 'date' };
    case 'time':
      return { type: 'string', pattern: '^\\d\\d:\\d\\d$' };
    case 'number':
      return { type: 'number' };
    case 'yesno':
      return { type: 'boolean' };
    case 'list':
      return { type: 'array', items: { type: 'string' } };
    default:
      throw new Error(`the sample catalog knows no type ${type}`);
  }
}
