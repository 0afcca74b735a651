import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { OWN_SET, readSet } from '../eval/evaluation-set.ts';
import type * as OpenEmbedder from '../src/model/open-embedder.ts';
import type * as English from '../src/model/english/english-encoder.ts';
import type * as PackedEncoder from '../src/model/packed/packed-encoder.ts';
import type { Embedder } from '../src/search/embedder.ts';

/**
 * What it costs to embed, by the built program's thread: opening, questions one after another, the tools of a catalog
 * with nothing kept on disk and with everything, and memory; for both encoders and for the first alone, each in a
 * process of its own.
 * `npm run bench -- embed [--model FILE] [--data FOLDER] [--vectors FILE]`
 *
 * The second encoder's file lies beside the first's. `--vectors` names a file that scripts/fixtures/packed-encoder.py
 * wrote: how near the first's are to the base's own package.
 */
const OPENINGS = 5;
const WARM_UP = 200;
/** Most questions that are timed. */
const QUESTIONS = 600;
/** As documents are cut when they are given to the embedder, in characters of the description. */
const DESCRIPTION = 400;
/** Multiply-adds of the two convolutions of the three branches for one piece, which is where the first's time goes. */
const MACS_A_PIECE = 2 * 256 * 256 * (2 + 3 + 5);
/** The same of the second's six layers, without attention. */
const SECOND_MACS_A_PIECE = 6 * (4 * 384 * 384 + 2 * 384 * 1_536);

const KINDS = ['packed-small', 'packed'] as const;
type Kind = (typeof KINDS)[number];

/** What was measured of one, in milliseconds and bytes. */
interface Measured {
  readonly opening: number;
  /** Each part of the tools' vectors, with nothing kept. */
  readonly parts: readonly number[];
  readonly kept: number;
  /** Null when there are none. */
  readonly english: Percentiles | null;
  readonly others: Percentiles | null;
  readonly memory: number;
  readonly cosines: readonly number[] | undefined;
}

type Percentiles = readonly [p50: number, p95: number, p99: number];

interface Asked {
  readonly packedFile: string | undefined;
  readonly data: string;
  readonly vectors: string | undefined;
}

export async function run(args: readonly string[]): Promise<void> {
  const option = (name: string): string | undefined => args[args.indexOf(name) + 1 || args.length];
  const asked: Asked = {
    packedFile: option('--model'),
    data: option('--data') ?? OWN_SET,
    vectors: option('--vectors'),
  };
  const one = KINDS.find((kind) => kind === option('--one'));
  if (one !== undefined) {
    console.log(JSON.stringify(await measure(one, asked)));
    return;
  }
  const { tools, questions } = readSet(asked.data);
  console.log(
    `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}, Node ${process.versions.node}`,
  );
  console.log(`${tools.length} tools, ${Math.min(questions.length, QUESTIONS)} questions\n`);
  const [small, both] = KINDS.map((kind) => {
    const again = [...process.execArgv, process.argv[1]!, 'embed', ...args, '--one', kind];
    return JSON.parse(execFileSync(process.execPath, again, { encoding: 'utf8' })) as Measured;
  }) as [Measured, Measured];
  const row = (what: string, value: (one: Measured) => string): void =>
    console.log(`| ${what} | ${value(small)} | ${value(both)} |`);
  console.log('| what | first encoder alone | both |');
  console.log('|---|---|---|');
  row(`opening the thread and the model, median of ${OPENINGS}`, ({ opening }) => show(opening));
  row(`${tools.length} tools, nothing kept: first vectors`, ({ parts }) => show(parts[0]!));
  row('second vectors', ({ parts }) => (parts[1] === undefined ? '' : show(parts[1])));
  row('the same tools, kept on disk', ({ kept }) => show(kept));
  const timesOf = (times: Percentiles | null): string => times?.map(show).join(', ') ?? 'none';
  row('a question in English, thread and all: p50, p95, p99', ({ english }) => timesOf(english));
  row('in another language', ({ others }) => timesOf(others));
  row('memory of the thread with model and vectors', ({ memory }) => `${(memory / 1e6).toFixed(0)} MB`);

  console.log(
    `\nThe bodies alone, G multiply-adds a second: ${(await macsOf(asked)).map((macs) => macs.toFixed(1)).join(', ')}.`,
  );
  const { cosines } = small;
  if (cosines !== undefined) {
    const mean = cosines.reduce((a, b) => a + b, 0) / cosines.length;
    const sorted = [...cosines].sort((a, b) => a - b);
    console.log(
      `Cosine with the base's own package on ${cosines.length} texts: mean ${mean.toFixed(4)}, median ${sorted[Math.floor(sorted.length / 2)]!.toFixed(4)}, least ${sorted[0]!.toFixed(4)}.`,
    );
  }
}

async function measure(kind: Kind, { packedFile, data, vectors }: Asked): Promise<Measured> {
  const { tools, questions } = readSet(data);
  const documents = tools.map(({ name, description }) => {
    return `${name.replaceAll(/[_-]+/g, ' ')}. ${description.slice(0, DESCRIPTION)}`;
  });
  // Evenly from all, which are in the order of languages or of subjects.
  const step = Math.max(1, questions.length / QUESTIONS);
  const chosen = Array.from(
    { length: Math.min(questions.length, QUESTIONS) },
    (_, i) => questions[Math.floor(i * step)]!,
  );
  const isEnglish = ({ language }: (typeof questions)[number]): boolean => (language ?? 'en') === 'en';
  const cacheFolder = mkdtempSync(join(tmpdir(), 'bench-embed-'));
  const { openEmbedder } = await built<typeof OpenEmbedder>('open-embedder.js');
  const open = async (cacheFolder: string | null): Promise<Embedder> => {
    const options = { cacheFolder, ...(packedFile === undefined ? {} : { packedFile }) };
    const embedder = (await openEmbedder({ kind }, options))!;
    if (embedder.shortfall !== undefined) throw new Error(embedder.shortfall);
    return embedder;
  };
  try {
    const openings: number[] = [];
    for (let i = 0; i < OPENINGS; i++) {
      const [embedder, ms] = await timed(() => open(null));
      openings.push(ms);
      await embedder.close();
    }

    const before = process.memoryUsage().rss;
    const first = await open(cacheFolder);
    const parts: number[] = [];
    const count = first.parts?.dimensions.length ?? 1;
    for (let part = 0; part < count; part++) {
      const embed = (): Promise<unknown> =>
        first.parts?.embed(documents, part) ?? first.embed(documents, 'document');
      parts.push((await timed(embed))[1]);
    }
    const warmUp = questions.slice(0, WARM_UP).map(({ text }) => text);
    for (const text of warmUp) await first.embed([text], 'question');
    const english = await questionTimes(first, chosen.filter(isEnglish));
    const others = await questionTimes(
      first,
      chosen.filter((one) => !isEnglish(one)),
    );
    const memory = process.memoryUsage().rss - before;
    await first.close();

    const second = await open(cacheFolder);
    const [, kept] = await timed(() => second.embed(documents, 'document'));
    const cosines = vectors === undefined ? undefined : await cosinesOf(second, vectors);
    await second.close();
    return {
      opening: percentile(openings, 0.5),
      parts,
      kept,
      english,
      others,
      memory,
      cosines,
    };
  } finally {
    rmSync(cacheFolder, { recursive: true, force: true });
  }
}

/** A module of the built program: a thread is started from there. */
async function built<T>(file: string): Promise<T> {
  return (await import(new URL(`../../dist/model/${file}`, import.meta.url).href)) as T;
}

async function questionTimes(
  embedder: Embedder,
  questions: readonly { readonly text: string }[],
): Promise<Percentiles | null> {
  if (questions.length === 0) return null;
  const times: number[] = [];
  for (const { text } of questions) {
    times.push((await timed(() => embedder.embed([text], 'question')))[1]);
  }
  return [percentile(times, 0.5), percentile(times, 0.95), percentile(times, 0.99)];
}

/** On this thread, the best of many rounds over texts of as many pieces as are read. */
async function macsOf({ packedFile }: Asked): Promise<readonly number[]> {
  const { openPackedEncoder } = await built<typeof PackedEncoder>('packed/packed-encoder.js');
  const { EnglishEncoder } = await built<typeof English>('english/english-encoder.js');
  const { packedModelFile } = await built<typeof OpenEmbedder>('open-embedder.js');
  const file = packedFile ?? packedModelFile();
  const text = 'the list of open issues in a project '.repeat(20);
  const best = (rounds: number, encode: () => unknown): number => {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < rounds; i++) {
      const start = performance.now();
      encode();
      least = Math.min(least, performance.now() - start);
    }
    return least;
  };
  const first = openPackedEncoder(file);
  const ms = best(500, () => first.encode(text, 'document'));
  first.close();
  const second = new EnglishEncoder(join(dirname(file), 'english.safetensors'));
  const pieces = second.file.documentPieces;
  const secondMs = best(100, () => second.encodeText(text, pieces));
  second.close();
  // 40 pieces, begin and end; as many as the file says, begin and end.
  return [(42 * MACS_A_PIECE) / ms / 1e6, ((pieces + 2) * SECOND_MACS_A_PIECE) / secondMs / 1e6];
}

async function cosinesOf(embedder: Embedder, path: string): Promise<number[]> {
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const texts = lines.map((line) => JSON.parse(line) as { readonly text: string; readonly vector: string });
  const ours = await embedder.embed(
    texts.map(({ text }) => text),
    'question',
  );
  return texts.map(({ vector }, i) => {
    const theirs = new Float32Array(new Uint8Array(Buffer.from(vector, 'base64')).buffer);
    return theirs.reduce((sum, number, at) => sum + number * ours[i]![at]!, 0);
  });
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const start = performance.now();
  const result = await work();
  return [result, performance.now() - start];
}

function percentile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}

function show(ms: number): string {
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;
}
