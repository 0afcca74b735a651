// A scriptable MCP server over stdio: node stdio-upstream.mjs SCRIPT.json
// Plain JavaScript without dependencies, because it must run as a child without a build step.
// The script's shape is `StdioScript` in stdio-upstream.ts. It is read again whenever tools are listed or called, so a
// test can change it while the child runs; SIGUSR2 makes the child send one tools/list_changed.
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const scriptFile = process.argv[2];
const readScript = () => JSON.parse(readFileSync(scriptFile, 'utf8'));
const script = readScript();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const log = (entry) => {
  if (script.log) appendFileSync(script.log, `${JSON.stringify({ pid: process.pid, ...entry })}\n`);
};

log({ at: 'start', argv: process.argv.slice(3), cwd: process.cwd() });
if (script.exitAtStart !== undefined) {
  process.stderr.write('stdio upstream: told to end at once\n');
  process.exit(script.exitAtStart);
}
if (script.grandchild) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  log({ at: 'grandchild', grandchild: child.pid });
}
if (script.ignoreSigterm) process.on('SIGTERM', () => log({ at: 'sigterm' }));
process.on('SIGUSR2', () => void notify('notifications/tools/list_changed'));
// Even a child that ignores everything must not outlive a test run that was killed.
setTimeout(() => process.exit(9), 180_000).unref();
process.stdout.on('error', () => process.exit(0));

// Writes queue up, so that split writes of two messages do not mix.
let writing = Promise.resolve();
const write = (line) => {
  writing = writing.then(async () => {
    if (script.noise) process.stdout.write('npm warn this line is not part of the protocol\n');
    const bytes = Buffer.from(`${line}\n`);
    if (!script.splitWrites) return void process.stdout.write(bytes);
    // Pieces of seven bytes cut characters and lines anywhere.
    for (let at = 0; at < bytes.length; at += 7) {
      process.stdout.write(bytes.subarray(at, at + 7));
      if (at % 70 === 0) await sleep(1);
    }
  });
  return writing;
};
const reply = (id, raw) => write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${raw}}`);
const fail = (id, code, message, data) =>
  write(
    JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }),
  );
const notify = (method, params) =>
  write(JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }));

const answers = new Map();
const modern = (params) => params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined;

async function call(message, line) {
  const { id, params } = message;
  const tool = readScript().tools.find(({ definition }) => definition?.name === params.name);
  if (!tool) return fail(id, -32602, `Unknown tool: ${params.name}`);
  const does = tool.does ?? { kind: 'echo' };
  const text = (value) =>
    JSON.stringify({
      ...(modern(params) && { resultType: 'complete' }),
      content: [{ type: 'text', text: value }],
    });
  if (does.delayMs) await sleep(does.delayMs);
  switch (does.kind) {
    case 'echo':
      return reply(id, text(line));
    case 'raw':
      return reply(id, does.raw);
    case 'error':
      return fail(id, does.code, does.message, does.data);
    case 'environment':
      return reply(id, text(JSON.stringify(process.env)));
    case 'process':
      return reply(
        id,
        text(JSON.stringify({ pid: process.pid, argv: process.argv.slice(3), cwd: process.cwd() })),
      );
    case 'crash':
      process.stderr.write('stdio upstream: crashing as told\n');
      return process.exit(does.exitCode ?? 3);
    case 'hang':
      return undefined;
    case 'progress': {
      for (let step = 1; step <= does.steps; step++) {
        await notify('notifications/progress', {
          progressToken: params._meta?.progressToken,
          progress: step,
          total: does.steps,
        });
      }
      return reply(id, text('done'));
    }
    case 'announce':
      for (let sent = 0; sent < does.times; sent++) void notify('notifications/tools/list_changed');
      return reply(id, text('announced'));
    case 'ask': {
      const answered = new Promise((resolve) => answers.set('ask', resolve));
      await write(
        JSON.stringify({ jsonrpc: '2.0', id: 'ask', method: does.method, params: does.params ?? {} }),
      );
      return reply(id, text(await Promise.race([answered, sleep(3_000).then(() => 'no answer')])));
    }
    case 'bytes':
      return reply(id, text('x'.repeat(does.count)));
    case 'stderr':
      process.stderr.write(`${does.text}\n`);
      return reply(id, text('written'));
  }
}

async function serve(line) {
  log({ at: 'line', line });
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return;
  }
  const { id, method, params } = message;
  if (method === undefined) return void answers.get(id)?.(line);
  if (id === undefined) return;
  if (script.neverAnswer?.includes(method)) return;
  if (script.delaysMs?.[method]) await sleep(script.delaysMs[method]);
  const speaksModern = script.era === 'modern' || script.era === 'both';
  const cacheable = modern(params) ? { resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'private' } : {};
  const instructions = script.instructions === undefined ? {} : { instructions: script.instructions };
  switch (method) {
    case 'initialize':
      if (script.era === 'modern')
        return fail(id, -32022, 'Unsupported protocol version', { supported: ['2026-07-28'] });
      return reply(
        id,
        JSON.stringify({
          protocolVersion: script.version ?? '2025-06-18',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'stdio-stub', version: '1.0.0' },
          ...instructions,
        }),
      );
    case 'server/discover':
      if (!speaksModern) break;
      return reply(
        id,
        JSON.stringify({
          ...cacheable,
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: { listChanged: true } },
          ...instructions,
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'stdio-stub', version: '1.0.0' } },
        }),
      );
    case 'ping':
      return reply(id, '{}');
    case 'tools/list': {
      const { tools, pageSize = 100 } = readScript();
      const from = Number(params?.cursor ?? 0);
      const next = from + pageSize < tools.length ? { nextCursor: String(from + pageSize) } : {};
      const page = tools.slice(from, from + pageSize).map(({ definition }) => definition);
      return reply(id, JSON.stringify({ tools: page, ...next, ...cacheable }));
    }
    case 'tools/call':
      return call(message, line);
    case 'subscriptions/listen':
      if (!speaksModern) break;
      return notify('notifications/subscriptions/acknowledged', {
        notifications: params.notifications,
        _meta: { 'io.modelcontextprotocol/subscriptionId': id },
      });
  }
  return fail(id, -32601, `Method not found: ${method}`);
}

if (script.noise) process.stdout.write('Starting up… this is not JSON\n\n{"half": \n');
createInterface({ input: process.stdin })
  .on('line', (line) => void serve(line))
  .on('close', () => {
    log({ at: 'stdin-end' });
    if (!script.ignoreStdinEnd) process.exit(0);
    setInterval(() => {}, 1_000);
  });
