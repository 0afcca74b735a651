import {
  copyFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProxyError } from '../../base/errors.ts';
import { openCompact, writeCompact } from './compact.ts';
import type { CompactModel } from './compact.ts';
import { halfFloat } from './row-table.ts';
import { openSource, sourceEncoder } from './source.ts';
import type { Model2VecSource } from './source.ts';

const fixtures = join(import.meta.dirname, '../../../test/fixtures/model2vec');
const read = (path: string): unknown => JSON.parse(readFileSync(join(fixtures, path), 'utf8'));
/** Texts the script made vectors of: the fixed ones, then those too long. */
const FIXED = 76;
const texts = [...(read('texts.json') as string[]).slice(0, FIXED), ...(read('long-texts.json') as string[])];
const names = readdirSync(join(fixtures, 'models')).filter((name) => !name.endsWith('.json'));
const expectedOf = (name: string): number[][] => read(`models/${name}.vectors.json`) as number[][];

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'model2vec-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function open(name: string): Model2VecSource {
  const source = openSource(join(fixtures, 'models', name));
  onTestFinished(() => source.close());
  return source;
}

async function compactOf(name: string): Promise<{ path: string; model: CompactModel }> {
  const path = join(temporary(), 'compact');
  await writeCompact(open(name), path, []);
  const model = openCompact(path);
  onTestFinished(() => model.close());
  return { path, model };
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, ofA, ofB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += (a[i] ?? 0) * (b[i] ?? 0);
    ofA += (a[i] ?? 0) ** 2;
    ofB += (b[i] ?? 0) ** 2;
  }
  return ofA === 0 && ofB === 0 ? 1 : dot / Math.sqrt(ofA * ofB);
}

describe('vectors', () => {
  it('has every layout and every type of number to compare', () => {
    expect(names).toEqual([
      'f16',
      'f32',
      'f64-raw',
      'i8',
      'mapped-i32',
      'mapped-i64',
      'rust',
      'sentence-transformers',
      'short',
      'static-embedding',
      'weighted',
    ]);
  });

  it.each(names)('are those of the Python package, to 1e-5 (%s)', (name) => {
    const encoder = sourceEncoder(open(name));
    const expected = expectedOf(name);
    expect(expected.length).toBe(texts.length);
    expect(expected.filter((vector) => vector.some((value) => value !== 0)).length).toBeGreaterThan(60);
    for (const [i, vector] of expected.entries()) {
      const ours = encoder.encode(texts[i] ?? '');
      // Of a length the model leaves as it is, the reference's own single precision is no better.
      const limit = 1e-5 * Math.max(1, Math.hypot(...vector));
      const furthest = Math.max(...vector.map((value, k) => Math.abs(value - (ours[k] ?? NaN))));
      expect({ text: texts[i], isNear: furthest < limit }).toEqual({ text: texts[i], isNear: true });
    }
  });

  it.each(names)('stay what they are in the compact form (%s)', async (name) => {
    const { model } = await compactOf(name);
    for (const [i, vector] of expectedOf(name).entries()) {
      const ours = model.encoder.encode(texts[i] ?? '');
      expect(cosine(ours, vector), texts[i]).toBeGreaterThan(0.9995);
      expect(Math.abs(Math.hypot(...ours) - Math.hypot(...vector))).toBeLessThan(0.02);
    }
    await model.checkAll();
  });

  it('of small whole numbers are exact in the compact form', async () => {
    const { model } = await compactOf('i8');
    const source = sourceEncoder(open('i8'));
    for (const text of texts) expect(model.encoder.encode(text)).toEqual(source.encode(text));
  });

  it('reads halves', () => {
    const of = [0x0000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x3555, 0x7c00, 0xfc00].map(halfFloat);
    expect(of).toEqual([0, 1, -2, 65_504, 2 ** -24, 1023 * 2 ** -24, 0.333251953125, Infinity, -Infinity]);
    expect(halfFloat(0x7e00)).toBeNaN();
  });
});

describe('a compact model', () => {
  it('is told apart by its digest', async () => {
    const [one, same, other] = await Promise.all(['f32', 'f32', 'short'].map(compactOf));
    expect(one?.model.digest).toBe(same?.model.digest);
    expect(one?.model.digest).not.toBe(other?.model.digest);
  });

  it('is refused, or gives an error, wherever a bit of it is turned', async () => {
    const { path, model } = await compactOf('mapped-i64');
    const whole = readFileSync(path);
    const expected = texts.map((text) => model.encoder.encode(text));
    const copy = join(temporary(), 'damaged');
    let refused = 0;
    for (let at = 0; at < whole.length; at += 997) {
      const damaged = Uint8Array.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(copy, damaged);
      refused += (await outcome(copy, expected)) === 'same' ? 0 : 1;
    }
    // Rows of tokens that none of the texts has are not read, but checkAll reads them too.
    expect(refused).toBe(Math.ceil(whole.length / 997));
  });

  it('is refused wherever it ends too early', async () => {
    const { path } = await compactOf('f32');
    const size = readFileSync(path).length;
    for (const bytes of [0, 7, 8, 100, 3_000, Math.floor(size / 2), size - 1]) {
      const copy = join(temporary(), 'cut');
      copyFileSync(path, copy);
      truncateSync(copy, bytes);
      expect(() => openCompact(copy)).toThrow(ProxyError);
    }
  });
});

/** `same` only when nothing at all was noticed. */
async function outcome(
  path: string,
  expected: readonly Float32Array[],
): Promise<'same' | 'refused' | 'different'> {
  let model: CompactModel;
  try {
    model = openCompact(path);
  } catch (error) {
    if (error instanceof ProxyError && error.code === 'model_invalid') return 'refused';
    throw error;
  }
  try {
    await model.checkAll();
    for (const [i, text] of texts.entries()) {
      if (cosine(model.encoder.encode(text), expected[i] ?? []) < 0.999_999) return 'different';
    }
    return 'same';
  } catch (error) {
    if (error instanceof Error && /damaged|cannot be used/.test(error.message)) return 'refused';
    throw error;
  } finally {
    model.close();
  }
}

describe('a published model', () => {
  const copyOf = (name: string): string => {
    const folder = temporary();
    cpSync(join(fixtures, 'models', name), folder, { recursive: true });
    return folder;
  };
  const reason = (folder: string): string => {
    try {
      openSource(folder).close();
    } catch (error) {
      if (error instanceof ProxyError) return `${error.code}: ${error.message.replaceAll(folder, '')}`;
      throw error;
    }
    return 'none';
  };
  const withJson = (
    folder: string,
    file: string,
    change: (json: Record<string, unknown>) => unknown,
  ): string => {
    const path = join(folder, file);
    writeFileSync(
      path,
      JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)),
    );
    return reason(folder);
  };

  it('is refused with the file and what is wrong with it', () => {
    expect(reason(temporary())).toMatch(/^model_missing: There is no Model2Vec model/);
    expect(withJson(copyOf('f32'), 'config.json', () => [])).toContain(
      'config.json cannot be used: it is not a JSON object',
    );
    expect(withJson(copyOf('f32'), 'config.json', () => ({ max_length: -1 }))).toContain(
      'its max_length is -1',
    );
    expect(withJson(copyOf('f32'), 'config.json', () => ({ normalize: 'yes' }))).toContain(
      'its normalize is not a boolean',
    );
    expect(withJson(copyOf('f32'), 'tokenizer.json', () => ({}))).toContain(
      'tokenizer.json cannot be used: it has no model',
    );
    const torn = copyOf('f32');
    writeFileSync(join(torn, 'tokenizer.json'), '{"model": {');
    expect(reason(torn)).toMatch(/^model_invalid: The model file .*tokenizer.json cannot be read/);
  });

  it('is refused when its files do not fit each other', () => {
    const of = (name: string, tokenizerFrom: string): string => {
      const folder = copyOf(name);
      copyFileSync(join(fixtures, 'models', tokenizerFrom, 'tokenizer.json'), join(folder, 'tokenizer.json'));
      return reason(folder);
    };
    expect(of('f32', 'i8')).toMatch(/its table has \d+ rows, but there are \d+ tokens and no mapping/);
    expect(of('mapped-i64', 'i8')).toMatch(/its mapping are I64 \[\d+\] for \d+ tokens/);
    expect(of('weighted', 'f32')).toMatch(/its weights are F16 \[\d+\] for \d+ tokens/);
  });

  it('is refused when its table is cut short or holds no numbers', async () => {
    const cut = copyOf('f32');
    truncateSync(join(cut, 'model.safetensors'), 5_000);
    expect(reason(cut)).toContain('model.safetensors cannot be used');
    const odd = copyOf('f32');
    const path = join(odd, 'model.safetensors');
    const bytes = readFileSync(path);
    bytes.writeFloatLE(NaN, bytes.length - 40);
    writeFileSync(path, bytes);
    const source = openSource(odd);
    await expect(writeCompact(source, join(odd, 'out'), [])).rejects.toThrow('no finite number');
    source.close();
  });
});
