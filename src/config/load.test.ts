import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import { defaultConfigPath } from './default-path.ts';
import { loadConfig } from './load.ts';
import type { FlagValue, Loaded } from './load.ts';
import { formatProblem } from './problem.ts';
import type { SettingName } from './settings.ts';

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'config-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Given {
  readonly flags?: readonly FlagValue[];
  readonly env?: Readonly<Record<string, string>>;
  /** The default file's content: text, or a value to be written as JSON. */
  readonly file?: unknown;
}

async function load({ flags = [], env = {}, file }: Given): Promise<Loaded> {
  const path = defaultConfigPath({ env, home, platform: 'linux' });
  rmSync(path, { force: true });
  if (file !== undefined) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof file === 'string' ? file : JSON.stringify(file));
  }
  return loadConfig({ flags, env, cwd: home, home, platform: 'linux' });
}

async function settled(given: Given): Promise<Extract<Loaded, { kind: 'settled' }>> {
  const loaded = await load(given);
  if (loaded.kind === 'invalid') throw new Error(loaded.problems.map(formatProblem).join('\n'));
  return loaded;
}

async function warningsOf(given: Given): Promise<string[]> {
  const { warnings, path } = await settled(given);
  return warnings.map((warning) => formatProblem(warning).replaceAll(path, 'FILE'));
}

async function transportsOf(file: unknown): Promise<unknown[]> {
  const { config, warnings } = await settled({ file });
  expect(warnings).toEqual([]);
  return config.upstreams.map(({ name, transport }) => ({ name, ...transport }));
}

describe('the default configuration', () => {
  it('is what the reference says', async () => {
    const { config, settings } = await settled({});
    expect(config).toEqual({
      upstreams: [],
      listen: { host: '127.0.0.1', port: 8080 },
      stdio: false,
      allowedHosts: [],
      allowedOrigins: [],
      writeTools: [],
      maxBatchCalls: 10,
      maxInstructions: 10_000,
      searchSchemas: 3,
      embedder: { kind: 'packed' },
      requireModel: false,
      discovery: true,
      agentAdds: 'allow',
      registrySearch: true,
      checkServerRepo: true,
      registries: [],
      limits: DEFAULT_LIMITS,
    });
    expect(settings.allowUnauthenticated).toBe(false);
    expect(settings.insecureUpstream).toBe(false);
  });

  it('says where upstreams are written, since there is none', async () => {
    expect(await warningsOf({})).toEqual([
      'no upstream is configured: write mcpServers into FILE, or give --upstream URL.',
    ]);
  });

  it('lies where each platform keeps such files', () => {
    const at = (platform: NodeJS.Platform, env: Record<string, string>, folder: string): string =>
      defaultConfigPath({ platform, env, home: folder });
    expect(at('linux', {}, '/home/ann')).toBe('/home/ann/.config/mcpproxy/config.json');
    expect(at('darwin', {}, '/Users/ann')).toBe('/Users/ann/.config/mcpproxy/config.json');
    expect(at('linux', { XDG_CONFIG_HOME: '/etc/xdg' }, '/home/ann')).toBe('/etc/xdg/mcpproxy/config.json');
    expect(at('linux', { XDG_CONFIG_HOME: 'relative' }, '/home/ann')).toBe(
      '/home/ann/.config/mcpproxy/config.json',
    );
    expect(at('win32', { APPDATA: 'C:\\Users\\ann\\AppData\\Roaming' }, 'C:\\Users\\ann')).toBe(
      'C:\\Users\\ann\\AppData\\Roaming\\mcpproxy\\config.json',
    );
    expect(at('win32', {}, 'C:\\Users\\ann')).toBe('C:\\Users\\ann\\AppData\\Roaming\\mcpproxy\\config.json');
  });
});

describe('places', () => {
  const file = { maxBatchCalls: 1, maxInstructions: 1, searchSchemas: 1 };
  const env = { MCPPROXY_MAX_INSTRUCTIONS: '2', MCPPROXY_SEARCH_SCHEMAS: '2' };
  const flags: FlagValue[] = [{ name: 'searchSchemas', text: '3' }];

  it('beat each other in order: default, file, variable, flag', async () => {
    const { config } = await settled({ file, env, flags });
    expect(config).toMatchObject({
      maxBatchCalls: 1,
      maxInstructions: 2,
      searchSchemas: 3,
      limits: DEFAULT_LIMITS,
    });
  });

  it('lets the last of a flag given twice count', async () => {
    const { config } = await settled({ flags: [...flags, { name: 'searchSchemas', text: '7' }] });
    expect(config.searchSchemas).toBe(7);
  });

  it('takes an empty variable for none, and an empty list flag for an empty list', async () => {
    const { config } = await settled({
      file: { writeTools: ['a'], searchSchemas: 5 },
      env: { MCPPROXY_SEARCH_SCHEMAS: '' },
      flags: [{ name: 'writeTools', text: '' }],
    });
    expect(config).toMatchObject({ searchSchemas: 5, writeTools: [] });
  });

  it('reads lists with commas, switches in their usual words, and limits', async () => {
    const { config, settings } = await settled({
      env: {
        MCPPROXY_WRITE_TOOLS: 'a*, b ,',
        MCPPROXY_STDIO: 'on',
        MCPPROXY_DRAIN_MS: '0',
        MCPPROXY_ALLOW_UNAUTHENTICATED: '1',
      },
    });
    expect(config).toMatchObject({ writeTools: ['a*', 'b'], stdio: true, limits: { drainMs: 0 } });
    expect(settings.allowUnauthenticated).toBe(true);
  });

  it('reads snake_case keys, comments, trailing commas and a byte order mark', async () => {
    const { config } = await settled({
      file: '\uFEFF// mine\n{ "max_batch_calls": 0, /* why */ "listen": ":9000", }',
    });
    expect(config).toMatchObject({ maxBatchCalls: 0, listen: { host: '127.0.0.1', port: 9000 } });
  });

  it('reads the configuration as the brief prints it', async () => {
    const file =
      '{\n  "check_server_repo": false,  // Enable repository detection (default: true)\n  "listen": ":8080",\n}';
    const { config } = await settled({ file });
    expect(config).toMatchObject({ checkServerRepo: false, listen: { port: 8080 } });
    expect((await settled({})).config).toMatchObject({ checkServerRepo: true, registries: [] });
  });

  it('hints at misspelt variables, which may also belong to somebody else', async () => {
    expect((await warningsOf({ env: { MCPPROXY_LISTN: ':1' } }))[0]).toBe(
      'MCPPROXY_LISTN: is no setting and is ignored. Did you mean MCPPROXY_LISTEN?',
    );
  });

  it('takes relative paths from where they were written', async () => {
    const inFile = await settled({ file: { modelDir: 'model' } });
    expect(inFile.settings.modelDir).toBe(join(home, '.config', 'mcpproxy', 'model'));
    const asFlag = await settled({ flags: [{ name: 'modelDir', text: './model' }] });
    expect(asFlag.settings.modelDir).toBe(join(home, 'model'));
    const fromHome = await settled({ file: { modelDir: '~/model' } });
    expect(fromHome.settings.modelDir).toBe(join(home, 'model'));
  });

  it('settles which embedding model is meant', async () => {
    const folder = join(home, 'model');
    const of = async (flags: Partial<Record<SettingName, string>>): Promise<unknown> => {
      const list = Object.entries(flags).map(([name, text]) => ({ name: name as SettingName, text }));
      const { config, warnings } = await settled({ flags: list });
      // The last warning is that there is no upstream.
      return [config.embedder, config.requireModel, ...warnings.slice(0, -1).map(formatProblem)];
    };
    expect(await of({})).toEqual([{ kind: 'packed' }, false]);
    expect(await of({ embedder: 'packed', requireModel: 'true' })).toEqual([{ kind: 'packed' }, true]);
    expect(await of({ embedder: 'packed-small' })).toEqual([{ kind: 'packed-small' }, false]);
    expect(await of({ modelDir: './model', embedder: 'packed-small' })).toEqual([
      { kind: 'packed-small' },
      false,
      '--model-dir: is not used: --embedder packed-small is the model of the program.',
    ]);
    expect(await of({ embedder: 'none', modelDir: './model' })).toEqual([{ kind: 'none' }, false]);
    expect(await of({ modelDir: './model' })).toEqual([{ kind: 'folder', folder, name: undefined }, false]);
    expect(await of({ modelDir: './model', embedder: 'potion-base-8M' })).toEqual([
      { kind: 'folder', folder, name: 'potion-base-8M' },
      false,
    ]);
    expect(await of({ modelDir: './model', embedder: 'packed' })).toEqual([
      { kind: 'packed' },
      false,
      '--model-dir: is not used: --embedder packed is the model of the program.',
    ]);
  });

  it('refuses a model that cannot be found by its name', async () => {
    const of = async (flags: FlagValue[]): Promise<string[]> => {
      const loaded = await load({ flags });
      return loaded.kind === 'invalid' ? loaded.problems.map(formatProblem) : [];
    };
    expect(await of([{ name: 'embedder', text: 'potion-base-8M' }])).toEqual([
      '--embedder: "potion-base-8M" is looked for in a model folder: give --model-dir DIR too, or packed, packed-small or none.',
    ]);
    for (const text of ['../secret', 'a/b', '.hidden', '']) {
      const [problem = ''] = await of([
        { name: 'embedder', text },
        { name: 'modelDir', text: './model' },
      ]);
      expect(problem).toMatch(text === '' ? /^--embedder: is empty/ : /^--embedder: .* is no model's name/);
    }
    expect(
      await of([
        { name: 'embedder', text: 'none' },
        { name: 'requireModel', text: 'true' },
      ]),
    ).toEqual(['--require-model: contradicts --embedder none; give one.']);
  });

  it('reads listen addresses', async () => {
    const of = async (text: string): Promise<unknown> =>
      (await settled({ flags: [{ name: 'listen', text }] })).config.listen;
    expect(await of(':8080')).toEqual({ host: '127.0.0.1', port: 8080 });
    expect(await of('9000')).toEqual({ host: '127.0.0.1', port: 9000 });
    expect(await of('0.0.0.0:0')).toEqual({ host: '0.0.0.0', port: 0 });
    expect(await of('[::1]:8080')).toEqual({ host: '::1', port: 8080 });
    expect(await of('localhost:80')).toEqual({ host: 'localhost', port: 80 });
  });
});

describe('--upstream URL', () => {
  it('gives one forwarded upstream, named after its host', async () => {
    const { config } = await settled({
      flags: [{ name: 'upstream', text: 'https://gateway.example.com/mcp/all' }],
    });
    expect(config.upstreams).toEqual([
      {
        name: 'gateway.example.com',
        origin: 'config',
        trusted: true,
        enabled: true,
        auth: 'forward',
        transport: { kind: 'http', url: 'https://gateway.example.com/mcp/all', headers: {} },
      },
    ]);
  });

  it('stands beside the servers of a file, under a name of its own', async () => {
    const { config } = await settled({
      file: { mcpServers: { 'A.Example': { command: 'x' } } },
      flags: [{ name: 'upstream', text: 'https://a.example/mcp' }],
    });
    expect(config.upstreams.map(({ name, auth }) => [name, auth])).toEqual([
      ['A.Example', 'own'],
      ['a.example-2', 'forward'],
    ]);
  });

  it('may be plain http on this machine, or anywhere with --insecure-upstream', async () => {
    for (const url of [
      'http://localhost:1/mcp',
      'http://127.0.0.9/mcp',
      'http://[::1]:1/mcp',
      'http://a.localhost/mcp',
    ]) {
      expect((await load({ flags: [{ name: 'upstream', text: url }] })).kind).toBe('settled');
    }
    const remote: FlagValue = { name: 'upstream', text: 'http://gateway:8080/mcp' };
    expect((await load({ flags: [remote] })).kind).toBe('invalid');
    expect((await load({ flags: [remote, { name: 'insecureUpstream', text: 'true' }] })).kind).toBe(
      'settled',
    );
  });
});

describe('mcpServers as clients write them', () => {
  it('Claude Desktop, Claude Code, Cursor: an object of commands and urls', async () => {
    const file = {
      mcpServers: {
        filesystem: {
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-filesystem', '/tmp'],
          env: { A: 'b' },
        },
        remote: {
          type: 'http',
          url: 'https://api.example.com/mcp',
          headers: { Authorization: 'Bearer ${env:TOKEN}' },
        },
      },
    };
    expect(await transportsOf(file)).toEqual([
      {
        name: 'filesystem',
        kind: 'stdio',
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '/tmp'],
        env: { A: 'b' },
      },
      {
        name: 'remote',
        kind: 'http',
        url: 'https://api.example.com/mcp',
        headers: { Authorization: 'Bearer ${env:TOKEN}' },
      },
    ]);
  });

  it('VS Code: servers, with inputs beside them', async () => {
    const file = {
      inputs: [{ id: 'key', type: 'promptString' }],
      servers: { play: { type: 'stdio', command: 'npx', args: ['-y', 'p'], gallery: true, version: '1' } },
    };
    expect(await transportsOf(file)).toEqual([
      { name: 'play', kind: 'stdio', command: 'npx', args: ['-y', 'p'], env: {} },
    ]);
  });

  it('Gemini CLI and Windsurf: httpUrl and serverUrl', async () => {
    const file = {
      mcpServers: {
        gemini: { httpUrl: 'https://a.example/mcp', timeout: 5000, trust: true },
        windsurf: { serverUrl: 'https://b.example/mcp' },
      },
    };
    expect(await transportsOf(file)).toEqual([
      { name: 'gemini', kind: 'http', url: 'https://a.example/mcp', headers: {} },
      { name: 'windsurf', kind: 'http', url: 'https://b.example/mcp', headers: {} },
    ]);
  });

  it('Cline, Roo Code: approvals and timeouts are theirs', async () => {
    const file = {
      mcpServers: { a: { command: 'x', alwaysAllow: ['t'], autoApprove: [], timeout: 60, disabled: false } },
    };
    expect(await transportsOf(file)).toEqual([{ name: 'a', kind: 'stdio', command: 'x', args: [], env: {} }]);
  });

  it('every spelling of the type', async () => {
    const types = ['http', 'streamable-http', 'streamableHttp', 'streamable_http'];
    const mcpServers = types.map((type) => ({ name: type, type, url: 'https://a.example/mcp' }));
    expect(await transportsOf({ mcpServers })).toHaveLength(types.length);
  });

  it('a list of named servers', async () => {
    const file = {
      mcpServers: [
        {
          name: 'tide',
          protocol: 'stdio',
          command: 'npx',
          args: ['-y', 'tide'],
          working_dir: '/tmp',
          enabled: true,
        },
        {
          name: 'my moon',
          protocol: 'streamable-http',
          url: 'https://moon.example/mcp',
          created: '2026-01-01',
        },
      ],
    };
    expect(await transportsOf(file)).toEqual([
      { name: 'tide', kind: 'stdio', command: 'npx', args: ['-y', 'tide'], env: {}, cwd: '/tmp' },
      { name: 'my moon', kind: 'http', url: 'https://moon.example/mcp', headers: {} },
    ]);
  });

  it('numbers and booleans in env and args, exactly as the file spells them', async () => {
    const file =
      '{"mcpServers":{"a":{"command":"x","args":[8080,true],"env":{"V":1.10,"ID":12345678901234567890,"B":false}}}}';
    expect(await transportsOf(file)).toEqual([
      {
        name: 'a',
        kind: 'stdio',
        command: 'x',
        args: ['8080', 'true'],
        env: { V: '1.10', ID: '12345678901234567890', B: 'false' },
      },
    ]);
  });

  it('says on and off in both ways, and keeps a switched off server', async () => {
    const mcpServers = {
      a: { command: 'x', disabled: true },
      b: { command: 'x', enabled: false },
      c: { command: 'x', enabled: true, disabled: false },
    };
    const { config } = await settled({ file: { mcpServers } });
    expect(config.upstreams.map(({ name, enabled }) => [name, enabled])).toEqual([
      ['a', false],
      ['b', false],
      ['c', true],
    ]);
  });

  it('keeps what a server is for, on one line', async () => {
    const { config } = await settled({
      file: { mcpServers: { a: { command: 'x', description: ' Tides\n and moons ' } } },
    });
    expect(config.upstreams[0]?.description).toBe('Tides and moons');
  });

  it('reads when a command runs, and servers of the older SSE transport', async () => {
    const mcpServers = {
      a: { command: 'x', start: 'lazy', idle_stop_ms: 60_000 },
      b: { type: 'sse', url: 'https://b.example/sse' },
      c: { command: 'x', idleStopMs: 0 },
    };
    const { config } = await settled({ file: { mcpServers } });
    expect(config.upstreams.map(({ transport }) => transport)).toEqual([
      { kind: 'stdio', command: 'x', args: [], env: {}, start: 'lazy', idleStopMs: 60_000 },
      { kind: 'http', url: 'https://b.example/sse', headers: {}, type: 'sse' },
      { kind: 'stdio', command: 'x', args: [], env: {}, idleStopMs: 0 },
    ]);
  });

  it('refuses lives a command cannot have, and says that a URL has none', async () => {
    const mcpServers = {
      a: { command: 'x', start: 'later' },
      b: { command: 'x', idleStopMs: -1 },
      c: { command: 'x', type: 'sse' },
    };
    const loaded = await load({ file: { mcpServers } });
    const problems = loaded.kind === 'invalid' ? loaded.problems : [];
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('mcpServers.a.start must be "eager"'),
      expect.stringContaining('mcpServers.b.idleStopMs must be a whole number'),
      expect.stringContaining('mcpServers.c is of an HTTP type but has a command'),
    ]);
    const url = { mcpServers: { d: { url: 'https://d.example/', start: 'lazy' } } };
    expect(await warningsOf({ file: url })).toEqual([
      expect.stringContaining('"start", which has no effect'),
    ]);
  });

  it('lets a switched off server be as wrong as it likes', async () => {
    const mcpServers = {
      old: { type: 'carrier pigeon', url: 'https://a.example/sse', disabled: true },
      b: { command: 'x' },
    };
    const { config, warnings } = await settled({ file: { mcpServers } });
    expect(config.upstreams.map(({ name }) => name)).toEqual(['b']);
    expect(warnings.map(({ message }) => message).join()).toContain('It is disabled, so it is left out.');
  });

  it('warns of keys it does not know, and of those that mean something elsewhere', async () => {
    const file = '{"mcpServers":{"a":{"command":"x","envs":{},"envFile":".env"}}}';
    expect(await warningsOf({ file })).toEqual([
      'FILE:1:35: mcpServers.a has the unknown key "envs", which is ignored. Did you mean env?',
      'FILE:1:45: mcpServers.a has "envFile", which has no effect here.',
    ]);
  });

  it('leaves references alone, and says which of them nobody will look up', async () => {
    const mcpServers = {
      a: { command: 'x', env: { A: '${env:A}', B: '${B}', C: '${env:C:-1}' } },
      b: { url: '${env:URL}', headers: { K: 'v' } },
      c: { url: 'http://localhost:${env:PORT}/mcp' },
    };
    const { config } = await settled({ file: { mcpServers } });
    expect(config.upstreams.map(({ transport }) => transport)).toMatchObject([
      { env: { A: '${env:A}', B: '${B}', C: '${env:C:-1}' } },
      { url: '${env:URL}' },
      { url: 'http://localhost:${env:PORT}/mcp' },
    ]);
    const warnings = await warningsOf({ file: { mcpServers } });
    expect(warnings.map((warning) => /mcpServers\S+/.exec(warning)?.[0])).toEqual([
      'mcpServers.a.env.B',
      'mcpServers.a.env.C',
    ]);
  });
});
