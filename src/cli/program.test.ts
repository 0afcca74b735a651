import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startHttpProgram, startProgram, startStdioProgram } from '../../test/support/proxy.ts';
import { isAlive, scriptStdio } from '../../test/support/stdio-upstream.ts';
import { until } from '../../test/support/wait.ts';

const TOOLS = [
  {
    definition: {
      name: 'read_note',
      description: 'Reads a note of the harbour master.',
      inputSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
      annotations: { readOnlyHint: true },
    },
    does: { kind: 'echo' },
  },
  {
    definition: { name: 'save_note', description: 'Saves a note.', inputSchema: { type: 'object' } },
    does: { kind: 'raw', raw: '{"content":[{"type":"text","text":"saved"}]}' },
  },
  {
    definition: {
      name: 'show_picture',
      description: 'Shows a picture.',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    },
    does: {
      kind: 'raw',
      raw: '{"content":[{"type":"text","text":"a \\u001b[31mred\\u001b[0m one"},{"type":"image","mimeType":"image/png","data":"AAAA"}]}',
    },
  },
] as const;

function harbour(): { readonly config: object; readonly child: ReturnType<typeof scriptStdio> } {
  const child = scriptStdio({ tools: TOOLS });
  // By words alone: what is printed is then the same to the word.
  const mcpServers = { harbour: { command: child.command, args: child.args } };
  return { config: { embedder: 'none', mcpServers }, child };
}

interface Ran {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(
  args: readonly string[],
  options: Parameters<typeof startProgram>[1] & { readonly stdin?: string } = {},
): Promise<Ran> {
  const running = await startProgram(args, options);
  running.child.stdin?.end(options.stdin ?? '');
  const code = await running.exited;
  // 'exit' comes before the last of the output.
  await until(
    'the output has ended',
    () => running.child.stdout?.readableEnded === true && running.child.stderr?.readableEnded === true,
  );
  return { code, stdout: running.stdout(), stderr: withoutWaiting(running.stderr()) };
}

/** What a slow machine makes the program say is left out. */
function withoutWaiting(stderr: string): string {
  return stderr.replaceAll(/^(?:waiting for|reading what) .*…\n/gm, '');
}

describe('exit codes', () => {
  it('0 for the version and the help, which go to stdout', async () => {
    expect(await run(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^mcp-toolsearch-proxy \d/),
      stderr: '',
    });
    expect(await run(['-h'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('--max-batch-calls'),
      stderr: '',
    });
    expect(await run(['call-tool', '-h'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('--yes'),
    });
  });

  it('2 for a command line that was not understood', async () => {
    expect(await run(['serach-tools', 'x'])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'mcpproxy: there is no command "serach-tools". Did you mean search-tools?\nmcpproxy -h lists every command and flag.\n',
    });
  });

  it('78 for settings that cannot be used, all said at once', async () => {
    const { code, stdout, stderr } = await run(['--listen', 'x', '--stdio'], {
      env: { MCPPROXY_SEARCH_SCHEMAS: '99' },
      config: { stido: true },
    });
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr.split('\n').map((line) => line.split(': ')[1]?.split('/').at(-1))).toEqual(
      expect.arrayContaining(['--listen', 'MCPPROXY_SEARCH_SCHEMAS', 'proxy.json:2:3']),
    );
  });

  it("78 for an address that would let strangers use the operator's credentials, unless that is wanted", async () => {
    const { config } = harbour();
    const refused = await run(['--listen', '0.0.0.0:0'], { config });
    expect(refused).toMatchObject({ code: 78, stdout: '' });
    expect(refused.stderr).toContain('would let anybody who can reach it call harbour as you');
    expect(refused.stderr).toContain('--allow-unauthenticated');
    const wanted = await startProgram(['--listen', '0.0.0.0:0', '--allow-unauthenticated'], { config });
    await until('it listens', () => wanted.stderr().includes('listening on'));
  });

  it('1 when what was asked for failed', async () => {
    const config = { mcpServers: { gone: { command: process.execPath, args: ['-e', 'process.exit(3)'] } } };
    const { code, stderr } = await run(['list-tools'], { config });
    expect(stderr).toContain('the tools of gone are missing');
    expect(code).toBe(1);
  });
});

describe('commands', () => {
  it('list-tools says how many tools have their vectors, where a model is used', async () => {
    const { config } = harbour();
    const cache = { XDG_CACHE_HOME: mkdtempSync(join(tmpdir(), 'vectors-')) };
    const list = (...more: string[]) =>
      run(['list-tools', '--embedder', 'packed', ...more], { config, env: cache });
    expect((await list()).stderr).toContain('vectors: 0 of 3 tools have theirs');
    await run(['search-tools', 'note', '--embedder', 'packed'], { config, env: cache });
    const listed = await list('-o', 'json');
    expect(JSON.parse(listed.stdout)).toMatchObject({ vectors: { all: 3, embedded: 3, whole: 3 } });
    expect(listed.stderr).not.toContain('vectors:');
    expect((await run(['list-tools'], { config, env: cache })).stderr).not.toContain('vectors:');
    rmSync(cache.XDG_CACHE_HOME, { recursive: true });
  });

  it('list, search and describe as JSON on stdout, and nothing else there', async () => {
    const { config } = harbour();
    const listed = await run(['list-tools', '-o', 'json'], { config });
    expect(listed.code).toBe(0);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      tools: [
        { name: 'read_note', upstream: 'harbour', readOnly: true },
        { name: 'save_note', readOnly: false },
        { name: 'show_picture', readOnly: true },
      ],
    });
    const found = await run(['search-tools', 'read', 'a', 'note', '--limit', '1', '--json'], {
      config,
    });
    expect(JSON.parse(found.stdout)).toMatchObject({
      tools: [{ name: 'read_note', inputSchema: { required: ['id'] } }],
      total: 3,
    });
    const twice = await run(['search-tools', 'read a note', 'save', '-o=json', '-q', '--no-schemas'], {
      config,
    });
    expect(JSON.parse(twice.stdout)).toMatchObject({
      results: [{ query: 'read a note' }, { query: 'save' }],
    });
    expect(twice.stdout).not.toContain('inputSchema');
    expect(twice.stderr).toBe('');
    const described = await run(['describe-tool', 'save_note', 'saev_note', '-o', 'json'], { config });
    expect(described.code).toBe(1);
    expect(JSON.parse(described.stdout)).toMatchObject({
      tools: [{ name: 'save_note' }],
      unknown: ['saev_note'],
    });
    expect(described.stderr).toContain('there is no tool saev_note. Did you mean save_note');
  });

  it('show tables to people, without what a terminal would obey', async () => {
    const { config } = harbour();
    const { stdout, stderr } = await run(['search-tools', 'read a note'], { config });
    expect(stdout).toMatch(
      /^TOOL +ACCESS +WHAT IT DOES\nread_note \(id\) +read +Reads a note of the harbour master\.\n/,
    );
    expect(stderr).toContain('searched 3 tools');
    expect(stdout).not.toMatch(/(?!\n)\p{Cc}/u);
  });

  it('call a tool that reads, with arguments as an operand or piped in, integers unrounded', async () => {
    const { config, child } = harbour();
    const json = '{\n  "id": 12345678901234567890\n}\n';
    expect(await run(['call-tool', 'read_note', json, '-o', 'json'], { config })).toMatchObject({ code: 0 });
    expect(await run(['call-tool', 'read_note'], { config, stdin: json })).toMatchObject({ code: 0 });
    expect(await run(['call-tool', 'read_note', '-'], { config, stdin: json })).toMatchObject({ code: 0 });
    expect(child.callsOf('read_note')).toHaveLength(3);
    for (const line of child.callsOf('read_note')) expect(line).toMatch(/"id": ?12345678901234567890/);
  });

  it('call a tool that writes only with a yes, and ask nobody off a terminal', async () => {
    const { config, child } = harbour();
    const refused = await run(['call-tool', 'save_note', '{}'], { config });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(
      '"save_note" of "harbour" may change something, and there is nobody to ask; add --yes',
    );
    expect(child.callsOf('save_note')).toEqual([]);
    expect(await run(['call-tool', 'save_note', '{}', '--yes'], { config })).toMatchObject({
      code: 0,
      stdout: 'saved\n',
    });
    expect(child.callsOf('save_note')).toHaveLength(1);
  });

  it('do not take a tool that asks for input for one that answered', async () => {
    const child = scriptStdio({
      tools: [
        {
          definition: {
            name: 'ask_first',
            inputSchema: { type: 'object' },
            annotations: { readOnlyHint: true },
          },
          does: { kind: 'raw', raw: '{"resultType":"input_required","requestState":"s"}' },
        },
      ],
    });
    const config = { mcpServers: { harbour: { command: child.command, args: child.args } } };
    const asked = await run(['call-tool', 'ask_first'], { config });
    expect(asked).toMatchObject({ code: 1, stdout: '' });
    expect(asked.stderr).toContain('asks for more input before it answers');
  });

  it('say what does not fit, before a server hears of it', async () => {
    const { config, child } = harbour();
    const notJson = await run(['call-tool', 'read_note', '{id: 5}'], { config });
    expect(notJson).toMatchObject({ code: 2, stdout: '' });
    expect(notJson.stderr).toMatch(/the arguments are not valid JSON at position 1/);
    expect(await run(['call-tool', 'read_note', '[5]'], { config })).toMatchObject({ code: 2 });
    const unfit = await run(['call-tool', 'read_note', '{"id":"five"}'], { config });
    expect(unfit).toMatchObject({ code: 1, stdout: '' });
    expect(unfit.stderr).toContain('/id');
    const unknown = await run(['call-tool', 'raed_note', '{"id":5}'], { config });
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toContain('read_note');
    expect(child.callsOf('read_note')).toEqual([]);
  });

  it('name content that is not text, and give it whole as JSON', async () => {
    const { config } = harbour();
    const shown = await run(['call-tool', 'show_picture'], { config });
    expect(shown.stdout).toContain('[image image/png, 3 bytes; -o json prints it]');
    const whole = await run(['call-tool', 'show_picture', '-o', 'json'], { config });
    expect(JSON.parse(whole.stdout)).toMatchObject({
      content: [{ type: 'text' }, { type: 'image', data: 'AAAA' }],
    });
  });

  it('take a reader that leaves early for no failure', async () => {
    const { config } = harbour();
    const running = await startProgram(['list-tools'], { config });
    running.child.stdout?.destroy();
    expect(await running.exited).toBe(0);
    expect(withoutWaiting(running.stderr())).toBe('3 tools\n');
  });

  it('leave no process of an upstream behind', async () => {
    const { config, child } = harbour();
    await run(['list-tools', '-q'], { config });
    expect(child.pids().length).toBeGreaterThan(0);
    await child.allGone();
  });
});

describe('serving', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('ends on %s with 0, children first', async (signal) => {
    const { config, child } = harbour();
    const running = await startHttpProgram(['--log-format', 'lines'], { config });
    await until('the upstream runs', () => child.pids().length > 0);
    expect(running.stderr()).toMatch(/^\d\d:\d\d:\d\d .*listening on http:\/\/127\.0\.0\.1:\d+\/mcp$/m);
    running.child.kill(signal);
    expect(await running.exited).toBe(0);
    await child.allGone();
    expect(running.stdout()).toBe('');
  });

  it('ends when its client goes, with nothing but the protocol on stdout', async () => {
    const { config, child } = harbour();
    const running = await startStdioProgram(
      'legacy',
      { ...config, colour: undefined },
      { args: ['--embedder', 'packed', '--model-dir', 'model'] },
    );
    await running.client.request('tools/list', {});
    running.child.stdin?.end();
    expect(await running.exited).toBe(0);
    for (const line of running.stdout().split('\n').slice(0, -1))
      expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    expect(running.stderr()).toContain('--model-dir: is not used');
    await child.allGone();
  });
});

describe('the demo', () => {
  it('tells a whole story in 65 lines and leaves nothing behind', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'demo-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const running = await startProgram(['demo'], { env: { TMPDIR: folder } });
    running.child.stdin?.end();
    const seen = new Set<number>();
    const watch = setInterval(() => processesIn(folder).forEach((pid) => seen.add(pid)), 50);
    const code = await running.exited;
    clearInterval(watch);
    expect({ code, stderr: withoutWaiting(running.stderr()) }).toEqual({ code: 0, stderr: '' });
    const lines = running.stdout().trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(65);
    const text = lines.join('\n');
    expect(text).toContain('sees 7 tools instead of 36');
    expect(text).toContain('← Harbour meeting, Tuesday');
    expect(text).toContain('← - /path is required');
    expect(text).toContain("← Not called: 'memory__create_entities' may change something");
    expect(text).toMatch(/saved +[\d,]+\n/);
    if (existsSync('/proc/self/cwd')) expect(seen.size).toBeGreaterThanOrEqual(3);
    await until('its servers are gone', () => [...seen].every((pid) => !isAlive(pid)));
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('the sample catalog', () => {
  it('is served without any configuration, and answers calls', async () => {
    const running = await startStdioProgram('legacy', {}, { args: ['--builtin'] });
    await running.client.initialize();
    await until('the catalog is there', async () =>
      (await running.client.call('search_tools', '{"query":"next boat"}')).includes('"total":312'),
    );
    const call = '{"name":"ferry__next_departure","arguments":{"from":"town pier"}}';
    expect(await running.client.call('call_read_tool', call)).toContain('departs_time');
    running.child.stdin?.end();
    expect(await running.exited).toBe(0);
    expect(running.stderr()).not.toContain('no upstream is configured');
  });

  it("takes the place of the file's servers, not of its settings", async () => {
    const { config, child } = harbour();
    const { stdout, code } = await run(['--builtin', 'search-tools', 'next boat', '--json'], {
      config: { ...config, searchSchemas: 1 },
    });
    expect(code).toBe(0);
    const { tools, total } = JSON.parse(stdout) as { tools: { inputSchema?: object }[]; total: number };
    expect(total).toBe(312);
    expect(tools.filter(({ inputSchema }) => inputSchema !== undefined)).toHaveLength(1);
    expect(child.pids()).toEqual([]);
  });

  it('has a demo of its own, which shows what is saved', async () => {
    const { stdout, code } = await run(['demo', '--builtin', '-o', 'json']);
    expect(code).toBe(0);
    const { tools, metaTools, estimatedTokens } = JSON.parse(stdout) as {
      tools: number;
      metaTools: number;
      estimatedTokens: { allTools: number; ourTools: number; searches: number };
    };
    expect({ tools, metaTools }).toEqual({ tools: 312, metaTools: 7 });
    const { allTools, ourTools, searches } = estimatedTokens;
    expect(ourTools + searches).toBeLessThan(allTools / 10);
  });
});

describe('explain', () => {
  it('says which words were looked up, and what each tool owes to them', async () => {
    const { config } = harbour();
    const { stdout, stderr, code } = await run(['explain', 'read', 'the', 'note', 'of', 'xyzzy'], { config });
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'searched 3 tools\n' });
    expect(stdout).toMatch(/^looked up: read \(1 tool\), note \(2 tools\), xyzzy \(in no tool\)$/m);
    expect(stdout).toMatch(/^ignored, as words of grammar: .*the/m);
    expect(stdout).toMatch(/^read_note +[\d.]+ +.*note \d+ % \(name, first sentence\)/m);
  });

  it('gives the whole of it as JSON', async () => {
    const { config } = harbour();
    const { stdout } = await run(['explain', 'save a note', '--limit', '1', '-o', 'json'], { config });
    expect(JSON.parse(stdout)).toMatchObject({
      words: [{ word: 'save' }, { word: 'note' }],
      tools: [{ name: 'save_note', terms: [{ kind: 'word' }, { kind: 'word' }] }],
      total: 3,
    });
  });
});

describe('completion', () => {
  it('is printed, and an unknown shell is a wrong command line', async () => {
    expect(await run(['completion', 'bash'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('complete -F _mcpproxy mcpproxy'),
      stderr: '',
    });
    expect(await run(['completion', 'fsh'])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'mcpproxy: there are no completions for "fsh"; give one of bash, zsh, fish, powershell. Did you mean fish or zsh?\n',
    });
  });
});

/** The built program on a terminal of its own, which util-linux makes. */
function onTerminal(args: readonly string[], env: Readonly<Record<string, string>>, config: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'terminal-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  const command = [
    process.execPath,
    join(import.meta.dirname, '../../dist/bin.js'),
    ...args,
    '--config',
    file,
  ];
  const { stdout } = spawnSync('script', ['-qec', command.join(' '), '/dev/null'], {
    encoding: 'utf8',
    // A terminal on which nobody types.
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: folder, TERM: 'xterm', ...env },
    timeout: 20_000,
  });
  return stdout;
}

describe.skipIf(!/util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? ''))(
  'on a terminal',
  () => {
    it('the head of a table is bold, and nothing is with NO_COLOR', async () => {
      const { config } = harbour();
      // Makes sure that what is run is what is tested.
      await run(['--version']);
      expect(onTerminal(['list-tools', '-q'], {}, config)).toContain('\u001b[1m');
      const plain = onTerminal(['list-tools', '-q'], { NO_COLOR: '1' }, config);
      expect(plain).toContain('read_note');
      expect(plain).not.toContain('\u001b[');
    });

    it('with --no-input nobody is asked', async () => {
      const { config, child } = harbour();
      await run(['--version']);
      const said = onTerminal(['call-tool', 'save_note', '{}', '--no-input'], {}, config);
      expect(said).toContain('there is nobody to ask; add --yes to call it');
      expect(child.callsOf('save_note')).toEqual([]);
    });
  },
);

/** Processes that work in a folder below this one; none where there is no /proc. */
function processesIn(folder: string): number[] {
  if (!existsSync('/proc/self/cwd')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(join('/proc', String(pid), 'cwd')).startsWith(join(folder, 'mcpproxy-demo-'));
      } catch {
        return false;
      }
    });
}
