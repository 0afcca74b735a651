import { cpuMsOf, LineClient, machine, PROXY, scratchConfig, script } from './contender.ts';
import { median, printTable, quantile, valueOf } from './numbers.ts';

/**
 * From starting the process to the answer of `initialize`, and to the first proxied call, over stdin and stdout,
 * beside a Node that only answers a line. `npm run bench -- start [ROUNDS] [--against OTHER/dist/bin.js]`
 */
const CALL = { name: 'call_read_tool', arguments: { name: 'lookup', arguments: { id: 1 } } };

interface Started {
  readonly greetedMs: number;
  readonly cpuMs: number;
  readonly calledMs?: number;
}

export async function run(args: readonly string[]): Promise<void> {
  const rounds = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 25);
  const [command, ...upstream] = [process.execPath, script('upstream-process'), 'stdio'];
  const config = scratchConfig({ bench: { command, args: upstream } });
  const proxyArgs = ['--stdio', '--config', config.path];
  const against = valueOf(args, '--against');
  const contenders: readonly {
    readonly name: string;
    readonly line: readonly string[];
    readonly calls: boolean;
  }[] = [
    { name: 'bare node', line: [process.execPath, script('bare-process')], calls: false },
    { name: 'proxy', line: [process.execPath, PROXY, ...proxyArgs], calls: true },
    ...(against === undefined
      ? []
      : [{ name: 'other proxy', line: [process.execPath, against, ...proxyArgs], calls: true }]),
  ];
  console.log(`${machine()}; ${rounds} starts each, in turns\n`);
  const seen = new Map(contenders.map(({ name }): [string, Started[]] => [name, []]));
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const { name, line, calls } of contenders) {
        const started = await start(line, calls);
        // The first round reads the files from disk.
        if (round > 0) seen.get(name)?.push(started);
      }
    }
  } finally {
    config.remove();
  }
  const bare = median(seen.get('bare node')?.map(({ greetedMs }) => greetedMs) ?? []);
  printTable(
    [
      'process',
      'initialize: min',
      'p50',
      'p95',
      'p50 / bare node',
      'CPU until then',
      'first call: p50',
      'p95',
    ],
    [...seen].map(([name, starts]) => {
      const greeted = starts.map(({ greetedMs }) => greetedMs);
      const called = starts.flatMap(({ calledMs }) => calledMs ?? []);
      const ms = (value: number): string => (Number.isNaN(value) ? '' : `${value.toFixed(0)} ms`);
      return [
        name,
        ms(quantile(greeted, 0)),
        ms(median(greeted)),
        ms(quantile(greeted, 0.95)),
        (median(greeted) / bare).toFixed(2),
        ms(median(starts.map(({ cpuMs }) => cpuMs))),
        ms(median(called)),
        ms(quantile(called, 0.95)),
      ];
    }),
  );
}

async function start(line: readonly string[], calls: boolean): Promise<Started> {
  const began = performance.now();
  const client = new LineClient(line);
  await client.greet();
  const greetedMs = performance.now() - began;
  const cpuMs = cpuMsOf(client.child.pid ?? 0) ?? Number.NaN;
  if (calls) {
    const answer = await client.request('tools/call', CALL);
    if (!answer.includes('Vilnius')) throw new Error(`the first call failed: ${answer}`);
  }
  const calledMs = performance.now() - began;
  await client.close();
  return { greetedMs, cpuMs, ...(calls ? { calledMs } : {}) };
}
