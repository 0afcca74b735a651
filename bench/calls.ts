import { cpuMsOf, machine } from './contender.ts';
import type { Contender } from './contender.ts';
import { median, printTable, quantile, valueOf } from './numbers.ts';
import { httpWays, stdioWays } from './ways.ts';
import type { Ways } from './ways.ts';

/**
 * What a call through the proxy costs more than the same call straight to its upstream, and than one through a
 * process that only hands bytes on. `npm run bench -- calls [CALLS] [--only stdio|http] [--against OTHER/dist/bin.js]`
 *
 * The three ways take turns in short blocks of one run, so that the machine's other work hits all of them; compare
 * the columns of one row, and the ratios, not runs. CPU is that of the process between, all its threads.
 */
const BLOCK = 20;
const WARM_UP = 600;

export interface Measured {
  readonly ms: number[];
  cpuMs: number;
}

export async function run(args: readonly string[]): Promise<void> {
  const calls = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 3_000);
  console.log(`${machine()}; ${calls} calls each way, in turns of ${BLOCK}\n`);
  const rows: string[][] = [];
  const only = valueOf(args, '--only') ?? '';
  const against = valueOf(args, '--against');
  const options = against === undefined ? {} : { against };
  const kinds: readonly (readonly [string, () => Promise<Ways>])[] = [
    ['stdio', () => stdioWays(options)],
    ['HTTP, 2026-07-28', () => httpWays('modern', options)],
    ['HTTP, 2025-11-25', () => httpWays('legacy', options)],
  ];
  for (const [name, open] of kinds.filter(([name]) => name.toLowerCase().startsWith(only))) {
    const ways = await open();
    try {
      await takeTurns(ways.contenders, WARM_UP, 1);
      rows.push(...rowsOf(name, 1, await takeTurns(ways.contenders, calls, 1), calls));
      rows.push(...rowsOf(name, 16, await takeTurns(ways.contenders, calls, 16), calls));
    } finally {
      await ways.close();
    }
  }
  printTable(
    ['transport', 'at once', 'way', 'min', 'p50', 'p95', 'added p50', 'p50 / direct', 'CPU a call'],
    rows,
  );
}

/** Runs the ways in turns, each turn `block` calls of which `atOnce` are under way together. */
export async function takeTurns(
  contenders: readonly Contender[],
  calls: number,
  atOnce: number,
  block = BLOCK,
): Promise<Map<Contender, Measured>> {
  const measured = new Map(
    contenders.map((contender): [Contender, Measured] => [contender, { ms: [], cpuMs: 0 }]),
  );
  for (let turn = 0; turn < calls / block; turn++) {
    for (const [contender, { ms }] of measured) {
      const before = cpuOf(contender);
      let left = block;
      const caller = async (): Promise<void> => {
        while (left-- > 0) {
          const began = performance.now();
          await contender.call();
          ms.push(performance.now() - began);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, caller));
      measured.get(contender)!.cpuMs += cpuOf(contender) - before;
    }
  }
  return measured;
}

function cpuOf({ pid }: Contender): number {
  return pid === undefined ? 0 : (cpuMsOf(pid) ?? Number.NaN);
}

export function rowsOf(
  transport: string,
  atOnce: number,
  measured: ReadonlyMap<Contender, Measured>,
  calls: number,
): string[][] {
  const direct = median([...measured.values()][0]?.ms ?? []);
  return [...measured].map(([{ name, pid }, { ms, cpuMs }]) => [
    transport,
    String(atOnce),
    name,
    ...[quantile(ms, 0), median(ms), quantile(ms, 0.95)].map((value) => `${value.toFixed(3)} ms`),
    pid === undefined ? '' : `${(median(ms) - direct).toFixed(3)} ms`,
    pid === undefined ? '' : (median(ms) / direct).toFixed(2),
    pid === undefined ? '' : `${((cpuMs / calls) * 1_000).toFixed(0)} µs`,
  ]);
}
