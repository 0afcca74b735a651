import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { numbersFrom } from '../search/measure.ts';
import { openVectorCache, type CacheBounds } from './vector-cache.ts';

const DIMENSIONS = 32;

function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'vectors-'));
}

function openCache(folder: string, id = 'model', bounds: Partial<CacheBounds> = {}) {
  return openVectorCache(folder, id, DIMENSIONS, bounds);
}

/** A vector of length 1 that only this text has. */
function vectorOf(text: string): Float32Array {
  const random = numbersFrom(
    Array.from(text).reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) % 1e9,
  );
  const numbers = Float32Array.from({ length: DIMENSIONS }, () => random() - 0.5);
  const length = Math.hypot(...numbers);
  return numbers.map((number) => number / length);
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, number, i) => sum + number * b[i]!, 0);
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

const texts = (count: number, start = 0): string[] =>
  Array.from({ length: count }, (_, i) => `text ${start + i}`);

describe('vectors kept on disk', () => {
  it('are there in the next run, the same as they were given when they were kept', () => {
    const folder = newFolder();
    const cache = openCache(folder);
    expect(cache.get('a')).toBeUndefined();
    const given = cache.add('a', vectorOf('a'));
    expect(cosine(given, vectorOf('a'))).toBeGreaterThan(0.9995);
    expect(Math.hypot(...given)).toBeCloseTo(1, 5);
    expect(cache.get('a')).toEqual(given);
    cache.flush();
    cache.close();
    const later = openCache(folder);
    expect(later.get('a')).toEqual(given);
    expect(later.get('b')).toBeUndefined();
    later.close();
  });

  it('keep a zero vector', () => {
    const folder = newFolder();
    const cache = openCache(folder);
    cache.add('', new Float32Array(DIMENSIONS));
    cache.flush();
    expect(openCache(folder).get('')).toEqual(new Float32Array(DIMENSIONS));
  });

  it('are never those of another model, or of another length', () => {
    const folder = newFolder();
    const cache = openCache(folder, 'one');
    cache.add('a', vectorOf('a'));
    cache.flush();
    expect(openCache(folder, 'two').get('a')).toBeUndefined();
    expect(openVectorCache(folder, 'one', 16).get('a')).toBeUndefined();
  });

  it('are nobody else’s to read', () => {
    const folder = newFolder();
    const cache = openCache(folder);
    cache.add('a', vectorOf('a'));
    cache.flush();
    for (const file of filesOf(folder)) expect(statSync(file).mode & 0o077).toBe(0);
  });

  it('survive damage to any byte: the vector is right or not there', () => {
    const folder = newFolder();
    const cache = openCache(folder);
    for (const text of texts(3)) cache.add(text, vectorOf(text));
    cache.flush();
    const [file] = filesOf(folder);
    const good = readFileSync(file!);
    let gone = 0;
    for (let at = 0; at < good.length; at++) {
      const bad = Buffer.from(good);
      bad[at]! ^= 0x55;
      writeFileSync(file!, bad);
      const damaged = openCache(folder);
      for (const text of texts(3)) {
        const found = damaged.get(text);
        if (found === undefined) gone++;
        else expect(cosine(found, vectorOf(text))).toBeGreaterThan(0.999);
      }
      damaged.close();
    }
    expect(gone).toBeGreaterThan(good.length / 2);
    for (const size of [0, 7, 30, 80, good.length - 1]) {
      writeFileSync(file!, good);
      truncateSync(file!, size);
      const cut = openCache(folder);
      expect(cut.get('text 0')).toBeUndefined();
      // What is lost is made again.
      cut.add('text 0', vectorOf('text 0'));
      cut.flush();
      cut.close();
      expect(openCache(folder).get('text 0')).toBeDefined();
      for (const path of filesOf(folder)) if (path !== file) rmSync(path);
    }
  });

  it('lose one vector, not the file, when one is damaged', () => {
    const folder = newFolder();
    const cache = openCache(folder);
    for (const text of texts(10)) cache.add(text, vectorOf(text));
    cache.flush();
    const [file] = filesOf(folder);
    const bytes = readFileSync(file!);
    bytes[bytes.length - 10]! ^= 1;
    writeFileSync(file!, bytes);
    const damaged = openCache(folder);
    expect(texts(10).filter((text) => damaged.get(text) !== undefined)).toEqual(texts(9));
  });

  it('become one file when there are many, without losing any', () => {
    const folder = newFolder();
    const cache = openCache(folder, 'model', { maxFiles: 4 });
    for (const text of texts(23)) {
      cache.add(text, vectorOf(text));
      cache.flush();
    }
    expect(filesOf(folder).length).toBeLessThanOrEqual(5);
    for (const text of texts(23)) expect(cosine(cache.get(text)!, vectorOf(text))).toBeGreaterThan(0.999);
  });

  it('take no more bytes than allowed; those of this run are the last to go', () => {
    const folder = newFolder();
    const record = DIMENSIONS + 4 + 4 + 16;
    const maxBytes = 100 * record;
    const before = openCache(folder, 'model', { maxBytes });
    for (const text of texts(90)) before.add(text, vectorOf(text));
    before.flush();
    before.close();
    const cache = openCache(folder, 'model', { maxBytes });
    for (const text of texts(10)) expect(cache.get(text)).toBeDefined();
    for (const text of texts(30, 1_000)) cache.add(text, vectorOf(text));
    cache.flush();
    const bytes = filesOf(folder).reduce((sum, file) => sum + statSync(file).size, 0);
    expect(bytes).toBeLessThanOrEqual(maxBytes / 2 + 100);
    for (const text of [...texts(10), ...texts(30, 1_000)]) expect(cache.get(text)).toBeDefined();
    expect(texts(90).filter((text) => cache.get(text) !== undefined)).toHaveLength(20);
  });

  it('of models long unused are removed', () => {
    const folder = newFolder();
    for (const [i, id] of ['old', 'older', 'oldest', 'ancient'].entries()) {
      const cache = openCache(folder, id);
      cache.add('a', vectorOf('a'));
      cache.flush();
      cache.close();
      const made = readdirSync(join(folder, 'vectors')).map((name) => join(folder, 'vectors', name));
      const newest = made.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]!;
      utimesSync(newest, new Date(2_000 - i, 0), new Date(2_000 - i, 0));
    }
    const cache = openCache(folder, 'new');
    cache.add('a', vectorOf('a'));
    cache.flush();
    expect(readdirSync(join(folder, 'vectors'))).toHaveLength(4);
    expect(openCache(folder, 'oldest').get('a')).toBeDefined();
    expect(openCache(folder, 'ancient').get('a')).toBeUndefined();
  });

  it.skipIf(process.getuid?.() === 0)('are not kept, and nothing fails, where nothing may be written', () => {
    const folder = newFolder();
    chmodSync(folder, 0o500);
    const cache = openCache(folder);
    expect(cosine(cache.add('a', vectorOf('a')), vectorOf('a'))).toBeGreaterThan(0.999);
    cache.flush();
    expect(existsSync(join(folder, 'vectors'))).toBe(false);
  });

  it('are not kept, and nothing fails, where a file is in the way', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'vectors'), '');
    const cache = openCache(folder);
    cache.add('a', vectorOf('a'));
    cache.flush();
    expect(cache.get('a')).toBeUndefined();
    cache.close();
  });

  it('are shared by processes that write, merge and read at the same time', { timeout: 60_000 }, async () => {
    const folder = newFolder();
    const program = `
      const { openVectorCache } = await import(${JSON.stringify(new URL('../../dist/model/vector-cache.js', import.meta.url).href)});
      const start = Number(process.argv[1]);
      const cache = openVectorCache(${JSON.stringify(folder)}, 'model', ${DIMENSIONS}, { maxFiles: 3 });
      for (let i = start; i < start + 40; i++) {
        const vector = new Float32Array(${DIMENSIONS}); vector[i % ${DIMENSIONS}] = 1;
        cache.add('text ' + i, vector);
        cache.flush();
        const found = cache.get('text ' + i);
        if (found === undefined || found[i % ${DIMENSIONS}] !== 1) throw new Error('lost ' + i);
      }
    `;
    const run = promisify(execFile);
    const starts = [0, 40, 80].map(String);
    await Promise.all(
      starts.map((start) => run(process.execPath, ['--input-type=module', '-e', program, start])),
    );
    const cache = openCache(folder);
    const kept = texts(120).filter((text, i) => cache.get(text)?.[i % DIMENSIONS] === 1);
    expect(kept).toEqual(texts(120));
    expect(filesOf(folder).filter((path) => path.endsWith('.part'))).toEqual([]);
  });
});
