import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  lstatSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { editServers } from './edit-servers.ts';
import { loadConfig } from './load.ts';
import { approvalsPath, openUpstreamStore } from './upstream-store.ts';
import type { UpstreamStore } from './upstream-store.ts';

const folders: string[] = [];
let folder = '';
let path = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'store-'));
  folders.push(folder);
  path = join(folder, 'config.json');
});
afterAll(() => {
  for (const each of folders) rmSync(each, { recursive: true, force: true });
});

function storeAt(file = path): UpstreamStore {
  const load = (fileText: string): ReturnType<typeof loadConfig> =>
    loadConfig({
      flags: [{ name: 'config', text: file }],
      env: {},
      cwd: folder,
      home: folder,
      platform: 'linux',
      fileText,
    });
  return openUpstreamStore({ path: file, program: 'mcpproxy', load });
}

const read = (file = path): string => readFileSync(file, 'utf8');
const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

const COMMENTED = `// my servers
{
    "$schema": "https://example.test/schema.json",
    "mcpServers": {
        // what I take notes with
        "notes": { "command": "notes-server", "args": ["--dir", "."], "alwaysAllow": ["read"] }, // keep
        "issues": { "serverUrl": "https://issues.test/mcp", /* the key is in the environment */ "headers": { "Authorization": "Bearer \${env:ISSUES}" } },
    },
    "writeTools": ["notes__*"], // these too
}
`;

describe('a change of the configuration file', () => {
  it('keeps comments, unknown keys, indentation and everything it is not about', async () => {
    writeFileSync(path, COMMENTED);
    const { records, after } = await storeAt().change({
      kind: 'add',
      name: 'WeatherInfo',
      entry: { url: 'https://weather.test/mcp/' },
    });
    expect(after).toEqual({ url: 'https://weather.test/mcp/' });
    expect(records.map(({ name }) => name)).toEqual(['notes', 'issues', 'WeatherInfo']);
    const added =
      '\n        "WeatherInfo": {\n            "url": "https://weather.test/mcp/"\n        },\n    },\n';
    expect(read()).toBe(COMMENTED.replace('\n    },\n', added));
    await storeAt().change({ kind: 'remove', name: 'WeatherInfo' });
    expect(parse(read())).toEqual(parse(COMMENTED));
    expect(modeOf(path)).toBe('600');
    writeFileSync(path, '{\n  "mcpServers": {\n    "a": { "command": "a" } // the last\n  }\n}\n');
    await storeAt().change({ kind: 'add', name: 'b', entry: { command: 'b' } });
    expect(read()).toBe(
      '{\n  "mcpServers": {\n    "a": { "command": "a" }, // the last\n    "b": {\n      "command": "b"\n    }\n  }\n}\n',
    );
    writeFileSync(path, '{ "mcpServers": { "a": { "command": "a" } } }');
    await storeAt().change({ kind: 'add', name: 'b', entry: { command: 'b' } });
    expect(read()).toBe('{ "mcpServers": { "a": { "command": "a" }, "b": {"command":"b"} } }');
  });

  it('makes the file and its folder where there is none, for its owner alone', async () => {
    const deep = join(folder, 'not', 'there', 'config.json');
    await storeAt(deep).change({ kind: 'add', name: 'a', entry: { url: 'https://a.test/mcp' } });
    expect(JSON.parse(read(deep))).toEqual({ mcpServers: { a: { url: 'https://a.test/mcp' } } });
    expect([modeOf(deep), modeOf(join(folder, 'not'))]).toEqual(['600', '700']);
    expect(readdirSync(join(folder, 'not', 'there'))).toEqual(['config.json']);
  });

  it('adds to servers in a list, and to VS Code’s', async () => {
    writeFileSync(path, '{"mcpServers":[{"name":"a","url":"https://a.test/mcp"}]}');
    await storeAt().change({ kind: 'add', name: 'b', entry: { url: 'https://b.test/mcp' } });
    expect(JSON.parse(read())).toMatchObject({ mcpServers: [{ name: 'a' }, { name: 'b' }] });
    await storeAt().change({ kind: 'patch', name: 'B', patch: { enabled: false } });
    await storeAt().change({ kind: 'remove', name: 'a' });
    expect(JSON.parse(read())).toEqual({
      mcpServers: [{ name: 'b', url: 'https://b.test/mcp', enabled: false }],
    });
    writeFileSync(path, '{"servers":{}}');
    await storeAt().change({ kind: 'add', name: 'b', entry: { url: 'https://b.test/mcp' } });
    expect(JSON.parse(read())).toEqual({ servers: { b: { url: 'https://b.test/mcp' } } });
  });

  it('is a merge patch, under the keys the entry uses itself', async () => {
    writeFileSync(path, COMMENTED);
    const { before, after } = await storeAt().change({
      kind: 'patch',
      name: 'issues',
      patch: { url: 'https://new.test/mcp', headers: { Authorization: null, 'X-Team': 'a' }, enabled: false },
    });
    expect(before).toMatchObject({ serverUrl: 'https://issues.test/mcp' });
    expect(after).toEqual({ serverUrl: 'https://new.test/mcp', headers: { 'X-Team': 'a' }, enabled: false });
    expect(read()).toContain('/* the key is in the environment */');
    writeFileSync(path, '{"mcpServers":{"a":{"command":"a","disabled":true}}}');
    await storeAt().change({ kind: 'patch', name: 'a', patch: { enabled: true } });
    expect(JSON.parse(read())).toEqual({ mcpServers: { a: { command: 'a', enabled: true } } });
  });

  it('is refused, and changes nothing, when it could not be used', async () => {
    writeFileSync(path, COMMENTED);
    const add = (name: string, entry: object): Promise<unknown> =>
      storeAt().change({ kind: 'add', name, entry: entry as Record<string, unknown> });
    await expect(add('NOTES', { url: 'https://a.test/mcp' })).rejects.toMatchObject({
      code: 'upstream_exists',
    });
    for (const [entry, why] of [
      [{ url: 'ws://a.test/mcp' }, /WebSocket URL/],
      [{ url: 'a.test/mcp' }, /no https:\/\//],
      [{ url: 'https://ann:pw@a.test/mcp' }, /user name or password/],
      [{ url: 'javascript:alert(1)' }, /has no https/],
      [{}, /neither a command nor a url/],
      [{ command: 'a', headers: { a: 'b' } }, /has headers/],
    ] as const)
      await expect(add('x', entry)).rejects.toMatchObject({ code: 'config_invalid', message: why });
    for (const name of ['', ' a', 'a\u0007', 'x'.repeat(101)])
      await expect(add(name, { url: 'https://a.test/mcp' })).rejects.toMatchObject({
        code: 'config_invalid',
      });
    await expect(storeAt().change({ kind: 'remove', name: 'gone' })).rejects.toMatchObject({
      code: 'upstream_not_found',
    });
    expect(read()).toBe(COMMENTED);
    writeFileSync(path, '{ "mcpServers": {');
    await expect(add('x', { url: 'https://a.test/mcp' })).rejects.toMatchObject({ code: 'config_invalid' });
    expect(read()).toBe('{ "mcpServers": {');
  });

  it('follows a link, and leaves it one', async () => {
    const target = join(folder, 'dotfiles', 'mine.json');
    mkdirSync(join(folder, 'dotfiles'));
    writeFileSync(target, '{"mcpServers":{}}', { mode: 0o644 });
    symlinkSync(target, path);
    await storeAt().change({ kind: 'add', name: 'a', entry: { url: 'https://a.test/mcp' } });
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(JSON.parse(read(target))).toMatchObject({ mcpServers: { a: {} } });
    expect(modeOf(target)).toBe('600');
  });

  it('says why it cannot be written, and leaves the file as it was', async () => {
    const locked = join(folder, 'locked');
    mkdirSync(locked);
    const file = join(locked, 'config.json');
    writeFileSync(file, '{}');
    chmodSync(locked, 0o500);
    const adding = storeAt(file).change({ kind: 'add', name: 'a', entry: { url: 'https://a.test/mcp' } });
    // Root may write everywhere.
    if (process.getuid?.() === 0) await adding;
    else await expect(adding).rejects.toMatchObject({ code: 'config_write_failed', message: /EACCES/ });
    chmodSync(locked, 0o700);
    if (process.getuid?.() !== 0) expect(read(file)).toBe('{}');
  });

  it('gives way to what an editor saved meanwhile, and keeps that', async () => {
    writeFileSync(path, '{"mcpServers":{}}');
    let loads = 0;
    const store = openUpstreamStore({
      path,
      program: 'mcpproxy',
      load: async (fileText) => {
        // Between reading and writing, once.
        if (loads++ === 0) writeFileSync(path, '{"mcpServers":{"mine":{"url":"https://mine.test/mcp"}}}');
        const place = { flags: [], env: {}, cwd: folder, home: folder, platform: 'linux' } as const;
        return loadConfig({ ...place, fileText });
      },
    });
    await store.change({ kind: 'add', name: 'theirs', entry: { url: 'https://theirs.test/mcp' } });
    expect(Object.keys((JSON.parse(read()) as { mcpServers: object }).mcpServers)).toEqual([
      'mine',
      'theirs',
    ]);
  });

  it('loses none of twenty made at once in this process', async () => {
    const store = storeAt();
    const names = Array.from({ length: 20 }, (_, n) => `s${n}`);
    await Promise.all(
      names.map((name) => store.change({ kind: 'add', name, entry: { url: `https://${name}.test/mcp` } })),
    );
    expect(Object.keys((JSON.parse(read()) as { mcpServers: object }).mcpServers)).toEqual(names);
  });
});

describe('the edited text', () => {
  const space = fc.constantFrom('', ' ', '\n', '\r\n  ', ' // c\n', '/* c */');
  const value = fc.constantFrom('"x"', '1', 'true', 'null', '[1, 2]', '{"k": [{}]}');
  const name = fc.stringMatching(/^[a-z "\\é]{1,6}$/);
  const member = fc
    .tuple(name, value, space)
    .map(([key, inner, gap]) => `${gap}${JSON.stringify(key)}:${gap}${inner}${gap}`);
  const body = (members: readonly string[], tail: boolean): string =>
    `${members.join(',')}${tail && members.length > 0 ? ',' : ''}`;

  it('differs from the old one in the one entry and nothing else, whatever stands around it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(member, { maxLength: 4, selector: (each) => each.split('"')[1] ?? '' }),
        fc.uniqueArray(name, { maxLength: 4, selector: (each) => each.toLowerCase() }),
        space,
        fc.boolean(),
        async (others, servers, gap, tail) => {
          const entries = servers.map(
            (each) => `${gap}${JSON.stringify(each)}${gap}:{"url":"https://a.test"}`,
          );
          const text = `${gap}{${body([...others.map((each) => each.replace('"', '"o-')), `${gap}"mcpServers":{${body(entries, tail)}${gap}}`], tail)}${gap}}${gap}`;
          const old = parse(text) as { mcpServers: Record<string, unknown> };
          const entry = { url: 'https://new.test', headers: { a: 'b' } };
          const added = await editServers(text, { kind: 'add', name: 'NEW', entry }, 'f');
          expect(parse(added.text)).toEqual({ ...old, mcpServers: { ...old.mcpServers, NEW: entry } });
          const removed = await editServers(added.text, { kind: 'remove', name: 'NEW' }, 'f');
          expect(parse(removed.text)).toEqual(old);
          for (const each of servers) {
            const patch = { url: 'https://b.test', env: { a: '1', b: null } };
            const patched = await editServers(text, { kind: 'patch', name: each, patch }, 'f');
            expect(parse(patched.text)).toEqual({
              ...old,
              mcpServers: { ...old.mcpServers, [each]: { url: 'https://b.test', env: { a: '1' } } },
            });
          }
          const comments = (each: string): number => each.split('/* c */').length + each.split('// c').length;
          expect(comments(added.text)).toBe(comments(text));
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('approvals', () => {
  const approval = { target: 't', approvedAt: '2026-01-01T00:00:00.000Z' };

  it('lie beside the file, for its owner alone, and not in it', async () => {
    writeFileSync(path, '{}');
    const store = storeAt();
    expect(await store.readApprovals()).toEqual({ upstreams: {} });
    await store.changeApprovals(() => ({ upstreams: { a: approval } }));
    expect(await storeAt().readApprovals()).toEqual({ upstreams: { a: approval } });
    expect(approvalsPath(path)).toBe(join(folder, 'config.state.json'));
    expect(modeOf(approvalsPath(path))).toBe('600');
    expect(read()).toBe('{}');
  });

  it('that cannot be read are an error, not nothing', async () => {
    for (const text of ['{', '[]', '{"version":2,"upstreams":{}}', '{"version":1,"upstreams":{"a":{}}}']) {
      writeFileSync(approvalsPath(path), text);
      await expect(storeAt().readApprovals()).rejects.toMatchObject({ code: 'config_invalid' });
    }
  });
});
