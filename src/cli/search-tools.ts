import { askMetaTool, noteUnavailable, printable } from './meta-answer.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { firstSentence, tableText } from './table.ts';
import { withProxy } from './with-proxy.ts';

interface Match {
  readonly name: string;
  readonly description: string;
  readonly readOnly: boolean;
  readonly inputSchema?: {
    readonly properties?: Readonly<Record<string, unknown>>;
    readonly required?: readonly string[];
  };
}

/** Asks search_tools what a client's model would ask it. */
export async function searchTools(context: Context): Promise<number> {
  const { output, line } = context;
  const queries = queriesOf(line.operands);
  const limit = line.flags.get('limit');
  const args = {
    ...(queries.length === 1 ? { query: queries[0] } : { queries }),
    ...(limit === undefined ? {} : { limit: Number(limit) }),
    ...(line.flags.has('no-schemas') ? { schemas: false } : {}),
  };
  return withProxy(
    context,
    async (proxy, signal) => {
      const answer = await askMetaTool(proxy, output, 'search_tools', args, signal);
      if (answer === undefined) return EXIT.failed;
      const { content } = answer;
      if (output.isJson) await output.print(answer.raw);
      else if (queries.length === 1) await printMatches(context, content['tools'] as Match[]);
      else {
        for (const { query, tools } of content['results'] as { query: string; tools: Match[] }[]) {
          await output.print(`${printable(query)}:`);
          await printMatches(context, tools);
        }
      }
      const isMissing = noteUnavailable(output, content['unavailable']);
      const by = content['ranking'] === undefined ? ' by words and meaning' : '';
      output.note(`searched ${String(content['total'])} tools${by}`);
      return isMissing && content['total'] === 0 ? EXIT.failed : EXIT.done;
    },
    { byMeaning: true },
  );
}

/** Unquoted words are one question; when a phrase was quoted, each operand is one. */
export function queriesOf(operands: readonly string[]): string[] {
  return operands.some((operand) => /\s/.test(operand.trim())) ? [...operands] : [operands.join(' ')];
}

async function printMatches({ output }: Context, tools: readonly Match[]): Promise<void> {
  if (tools.length === 0) return output.print('nothing matches');
  const rows = tools.map((tool) => [
    `${tool.name}${argumentsOf(tool)}`,
    tool.readOnly ? 'read' : 'write',
    firstSentence(tool.description),
  ]);
  await output.print(await tableText(output, ['TOOL', 'ACCESS', 'WHAT IT DOES'], rows));
}

/** `(path, head?)`, where the answer carries the schema. */
function argumentsOf({ inputSchema }: Match): string {
  if (inputSchema === undefined) return '';
  const required = inputSchema.required ?? [];
  const names = Object.keys(inputSchema.properties ?? {}).map((name) =>
    required.includes(name) ? name : `${name}?`,
  );
  return ` (${names.join(', ')})`;
}
