import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startProgram, startStdioProgram } from '../support/proxy.ts';
import { harbourChild } from '../support/harbour.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { until } from '../support/wait.ts';

const models = join(import.meta.dirname, '../fixtures/model2vec/models');

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), 'models-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The files of a small model, on this machine; `cut` of the table's bytes are left out. */
async function hub(cut = 0): Promise<string> {
  const server = createServer((request, response) => {
    try {
      const bytes = readFileSync(join(models, 'f32', (request.url ?? '').replace('/f32/', '')));
      response.writeHead(200, { 'content-length': bytes.length });
      response.end(bytes.subarray(0, request.url?.endsWith('.safetensors') ? bytes.length - cut : undefined));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/f32`;
}

function ship(): object {
  const { command, args } = scriptStdio({ tools: harbourChild });
  return { mcpServers: { ship: { command, args } } };
}

interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(...args: readonly string[]): Promise<Ended> {
  const running = await startProgram(args);
  running.child.stdin?.end();
  const code = await running.exited;
  // 'exit' comes before the last of the output.
  await until(
    'the output has ended',
    () => running.child.stdout?.readableEnded === true && running.child.stderr?.readableEnded === true,
  );
  return { code, stdout: running.stdout(), stderr: running.stderr() };
}

describe('fetch-model', () => {
  it('gets a model, says where it is and how to use it', async () => {
    const dir = temporary();
    const { code, stdout, stderr } = await run('fetch-model', '--url', await hub(), '-model-dir', dir);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `f32 is there: 8 numbers a vector, 36 KB in ${join(dir, 'f32')}\n`,
    });
    expect(stderr).toMatch(/^fetching f32 from 127\.0\.0\.1:\d+\n/);
    expect(stderr).toMatch(/model\.safetensors has no pinned digest; it came with SHA-256 [0-9a-f]{64}\n/);
    expect(stderr).toContain(`use it: mcpproxy --model-dir ${dir} --embedder f32\n`);
    // Off a terminal nothing is written over.
    expect(stderr.includes('\r') || stderr.includes('\u001B')).toBe(false);
  });

  it('prints one JSON value for scripts, and keeps quiet', async () => {
    const dir = temporary();
    const { code, stdout, stderr } = await run(
      '-o',
      'json',
      '-q',
      'fetch-model',
      join(models, 'i8'),
      '-model-dir',
      dir,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'i8',
      folder: join(dir, 'i8'),
      dimensions: 8,
      wasThere: false,
    });
  });

  it('takes the folder from the environment', async () => {
    const dir = temporary();
    const running = await startProgram(['fetch-model', join(models, 'i8')], {
      env: { MCPPROXY_MODEL_DIR: dir },
    });
    expect(await running.exited).toBe(0);
  });

  it('says what is wrong, with the exit code of its kind', async () => {
    const dir = temporary();
    expect(await run('fetch-model')).toMatchObject({
      code: 2,
      stderr: 'mcpproxy: fetch-model needs --model-dir DIR, the folder models are kept in.\n',
    });
    const unknown = await run('fetch-model', 'potion-9000', '-model-dir', dir);
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain(
      'known models are potion-multilingual-128M, potion-retrieval-32M, potion-base-8M',
    );
    const wrong = await run('fetch-model', 'potion-base-8M', '--url', await hub(), '-model-dir', dir);
    expect(wrong).toMatchObject({ code: 1, stdout: '' });
    expect(wrong.stderr).toMatch(
      /mcpproxy: The model's file tokenizer\.json from 127\.0\.0\.1:\d+ is not the right one: it has \d+ bytes, not 683666\. \(model_mismatch\)\n$/,
    );
    const plain = await run('fetch-model', '--url', 'http://models.example.com/x', '-model-dir', dir);
    expect(plain).toMatchObject({ code: 1 });
    expect(plain.stderr).toContain('is not https (http:). (model_forbidden)');
  });

  it('goes on after Ctrl-C where it was', async () => {
    const dir = temporary();
    const url = await hub(1);
    const running = await startProgram(['fetch-model', '--url', url, '-model-dir', dir]);
    await until('most of the model is there', () => /safetensors/.test(running.stderr()) || partOf(dir) > 0);
    running.child.kill('SIGINT');
    expect(await running.exited).toBe(130);
    expect(running.stderr()).toContain('the next fetch-model goes on where this one ended');
    expect((await run('fetch-model', '--url', await hub(), '-model-dir', dir)).code).toBe(0);
  });
});

function partOf(dir: string): number {
  try {
    return readFileSync(join(dir, '.f32.download', 'model.safetensors.part')).length;
  } catch {
    return 0;
  }
}

/** Asks for tools until the answer says what it is ranked by, and that is `wanted`. */
async function rankingOf(args: readonly string[], wanted: 'words' | undefined): Promise<Asked> {
  const running = await startStdioProgram('modern', ship(), { args });
  await until(`the ranking is ${wanted ?? 'by words and meaning'}`, async () => {
    const { ranking, tools = [] } = await searchAnswer(running);
    return tools.length > 0 && ranking === wanted;
  });
  return running;
}

type Asked = Awaited<ReturnType<typeof startStdioProgram>>;

async function searchAnswer({ client }: Asked): Promise<{ ranking?: string; tools?: readonly object[] }> {
  const reply = JSON.parse(
    await client.call('search_tools', '{"query":"the times of high and low water"}'),
  ) as {
    result?: { structuredContent: { ranking?: string; tools?: readonly object[] } };
  };
  return reply.result?.structuredContent ?? {};
}

/** Words rank, and the log says why, once. */
async function expectWords(args: readonly string[], why: string): Promise<void> {
  const running = await rankingOf(args, 'words');
  await until('the log says why', () => running.stderr().includes(why));
  for (let i = 0; i < 3; i++) expect(await searchAnswer(running)).toMatchObject({ ranking: 'words' });
  expect(running.stderr().split(why).length).toBe(2);
}

describe('a model in a folder', () => {
  it('ranks by meaning, alone in its folder or called by its name', async () => {
    const dir = temporary();
    for (const name of ['f32', 'mapped-i64'])
      await run('-q', 'fetch-model', join(models, name), '-model-dir', dir);
    await rankingOf(['-model-dir', join(dir, 'f32')], undefined);
    await rankingOf(['-model-dir', dir, '-embedder', 'mapped-i64'], undefined);
    await expectWords(['-model-dir', dir], 'There are several models in');
  });

  it('is used as it was published, too', async () => {
    const dir = temporary();
    cpSync(join(models, 'weighted'), dir, { recursive: true });
    await rankingOf(['-model-dir', dir], undefined);
  });

  it('leaves words to rank when it is missing or damaged, and one line in the log', async () => {
    const dir = temporary();
    await expectWords(['-model-dir', dir], 'There is no embedding model in');
    await run('-q', 'fetch-model', join(models, 'f32'), '-model-dir', dir);
    truncateSync(join(dir, 'f32', 'model2vec.compact'), 5_000);
    await expectWords(['-model-dir', dir], 'cannot be used');
  });

  it('is needed to start when --require-model says so', async () => {
    const dir = temporary();
    const running = await startProgram(['--stdio', '--require-model', '-model-dir', dir], { config: ship() });
    expect(await running.exited).toBe(66);
    expect(running.stderr()).toContain(`--require-model: There is no embedding model in ${dir}`);
    expect(running.stdout()).toBe('');
    await run('-q', 'fetch-model', join(models, 'f32'), '-model-dir', dir);
    await rankingOf(['--require-model', '-model-dir', dir], undefined);
  });
});
