import { OWN_SET, readSet } from '../eval/evaluation-set.ts';
import { ask } from './agent-loop.ts';
import type { AgentQuestion, Endpoint, Side, Told } from './agent-loop.ts';
import { allLoaded, throughProxy } from './agent-sides.ts';
import { benchCatalog } from './catalog.ts';
import { LineClient, PROXY, scratchConfig, script } from './contender.ts';
import { printTable, valueOf } from './numbers.ts';

/**
 * Whether a model reaches the right tool, with every tool loaded and through the proxy, and what that costs it:
 *
 *     AGENT_URL=http://127.0.0.1:11434/v1 AGENT_MODEL=NAME AGENT_KEY=… npm run bench -- agent [--tools 500]
 *         [--questions 30] [--only all|proxy]
 *
 * Any endpoint with chat completions and function calls will do; AGENT_KEY is left out where none is wanted. It is
 * asked some 150 times and is paid by whoever owns the key.
 */
export async function run(args: readonly string[]): Promise<void> {
  const endpoint = endpointFrom(process.env);
  if (typeof endpoint === 'string') {
    console.error(endpoint);
    process.exitCode = 2;
    return;
  }
  const size = Number(valueOf(args, '--tools') ?? 500);
  const questions = agentQuestions(Number(valueOf(args, '--questions') ?? 30));
  const only = valueOf(args, '--only') ?? '';
  const config = scratchConfig({
    catalog: { command: process.execPath, args: [script('catalog-process'), String(size), 'asked'] },
  });
  const client = new LineClient([process.execPath, PROXY, '--stdio', '--config', config.path]);
  try {
    const greeting = JSON.parse(await greeted(client)) as {
      readonly result: { readonly instructions?: string };
    };
    const proxy = await throughProxy(
      (method, params) => client.request(method, params),
      greeting.result.instructions ?? '',
    );
    const sides = [allLoaded(benchCatalog(size, 'asked')), proxy].filter(({ name }) => name.startsWith(only));
    console.log(`${endpoint.model}, ${size} tools, ${questions.length} questions\n`);
    printTable(HEAD, await rowsOf(endpoint, sides, questions));
  } finally {
    await client.close();
    config.remove();
  }
}

export const HEAD = [
  'tools given',
  'right tool',
  'wrong tool',
  'no tool',
  'failed',
  'turns',
  'prompt tokens',
  'completion tokens',
];

/** The endpoint of the environment, or a sentence about what is missing in it. */
export function endpointFrom(env: NodeJS.ProcessEnv): Endpoint | string {
  const { AGENT_URL: url, AGENT_MODEL: model, AGENT_KEY: key } = env;
  if (url === undefined || model === undefined)
    return 'set AGENT_URL (up to /chat/completions) and AGENT_MODEL, and AGENT_KEY where the endpoint wants one';
  return { url, model, ...(key !== undefined && { key }) };
}

/** The first `count` English questions of our own set, of different servers as far as there are. */
export function agentQuestions(count: number): readonly AgentQuestion[] {
  const english = readSet(OWN_SET).questions.filter(({ language }) => language === 'en');
  const seen = new Set<string>();
  const spread = english.filter(({ relevant: [first = ''] }) => {
    const server = first.split('__')[0] ?? '';
    const isNew = !seen.has(server);
    seen.add(server);
    return isNew;
  });
  return [...spread, ...english.filter((question) => !spread.includes(question))].slice(0, count);
}

/** Puts every question to every side, one after the other. */
export async function rowsOf(
  endpoint: Endpoint,
  sides: readonly Side[],
  questions: readonly AgentQuestion[],
): Promise<string[][]> {
  const rows: string[][] = [];
  for (const side of sides) {
    const told: Told[] = [];
    for (const question of questions) told.push(await ask(endpoint, side, question));
    const why = told.find((one) => one.why !== undefined)?.why;
    if (why !== undefined) console.error(`${side.name}: ${why}`);
    const share = (outcome: Told['outcome']): string =>
      `${Math.round((told.filter((one) => one.outcome === outcome).length / told.length) * 100)} %`;
    const mean = (value: (one: Told) => number | undefined): string => {
      const known = told.filter(({ outcome }) => outcome !== 'failed').map(value);
      if (known.length === 0 || known.includes(undefined)) return '';
      return Math.round(
        known.reduce<number>((sum, one) => sum + (one ?? 0), 0) / known.length,
      ).toLocaleString('en');
    };
    rows.push([
      side.name,
      share('right'),
      share('wrong'),
      share('none'),
      share('failed'),
      (told.reduce((sum, { turns }) => sum + turns, 0) / told.length).toFixed(1),
      mean(({ promptTokens }) => promptTokens),
      mean(({ completionTokens }) => completionTokens),
    ]);
  }
  return rows;
}

async function greeted(client: LineClient): Promise<string> {
  const clientInfo = { name: 'bench', version: '1' };
  const answer = await client.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo,
  });
  client.child.stdin!.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return answer;
}
