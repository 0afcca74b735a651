import { askMetaTool, noteUnavailable, printable } from './meta-answer.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { withProxy } from './with-proxy.ts';

/** The full description and schemas of tools; fails when one of the names is no tool's. */
export async function describeTool(context: Context): Promise<number> {
  const { output, line } = context;
  return withProxy(context, async (proxy, signal) => {
    const answer = await askMetaTool(proxy, output, 'describe_tool', { names: line.operands }, signal);
    if (answer === undefined) return EXIT.failed;
    const { content } = answer;
    if (output.isJson) await output.print(answer.raw);
    else {
      for (const tool of (content['tools'] ?? []) as { name: string; description?: string }[]) {
        const { name, description, ...rest } = tool;
        const parts = Object.entries(rest).map(([key, value]) => `${key}: ${JSON.stringify(value, null, 2)}`);
        await output.print(printable([name, description ?? '', ...parts, ''].join('\n')));
      }
    }
    noteUnavailable(output, content['unavailable']);
    const unknown = (content['unknown'] ?? []) as readonly string[];
    const similar = (content['similar'] ?? {}) as Readonly<Record<string, readonly string[]>>;
    for (const name of unknown) {
      const near = similar[name] ?? [];
      output.error(
        printable(
          `there is no tool ${name}.${near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`}`,
        ),
      );
    }
    return unknown.length > 0 ? EXIT.failed : EXIT.done;
  });
}
