import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../src/cli/command-line.ts';
import { whenDone } from '../support/cleanup.ts';
import { ownHome, programTarget } from '../support/proxy.ts';
import { startStub, stubTool } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

/**
 * Every command line printed in the two documents the program was ordered with, as it is printed: a shell reads it and
 * finds the program under its two names. Only addresses are others', put in where the line names one.
 */
const root = join(import.meta.dirname, '../..');

interface Row {
  /** As printed. */
  readonly line: string;
  /** Stands in for a stub of ours. */
  readonly address?: string;
  /** How it ends: with an exit code, or not at all, since it serves. */
  readonly ends: number | 'serves';
  readonly says: RegExp;
  readonly config?: object;
}

const GATEWAY = 'https://gateway.example.com/mcp/all';
const WEATHER = 'https://weather.mcp.run/mcp/';

const RUN: readonly Row[] = [
  { line: 'mcp-toolsearch-proxy -h', ends: 0, says: /--upstream URL[\s\S]*--max-instructions N/ },
  {
    line: `mcp-toolsearch-proxy -upstream ${GATEWAY} -model-dir ./model`,
    address: GATEWAY,
    ends: 'serves',
    says: /listening on http:\/\/127\.0\.0\.1:\d+\/mcp/,
  },
  {
    line: `mcp-toolsearch-proxy -upstream ${GATEWAY} -embedder none`,
    address: GATEWAY,
    ends: 'serves',
    says: /listening on/,
  },
  {
    line: `mcp-toolsearch-proxy -upstream ${GATEWAY} -write-tools x -max-instructions 10000 -search-schemas 3`,
    address: GATEWAY,
    ends: 'serves',
    says: /listening on/,
  },
  {
    line: `mcpproxy upstream_servers add --name "WeatherInfo" --url "${WEATHER}"`,
    address: WEATHER,
    ends: 0,
    says: /WeatherInfo: added, 1 tool: forecast/,
  },
  {
    line: `mcpproxy upstream_servers add --url "${WEATHER}"`,
    address: WEATHER,
    ends: 0,
    says: /: added, 1 tool: forecast/,
  },
  { line: 'mcpproxy search-servers --list-registries', ends: 0, says: /pulse[\s\S]*smithery[\s\S]*mcprun/ },
  { line: 'mcpproxy search-servers', ends: 2, says: /--registry[\s\S]*--list-registries/ },
  // The configuration it prints, on a port of ours.
  {
    line: 'mcpproxy --config printed.json',
    config: { check_server_repo: true, listen: ':0' },
    ends: 'serves',
    says: /listening on http:\/\/127\.0\.0\.1:\d+\/mcp/,
  },
];

/** What needs a registry or a model host of our own is run in another file, under this name. */
const ELSEWHERE: readonly (readonly [line: string, file: string, name: string])[] = [
  ...[
    'mcpproxy search-servers --registry mcprun --search weather',
    'mcpproxy search-servers --registry pulse --tag finance --limit 5',
    'mcpproxy search-servers --registry smithery --search "database" --limit 20',
  ].map((line) => [line, 'search-servers.test.ts', line] as const),
  [
    'mcpproxy search-servers -r pulse -s weather -t finance',
    'search-servers.test.ts',
    'finds servers of a registry in its own network, with their packages, and ends as documented',
  ],
  [
    'mcp-toolsearch-proxy fetch-model -model-dir ./model',
    'models.test.ts',
    'gets a model, says where it is and how to use it',
  ],
];

const TASKS = ['ci', 'test:model', 'e2e:up', 'test:e2e', 'docs:config'];

describe('a command of the brief, as printed', () => {
  it.each(RUN)('$line', async ({ line, address, ends, says, config }) => {
    await programTarget({});
    const stub = await startStub({ tools: [stubTool('forecast')] });
    const ran = inShell(address === undefined ? line : line.replace(address, stub.url), config);
    if (ends === 'serves') {
      await until('it serves', () => says.test(ran.said()) || ran.code() !== undefined);
      expect(ran.said()).toMatch(says);
      expect(ran.code()).toBeUndefined();
    } else {
      await until('it has ended', () => ran.code() !== undefined);
      expect(ran.said()).toMatch(says);
      expect(ran.code()).toBe(ends);
    }
  });

  it.each(ELSEWHERE)('%s', async (line, file, name) => {
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)]
      .map(([, quoted, plain]) => quoted ?? plain ?? '')
      .slice(1);
    expect((await parseCommandLine(words)).mistakes).toEqual([]);
    expect(readFileSync(join(import.meta.dirname, file), 'utf8')).toContain(`it('${name}'`);
  });

  it.each(TASKS)('mise run %s', (task) => {
    const toml = readFileSync(join(root, 'mise.toml'), 'utf8');
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Readonly<Record<string, string>>;
    };
    expect(toml).toMatch(
      new RegExp(`^\\[tasks\\."?${task}"?\\]\\ndescription = .+\\nrun = "npm run ${task}"$`, 'm'),
    );
    // What the script names in this project is there.
    const files = scripts[task]?.match(/(?:src|test|scripts)\/[\w./-]+/g) ?? [];
    expect(scripts[task]).toBeDefined();
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('mise install: the toolchain and the git hooks', () => {
    expect(readFileSync(join(root, 'mise.toml'), 'utf8')).toMatch(
      /^postinstall = "node scripts\/git-hooks\.mjs"$/m,
    );
  });

  it('brew install --cask OWNER/tap/mcp-toolsearch-proxy', () => {
    expect(readFileSync(join(root, 'packaging/homebrew/cask.rb'), 'utf8')).toMatch(
      /^cask "mcp-toolsearch-proxy" do$/m,
    );
  });
});

/** A person's shell with nothing of ours but the program under its two names. */
function inShell(
  line: string,
  config: object | undefined,
): { readonly said: () => string; readonly code: () => number | string | undefined } {
  const { home, env } = ownHome();
  const bin = join(home, 'bin');
  mkdirSync(bin);
  for (const name of ['mcpproxy', 'mcp-toolsearch-proxy']) {
    const path = join(bin, name);
    writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/bin.js')}' "$@"\n`);
    chmodSync(path, 0o755);
  }
  if (config !== undefined) writeFileSync(join(home, 'printed.json'), JSON.stringify(config));
  const child = spawn('sh', ['-c', `exec ${line}`], {
    cwd: home,
    env: {
      ...env,
      PATH: `${bin}:${env['PATH']}`,
      // Another run may have the usual port.
      ...(config === undefined && { MCPPROXY_LISTEN: '127.0.0.1:0' }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  let ended: number | string | undefined;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const closed = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      ended = code ?? signal ?? 'unknown';
      resolve();
    });
  });
  whenDone(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  return { said: () => said, code: () => ended };
}
