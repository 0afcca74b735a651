import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProxyError } from '../../base/errors.ts';
import { COMPACT_FILE } from '../model2vec/compact.ts';
import { modelFolder, openModel2Vec } from '../model2vec/open-model.ts';
import { openSource, sourceEncoder } from '../model2vec/source.ts';
import { fetchModel, readAsked } from './fetch-model.ts';
import type { FetchedModel, FetchModelRequest } from './fetch-model.ts';
import { KNOWN_MODELS } from './known-models.ts';
import type { ModelFile } from './known-models.ts';
import { openReacher } from './reach.ts';

const models = join(import.meta.dirname, '../../../test/fixtures/model2vec/models');
const FILES = ['config.json', 'tokenizer.json', 'model.safetensors'] as const;
const bytesOf = (file: string, model = 'f32'): Buffer => readFileSync(join(models, model, file));
const TABLE = bytesOf('model.safetensors');
const PINNED: readonly ModelFile[] = FILES.map((file) => ({
  file,
  bytes: bytesOf(file).length,
  sha256: createHash('sha256').update(bytesOf(file)).digest('hex'),
}));

interface Asked {
  readonly file: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
}

type Misbehave = (asked: Asked, request: IncomingMessage, response: ServerResponse, times: number) => boolean;

interface Hub {
  readonly url: string;
  readonly asked: readonly Asked[];
}

/** A server of a model's files that knows ranges; `misbehave` answers itself and says so, or leaves it to it. */
async function hub(model = 'f32', misbehave: Misbehave = () => false, etag = '"v1"'): Promise<Hub> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const file = (request.url ?? '').replace(/^\/m\//, '');
    const one = {
      file,
      range: request.headers.range,
      ifRange: request.headers['if-range'] as string | undefined,
    };
    asked.push(one);
    const times = asked.filter((each) => each.file === file).length;
    if (misbehave(one, request, response, times)) return;
    if (!existsSync(join(models, model, file))) {
      response.writeHead(404).end();
      return;
    }
    const bytes = bytesOf(file, model);
    const from = Number(/^bytes=(\d+)-$/.exec(one.range ?? '')?.[1] ?? 0);
    if (from > 0 && (one.ifRange === undefined || one.ifRange === etag)) {
      response.writeHead(206, {
        etag,
        'content-length': bytes.length - from,
        'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`,
      });
      response.end(bytes.subarray(from));
      return;
    }
    response.writeHead(200, { etag, 'content-length': bytes.length }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/m`, asked };
}

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-model-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Sends the head and half of a file, then nothing more. */
function half(response: ServerResponse, isCut: boolean): void {
  response.writeHead(200, { etag: '"v1"', 'content-length': TABLE.length });
  response.write(TABLE.subarray(0, TABLE.length >> 1), () => {
    if (isCut) response.destroy();
  });
}

interface Run {
  readonly done: Promise<FetchedModel>;
  readonly notes: readonly string[];
  readonly stop: () => void;
}

function run(
  modelDir: string,
  base: string,
  changes: Partial<FetchModelRequest> & { readonly pinned?: readonly ModelFile[] } = {},
): Run {
  const notes: string[] = [];
  const stop = new AbortController();
  const { pinned, ...more } = changes;
  const done = fetchModel({
    name: 'tiny',
    origin: { kind: 'web', base, pinned },
    modelDir,
    env: {},
    signal: stop.signal,
    onProgress: () => undefined,
    onNote: (text) => notes.push(text),
    patience: { stallMs: 400, tries: 3, backoffMs: 1 },
    ...more,
  });
  return { done, notes, stop: () => stop.abort(new Error('stopped')) };
}

async function failure(run_: Run): Promise<string> {
  const error: unknown = await run_.done.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof ProxyError) return `${error.code}: ${error.message}`;
  throw error ?? new Error('it did not fail');
}

/** Everything in a folder, by path. */
function everythingIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
}

const WHOLE = ['tiny', join('tiny', COMPACT_FILE)];

async function expectUsable(modelDir: string, of = 'f32'): Promise<void> {
  expect(everythingIn(modelDir)).toEqual(WHOLE);
  const encoder = await openModel2Vec(modelFolder(modelDir, undefined));
  const source = openSource(join(models, of));
  const published = sourceEncoder(source);
  for (const text of ['hello world', 'Ieškok failų', '今天天气']) {
    const theirs = published.encode(text, true);
    const near = encoder
      .encode(text, 'question')
      .reduce((sum, value, i) => sum + value * (theirs[i] ?? 0), 0);
    expect(near).toBeGreaterThan(0.999);
  }
  source.close();
  encoder.close();
}

describe('fetching a model', () => {
  it('leaves the compact model and nothing else', async () => {
    const dir = temporary();
    const { url, asked } = await hub();
    const fetched = await run(dir, url, { pinned: PINNED }).done;
    expect(fetched).toMatchObject({
      name: 'tiny',
      folder: join(dir, 'tiny'),
      dimensions: 8,
      wasThere: false,
    });
    expect(fetched.files.map(({ file, isPinned }) => [file, isPinned])).toEqual(
      FILES.map((file) => [file, true]),
    );
    expect(asked.map(({ file }) => file)).toEqual(FILES);
    await expectUsable(dir);

    const again = await run(dir, url, { pinned: PINNED }).done;
    expect(again.wasThere).toBe(true);
    expect(asked.length).toBe(FILES.length);
  });

  it('finds the files of every layout', async () => {
    for (const model of ['sentence-transformers', 'static-embedding']) {
      const dir = temporary();
      const { url } = await hub(model);
      const { files } = await run(dir, url).done;
      expect(files.every(({ isPinned, sha256 }) => !isPinned && sha256.length === 64)).toBe(true);
      await expectUsable(dir, model);
    }
    const { url } = await hub('none');
    expect(await failure(run(temporary(), url))).toMatch(
      /^model_missing: There is no Model2Vec model at http/,
    );
  });

  it('takes files whose length is not told, as far as their kind may go', async () => {
    const dir = temporary();
    const chunked = (bytes: Buffer) => (response: ServerResponse) => {
      response.writeHead(200);
      response.write(bytes.subarray(0, 10));
      response.end(bytes.subarray(10));
    };
    const { url } = await hub('f32', ({ file }, _, response) => {
      chunked(bytesOf(file))(response);
      return true;
    });
    await run(dir, url).done;
    await expectUsable(dir);
    const long = await hub('f32', (_, __, response) => {
      chunked(Buffer.alloc(1_100_000, ' '))(response);
      return true;
    });
    expect(await failure(run(temporary(), long.url))).toMatch(
      /^model_mismatch: .*config.json .*goes on after 1048576 bytes/,
    );
  });

  it('takes them from a folder, which stays as it is', async () => {
    const dir = temporary();
    const folder = join(models, 'mapped-i64');
    const before = everythingIn(folder);
    await run(dir, '', { origin: { kind: 'folder', folder } }).done;
    expect(everythingIn(folder)).toEqual(before);
    await expectUsable(dir, 'mapped-i64');
    const none = run(dir, '', { origin: { kind: 'folder', folder: temporary() } });
    expect(await failure(none)).toMatch(/^model_missing/);
  });

  it('makes a damaged one again', async () => {
    const dir = temporary();
    const { url } = await hub();
    await run(dir, url, { pinned: PINNED }).done;
    const path = join(dir, 'tiny', COMPACT_FILE);
    const bytes = readFileSync(path);
    bytes[bytes.length - 5] = (bytes[bytes.length - 5] ?? 0) ^ 4;
    writeFileSync(path, bytes);
    const again = run(dir, url, { pinned: PINNED });
    expect((await again.done).wasThere).toBe(false);
    expect(again.notes.join()).toContain('its table is damaged');
    await expectUsable(dir);
  });
});

describe('a connection that is cut', () => {
  it('is taken up where it ended', async () => {
    const dir = temporary();
    const { url, asked } = await hub('f32', ({ file }, _, response, times) => {
      if (file !== 'model.safetensors' || times > 1) return false;
      half(response, true);
      return true;
    });
    const cut = run(dir, url);
    await cut.done;
    const [first, second, ...more] = asked.filter(({ file }) => file === 'model.safetensors');
    expect(first?.range).toBeUndefined();
    expect(second).toMatchObject({ range: `bytes=${TABLE.length >> 1}-`, ifRange: '"v1"' });
    expect(more).toEqual([]);
    expect(cut.notes.join()).toContain('going on');
    await expectUsable(dir);
  });

  it('counts as cut when it says nothing more', async () => {
    const dir = temporary();
    const { url } = await hub('f32', ({ file }, _, response, times) => {
      if (file !== 'model.safetensors' || times > 1) return false;
      half(response, false);
      return true;
    });
    const silent = run(dir, url);
    await silent.done;
    expect(silent.notes.join()).toContain('no byte for 0.4 s');
    await expectUsable(dir);
  });

  it('is taken up by the next run, and what is there until then is no model', async () => {
    const dir = temporary();
    let isBad = true;
    const { url, asked } = await hub('f32', ({ file, range }, _, response) => {
      if (file !== 'model.safetensors' || !isBad) return false;
      if (range === undefined) half(response, true);
      else response.destroy();
      return true;
    });
    expect(await failure(run(dir, url, { pinned: PINNED }))).toMatch(
      /^model_unavailable: The model's file model.safetensors/,
    );
    expect(everythingIn(dir)).toContain(join('.tiny.download', 'model.safetensors.part'));
    expect(() => modelFolder(dir, undefined)).toThrow('There is no embedding model');
    expect(() => modelFolder(dir, '.tiny.download')).toThrow('There is no model');
    isBad = false;
    await run(dir, url, { pinned: PINNED }).done;
    expect(asked.at(-1)).toMatchObject({ file: 'model.safetensors', range: `bytes=${TABLE.length >> 1}-` });
    // What was whole and pinned is not fetched twice.
    expect(asked.filter(({ file }) => file === 'tokenizer.json').length).toBe(1);
    await expectUsable(dir);
  });

  it('is taken up after a run that was stopped', async () => {
    const dir = temporary();
    let isBad = true;
    const { url } = await hub('f32', ({ file }, _, response) => {
      if (file !== 'model.safetensors' || !isBad) return false;
      half(response, false);
      return true;
    });
    const stopped = run(dir, url, {
      patience: { stallMs: 60_000, tries: 3, backoffMs: 1 },
      onProgress: (progress) => {
        if (progress.kind === 'file' && progress.done === TABLE.length >> 1) stopped.stop();
      },
    });
    await expect(stopped.done).rejects.toThrow('stopped');
    isBad = false;
    await run(dir, url).done;
    await expectUsable(dir);
  });

  it('begins again when the file is another one by then', async () => {
    const dir = temporary();
    const { url, asked } = await hub(
      'f32',
      ({ file }, _, response, times) => {
        if (file !== 'model.safetensors' || times > 1) return false;
        half(response, true);
        return true;
      },
      '"v2"',
    );
    await run(dir, url).done;
    expect(asked.at(-1)).toMatchObject({ range: `bytes=${TABLE.length >> 1}-`, ifRange: '"v1"' });
    await expectUsable(dir);
  });

  it('begins again when what was left by an earlier run is not the beginning of the right file', async () => {
    const dir = temporary();
    const { url, asked } = await hub();
    const stage = join(dir, '.tiny.download');
    mkdirSync(stage);
    writeFileSync(join(stage, 'model.safetensors.part'), Buffer.alloc(1_000, 7));
    writeFileSync(
      join(stage, 'model.safetensors.part.json'),
      JSON.stringify({ url: `${url}/model.safetensors`, etag: '"v1"' }),
    );
    const again = run(dir, url, { pinned: PINNED });
    await again.done;
    expect(asked.filter(({ file }) => file === 'model.safetensors').map(({ range }) => range)).toEqual([
      'bytes=1000-',
      undefined,
    ]);
    expect(again.notes.join()).toContain('fetched again from its beginning');
    await expectUsable(dir);
  });
});

describe('a server that gives something else', () => {
  const answers: Record<string, (response: ServerResponse) => unknown> = {
    'a web page': (response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>Sign in</html>'),
    'the right size, wrong bytes': (response) => {
      const wrong = Buffer.from(TABLE);
      wrong[900] = (wrong[900] ?? 0) ^ 1;
      response.writeHead(200, { 'content-length': wrong.length }).end(wrong);
    },
    'too few bytes': (response) =>
      response.writeHead(200, { 'content-length': 100 }).end(TABLE.subarray(0, 100)),
    'too many bytes': (response) =>
      response
        .writeHead(200, { 'content-length': TABLE.length + 1 })
        .end(Buffer.concat([TABLE, Buffer.from('!')])),
    'bytes without end': (response) => {
      response.writeHead(200);
      const more = (): void => {
        if (!response.destroyed) response.write(TABLE, more);
      };
      more();
    },
    'packed bytes': (response) =>
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': 10 }).end('0123456789'),
  };

  it.each(Object.keys(answers))('is refused, and nothing is left of it: %s', async (name) => {
    const dir = temporary();
    const { url } = await hub('f32', ({ file }, _, response) => {
      if (file !== 'model.safetensors') return false;
      answers[name]?.(response);
      return true;
    });
    expect(await failure(run(dir, url, { pinned: PINNED }))).toMatch(
      /^model_mismatch: The model's file model.safetensors from 127/,
    );
    expect(everythingIn(dir).filter((path) => path.includes('model.safetensors'))).toEqual([]);
    expect(() => modelFolder(dir, undefined)).toThrow(ProxyError);
  });

  it('is refused when its parts are others than were asked for', async () => {
    for (const range of [`bytes 0-${TABLE.length - 1}/${TABLE.length}`, 'bytes 5-9/*', 'lines 1-2/3']) {
      const dir = temporary();
      let isFirst = true;
      const { url } = await hub('f32', ({ file, range: asked }, _, response) => {
        if (file !== 'model.safetensors') return false;
        if (isFirst) half(response, true);
        else if (asked === undefined) return false;
        else response.writeHead(206, { 'content-range': range }).end(TABLE.subarray(0, 5));
        isFirst = false;
        return true;
      });
      await run(dir, url, { pinned: PINNED }).done;
      await expectUsable(dir);
    }
  });

  it('is asked again when it is busy, and not when it refuses', async () => {
    const dir = temporary();
    const { url } = await hub('f32', ({ file }, _, response, times) => {
      if (file !== 'tokenizer.json' || times > 2) return false;
      response.writeHead(times === 1 ? 503 : 429, { 'retry-after': '0' }).end();
      return true;
    });
    const busy = run(dir, url);
    await busy.done;
    expect(busy.notes.filter((note) => note.includes('answered')).length).toBe(2);
    await expectUsable(dir);
    const forbidden = await hub('f32', (_, __, response) => {
      response.writeHead(403).end();
      return true;
    });
    expect(await failure(run(temporary(), forbidden.url))).toContain('model_unavailable');
    expect(forbidden.asked.length).toBe(1);
  });

  it('is refused when what it gives is no model', async () => {
    const dir = temporary();
    const { url } = await hub('f32', ({ file }, _, response) => {
      if (file !== 'tokenizer.json') return false;
      response.end('{"model": {"type": "BPE"}}');
      return true;
    });
    expect(await failure(run(dir, url))).toMatch(
      /^model_invalid: The model file .*tokenizer.json cannot be used: its model is "BPE"/,
    );
    expect(() => modelFolder(dir, undefined)).toThrow(ProxyError);
  });
});

describe('redirects', () => {
  const redirecting = (location: (file: string) => string): Promise<Hub> =>
    hub('f32', ({ file }, _, response) => {
      response.writeHead(302, { location: location(file) }).end();
      return true;
    });

  it('are followed to the host that holds the files, which is asked for the same part', async () => {
    const dir = temporary();
    const files = await hub('f32', ({ file }, _, response, times) => {
      if (file !== 'model.safetensors' || times > 1) return false;
      half(response, true);
      return true;
    });
    const { url } = await redirecting((file) => `${files.url}/${file}?signature=secret`);
    const far = await hub('f32', ({ file }, _, response) => {
      response.writeHead(307, { location: `/m/${file}` }).end();
      return true;
    });
    const plain = await redirecting((file) => `${files.url}/${file}`);
    await run(dir, plain.url).done;
    expect(files.asked.at(-1)?.range).toBe(`bytes=${TABLE.length >> 1}-`);
    await expectUsable(dir);
    expect(await failure(run(temporary(), far.url))).toContain('answered 307 without leading anywhere');
    // A signature in an address is never repeated in a message.
    expect(await failure(run(temporary(), url))).not.toContain('secret');
  });

  it.each([
    'http://example.com/model/',
    'https://169.254.169.254/latest/',
    'http://169.254.169.254/latest/',
    'https://user:password@127.0.0.1/',
    'https://[fd00:ec2::254]/',
    'file:///etc/',
    'ftp://127.0.0.1/',
  ])('are not followed to %s', async (place) => {
    const dir = temporary();
    const { url } = await redirecting((file) => place + file);
    expect(await failure(run(dir, url))).toMatch(/^model_forbidden/);
    expect(everythingIn(dir)).toEqual([]);
  });

  it('never lead from a public address to a private one', async () => {
    const { url, asked } = await hub();
    const reacher = await openReacher('https://1.1.1.1/model', {});
    onTestFinished(() => reacher.close());
    const get = (to: string): Promise<unknown> => reacher.get(to, {}, new AbortController().signal);
    const { port } = new URL(url);
    for (const to of [
      url,
      `https://127.0.0.1:${port}/`,
      `https://localhost:${port}/`,
      'https://10.0.0.1/',
      'https://[::1]/',
    ]) {
      await expect(get(to)).rejects.toMatchObject({ code: 'model_forbidden' });
    }
    expect(asked).toEqual([]);
  });
});

describe('the place a model is kept in', () => {
  it('is one run at a time', async () => {
    const dir = temporary();
    let release = (): void => undefined;
    const begun = new Promise<void>((begin) => {
      void hub('f32', (_, __, response) => {
        release = () => response.writeHead(404).end();
        begin();
        return true;
      }).then(({ url }) => {
        const slow = run(dir, url, { patience: { stallMs: 60_000, tries: 3, backoffMs: 1 } });
        slow.done.catch(() => undefined);
        onTestFinished(() => slow.stop());
      });
    });
    await begun;
    const { url } = await hub();
    expect(await failure(run(dir, url))).toMatch(/^model_busy: Another run is fetching this model/);
    release();
  });

  it('is named when it cannot be written', async () => {
    const file = join(temporary(), 'file');
    writeFileSync(file, '');
    const { url } = await hub();
    expect(await failure(run(join(file, 'below'), url))).toMatch(
      /^model_unwritable: The model cannot be written to/,
    );
  });

  it('is asked for its room before a known model is fetched', async () => {
    const { url, asked } = await hub();
    const huge = PINNED.map((file) => ({ ...file, bytes: 1e15 }));
    expect(await failure(run(temporary(), url, { pinned: huge }))).toMatch(
      /^model_unwritable: The model needs \d+ MB/,
    );
    expect(asked).toEqual([]);
  });

  it('holds nothing of it when its disk is full', async ({ skip }) => {
    const dir = temporary();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', dir], { stdio: 'ignore' });
    } catch {
      return skip('a small disk cannot be mounted here');
    }
    onTestFinished(() => void execFileSync('umount', [dir]));
    writeFileSync(join(dir, 'ballast'), Buffer.alloc(20_000));
    const { url } = await hub();
    expect(await failure(run(dir, url))).toMatch(/^model_unwritable: .*(no space left|has \d+ MB left)/i);
    expect(everythingIn(dir)).toEqual(['ballast']);
  });
});

describe('what was asked for', () => {
  const of = (operand?: string, url?: string): unknown =>
    readAsked(operand, url, models, 'potion-multilingual-128M');
  const known = (name: string): unknown => ({
    name,
    origin: { kind: 'web', base: KNOWN_MODELS[name]?.base, pinned: KNOWN_MODELS[name]?.files },
  });

  it('is a known model, a folder, or files under a URL', () => {
    expect(of()).toEqual(known('potion-multilingual-128M'));
    expect(of('potion-base-8M')).toEqual(known('potion-base-8M'));
    expect(of('./f32')).toEqual({ name: 'f32', origin: { kind: 'folder', folder: join(models, 'f32') } });
    expect(of('mine', 'f32')).toEqual({
      name: 'mine',
      origin: { kind: 'folder', folder: join(models, 'f32') },
    });
    const pinned = undefined;
    expect(of(undefined, 'https://m.example.com/models/some-model/')).toEqual({
      name: 'some-model',
      origin: { kind: 'web', base: 'https://m.example.com/models/some-model/', pinned },
    });
    expect(of(undefined, 'https://huggingface.co/org/some-model')).toEqual({
      name: 'some-model',
      origin: { kind: 'web', base: 'https://huggingface.co/org/some-model/resolve/main', pinned },
    });
    expect(of(undefined, 'https://huggingface.co/org/some-model/resolve/abc')).toMatchObject({
      name: 'some-model',
    });
    // A mirror of a known model has to have its very files.
    expect(of('potion-base-8M', 'https://mirror.example.com/8M')).toEqual({
      name: 'potion-base-8M',
      origin: {
        kind: 'web',
        base: 'https://mirror.example.com/8M',
        pinned: KNOWN_MODELS['potion-base-8M']?.files,
      },
    });
  });

  it('is a mistake when it cannot be any', () => {
    expect(of('potion-base-9M')).toEqual({
      mistake: expect.stringContaining('known models are potion-multilingual-128M') as string,
    });
    expect(of('constructor')).toHaveProperty('mistake');
    expect(of(undefined, 'ftp://example.com/x')).toHaveProperty('mistake');
    expect(of(undefined, 'https://example.com/x?token=1')).toEqual({
      mistake: expect.not.stringContaining('token') as string,
    });
    expect(of('../up', 'https://example.com/x')).toHaveProperty('mistake');
    expect(of('.hidden', 'https://example.com/x')).toHaveProperty('mistake');
  });

  it('has pins that look like pins', () => {
    for (const { base, files } of Object.values(KNOWN_MODELS)) {
      expect(base).toMatch(/\/resolve\/[0-9a-f]{40}$/);
      expect(files.map(({ file }) => file)).toEqual([...FILES]);
      for (const { sha256, file } of files)
        if (file !== 'config.json') expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    }
  });
});
