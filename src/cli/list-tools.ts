import { noteUnavailable, printable } from './meta-answer.ts';
import type { Context } from './context.ts';
import type { LocalCaller, Proxy } from '../app.ts';
import { configOf } from './context.ts';
import { EXIT } from './exit-code.ts';
import { firstSentence, tableText } from './table.ts';
import { withProxy } from './with-proxy.ts';

/** Every tool of every upstream. Fails only when there is none because none could be listed. */
export async function listTools(context: Context): Promise<number> {
  const { output } = context;
  return withProxy(context, async (proxy) => {
    const listed = await proxy.local.listTools();
    const { tools, dropped } = listed;
    const vectors = tools.length === 0 ? undefined : await keptVectors(proxy, configOf(context).embedder);
    if (output.isJson) await output.print(JSON.stringify({ ...listed, ...(vectors && { vectors }) }));
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
    if (vectors !== undefined && vectors.whole < vectors.all) output.note(progressText(vectors));
    output.note(tools.length === 1 ? '1 tool' : `${tools.length} tools`);
    return isMissing && tools.length === 0 ? EXIT.failed : EXIT.done;
  });
}

type Vectors = NonNullable<Awaited<ReturnType<LocalCaller['keptVectors']>>>;

/** Undefined also when the model cannot be used: whoever searches is told, and tools are listed without it. */
async function keptVectors(
  { local }: Proxy,
  choice: Parameters<LocalCaller['keptVectors']>[0],
): Promise<Vectors | undefined> {
  try {
    return await local.keptVectors(choice);
  } catch {
    return undefined;
  }
}

function progressText({ all, embedded, whole }: Vectors): string {
  const how = whole === embedded ? `${whole}` : `${whole} (and ${embedded} the first part)`;
  return `vectors: ${how} of ${all} tools have theirs; the others get them when tools are first searched`;
}
