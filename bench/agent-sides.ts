import type { Side } from './agent-loop.ts';
import type { BenchTool } from './catalog.ts';
import { RECORD } from './catalog.ts';

/** Every tool of the catalog given to the model; a call is answered with the catalog's record. */
export function allLoaded(tools: readonly BenchTool[]): Side {
  const names = new Set(tools.map(({ name }) => name));
  return {
    name: 'all tools loaded',
    tools,
    instructions: '',
    call: async (name) =>
      names.has(name)
        ? { text: JSON.stringify(RECORD), reached: [name] }
        : { text: `There is no tool ${name}.`, reached: [] },
  };
}

/** How the proxy is spoken to: its answer to a JSON-RPC request, as text. */
export type ProxyRequest = (method: string, params: object) => Promise<string>;

interface Answer {
  readonly result?: {
    readonly isError?: boolean;
    readonly instructions?: string;
    readonly tools?: Side['tools'];
    readonly content?: readonly { readonly text?: string }[];
  };
  readonly error?: { readonly message: string };
}

/** The proxy's tools given to the model; every call goes through the proxy. A refused call reaches no tool. */
export async function throughProxy(request: ProxyRequest, instructions: string): Promise<Side> {
  const listed = JSON.parse(await request('tools/list', {})) as Answer;
  return {
    name: 'proxy',
    tools: listed.result?.tools ?? [],
    instructions,
    async call(name, text) {
      let input: Readonly<Record<string, unknown>>;
      try {
        input = JSON.parse(text === '' ? '{}' : text) as Readonly<Record<string, unknown>>;
      } catch {
        return { text: 'The arguments are no JSON object.', reached: [] };
      }
      const { result, error } = JSON.parse(await request('tools/call', { name, arguments: input })) as Answer;
      const said = result?.content?.map((block) => block.text ?? '').join('\n') ?? error?.message ?? '';
      const isDone = result !== undefined && result.isError !== true;
      return { text: said, reached: isDone ? namesIn(name, input) : [] };
    },
  };
}

function namesIn(metaTool: string, input: Readonly<Record<string, unknown>>): string[] {
  const calls = metaTool === 'call_read_tools' ? input['calls'] : [input];
  if (!metaTool.startsWith('call_') || !Array.isArray(calls)) return [];
  return (calls as readonly { readonly name?: unknown }[]).flatMap(({ name }) =>
    typeof name === 'string' ? [name] : [],
  );
}
