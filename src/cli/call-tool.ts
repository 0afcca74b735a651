import { fstatSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import type { ListedTool } from '../app.ts';
import { quoted } from '../config/problem.ts';
import type { Context } from './context.ts';
import { isConfirmed } from './ask.ts';
import { EXIT } from './exit-code.ts';
import { noteUnavailable, printable } from './meta-answer.ts';
import type { Output } from './output.ts';
import { withProxy } from './with-proxy.ts';

/** Calls one tool, as a client's model would; one that may change something only with a person's yes. */
export async function callTool(context: Context): Promise<number> {
  const { output, line } = context;
  const [name = '', given] = line.operands;
  const args = checkedArguments(await argumentsText(given, output));
  if ('wrong' in args) {
    output.error(args.wrong);
    return EXIT.usage;
  }
  return withProxy(context, async (proxy, signal) => {
    const { tools, unavailable } = await proxy.local.listTools();
    noteUnavailable(output, unavailable);
    const tool = findTool(name, tools);
    // An unknown name goes to the reading tool, which refuses it with the nearest names.
    const isWrite = tool !== undefined && !tool.readOnly;
    if (isWrite && !line.flags.has('yes')) {
      const claim = `${quoted(tool.name)} of ${quoted(tool.upstream)} may change something`;
      if (!context.canAsk) {
        output.error(`${claim}, and there is nobody to ask; add --yes to call it.`);
        return EXIT.failed;
      }
      if (
        !(await isConfirmed(`${claim}. Call it?`, {
          input: process.stdin,
          output: process.stderr,
          signal,
        }))
      ) {
        output.error('not called.');
        return EXIT.failed;
      }
    }
    // As text, so that integers beyond 2^53 arrive as they were typed.
    const metaTool = isWrite ? 'call_write_tool' : 'call_read_tool';
    const raw = await proxy.local.callMetaTool(metaTool, { name, arguments: args.text }, signal);
    return printResult(raw, output);
  });
}

function findTool(name: string, tools: readonly ListedTool[]): ListedTool | undefined {
  const exposed = tools.find((tool) => tool.name === name);
  if (exposed !== undefined) return exposed;
  // A tool's own name that only one upstream has resolves too.
  const owners = tools.filter((tool) => tool.name.endsWith(`__${name}`));
  return owners.length === 1 ? owners[0] : undefined;
}

/** The operand, or what is piped in, or no arguments. */
async function argumentsText(given: string | undefined, output: Output): Promise<string> {
  if (given !== undefined && given !== '-') return given;
  if (given === undefined && !isPiped()) return '{}';
  // A pipe nobody closes would wait for ever in silence.
  const hint = setTimeout(
    () => output.note("reading the arguments from stdin… (give '{}' to call without any)"),
    1_000,
  );
  try {
    const text = await readAll(process.stdin);
    return text.trim() === '' ? '{}' : text;
  } finally {
    clearTimeout(hint);
  }
}

function isPiped(): boolean {
  try {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isFile() || stat.isSocket();
  } catch {
    return false;
  }
}

function checkedArguments(text: string): { readonly text: string } | { readonly wrong: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Node's message quotes the text; the arguments stay out of it, the place does not.
    const place = /position \d+( \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
    return {
      wrong: `the arguments are not valid JSON${place === undefined ? '' : ` at ${place}`}; give an object such as '{"path": "notes.txt"}'.`,
    };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { wrong: `the arguments must be a JSON object such as '{"path": "notes.txt"}'.` };
  }
  return { text: text.trim() };
}

async function printResult(raw: string, output: Output): Promise<number> {
  const result = JSON.parse(raw) as {
    isError?: boolean;
    content?: readonly Block[];
    structuredContent?: unknown;
    resultType?: string;
  };
  const isAnswer = result.resultType === undefined || result.resultType === 'complete';
  const code = result.isError === true || !isAnswer ? EXIT.failed : EXIT.done;
  if (!isAnswer) {
    output.error(
      'the tool asks for more input before it answers, which this command cannot give; nothing was done.',
    );
  }
  if (output.isJson) {
    await output.print(raw);
    return code;
  }
  if (!isAnswer) return code;
  const blocks = (result.content ?? []).map(blockText);
  if (blocks.length === 0 && result.structuredContent !== undefined)
    blocks.push(JSON.stringify(result.structuredContent, null, 2));
  const text = blocks.join('\n');
  if (result.isError === true) output.error(printable(text));
  else await output.print(process.stdout.isTTY ? printable(text) : text);
  return code;
}

interface Block {
  readonly type?: string;
  readonly text?: string;
  readonly mimeType?: string;
  readonly data?: string;
  readonly uri?: string;
  readonly resource?: { readonly uri?: string; readonly text?: string };
}

/** A content block for people; what is not text is named, and `-o json` gives it whole. */
function blockText(block: Block): string {
  if (block.type === 'text') return block.text ?? '';
  if (block.type === 'resource') return block.resource?.text ?? `[resource ${block.resource?.uri ?? ''}]`;
  if (block.type === 'resource_link') return `[link ${block.uri ?? ''}]`;
  const size = block.data === undefined ? '' : `, ${Math.ceil((block.data.length * 3) / 4)} bytes`;
  return `[${block.type ?? 'block'} ${block.mimeType ?? ''}${size}; -o json prints it]`;
}
