/**
 * A model of the shape of potion-multilingual-128M (500,353 tokens of 256 numbers, its tokenizer's kind), made of
 * random numbers, and what it costs to open it and to ask it:
 *
 *     npm run build
 *     node scripts/simulated-potion.mjs /tmp/simulated
 *
 * Needs 800 MB of disk. Parts that are there already are not made again.
 */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const TOKENS = 500_353;
const DIMENSIONS = 256;
const dist = new URL(process.env['DIST'] ?? '../dist/', import.meta.url);
const fixtures = new URL('../test/fixtures/model2vec/', import.meta.url);

/** Numbers from 0 to 1 that are the same every time (mulberry32). */
function chance(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Where the letters of invented words come from, and how often. */
const ALPHABETS = [
  [0x61, 0x7a, 8],
  [0x41, 0x5a, 2],
  [0xe0, 0xff, 2],
  [0x100, 0x17f, 2],
  [0x430, 0x44f, 4],
  [0x3b1, 0x3c9, 1],
  [0x5d0, 0x5ea, 1],
  [0x621, 0x64a, 2],
  [0x905, 0x939, 1],
  [0xe01, 0xe2e, 1],
  [0x4e00, 0x9fa5, 2],
  [0xac00, 0xd7a3, 2],
];

function inventedPieces(count) {
  const next = chance(1);
  const whole = ALPHABETS.reduce((sum, [, , share]) => sum + share, 0);
  const pieces = new Set(['[PAD]', '[UNK]', '\u2581']);
  for (let point = 0x21; point < 0x7f; point++) pieces.add(String.fromCodePoint(point));
  while (pieces.size < count) {
    let at = next() * whole;
    const [first, last] = ALPHABETS.find(([, , share]) => (at -= share) < 0) ?? ALPHABETS[0];
    const isDense = last - first > 1_000;
    const length = isDense ? 1 + Math.floor(next() * 3) : 2 + Math.floor(next() * 9);
    let piece = next() < 0.6 ? '\u2581' : '';
    for (let i = 0; i < length; i++)
      piece += String.fromCodePoint(first + Math.floor(next() ** 2 * (last - first + 1)));
    pieces.add(piece);
  }
  return [...pieces];
}

function makeTokenizer(path) {
  const next = chance(2);
  const tokenizer = JSON.parse(readFileSync(new URL('tokenizers/potion.json', fixtures), 'utf8'));
  tokenizer.model.vocab = inventedPieces(TOKENS).map((piece, i) => [piece, i < 2 ? 0 : -4 - 14 * next()]);
  writeFileSync(path, JSON.stringify(tokenizer));
}

function makeTable(path) {
  const next = chance(3);
  const bytes = TOKENS * DIMENSIONS * 4;
  const header = JSON.stringify({
    embeddings: { dtype: 'F32', shape: [TOKENS, DIMENSIONS], data_offsets: [0, bytes] },
  });
  const padded = header.padEnd(Math.ceil(header.length / 8) * 8);
  const file = openSync(path, 'w');
  const head = Buffer.alloc(8);
  head.writeBigUInt64LE(BigInt(padded.length));
  writeSync(file, head);
  writeSync(file, padded);
  const rows = new Float32Array(1_000 * DIMENSIONS);
  for (let row = 0; row < TOKENS; row += 1_000) {
    for (let i = 0; i < rows.length; i++) rows[i] = (next() + next() + next() - 1.5) * 2;
    writeSync(file, Buffer.from(rows.buffer, 0, Math.min(1_000, TOKENS - row) * DIMENSIONS * 4));
  }
  closeSync(file);
}

const QUESTIONS = [
  'create a new issue in the repository',
  'kokia prognozė rytojaus orams Vilniuje?',
  'найди все файлы в этой папке',
  '今天天气怎么样',
  'wie viele offene Bestellungen gibt es?',
];

/** In a process of its own, so that nothing else is counted. */
async function measure(folder, how) {
  const megabytes = () => process.memoryUsage().rss / 1_048_576;
  const load = (path) => import(new URL(path, dist));
  const { openEmbedder } = await load('model/open-embedder.js');
  const { openModel2Vec } = await load('model/model2vec/open-model.js');
  globalThis.gc();
  const before = megabytes();
  const cpu = process.cpuUsage();
  const cpuMs = () => {
    const { user, system } = process.cpuUsage(cpu);
    return (user + system) / 1_000;
  };
  const began = performance.now();
  const choice = { kind: 'folder', folder, name: undefined };
  const model =
    how === 'thread' ? await openEmbedder(choice, { cacheFolder: null }) : await openModel2Vec(folder);
  const ask =
    how === 'thread' ? (text) => model.embed([text], 'question') : (text) => model.encode(text, 'question');
  const openMs = performance.now() - began;
  const openCpuMs = cpuMs();
  const firstBegan = performance.now();
  await ask('first question of all');
  const firstMs = performance.now() - firstBegan;
  const times = [];
  const cpuBefore = cpuMs();
  for (let i = 0; i < 2_000; i++) {
    const at = performance.now();
    await ask(`${QUESTIONS[i % QUESTIONS.length]} ${i}`);
    times.push(performance.now() - at);
  }
  const askCpuMs = (cpuMs() - cpuBefore) / times.length;
  times.sort((a, b) => a - b);
  const rss = megabytes() - before;
  await model.close();
  console.log(JSON.stringify({ openMs, openCpuMs, firstMs, p50: times[1_000], askCpuMs, rss }));
}

const [folder = '', how] = process.argv.slice(2);
if (folder === '') {
  console.error('usage: node scripts/simulated-potion.mjs FOLDER');
  process.exit(2);
}
if (how !== undefined) {
  await measure(folder, how);
} else {
  const published = resolve(folder, 'published');
  const models = resolve(folder, 'models');
  mkdirSync(published, { recursive: true });
  const config = { model_type: 'model2vec', hidden_dim: DIMENSIONS, apply_pca: DIMENSIONS, normalize: true };
  writeFileSync(join(published, 'config.json'), JSON.stringify(config));
  for (const { name, make } of [
    { name: 'tokenizer.json', make: makeTokenizer },
    { name: 'model.safetensors', make: makeTable },
  ]) {
    const path = join(published, name);
    if (!existsSync(path)) make(path);
    console.log(`${name}: ${(statSync(path).size / 1e6).toFixed(1)} MB`);
  }
  if (!existsSync(join(models, 'published'))) {
    const began = performance.now();
    const program = fileURLToPath(new URL('bin.js', dist));
    execFileSync(process.execPath, [program, 'fetch-model', published, '--model-dir', models], {
      stdio: 'inherit',
    });
    console.log(`made compact in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  }
  const own = fileURLToPath(import.meta.url);
  for (const way of ['direct', 'thread']) {
    const runs = Array.from({ length: 5 }, () =>
      JSON.parse(
        execFileSync(process.execPath, ['--expose-gc', own, join(models, 'published'), way], {
          encoding: 'utf8',
        }),
      ),
    );
    const middle = (key) => runs.map((run) => run[key]).sort((a, b) => a - b)[2];
    const shown = `opens in ${middle('openMs').toFixed(0)} ms (${middle('openCpuMs').toFixed(0)} ms of CPU), first question ${middle('firstMs').toFixed(1)} ms, then p50 ${middle('p50').toFixed(2)} ms (${middle('askCpuMs').toFixed(2)} ms of CPU); resident memory grows by ${middle('rss').toFixed(0)} MB`;
    console.log(`${way}: ${shown} (medians of 5 runs)`);
  }
}
