import type { ArgumentCheck } from '../base/observer.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import { clearTypoOf, similarNames } from '../catalog/near-name.ts';
import type { View } from '../callers/view.ts';
import { compactSchema } from './compact-schema.ts';
import { plain, RESERVED_NAMES } from './definitions.ts';
import type { ReadArguments, ToolArguments } from './arguments.ts';
import type { ArgumentValidator, Problem } from './validator.ts';

/** What to do with a call: send it, or the words with which it is refused. */
export type Decision =
  | {
      readonly kind: 'call';
      readonly tool: CatalogTool;
      readonly arguments: ToolArguments;
      readonly unchecked?: string;
      readonly check: ArgumentCheck;
    }
  /** `check` is there when it is the arguments that do not fit. */
  | {
      readonly kind: 'refused';
      readonly tool?: CatalogTool;
      readonly text: string;
      readonly check?: ArgumentCheck;
    };

export interface Wanted {
  readonly name: string;
  readonly arguments: ReadArguments;
  /** Whether only a tool that reads may be called. */
  readonly readsOnly: boolean;
}

/**
 * Decides whether a call is sent: the tool is found in the caller's own view, may be called this way, and its
 * arguments fit its schema, in this order. Every refusal says what to do next and with which tool.
 */
export async function decide(view: View, wanted: Wanted, validate: ArgumentValidator): Promise<Decision> {
  const tool = view.catalog.find(wanted.name);
  if (tool === undefined) return { kind: 'refused', text: unknownTool(view, wanted.name) };
  if (wanted.readsOnly && tool.access === 'write') {
    return {
      kind: 'refused',
      tool,
      text: `Not called: '${tool.exposedName}' may change something, and this tool calls only tools that read. Call it with call_write_tool.`,
    };
  }
  if (wanted.arguments.kind === 'unusable') {
    const problem = { pointer: '', message: wanted.arguments.problem };
    return { kind: 'refused', tool, text: badArguments(tool, [problem]), check: 'refused' };
  }
  const verdict = await validate(tool.tool, wanted.arguments.arguments.value);
  switch (verdict.kind) {
    case 'fits':
      return { kind: 'call', tool, arguments: wanted.arguments.arguments, check: 'ok' };
    case 'unchecked':
      return {
        kind: 'call',
        tool,
        arguments: wanted.arguments.arguments,
        unchecked: verdict.reason,
        check: verdict.isOverrun === true ? 'budget' : 'unvalidated',
      };
    case 'problems':
      return { kind: 'refused', tool, text: badArguments(tool, verdict.problems), check: 'refused' };
  }
}

function unknownTool(view: View, name: string): string {
  const shown = plain(name, 100);
  if (RESERVED_NAMES.has(name)) {
    return `Not called: '${shown}' is a tool of this server itself. Call it directly, not through another tool.`;
  }
  const typo = clearTypoOf(name, view.catalog.tools);
  if (typo !== undefined) {
    return `Not called: there is no tool '${shown}'. Did you mean '${typo.exposedName}'? ${schemaOf(typo)}`;
  }
  const similar = similarNames(name, view.catalog.tools, 3);
  const near = similar.length === 0 ? '' : ` Similar names: ${similar.join(', ')}.`;
  const missing = view.unavailable.map((upstream) => `${upstream.name} (${plain(upstream.reason, 200)})`);
  const absent =
    missing.length === 0 ? '' : ` Tools of these servers are missing right now: ${missing.join('; ')}.`;
  return `Not called: there is no tool '${shown}'.${near}${absent} Find the right one with search_tools.`;
}

/** The words for arguments that do not fit, from us or from the upstream itself: every problem, and the schema. */
function badArguments(tool: CatalogTool, problems: readonly Problem[]): string {
  const lines = problems.map(({ pointer, message }) => `- ${pointer === '' ? '' : `${pointer} `}${message}`);
  return `Not called: the arguments do not fit '${tool.exposedName}'.\n${lines.join('\n')}\n${schemaOf(tool)}`;
}

/** The words for an upstream that answered "invalid params". */
export function rejectedArguments(tool: CatalogTool, message: string): string {
  return `'${tool.exposedName}' did not accept the arguments: ${plain(message, 500)}\n${schemaOf(tool)}`;
}

function schemaOf(tool: CatalogTool): string {
  return `Input schema of '${tool.exposedName}': ${JSON.stringify(compactSchema(tool.tool.inputSchema))}`;
}
