import { noteUnavailable, printable } from './meta-answer.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { firstSentence, tableText } from './table.ts';
import { withProxy } from './with-proxy.ts';

/** Every tool of every upstream. Fails only when there is none because none could be listed. */
export async function listTools(context: Context): Promise<number> {
  const { output } = context;
  return withProxy(context, async (proxy) => {
    const listed = await proxy.local.listTools();
    const { tools, dropped } = listed;
    if (output.isJson) await output.print(JSON.stringify(listed));
    else if (tools.length > 0) {
      const rows = tools.map((tool) => [
        tool.name,
        tool.readOnly ? 'read' : 'write',
        tool.upstream,
        firstSentence(tool.description),
      ]);
      await output.print(await tableText(output, ['TOOL', 'ACCESS', 'UPSTREAM', 'WHAT IT DOES'], rows));
    }
    for (const { upstream, name, reason } of dropped) {
      output.note(`mcpproxy: note: ${printable(`${upstream} lists ${name}, which is left out: ${reason}`)}`);
    }
    const isMissing = noteUnavailable(output, listed.unavailable);
    output.note(tools.length === 1 ? '1 tool' : `${tools.length} tools`);
    return isMissing && tools.length === 0 ? EXIT.failed : EXIT.done;
  });
}
