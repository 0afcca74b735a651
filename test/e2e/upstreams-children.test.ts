import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { UpstreamRecord } from '../../src/roster/record.ts';
import { whenDone } from '../support/cleanup.ts';
import { inlineChild } from '../support/inline-child.ts';
import {
  startHttpProgram,
  startProxy,
  startStdioProgram,
  stdioRecord,
  type RunningProxy,
} from '../support/proxy.ts';
import { isAlive, scriptStdio, type StdioTool } from '../support/stdio-upstream.ts';
import { sleep, until, within } from '../support/wait.ts';

const childTool = (name: string, does?: StdioTool['does']): StdioTool => ({
  definition: { name, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  ...(does && { does }),
});

const say = async (running: RunningProxy, name = 'say'): Promise<string> => {
  const { content } = await running.call('call_read_tool', { name, arguments: {} });
  return content[0]?.text ?? '';
};

/** The record with a life of its own: when it starts, how long it may idle. */
function living(
  record: ReturnType<typeof stdioRecord>,
  life: { start?: 'eager' | 'lazy'; idleStopMs?: number },
): UpstreamRecord {
  const { transport } = record;
  return transport.kind === 'stdio' ? { ...record, transport: { ...transport, ...life } } : record;
}

describe('what a child writes on stdout', () => {
  const HOW: Readonly<Record<string, string>> = {
    'noise on lines of its own': `
      process.stdout.write('Loading…\\n{"half": \\n[not json]\\n\\n\\0\\x1b[31m red\\n');
      const plain = write;
      write = (message) => { console.log('debug: about to write', { a: 1 }); plain(message); };`,
    'noise that does not end its line': `
      const plain = write;
      write = (message) => { process.stdout.write('progress 10%… '); plain(message); };`,
    'bytes that are no UTF-8': `
      const plain = write;
      write = (message) => { process.stdout.write(Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x0a])); plain(message); };`,
    'a byte order mark and CRLF': `
      process.stdout.write('\\uFEFF');
      write = (message) => process.stdout.write(message + '\\r\\n');`,
    'one byte at a time, characters cut': `
      let last = Promise.resolve();
      write = (message) => {
        for (const byte of Buffer.from(message + '\\n'))
          last = last.then(() => new Promise((resolve) => process.stdout.write(Buffer.from([byte]), resolve)));
      };`,
    'many messages in one write, with blank lines between': `
      const plain = write;
      write = (message) => {
        const log = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } });
        process.stdout.write(log + '\\n\\n' + log + '\\r\\n' + message + '\\n' + log + '\\n');
      };`,
    'a batch (MCP 2025-03-26)': `
      const plain = write;
      write = (message) => plain('[' + message + ',{"jsonrpc":"2.0","method":"notifications/message","params":{}}]');`,
    'a long valid line before its answer': `
      const plain = write;
      write = (message) => {
        plain(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x', params: { long: 'ą'.repeat(400_000) } }));
        plain(message);
      };`,
    'a line without end on stderr beside it': `
      process.stderr.write('x'.repeat(5_000_000));`,
  };

  for (const [label, body] of Object.entries(HOW)) {
    it(`${label}: no message is lost`, async () => {
      const running = await startProxy({ upstreams: [stdioRecord('odd', inlineChild(body))] });
      await running.settled();
      for (let n = 0; n < 3; n++) expect(await say(running)).toBe('ąčę 🌊');
      expect(running.events.filter((event) => event.kind === 'bug')).toEqual([]);
    });
  }

  it('a line over the limit costs what it answered, and nothing after it', async () => {
    const body = `
      tools = [tool('say'), tool('large')];
      const small = call;
      call = (id, { name }) =>
        name === 'large' ? reply(id, { content: [{ type: 'text', text: 'x'.repeat(300_000) }] }) : small(id);`;
    const running = await startProxy({
      upstreams: [stdioRecord('odd', inlineChild(body))],
      limits: { maxMessageBytes: 100_000 },
    });
    await running.settled();
    expect(await say(running, 'large')).toMatch(/upstream_too_large.*maxMessageBytes/);
    expect(await say(running)).toBe('ąčę 🌊');
  });

  it('nested without end brings nobody down', async () => {
    const body = `
      const plain = write;
      write = (message) => {
        const deep = '{"a":'.repeat(50_000) + '1' + '}'.repeat(50_000);
        plain('['.repeat(50_000) + ']'.repeat(50_000));
        for (const rest of ['"method":"x","params":', '"method":"notifications/progress","params":', '"id":9,"method":"x","params":', '"id":0,"result":'])
          plain('{"jsonrpc":"2.0",' + rest + deep + '}');
        plain(message);
      };`;
    const running = await startProxy({ upstreams: [stdioRecord('odd', inlineChild(body))] });
    await running.settled();
    expect(await say(running)).toBe('ąčę 🌊');
  });
});

describe('a child’s environment', () => {
  it('is what it was given and what a shell gives, and nothing else', async () => {
    process.env['ANOTHERS_TOKEN'] = 'canary-5d';
    whenDone(() => void delete process.env['ANOTHERS_TOKEN']);
    const child = inlineChild(`text = JSON.stringify(process.env);`);
    const running = await startProxy({ upstreams: [stdioRecord('own', child, { env: { GIVEN: '1' } })] });
    await running.settled();
    const environment = JSON.parse(await say(running)) as Record<string, string>;
    const shell = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'].filter(
      (name) => process.env[name] !== undefined,
    );
    expect(new Set(Object.keys(environment))).toEqual(new Set([...shell, 'GIVEN']));
    expect(environment['PATH']).toBe(process.env['PATH']);
  });
});

describe('a child that crashes', () => {
  it('is started again without being called, and what it has then is listed', async () => {
    const child = scriptStdio({ tools: [childTool('who', { kind: 'process' })] });
    const running = await startProxy({ upstreams: [stdioRecord('frail', child)] });
    await running.settled();
    child.change({ tools: [childTool('who', { kind: 'process' }), childTool('new_one')] });
    process.kill(child.pids()[0] ?? 0, 'SIGKILL');
    await until('another one runs', () => child.pids().length === 2);
    await until('its new tool is there', async () => {
      const { structuredContent } = await running.call('search_tools', { query: 'new one' });
      return structuredContent?.['total'] === 2;
    });
    expect(child.pids().filter(isAlive)).toHaveLength(1);
  });

  it('is left alone when it ended of its own will, until it is called', async () => {
    const child = scriptStdio({
      tools: [childTool('end', { kind: 'crash', exitCode: 0 }), childTool('who', { kind: 'process' })],
    });
    const running = await startProxy({ upstreams: [stdioRecord('frail', child)] });
    await running.settled();
    expect(await say(running, 'end')).toContain('upstream_exited');
    await sleep(300);
    expect(child.pids()).toHaveLength(1);
    expect(await say(running, 'who')).toContain('"pid"');
  });

  it('again and again ends in a state that says how, what it last said, and when it is tried again', async () => {
    const child = scriptStdio({ tools: [childTool('crash', { kind: 'crash', exitCode: 9 })] });
    const running = await startProxy({ upstreams: [stdioRecord('frail', child)] });
    await running.settled();
    child.change({ exitAtStart: 7 });
    const first = await say(running, 'crash');
    expect(first).toContain("'frail' ended with exit code 9; it last said: stdio upstream: crashing as told");
    const last = await until(
      'it is given up for a while',
      async () => {
        const text = await say(running, 'crash');
        return text.includes('in a row') && text;
      },
      25_000,
    );
    expect(last).toMatch(
      /\[upstream_exited\] Upstream 'frail' ended with exit code 7; it last said: stdio upstream: told to end at once\. That was the 5th time in a row; it is started again in \d+ s, or when its configuration changes\. Next: nothing was sent/,
    );
    const starts = child.pids().length;
    // Answered at once now, without another start.
    for (let n = 0; n < 5; n++) await within('an answer', say(running, 'crash'), 2_000);
    expect(child.pids()).toHaveLength(starts);
    // A change of its configuration is a new beginning.
    child.change({ exitAtStart: undefined as never, tools: [childTool('who', { kind: 'process' })] });
    await running.proxy.reload([stdioRecord('frail', child, { env: { CHANGED: '1' } })]);
    await until('it works', async () => (await say(running, 'who')).includes('"pid"'));
  });

  it('shows its last lines, without what it was given as a secret', async () => {
    const child = inlineChild(`
      console.error('one\\ntwo\\nthree\\nfour');
      console.error('key ' + process.env.KEY + ' for ' + process.argv[1]);
      console.error('TypeError: no such thing\\n    at somewhere');
      process.exit(4);`);
    const running = await startProxy(
      {
        upstreams: [
          stdioRecord(
            'frail',
            { ...child, args: [...child.args, 'x-${env:HIDDEN}'] },
            { env: { KEY: 'k-${env:HIDDEN}-y' } },
          ),
        ],
      },
      { HIDDEN: 'canary-9f' },
    );
    await running.settled();
    const { structuredContent } = await running.call('search_tools', { query: 'x' });
    const reason = JSON.stringify(structuredContent?.['unavailable']);
    expect(reason).toContain(
      'ended with exit code 4; it last said: three | four | key [secret] for x-[secret] | TypeError: no such thing | at somewhere.',
    );
    expect(JSON.stringify(running.events)).not.toContain('canary');
  });
});

describe('a child of the newer generation alone', () => {
  it('is started once, though it refuses the older handshake', async () => {
    const child = scriptStdio({ era: 'modern', tools: [childTool('calm')] });
    const running = await startProxy({ upstreams: [stdioRecord('new', child)] });
    await running.settled();
    const answer = await running.raw('modern').call('call_read_tool', '{"name":"calm"}');
    expect(answer.body).toContain('tools/call');
    expect(child.linesOf('initialize')).toHaveLength(1);
    expect(child.linesOf('server/discover').length).toBeGreaterThan(0);
    expect(child.pids()).toHaveLength(1);
  });
});

describe('a lazy child', () => {
  const lazy = (child: ReturnType<typeof scriptStdio>, idleStopMs?: number): ReturnType<typeof stdioRecord> =>
    living(stdioRecord('lazy', child), {
      start: 'lazy',
      ...(idleStopMs === undefined ? {} : { idleStopMs }),
    });

  it('starts with the first search, not with us nor with a handshake', async () => {
    const child = scriptStdio({ tools: [childTool('who', { kind: 'process' })], instructions: 'Wake me.' });
    const eager = scriptStdio({ tools: [childTool('calm')] });
    const running = await startProxy({ upstreams: [lazy(child), stdioRecord('eager', eager)] });
    await until('the eager one runs', () => eager.linesOf('tools/list').length > 0);
    const handshake = await running.raw('legacy').request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    });
    expect(handshake.result).toContain('instructions');
    await running.raw('legacy').request('tools/list');
    await sleep(200);
    expect(child.pids()).toEqual([]);
    await until('a search has its tool', async () => {
      const { structuredContent } = await running.call('search_tools', { query: 'who' });
      return structuredContent?.['total'] === 2;
    });
    expect(child.pids()).toHaveLength(1);
  });

  it('starts with the first call as well, in the program over stdio too', async () => {
    const child = scriptStdio({ tools: [childTool('who', { kind: 'process' })] });
    const running = await startStdioProgram('legacy', {
      mcpServers: { lazy: { command: child.command, args: child.args, start: 'lazy' } },
    });
    await running.client.initialize();
    await sleep(800);
    expect(child.pids()).toEqual([]);
    expect(await running.client.call('call_read_tool', '{"name":"who"}')).toContain('pid');
  });

  it('that is not used is stopped, keeps its tools, and is started again by a call', async () => {
    const child = scriptStdio({ tools: [childTool('who', { kind: 'process' })] });
    const running = await startProxy({ upstreams: [lazy(child, 300)], limits: { listingTtlMs: 100 } });
    expect(await say(running, 'who')).toContain('"pid"');
    await until('it is stopped', () => child.pids().every((pid) => !isAlive(pid)));
    expect(running.events).toContainEqual(expect.objectContaining({ kind: 'upstream', state: 'stopped' }));
    const before = child.pids().length;
    child.change({ tools: [childTool('who', { kind: 'process' }), childTool('new_one')] });
    // Its listing is over many times meanwhile; looking at its tools does not wake it.
    for (let n = 0; n < 5; n++) {
      const { structuredContent } = await running.call('search_tools', { query: 'who' });
      expect(structuredContent?.['total']).toBe(1);
      await sleep(100);
    }
    expect(child.pids()).toHaveLength(before);
    expect(await say(running, 'who')).toContain('"pid"');
    expect(child.pids()).toHaveLength(before + 1);
    await until('what it has by now is seen', async () => {
      const { structuredContent } = await running.call('search_tools', { query: 'new one' });
      return structuredContent?.['total'] === 2;
    });
  });

  it('is not stopped while a call runs, and an eager one may be stopped too', async () => {
    const slow: StdioTool = childTool('slow', {
      kind: 'raw',
      raw: '{"content":[{"type":"text","text":"done"}]}',
      delayMs: 700,
    });
    const child = scriptStdio({ tools: [slow] });
    const running = await startProxy({
      upstreams: [living(stdioRecord('eager', child), { idleStopMs: 150 })],
    });
    await until('it was started with us', () => child.pids().length === 1);
    expect(await say(running, 'slow')).toBe('done');
    await until('it is stopped', () => child.pids().every((pid) => !isAlive(pid)));
    // A call that comes while it is being stopped waits for the next life.
    expect(await say(running, 'slow')).toBe('done');
  });
});

describe.runIf(process.platform === 'linux')('none survives us', () => {
  /** A launcher that ignores SIGTERM and stays while its server runs, as package runners do. */
  const LAUNCHER = `
    process.on('SIGTERM', () => {});
    require('node:child_process').spawn(process.execPath, process.argv.slice(1), { stdio: 'inherit' });
    setInterval(() => {}, 1_000);`;

  function launched(): { child: ReturnType<typeof scriptStdio>; config: object; alive: () => string[] } {
    const child = scriptStdio({
      tools: [childTool('calm')],
      ignoreSigterm: true,
      ignoreStdinEnd: true,
      grandchild: true,
    });
    const script = child.args[1] ?? '';
    const config = {
      mcpServers: { wrapped: { command: process.execPath, args: ['-e', LAUNCHER, ...child.args] } },
    };
    return {
      child,
      config,
      alive: () => [...processesWith(script), ...child.pids().filter(isAlive).map(String)],
    };
  }

  const WAYS: Readonly<Record<string, (running: Awaited<ReturnType<typeof startStdioProgram>>) => void>> = {
    SIGTERM: ({ child }) => void child.kill('SIGTERM'),
    SIGINT: ({ child }) => void child.kill('SIGINT'),
    'SIGTERM twice': ({ child }) => {
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGTERM'), 200);
    },
    'the end of stdin': ({ child }) => void child.stdin?.end(),
    'a crash of ours': ({ child }) => void child.kill('SIGUSR2'),
  };

  for (const [label, end] of Object.entries(WAYS)) {
    it(`after ${label}, also behind a launcher, whatever the children ignore`, async () => {
      const { child, config, alive } = launched();
      const dir = mkdtempSync(join(tmpdir(), 'crash-'));
      whenDone(() => rmSync(dir, { recursive: true, force: true }));
      const crash = join(dir, 'crash.mjs');
      writeFileSync(crash, `process.on('SIGUSR2', () => { throw new Error('a bug'); });`);
      const running = await startStdioProgram('legacy', config, {
        env: { NODE_OPTIONS: `--import=file://${crash}` },
      });
      await running.client.initialize();
      await until('the child is ready', () => child.linesOf('tools/list').length > 0);
      // The launcher, the server, and what the server started.
      expect(alive().length).toBeGreaterThanOrEqual(3);
      end(running);
      await within('the program ends', running.exited, 14_000);
      await until('every process is gone', () => alive().length === 0);
    });
  }

  it('after SIGTERM while it is started again and again', async () => {
    const child = scriptStdio({ tools: [childTool('calm')], exitAtStart: 5 });
    const running = await startHttpProgram([], {
      config: { mcpServers: { frail: { command: child.command, args: child.args } } },
    });
    await until('it was tried twice', () => child.pids().length >= 2);
    running.child.kill('SIGTERM');
    await within('the program ends', running.exited);
    const before = child.pids().length;
    await sleep(1_500);
    expect(child.pids()).toHaveLength(before);
  });
});

function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text) && isAlive(Number(pid));
    } catch {
      return false;
    }
  });
}
