import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { keptVectors } from './kept-vectors.ts';
import { openEmbedder, packedModelFile } from './open-embedder.ts';

const folder = mkdtempSync(join(tmpdir(), 'kept-vectors-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const texts = [
  'list issues. Lists the issues of a project.',
  'play song. Plays a song.',
  'noon. Says when it is noon.',
];

describe('vectors kept on disk are counted', () => {
  it('without a model, and before any were made', async () => {
    expect(await keptVectors({ kind: 'none' }, texts, { cacheFolder: folder })).toBeUndefined();
    expect(await keptVectors({ kind: 'packed' }, texts, { cacheFolder: null })).toBeUndefined();
    expect(await keptVectors({ kind: 'packed' }, texts, { cacheFolder: folder })).toEqual({
      all: 3,
      embedded: 0,
      whole: 0,
    });
  });

  it('first parts, then whole ones, as a running embedder made them', async () => {
    const cacheFolder = join(folder, 'made');
    const embedder = await openEmbedder({ kind: 'packed' }, { cacheFolder });
    if (embedder?.parts === undefined) throw new Error('the packed model has two parts');
    await embedder.parts.embed(texts.slice(0, 2), 0);
    await embedder.parts.embed(texts.slice(0, 1), 1);
    await embedder.close();
    expect(await keptVectors({ kind: 'packed' }, texts, { cacheFolder })).toEqual({
      all: 3,
      embedded: 2,
      whole: 1,
    });
    // The first part is what the small model makes.
    expect(await keptVectors({ kind: 'packed-small' }, texts, { cacheFolder })).toEqual({
      all: 3,
      embedded: 2,
      whole: 2,
    });
  });

  it('refuses a model that is not there', async () => {
    const choice = { kind: 'folder', folder: join(folder, 'none'), name: 'potion' } as const;
    await expect(keptVectors(choice, texts, { cacheFolder: folder })).rejects.toMatchObject({
      code: 'model_missing',
    });
    expect(packedModelFile()).toContain('encoder.safetensors');
  });
});
