import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { OWN_SET, readSet } from '../eval/evaluation-set.ts';
import { argumentsFor, benchCatalog, MOST_TOOLS, RECORD } from './catalog.ts';
import { LineClient, PROXY, scratchConfig, script } from './contender.ts';
import { printTable } from './numbers.ts';

/**
 * What a model is given of tools, in tokens (o200k), with every tool of a catalog loaded and through the proxy, which
 * is asked for real. `npm run bench -- tokens [SIZE…]`
 *
 * A definition is counted as clients hand it on: name, description and input schema as JSON, without what a provider
 * puts around it. A task is one question answered with one call: with everything loaded the model is asked twice
 * (before and after the call), through the proxy three times (before and after the search, and after the call), and
 * each time it gets the definitions (all seven of the proxy's) and all that was said before. The question itself is the same and left out.
 */
const SIZES = [50, 100, 500, 1_000, MOST_TOOLS];
const QUESTIONS = 30;
interface Listed {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: object;
}

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: { readonly tools: readonly { name: string }[]; readonly total: number };
}

const tokens = (value: unknown): number =>
  encode(typeof value === 'string' ? value : JSON.stringify(value)).length;
const definitions = (tools: readonly Listed[]): number =>
  tools.reduce(
    (sum, { name, description, inputSchema }) =>
      sum + tokens({ name, description, input_schema: inputSchema }),
    0,
  );
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export async function run(args: readonly string[]): Promise<void> {
  const sizes = args.map(Number).filter((size) => size > 0);
  const questions = readSet(OWN_SET)
    .questions.filter(({ language }) => language === 'en')
    .slice(0, QUESTIONS)
    .map(({ text }) => text);
  const rows = [];
  for (const size of sizes.length > 0 ? sizes : SIZES) rows.push(await measured(size, questions));
  const count = (value: number): string => Math.round(value).toLocaleString('en');
  printTable(
    [
      'tools',
      'definitions, all loaded',
      'definitions, proxy: five tools',
      'all seven',
      'fewer',
      'a search and its answer',
      'a describe and its answer',
      'a call and its answer: loaded',
      'proxy',
      'a task, all loaded',
      'a task, proxy',
      'fewer',
    ],
    rows.map((row) => {
      const loaded = 2 * row.all + row.directCall;
      const ours = 3 * row.own + 2 * row.search + row.call;
      const fewer = (mine: number, theirs: number): string => `${((1 - mine / theirs) * 100).toFixed(1)} %`;
      return [
        count(row.size),
        count(row.all),
        count(row.five),
        count(row.own),
        fewer(row.own, row.all),
        count(row.search),
        count(row.describe),
        count(row.directCall),
        count(row.call),
        count(loaded),
        count(ours),
        fewer(ours, loaded),
      ];
    }),
  );
}

interface Measured {
  readonly size: number;
  readonly all: number;
  /** Without the two tools that only a proxy of one's own has. */
  readonly five: number;
  readonly own: number;
  readonly search: number;
  readonly describe: number;
  readonly directCall: number;
  readonly call: number;
}

async function measured(size: number, questions: readonly string[]): Promise<Measured> {
  const catalog = benchCatalog(size, 'mixed');
  const config = scratchConfig({
    catalog: { command: process.execPath, args: [script('catalog-process'), String(size), 'mixed'] },
  });
  const client = new LineClient([process.execPath, PROXY, '--stdio', '--config', config.path]);
  try {
    await client.greet();
    const call = async (name: string, input: object): Promise<Result> => {
      const reply = await client.request('tools/call', { name, arguments: input });
      return (JSON.parse(reply) as { readonly result: Result }).result;
    };
    await untilListed(size, call);
    const listed = JSON.parse(await client.request('tools/list', {})) as { result: { tools: Listed[] } };
    const searches: number[] = [];
    const describes: number[] = [];
    const calls: number[] = [];
    const directCalls: number[] = [];
    for (const query of questions) {
      const found = await call('search_tools', { query });
      searches.push(tokens({ query }) + tokens(textOf(found)));
      const name = found.structuredContent?.tools[0]?.name ?? catalog[0]!.name;
      const described = await call('describe_tool', { names: [name] });
      describes.push(tokens({ names: [name] }) + tokens(textOf(described)));
      const tool = catalog.find((one) => one.name === name) ?? catalog[0]!;
      const input = argumentsFor(tool.inputSchema);
      const called = await call('call_write_tool', { name, arguments: input });
      if (called.isError === true) throw new Error(`${name} was refused: ${textOf(called)}`);
      calls.push(tokens({ name, arguments: input }) + tokens(textOf(called)));
      directCalls.push(tokens(input) + tokens(JSON.stringify(RECORD)));
    }
    return {
      size,
      all: definitions(catalog),
      five: definitions(listed.result.tools.filter(({ name }) => !name.endsWith('_servers'))),
      own: definitions(listed.result.tools),
      search: mean(searches),
      describe: mean(describes),
      directCall: mean(directCalls),
      call: mean(calls),
    };
  } finally {
    await client.close();
    config.remove();
  }
}

const textOf = ({ content }: Result): string => content.map(({ text }) => text).join('\n');

/** The proxy lists its upstreams after it has greeted. */
async function untilListed(
  size: number,
  call: (name: string, input: object) => Promise<Result>,
): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const { structuredContent } = await call('search_tools', { query: 'order', limit: 1 });
    if (structuredContent?.total === size) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the proxy does not list ${size} tools`);
}
