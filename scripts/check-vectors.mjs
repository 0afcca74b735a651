/**
 * Compares a model with what the reference makes of the same texts; docs/models.md says how to write that down.
 *
 *     npm run build
 *     node scripts/check-vectors.mjs MODEL_DIR REFERENCE.json [NAME]
 *
 * The reference is a JSON list of { "text", "embedding", "tokens" }; tokens may be left out. Published files are read
 * as they are, a fetched model in its compact form. Ends with 1 when a cosine is below 0.999 or a token differs.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [modelDir, reference, name] = process.argv.slice(2);
if (modelDir === undefined || reference === undefined) {
  console.error('usage: node scripts/check-vectors.mjs MODEL_DIR REFERENCE.json [NAME]');
  process.exit(2);
}
const dist = new URL(process.env['DIST'] ?? '../dist/', import.meta.url);
const load = (path) => import(new URL(`model/model2vec/${path}.js`, dist));
const { modelFolder } = await load('open-model');
const { COMPACT_FILE, openCompact } = await load('compact');
const { openSource, sourceEncoder } = await load('source');

const folder = modelFolder(modelDir, name);
const compact = join(folder, COMPACT_FILE);
const encoder = existsSync(compact) ? openCompact(compact).encoder : sourceEncoder(openSource(folder));

let wrong = 0;
let least = 1;
for (const { text, embedding, tokens } of JSON.parse(readFileSync(reference, 'utf8'))) {
  const ours = encoder.encode(text);
  const cosine = cosineOf(ours, embedding);
  const hasTokens = tokens === undefined || String(encoder.tokens(text)) === String(tokens);
  least = Math.min(least, cosine);
  if (!(cosine >= 0.999) || !hasTokens) wrong++;
  console.log(
    `${cosine.toFixed(6)} ${hasTokens ? '' : `TOKENS ${encoder.tokens(text)} NOT ${tokens} `}${JSON.stringify(text)}`,
  );
}
console.log(
  `${wrong === 0 ? 'all as the reference' : `${wrong} not as the reference`}; least cosine ${least.toFixed(6)}`,
);
process.exitCode = wrong === 0 ? 0 : 1;

function cosineOf(a, b) {
  if (a.length !== b.length) return Number.NaN;
  let [dot, ofA, ofB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    ofA += a[i] ** 2;
    ofB += b[i] ** 2;
  }
  return ofA === 0 && ofB === 0 ? 1 : dot / Math.sqrt(ofA * ofB);
}
