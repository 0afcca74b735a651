import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { blocksOf, commandsIn, mistakesIn, wordsOf, wrongLinks } from '../scripts/docs/check.ts';
import type { Document } from '../scripts/docs/check.ts';
import { commandsPage } from '../scripts/docs/commands-page.ts';
import { configurationPage } from '../scripts/docs/configuration-page.ts';
import { errorsPage } from '../scripts/docs/errors-page.ts';
import { limitsPage } from '../scripts/docs/limits-page.ts';
import { metricsPage } from '../scripts/docs/metrics-page.ts';
import { toolsPage } from '../scripts/docs/tools-page.ts';
import { registriesPage } from '../scripts/docs/registries-page.ts';
import { SAMPLE_TOOLS } from '../scripts/docs/try.ts';
import { quotedRuns, withFreshRuns } from '../scripts/docs/quoted-runs.ts';
import type { Try, TriedResult } from '../scripts/docs/try.ts';
import { wirePage } from '../scripts/docs/wire-page.ts';
import { CHANGES } from '../scripts/docs/wire-table.ts';
import { HAS_PACKED_MODEL } from '../eval/embedder.ts';
import { OWN_SET, readSet } from '../eval/evaluation-set.ts';
import { sampleRecords } from '../src/cli/builtin/sample-records.ts';
import { loadConfig } from '../src/config/load.ts';
import { knownFacts } from '../src/registry/known-facts.ts';
import { rawStdio } from './support/clients.ts';
import { whenDone } from './support/cleanup.ts';
import { ownHome, programTarget, startProxy, stdioRecord } from './support/proxy.ts';
import type { RunningProxy } from './support/proxy.ts';
import { scriptStdio } from './support/stdio-upstream.ts';

const root = resolve(import.meta.dirname, '..');
const program = join(root, 'dist/bin.js');

const failing = (name: string, does: object): object => ({
  definition: { name, description: `Answers with ${name}.`, inputSchema: { type: 'object' } },
  does,
});

function runProgram(args: readonly string[], file?: string): Awaited<ReturnType<Try['program']>> {
  const { home, env } = ownHome();
  if (file !== undefined) writeFileSync(join(home, 'mcpproxy.json'), file);
  const ran = spawnSync(process.execPath, [program, ...args], { cwd: home, env, encoding: 'utf8' });
  // A slow machine makes the program say that it waits.
  const plain = (text: string): string =>
    text.replaceAll(`${home}/`, '').replaceAll(/^(?:waiting for|still waiting:|reading what) .*\n/gm, '');
  return { code: ran.status ?? 'killed', stdout: plain(ran.stdout), stderr: plain(ran.stderr) };
}

/** The pages' examples, from real runs. */
async function openTry(): Promise<Try> {
  // Builds the program where that is needed.
  await programTarget({});
  const town = await startProxy({
    upstreams: sampleRecords(join(root, 'dist/cli/builtin/sample-program.js')),
  });
  const harbour = scriptStdio({
    tools: [
      failing('reject', { kind: 'error', code: -32_000, message: 'The harbour is closed in this fog.' }),
      failing('vanish', { kind: 'crash', exitCode: 3 }),
    ] as Parameters<typeof scriptStdio>[0]['tools'],
  });
  const troubled = await startProxy({
    upstreams: [
      stdioRecord('harbour', harbour),
      stdioRecord('lighthouse', { command: 'lighthouse-server', args: [] }),
    ],
  });
  await Promise.all([town.settled(), troubled.settled()]);
  const calling =
    ({ proxy }: RunningProxy): Try['meta'] =>
    async (metaTool, args) =>
      JSON.parse(await proxy.local.callMetaTool(metaTool, args)) as TriedResult;
  return {
    meta: calling(town),
    inTrouble: calling(troubled),
    program: async (args, file) => runProgram(args, file),
  };
}

// Each page runs the program many times.
describe('the reference pages', { timeout: 120_000 }, () => {
  let attempt: Try;
  beforeAll(async () => {
    attempt = await openTry();
  });

  /** `npm run docs` writes them; here they are compared. */
  const isFresh = async (name: string, text: string): Promise<void> =>
    expect(text, `docs/${name} is out of date: npm run docs writes it anew`).toMatchFileSnapshot(
      join(root, 'docs', name),
    );

  it('commands.md is fresh', async () => {
    await isFresh('commands.md', await commandsPage(attempt));
  });
  it('configuration.md is fresh', async () => {
    await isFresh('configuration.md', await configurationPage(attempt));
  });
  it('tools.md is fresh', async () => {
    await isFresh('tools.md', await toolsPage(attempt));
  });
  it('errors.md is fresh', async () => {
    await isFresh('errors.md', await errorsPage(attempt));
  });
  it('limits.md is fresh', async () => {
    await isFresh('limits.md', await limitsPage(attempt));
  });
  it('metrics.md is fresh', async () => {
    await isFresh('metrics.md', metricsPage());
  });
  it('registries.md is fresh', async () => {
    await isFresh('registries.md', registriesPage());
  });
  it('compatibility-wire.md is fresh, and the tests it names are there', async () => {
    await isFresh('compatibility-wire.md', wirePage());
    for (const {
      test: [file, name],
    } of CHANGES)
      expect(readFileSync(join(root, 'test/e2e', file), 'utf8')).toContain(`'${name}'`);
  });
});

/** The documents people read, by their paths. */
function documents(): Document[] {
  const inDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file.replaceAll('\\', '/')}`);
  const atRoot = readdirSync(root).filter((file) => file.endsWith('.md'));
  return [...atRoot, ...inDocs].map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

describe('the documents', () => {
  it('link to files and headings that are there', () => {
    expect(wrongLinks(documents(), (path) => existsSync(join(root, path)))).toEqual([]);
  });

  it('quote command lines the program understands', async () => {
    const quoted = documents().flatMap(({ path, text }) =>
      commandsIn(text).map((command) => ({ path, command })),
    );
    expect(quoted.length).toBeGreaterThan(10);
    const wrong: string[] = [];
    for (const { path, command } of quoted) {
      for (const mistake of await mistakesIn(command)) wrong.push(`${path}: ${command}: ${mistake}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('what documents show of runs', { timeout: 120_000 }, () => {
  /** The document as it would be with what the program prints now; `npm run docs` writes it. */
  const isFresh = async (path: string, text: string): Promise<void> =>
    expect(text, `${path} is out of date: npm run docs writes it anew`).toMatchFileSnapshot(join(root, path));
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');

  beforeAll(async () => {
    await programTarget({});
  });

  it.runIf(HAS_PACKED_MODEL)('README.md: the receipt is the demo’s', async () => {
    const { code, stdout } = runProgram(['demo', '--builtin']);
    expect(code).toBe(0);
    const receipt = stdout.slice(stdout.indexOf('8. The receipt'));
    const text = read('README.md');
    await isFresh(
      'README.md',
      text.replace(/^8\. The receipt[^]*?(?=^```$)/m, () => receipt),
    );
  });

  it('docs/clients.md: the tools of the server it configures', async () => {
    // What is fetched by the document's command is here already.
    const server = join(root, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
    const file = JSON.stringify({
      mcpServers: { files: { command: process.execPath, args: [server, '.'] } },
    });
    const path = 'docs/clients.md';
    expect(quotedRuns(read(path)).map(({ command }) => command)).toEqual(['list-tools']);
    await isFresh(path, freshText(read(path), file));
  });

  it('docs/discovery.md: what the built-in registry lists', async () => {
    const path = 'docs/discovery.md';
    expect(quotedRuns(read(path)).length).toBeGreaterThan(0);
    await isFresh(path, freshText(read(path), '{}'));
  });

  it.runIf(HAS_PACKED_MODEL)('docs/search.md: the tools of our own evaluation set', async () => {
    const { tools } = readSet(OWN_SET);
    const set = scriptStdio({
      tools: tools.map(({ name, description, inputSchema }) => ({
        definition: { name, description, inputSchema },
      })),
    });
    const file = JSON.stringify({ mcpServers: { set: { command: set.command, args: set.args } } });
    const path = 'docs/search.md';
    const questions = blocksOf(read(path)).find(({ text }) => text.startsWith('{"query"'))?.text;
    expect(quotedRuns(read(path)).length).toBeGreaterThan(2);
    await isFresh(path, freshText(read(path), file, questions));
  });

  function freshText(text: string, file: string, questions?: string): string {
    return withFreshRuns(text, ({ command }) => {
      const { home, env } = ownHome();
      writeFileSync(join(home, 'mcpproxy.json'), file);
      if (questions !== undefined) writeFileSync(join(home, 'questions.jsonl'), questions);
      const ran = spawnSync(
        'sh',
        ['-c', `exec '${process.execPath}' '${program}' ${command} --config mcpproxy.json`],
        { cwd: home, env: { ...env, COLUMNS: '100' }, encoding: 'utf8' },
      );
      expect(ran.status, `${command}: ${ran.stderr}`).toBe(0);
      const notes = ran.stderr.replaceAll(/^(?:waiting for|still waiting:|reading what|asking) .*\n/gm, '');
      return `${ran.stdout}${notes}`;
    });
  }
});

describe('docs/configuration.md', () => {
  it('shows files the program takes without a word, beside the one with mistakes', async () => {
    const text = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
    const files = blocksOf(text).filter(({ language }) => language === 'json' || language === 'jsonc');
    const { home } = ownHome();
    const kinds: string[] = [];
    for (const file of files) {
      writeFileSync(join(home, 'mcpproxy.json'), file.text);
      const loaded = await loadConfig({
        flags: [{ name: 'config', text: 'mcpproxy.json' }],
        env: {},
        cwd: home,
        home,
        platform: 'linux',
        knownRegistries: async () => knownFacts(),
      });
      kinds.push(loaded.kind);
      // Only that no server is configured may be said of an example without servers.
      if (loaded.kind === 'settled')
        expect(loaded.warnings.filter(({ origin }) => origin.kind !== 'default')).toEqual([]);
    }
    expect(kinds).toEqual(['settled', 'settled', 'invalid']);
  });
});

describe('the checks of documents', () => {
  it('write what a command prints now, with as much left out as there was', () => {
    const text = '```console\n$ mcpproxy a --b\n1\n2\n…\n3\n```\n```sh\nmcpproxy c\n```\n```\n$ ls\n4\n```\n';
    expect(quotedRuns(text)).toEqual([{ command: 'a --b', shown: '1\n2\n…\n3\n' }]);
    expect(withFreshRuns(text, () => '5\n6\n7\n8\n9\n')).toBe(text.replace('1\n2\n…\n3', '5\n6\n…\n9'));
    expect(withFreshRuns(text, () => undefined)).toBe(text);
  });
  it('find links that lead nowhere', () => {
    const text = '# One two\n[a](b.md) [c](#one-two) [d](#three) `[e](f.md)` [g](https://h.example/i)';
    expect(wrongLinks([{ path: 'docs/x.md', text }], (path) => path === 'docs/x.md')).toEqual([
      'docs/x.md: there is no docs/b.md',
      'docs/x.md: docs/x.md has no heading #three',
    ]);
  });

  it('find command lines in blocks and sentences, and mistakes in them', async () => {
    const text =
      'Run `mcpproxy serve` or\n```sh\n# a word before\nA=1 mcpproxy --stdoi # why\nclaude mcp add x -- npx -y mcp-toolsearch-proxy --stdio\n```\n```console\n$ mcpproxy list-tools | head\nmcpproxy is output here\n```\n';
    expect(commandsIn(text)).toEqual(['--stdoi # why', '--stdio', 'list-tools | head', 'serve --help']);
    expect(await mistakesIn('--stdoi # why')).toEqual(['there is no flag "--stdoi". Did you mean --stdio?']);
    expect(await mistakesIn('list-tools | head')).toEqual([]);
    expect(wordsOf(`call-tool a '{"b": 1}' [--yes]`)).toEqual(['call-tool', 'a', '{"b": 1}', '--yes']);
  });
});

/** A server of a client's configuration, wherever in it. */
interface Entry {
  readonly command: string;
  readonly args: readonly string[];
}

function entriesIn(value: unknown): Entry[] {
  if (typeof value !== 'object' || value === null) return [];
  const { command, cmd, args } = value as { command?: unknown; cmd?: unknown; args?: unknown };
  const program = command ?? cmd;
  if (typeof program === 'string' && Array.isArray(args))
    return [{ command: program, args: args as string[] }];
  return Object.values(value).flatMap(entriesIn);
}

/** The stdio servers of `docs/clients.md`: of JSON blocks whole, of the others the lines that say what is started. */
function clientEntries(): Entry[] {
  const text = readFileSync(join(root, 'docs/clients.md'), 'utf8');
  return blocksOf(text).flatMap(({ language, text: inside }) => {
    if (language === 'json') return entriesIn(JSON.parse(inside));
    if (language === 'toml' || language === 'yaml') {
      const started = /^\s*(?:command|cmd)\s*[=:]\s*"?([^"\n]+?)"?\s*$/m.exec(inside)?.[1];
      const args = /^\s*args\s*[=:]\s*(\[.*\])\s*$/m.exec(inside)?.[1];
      if (started === undefined || args === undefined) return [];
      return [{ command: started, args: JSON.parse(args) as string[] }];
    }
    if (language !== 'sh') return [];
    // `claude mcp add NAME -- PROGRAM ARGS…`
    return inside.split('\n').flatMap((line) => {
      const [, tail] = / -- (.+)$/.exec(line) ?? [];
      const [started, ...args] = wordsOf(tail ?? '');
      return started === undefined ? [] : [{ command: started, args }];
    });
  });
}

describe('docs/clients.md', () => {
  it('shows a configuration the proxy takes without a word', async () => {
    const { home } = ownHome();
    const [first] = blocksOf(readFileSync(join(root, 'docs/clients.md'), 'utf8'));
    writeFileSync(join(home, 'mcpproxy.json'), first?.text ?? '');
    const loaded = await loadConfig({
      flags: [{ name: 'config', text: 'mcpproxy.json' }],
      env: {},
      cwd: home,
      home,
      platform: 'linux',
    });
    expect(loaded).toMatchObject({ kind: 'settled', warnings: [] });
  });

  it('counts the sample catalog right', () => {
    const text = readFileSync(join(root, 'docs/clients.md'), 'utf8');
    expect(text).toContain(`a catalog of ${SAMPLE_TOOLS} invented tools`);
  });

  it('has snippets whose commands start a server that answers initialize', async () => {
    // Builds the program where that is needed.
    await programTarget({});
    const entries = clientEntries().filter(({ args }) => args.includes('mcp-toolsearch-proxy'));
    expect(entries.length).toBeGreaterThanOrEqual(9);
    for (const { command, args } of entries) {
      // The published package is not what is tested here: `npx -y mcp-toolsearch-proxy` becomes this build.
      expect([command, ...args.slice(0, 2)]).toEqual(['npx', '-y', 'mcp-toolsearch-proxy']);
      const { home, env } = ownHome();
      const child = spawn(process.execPath, [program, ...args.slice(2)], {
        cwd: home,
        env,
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      whenDone(() => void child.kill('SIGKILL'));
      expect(await rawStdio(child.stdin, child.stdout, 'legacy').initialize()).toContain('"instructions"');
      child.stdin.end();
    }
  });
});
