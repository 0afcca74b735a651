import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { writeEnglishModel } from '../../test/support/english-model.ts';
import { writePackedModel } from '../../test/support/packed-model.ts';
import type { Clock } from '../base/clock.ts';
import type { Embedder } from '../search/embedder.ts';
import { openEncoderThread } from './encoder-thread.ts';
import { openTwoEncoders } from './english/two-encoders.ts';
import { openEmbedder, type EmbedderOptions } from './open-embedder.ts';
import { openPackedEncoder } from './packed/packed-encoder.ts';

const folder = mkdtempSync(join(tmpdir(), 'encoder-thread-'));
const model = join(folder, 'encoder.safetensors');
writePackedModel(model);

const opened: Embedder[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((embedder) => embedder.close()));
});

async function openPacked(cacheFolder: string | null = null): Promise<Embedder> {
  const embedder = await openEmbedder({ kind: 'packed' }, { packedFile: model, cacheFolder });
  opened.push(embedder!);
  return embedder!;
}

/** Such a thread as ends by itself. */
async function openCrashing(file = 'first', clock?: Clock): Promise<Embedder> {
  const program = new URL('../../test/support/crashing-encoder.mjs', import.meta.url);
  const data = { source: { kind: 'packed' as const, file }, cacheFolder: undefined };
  const embedder = await openEncoderThread(data, { program, ...(clock === undefined ? {} : { clock }) });
  opened.push(embedder);
  return embedder;
}

/** Bytes of all vectors: compared as one, because listing where thousands of numbers differ takes minutes. */
const bytesOf = (vectors: readonly Float32Array[]): Buffer =>
  Buffer.concat(
    vectors.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
  );

const many = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `open the list ${'x'.repeat(i % 30)} of issue`);

describe('an embedder on a thread', () => {
  it('gives the vectors its encoder gives, in order', async () => {
    const embedder = await openPacked();
    const here = openPackedEncoder(model);
    expect(embedder.id).toBe(here.id);
    expect(embedder.dimensions).toBe(512);
    const texts = ['open', '', 'list the issue'];
    const vectors = await embedder.embed(texts, 'question');
    expect(bytesOf(vectors).equals(bytesOf(texts.map((text) => here.encode(text, 'question'))))).toBe(true);
    expect(await embedder.embed([], 'document')).toEqual([]);
    here.close();
  });

  it('answers a question before the documents that came first', async () => {
    const embedder = await openPacked();
    const done: string[] = [];
    await Promise.all([
      embedder.embed(many(150), 'document').then(() => done.push('documents')),
      embedder.embed(['open'], 'question').then(() => done.push('question')),
    ]);
    expect(done).toEqual(['question', 'documents']);
  });

  it('stops embedding what is aborted', async () => {
    const embedder = await openPacked();
    const abort = new AbortController();
    const asked = embedder.embed(many(5_000), 'document', abort.signal);
    await embedder.embed(['open'], 'question');
    abort.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    // Comes behind the 5,000 unless they are gone.
    const start = performance.now();
    await embedder.embed(['list'], 'document');
    expect(performance.now() - start).toBeLessThan(5_000);
    await expect(embedder.embed(['x'], 'question', AbortSignal.abort(new Error('before')))).rejects.toThrow(
      'before',
    );
  });

  it('keeps vectors of documents for the next run, and gives the same then', async () => {
    const cacheFolder = join(folder, 'cache');
    const first = await openPacked(cacheFolder);
    const vectors = await first.embed(many(20), 'document');
    await first.embed(['a question is not kept'], 'question');
    await first.close();
    const [id] = readdirSync(join(cacheFolder, 'vectors'));
    expect(readdirSync(join(cacheFolder, 'vectors', id!))).toHaveLength(1);
    const second = await openPacked(cacheFolder);
    expect(bytesOf(await second.embed(many(20), 'document')).equals(bytesOf(vectors))).toBe(true);
  });

  it('rejects what is asked of it after it was closed, or waits when it is', async () => {
    const embedder = await openPacked();
    const waiting = embedder.embed(many(5_000), 'document');
    const rejected = expect(waiting).rejects.toMatchObject({ code: 'model_stopped' });
    await embedder.close();
    await rejected;
    await expect(embedder.embed(['a'], 'question')).rejects.toMatchObject({ code: 'model_stopped' });
    await embedder.close();
  });

  it('says what is wrong with the model when it cannot be opened', async () => {
    const missing = openEmbedder({ kind: 'packed' }, { packedFile: join(folder, 'none') });
    await expect(missing).rejects.toMatchObject({ code: 'model_missing' });
    await expect(openCrashing('unopened')).rejects.toMatchObject({
      code: 'model_missing',
      message: 'no file',
    });
    await expect(openCrashing('silent')).rejects.toMatchObject({ code: 'model_stopped' });
  });

  it('gives the parts of documents’ vectors one by one, where there are parts', async () => {
    const { parts, dimensions } = await openCrashing('parts');
    expect([dimensions, parts?.dimensions]).toEqual([5, [2, 3]]);
    expect(await parts!.embed(['a', 'b'], 1)).toEqual([Float32Array.of(1, 1, 1), Float32Array.of(1, 1, 1)]);
    expect(await parts!.embed(['a'], 0)).toEqual([Float32Array.of(0, 0)]);
    await expect(async () => parts!.embed(['a'], 2)).rejects.toThrow(RangeError);
    expect((await openPacked()).parts).toBeUndefined();
  });

  describe('with two encoders', () => {
    const both = mkdtempSync(join(folder, 'both-'));
    const packedFile = join(both, 'encoder.safetensors');
    writePackedModel(packedFile);
    writeEnglishModel(join(both, 'english.safetensors'));
    const open = async (
      options: EmbedderOptions = {},
      kind: 'packed' | 'packed-small' = 'packed',
    ): Promise<Embedder> => {
      const embedder = await openEmbedder({ kind }, { packedFile, cacheFolder: null, ...options });
      opened.push(embedder!);
      return embedder!;
    };

    it('gives documents their parts, and questions all of theirs', async () => {
      const here = openTwoEncoders(packedFile, join(both, 'english.safetensors'));
      // With one core the second part rests in between, and is the same.
      for (const cores of [1, 4]) {
        const embedder = await open({ cores });
        expect([embedder.id, embedder.dimensions, embedder.shortfall]).toEqual([here.id, 896, undefined]);
        expect(embedder.parts?.dimensions).toEqual([512, 384]);
        const texts = ['open', 'list the issue', ''];
        for (const part of [1, 0]) {
          const expected = texts.map((text) => here.parts![part]!.encode(text));
          expect(bytesOf(await embedder.parts!.embed(texts, part)).equals(bytesOf(expected))).toBe(true);
        }
        for (const role of ['question', 'document'] as const) {
          const expected = texts.map((text) => here.encode(text, role));
          expect(bytesOf(await embedder.embed(texts, role)).equals(bytesOf(expected))).toBe(true);
        }
      }
      here.close();
    });

    it.each([1, 4])('lets no first part and no question wait for second parts (%s cores)', async (cores) => {
      const embedder = await open({ cores });
      const done: string[] = [];
      await Promise.all([
        embedder.parts!.embed(many(40), 1).then(() => done.push('second')),
        embedder.parts!.embed(many(30), 0).then(() => done.push('first')),
        embedder.embed(['open'], 'question').then(() => done.push('question')),
      ]);
      expect(done).toEqual(['question', 'first', 'second']);
    });

    it('keeps each part on disk by itself, so that the first encoder alone finds its own', async () => {
      const cacheFolder = join(folder, 'cache-of-two');
      const first = await open({ cacheFolder });
      const texts = many(20);
      const [quick, later] = [await first.parts!.embed(texts, 0), await first.parts!.embed(texts, 1)];
      const whole = await first.embed(texts, 'document');
      await first.close();
      const kept = (): number => {
        const models = readdirSync(join(cacheFolder, 'vectors'));
        expect(models).toHaveLength(2);
        return models.flatMap((name) => readdirSync(join(cacheFolder, 'vectors', name))).length;
      };
      const files = kept();
      const second = await open({ cacheFolder });
      expect(bytesOf(await second.embed(texts, 'document')).equals(bytesOf(whole))).toBe(true);
      expect(bytesOf(await second.parts!.embed(texts, 1)).equals(bytesOf(later))).toBe(true);
      await second.close();
      const small = await open({ cacheFolder }, 'packed-small');
      expect(bytesOf(await small.embed(texts, 'document')).equals(bytesOf(quick))).toBe(true);
      await small.close();
      expect(kept()).toBe(files);
    });
  });

  it('goes by the first encoder, and says what is missing, when the second cannot be opened', async () => {
    const here = openPackedEncoder(model);
    const open = async (kind: 'packed' | 'packed-small', packedFile = model): Promise<Embedder> => {
      const embedder = await openEmbedder({ kind }, { packedFile, cacheFolder: null });
      opened.push(embedder!);
      return embedder!;
    };
    const without = await open('packed');
    expect([without.id, without.dimensions, without.parts]).toEqual([here.id, 512, undefined]);
    expect(without.shortfall).toContain('english.safetensors');
    const damaged = mkdtempSync(join(folder, 'damaged-'));
    writePackedModel(join(damaged, 'encoder.safetensors'));
    writeFileSync(join(damaged, 'english.safetensors'), 'no model');
    expect((await open('packed', join(damaged, 'encoder.safetensors'))).shortfall).toContain(
      'english.safetensors',
    );
    const small = await open('packed-small');
    expect([small.id, small.shortfall]).toEqual([here.id, undefined]);
    expect(
      bytesOf(await small.embed(['open'], 'question')).equals(bytesOf([here.encode('open', 'question')])),
    ).toBe(true);
    here.close();
  });

  it('is none when none is chosen', async () => {
    expect(await openEmbedder({ kind: 'none' })).toBeUndefined();
  });

  it('keeps the process alive only while somebody waits', async () => {
    const program = `
      const { openEmbedder } = await import(${JSON.stringify(new URL('../../dist/model/open-embedder.js', import.meta.url).href)});
      const embedder = await openEmbedder({ kind: 'packed' }, { packedFile: ${JSON.stringify(model)}, cacheFolder: null });
      const [vector] = await embedder.embed(['open'], 'question');
      console.log(vector.length);
    `;
    const run = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(run.stdout).toBe('512\n');
  });
});

describe('a thread that ends unasked', () => {
  it.each(['exit', 'throw'])(
    '(%s) rejects what waits, and is started again with the next text',
    async (how) => {
      const embedder = await openCrashing();
      const waiting = embedder.embed(['never'], 'document');
      const crash = embedder.embed([how], 'question');
      await expect(crash).rejects.toMatchObject({ code: 'model_stopped', retryable: true });
      await expect(waiting).rejects.toMatchObject({ code: 'model_stopped' });
      // A new thread: it counts from 1 again.
      expect(await embedder.embed(['abc'], 'question')).toEqual([Float32Array.of(3, 1)]);
    },
  );

  it('is not for one job that failed', async () => {
    const embedder = await openCrashing();
    await embedder.embed(['a'], 'question');
    await expect(embedder.embed(['fail'], 'question')).rejects.toMatchObject({ code: 'model_invalid' });
    expect(await embedder.embed(['ab'], 'question')).toEqual([Float32Array.of(2, 2)]);
  });

  it('is started again three times in ten minutes, and then once they are over', async () => {
    let now = 0;
    const embedder = await openCrashing('first', { now: () => now });
    for (let i = 0; i < 4; i++) {
      await expect(embedder.embed(['exit'], 'question')).rejects.toThrow('thread ended');
    }
    await expect(embedder.embed(['a'], 'question')).rejects.toThrow('it ended 4 times within 10 minutes');
    await expect(embedder.embed(['a'], 'question')).rejects.toThrow('it ended 4 times within 10 minutes');
    now = 600_001;
    expect(await embedder.embed(['a'], 'question')).toEqual([Float32Array.of(1, 1)]);
  });
});
