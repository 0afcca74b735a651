import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'jsonc-parser';
import { beforeAll, describe, expect, it } from 'vitest';
import { whenDone } from '../support/cleanup.ts';
import { programTarget } from '../support/proxy.ts';
import { sleep } from '../support/wait.ts';

const WRITER = resolve(import.meta.dirname, '../support/config-writer.mjs');
/** `KILLS=200` asks for as many; a few will do every day. */
const KILLS = Number(process.env['KILLS'] ?? 6);

beforeAll(async () => {
  // Builds the program where that is needed.
  await programTarget({});
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'writes-'));
  whenDone(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Writer {
  readonly child: ChildProcessWithoutNullStreams;
  /** Names it said are in. */
  readonly done: string[];
  readonly failures: string[];
  /** What it wrote to stderr. */
  said(): string;
  readonly exited: Promise<void>;
}

function write(file: string, prefix: string, count: number): Writer {
  const child = spawn(process.execPath, [WRITER, file, prefix, String(count)]);
  whenDone(() => void child.kill('SIGKILL'));
  const done: string[] = [];
  const failures: string[] = [];
  let left = '';
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${left}${text}`.split('\n');
    left = lines.pop() ?? '';
    for (const line of lines) (line.startsWith('!') ? failures : done).push(line);
  });
  const exited = new Promise<void>((end) => child.once('close', () => end()));
  return { child, done, failures, said: () => said, exited };
}

/** The names in a file, which must be whole. */
function serversIn(file: string): string[] {
  const errors: unknown[] = [];
  const text = readFileSync(file, 'utf8');
  const value = parse(text, errors as []) as { mcpServers: Record<string, { description: string }> };
  expect(errors).toEqual([]);
  expect(text).toContain('// mine');
  for (const { description } of Object.values(value.mcpServers)) expect(description).toHaveLength(20_000);
  return Object.keys(value.mcpServers);
}

describe('the configuration file', () => {
  it('loses no change of three processes that write at once', async () => {
    const file = join(newFolder(), 'config.json');
    writeFileSync(file, '{ "mcpServers": {} } // mine');
    const writers = ['a', 'b', 'c'].map((name) => write(file, name, 10));
    await Promise.all(writers.map(({ exited }) => exited));
    const done = writers.flatMap((each) => each.done);
    expect(writers.flatMap(({ failures }) => failures)).toEqual([]);
    expect(done).toHaveLength(30);
    expect(serversIn(file).sort()).toEqual(done.sort());
    expect(readdirSync(join(file, '..'))).toEqual(['config.json']);
  }, 60_000);

  it('is whole whenever a process that writes it is killed, and takes writes again', async () => {
    const folders = [newFolder(), newFolder()];
    await Promise.all(
      folders.map(async (folder, n) => {
        const file = join(folder, 'config.json');
        writeFileSync(file, '{ "mcpServers": {} } // mine');
        let known: string[] = [];
        for (let kill = 0; kill < KILLS / folders.length; kill++) {
          const writer = write(file, `k${kill}-`, 1_000);
          while (writer.done.length === 0 && writer.child.exitCode === null) await sleep(1);
          expect(writer.child.exitCode, `the writer ended: ${writer.said()}`).toBeNull();
          await sleep(((kill * 7_919 + n) % 40) + Math.random() * 5);
          writer.child.kill('SIGKILL');
          await writer.exited;
          const now = serversIn(file);
          // What was said to be in is in, and nothing that was before is gone.
          expect(now).toEqual(expect.arrayContaining([...known, ...writer.done]));
          expect(statSync(file).mode & 0o777).toBe(0o600);
          known = now.length > 150 ? [] : now;
          if (now.length > 150) writeFileSync(file, '{ "mcpServers": {} } // mine', { mode: 0o600 });
        }
        const last = write(file, 'last', 1);
        await last.exited;
        expect(last.done).toEqual(['last0']);
        // Nothing of the killed ones is left lying about.
        expect(readdirSync(folder)).toEqual(['config.json']);
      }),
    );
  }, 3_600_000);

  it('is as it was on a disk that is full', async () => {
    const disk = newFolder();
    mkdirSync(join(disk, 'mnt'));
    const mount = join(disk, 'mnt');
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', mount]).status !== 0) return;
    whenDone(() => void spawnSync('umount', [mount]));
    const file = join(mount, 'config.json');
    writeFileSync(file, '{ "mcpServers": {} } // mine', { mode: 0o600 });
    const writer = write(file, 'd', 40);
    await writer.exited;
    // A new file has to fit beside the old one.
    expect(writer.done.length).toBeGreaterThan(2);
    expect(writer.failures.length).toBeGreaterThan(10);
    for (const failure of writer.failures)
      expect(failure).toMatch(/^! config_write_failed: .*ENOSPC: the disk is full.*nothing was changed/);
    expect(serversIn(file)).toEqual(writer.done);
    expect(readdirSync(mount)).toEqual(['config.json']);
  }, 120_000);
});
