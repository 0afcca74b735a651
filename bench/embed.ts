import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { OWN_SET, readSet } from '../eval/evaluation-set.ts';
import type * as OpenEmbedder from '../src/model/open-embedder.ts';
import type * as PackedEncoder from '../src/model/packed/packed-encoder.ts';
import type { Embedder } from '../src/search/embedder.ts';

/**
 * What it costs to embed, by the built program's thread: opening, questions one after another, the tools of a catalog
 * with nothing kept on disk and with everything, and memory.
 * `npm run bench -- embed [--model FILE] [--data FOLDER] [--vectors FILE]`
 *
 * `--vectors` names a file that scripts/fixtures/packed-encoder.py wrote: how near ours are to the base's own package.
 */
const OPENINGS = 5;
const WARM_UP = 200;
/** As documents are cut when they are given to the embedder, in characters of the description. */
const DESCRIPTION = 400;
/** Multiply-adds of the two convolutions of the three branches for one piece, which is where the time goes. */
const MACS_A_PIECE = 2 * 256 * 256 * (2 + 3 + 5);

export async function run(args: readonly string[]): Promise<void> {
  const option = (name: string): string | undefined => args[args.indexOf(name) + 1 || args.length];
  const packedFile = option('--model');
  const { tools, questions } = readSet(option('--data') ?? OWN_SET);
  const documents = tools.map(({ name, description }) => {
    return `${name.replaceAll(/[_-]+/g, ' ')}. ${description.slice(0, DESCRIPTION)}`;
  });
  const asked = questions.map(({ text }) => text);
  const cacheFolder = mkdtempSync(join(tmpdir(), 'bench-embed-'));
  const { openEmbedder } = await built<typeof OpenEmbedder>('open-embedder.js');
  const open = async (cacheFolder: string | null): Promise<Embedder> => {
    const options = { cacheFolder, ...(packedFile === undefined ? {} : { packedFile }) };
    return (await openEmbedder({ kind: 'packed' }, options))!;
  };

  console.log(
    `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.versions.node}`,
  );
  console.log(`${documents.length} tools, ${asked.length} questions\n`);
  console.log('| what | time |');
  console.log('|---|---|');
  try {
    const openings: number[] = [];
    for (let i = 0; i < OPENINGS; i++) {
      const [embedder, ms] = await timed(() => open(null));
      openings.push(ms);
      await embedder.close();
    }
    console.log(`| opening the thread and the model, median of ${OPENINGS} | ${at(openings, 0.5)} |`);

    const before = process.memoryUsage().rss;
    const first = await open(cacheFolder);
    const [, fresh] = await timed(() => first.embed(documents, 'document'));
    console.log(`| ${documents.length} tools, nothing kept | ${show(fresh)} |`);
    const times = await questionTimes(first, asked);
    console.log(
      `| a question, thread and all: p50 | ${at(times, 0.5)} |\n| p95 | ${at(times, 0.95)} |\n| p99 | ${at(times, 0.99)} |`,
    );
    const memory = process.memoryUsage().rss - before;
    await first.close();

    const second = await open(cacheFolder);
    const [, kept] = await timed(() => second.embed(documents, 'document'));
    console.log(`| the same tools, kept on disk | ${show(kept)} |`);
    const vectors = option('--vectors');
    const cosines = vectors === undefined ? undefined : await cosinesOf(second, vectors);
    await second.close();

    console.log(
      `\nMemory of the thread with its model and vectors: ${(memory / 1e6).toFixed(0)} MB (resident, of ${(process.memoryUsage().rss / 1e6).toFixed(0)} MB in all).`,
    );
    console.log(`The body alone: ${(await macsOf(packedFile)).toFixed(1)} G multiply-adds a second.`);
    if (cosines !== undefined) {
      const mean = cosines.reduce((a, b) => a + b, 0) / cosines.length;
      const sorted = [...cosines].sort((a, b) => a - b);
      console.log(
        `Cosine with the base's own package on ${cosines.length} texts: mean ${mean.toFixed(4)}, median ${sorted[Math.floor(sorted.length / 2)]!.toFixed(4)}, least ${sorted[0]!.toFixed(4)}.`,
      );
    }
  } finally {
    rmSync(cacheFolder, { recursive: true, force: true });
  }
}

/** A module of the built program: a thread is started from there. */
async function built<T>(file: string): Promise<T> {
  return (await import(new URL(`../../dist/model/${file}`, import.meta.url).href)) as T;
}

async function questionTimes(embedder: Embedder, questions: readonly string[]): Promise<number[]> {
  for (const text of questions.slice(0, WARM_UP)) await embedder.embed([text], 'question');
  const times: number[] = [];
  for (const text of questions) times.push((await timed(() => embedder.embed([text], 'question')))[1]);
  return times;
}

/** On this thread, over texts whose rows are all kept: the convolutions' share of the time is nearly all of it. */
async function macsOf(packedFile: string | undefined): Promise<number> {
  const { openPackedEncoder } = await built<typeof PackedEncoder>('packed/packed-encoder.js');
  const { packedModelFile } = await built<typeof OpenEmbedder>('open-embedder.js');
  const encoder = openPackedEncoder(packedFile ?? packedModelFile());
  const text = 'the list of open issues in a project '.repeat(20);
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 500; i++) {
    const start = performance.now();
    encoder.encode(text, 'document');
    best = Math.min(best, performance.now() - start);
  }
  encoder.close();
  // 40 pieces, begin and end.
  return (42 * MACS_A_PIECE) / best / 1e6;
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
    return ours[i]!.reduce((sum, number, at) => sum + number * theirs[at]!, 0);
  });
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const start = performance.now();
  const result = await work();
  return [result, performance.now() - start];
}

function at(times: readonly number[], share: number): string {
  const sorted = [...times].sort((a, b) => a - b);
  return show(sorted[Math.floor((sorted.length - 1) * share)]!);
}

function show(ms: number): string {
  return ms >= 1_000 ? `${(ms / 1_000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;
}
