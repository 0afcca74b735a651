import { cpus } from 'node:os';
import { OWN_SET, readSet } from '../eval/evaluation-set.ts';
import { createDocumentPool, type IndexedTool } from '../src/search/index.ts';
import { numbersFrom } from '../src/search/measure.ts';
import { miniSearchOf } from './search-minisearch.ts';

/**
 * What a question and a document cost, at 1,000, 10,000 and 100,000 tools, beside MiniSearch with the same
 * analyzer. `npm run bench -- search [SIZE…] [--without-minisearch] [--data FOLDER]…`
 *
 * The catalog is our own set (or the tools of the folders given), then copies of it with another name and
 * three more words each, drawn from 50,000 invented ones. Copies repeat words more than a real catalog, so
 * that lists are long. Each question is asked `ROUNDS` times; its quickest answer counts, because the others
 * measure the machine's other work.
 */
const ROUNDS = 7;
const LIMIT = 8;

interface Row {
  readonly ranker: string;
  readonly tools: number;
  readonly addMicros: number;
  readonly p50Micros: number;
  readonly p95Micros: number;
  readonly heapBytes: number;
}

interface Ranker {
  readonly name: string;
  /** Adds the tools and gives what answers a question. */
  readonly build: (tools: readonly IndexedTool[]) => (question: string) => unknown;
  /** How many questions are asked at most. */
  readonly questions: (tools: number) => number;
}

const OWN: Ranker = {
  name: 'own',
  build(tools) {
    const index = createDocumentPool().openView(tools);
    return (question) => index.search(question, { limit: LIMIT });
  },
  questions: () => Number.POSITIVE_INFINITY,
};

const MINISEARCH: Ranker = {
  name: 'MiniSearch',
  build: (tools) => miniSearchOf(tools, LIMIT),
  questions: (tools) => (tools > 50_000 ? 40 : Number.POSITIVE_INFINITY),
};

export function run(args: readonly string[]): void {
  const data = args.flatMap((arg, i) => (args[i - 1] === '--data' ? [arg] : []));
  const sizes = args.filter((arg) => /^\d+$/.test(arg)).map(Number);
  const sets = (data.length > 0 ? data : [OWN_SET]).map(readSet);
  const base = sets.flatMap(({ tools }) => tools);
  const questions = sets
    .flatMap((set) => set.questions.filter(({ language }) => language === 'en'))
    .map(({ text }) => text);
  const rankers = args.includes('--without-minisearch') ? [OWN] : [OWN, MINISEARCH];

  console.log(
    `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.versions.node}`,
  );
  console.log(`${base.length} tools and their copies, ${questions.length} questions, best ${LIMIT}\n`);
  console.log('| tools | ranker | add a tool, CPU | question p50 | p95 | heap a tool |');
  console.log('|---|---|---|---|---|---|');
  warmUp(rankers, base, questions);
  for (const size of sizes.length > 0 ? sizes : [1_000, 10_000, 100_000]) {
    const tools = catalogOf(base, size);
    for (const ranker of rankers) console.log(line(measureRanker(ranker, tools, questions)));
  }
}

function warmUp(
  rankers: readonly Ranker[],
  base: readonly IndexedTool[],
  questions: readonly string[],
): void {
  for (const { build } of rankers) {
    const ask = build(catalogOf(base, 3_000));
    for (const question of questions.slice(0, 200)) ask(question);
  }
}

function measureRanker(ranker: Ranker, tools: readonly IndexedTool[], questions: readonly string[]): Row {
  const heapBefore = heldBytes();
  const cpuBefore = process.cpuUsage();
  const ask = ranker.build(tools);
  const cpu = process.cpuUsage(cpuBefore);
  // The first question makes what is only made on demand.
  ask(questions[0]!);
  const heapBytes = heldBytes() - heapBefore;

  const micros = questions
    .slice(0, ranker.questions(tools.length))
    .map((question) => quickest(() => ask(question)))
    .sort((a, b) => a - b);
  return {
    ranker: ranker.name,
    tools: tools.length,
    addMicros: (cpu.user + cpu.system) / tools.length,
    p50Micros: micros[Math.floor(micros.length / 2)]!,
    p95Micros: micros[Math.floor(micros.length * 0.95)]!,
    heapBytes: heapBytes / tools.length,
  };
}

function quickest(work: () => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.hrtime.bigint();
    work();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1_000);
  }
  return best;
}

function heldBytes(): number {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function line(row: Row): string {
  const micros = (value: number): string =>
    value >= 1_000 ? `${(value / 1_000).toFixed(2)} ms` : `${value.toFixed(0)} µs`;
  const cells = [
    row.tools.toLocaleString('en'),
    row.ranker,
    micros(row.addMicros),
    micros(row.p50Micros),
    micros(row.p95Micros),
    `${(row.heapBytes / 1_024).toFixed(2)} KB`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** The first `size` tools: the base once, then copies that differ from it in name and three words. */
function catalogOf(base: readonly IndexedTool[], size: number): readonly IndexedTool[] {
  const random = numbersFrom(size);
  const tools = Array.from({ length: size }, (_, i): IndexedTool => {
    const tool = base[i % base.length]!;
    if (i < base.length) return { ...tool, exposedName: `${tool.exposedName}_${i}` };
    const more = [inventedWord(random), inventedWord(random), inventedWord(random)];
    return {
      ...tool,
      name: `${tool.name}_${more[0]}`,
      exposedName: `${tool.exposedName}_${i}`,
      description: `${tool.description} ${more.join(' ')}`,
      digest: `${tool.digest}-${i}`,
    };
  });
  // As they come from a wire: texts put together here would be flattened at the ranker's cost.
  return JSON.parse(JSON.stringify(tools)) as IndexedTool[];
}

const SYLLABLES = [
  'ka',
  'ro',
  'mi',
  'ten',
  'sul',
  'ver',
  'lo',
  'pra',
  'den',
  'qui',
  'ba',
  'tor',
  'nex',
  'ful',
  'gan',
  'ib',
];

/** Frequent words are drawn often, rare ones seldom, as in language. */
function inventedWord(random: () => number): string {
  let rank = Math.floor(random() ** 3 * 50_000) + 17;
  let word = '';
  for (; rank > 0; rank = Math.floor(rank / SYLLABLES.length)) word += SYLLABLES[rank % SYLLABLES.length]!;
  return word;
}
