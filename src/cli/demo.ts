import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import type { Context } from './context.ts';
import { connectDemoClient } from './demo-client.ts';
import { receiptOf } from './demo-receipt.ts';
import type { Receipt } from './demo-receipt.ts';
import { demoServers } from './demo-servers.ts';
import type { DemoServer } from './demo-servers.ts';
import { DemoSession, firstOf } from './demo-session.ts';
import { EXIT } from './exit-code.ts';
import { noteUnavailable } from './meta-answer.ts';
import type { Output } from './output.ts';
import { untilStopped } from './stop-signal.ts';
import { createTranscript } from './transcript.ts';
import type { Transcript } from './transcript.ts';

const NOTE =
  'Harbour meeting, Tuesday: Ona repairs the north light before the storm season.\nBudget: 4,200 euros.\n';

/** Fetching a server through npx takes its time; an installed one is there in a second or two. */
const START_MS = 120_000;

/**
 * The proxy at work: real servers behind it, a real client in front of it, over real HTTP. Everything printed is
 * what happened; the one part played is the model's, by this script.
 */
export async function demo(context: Context): Promise<number> {
  const { output } = context;
  const stopped = untilStopped();
  const folder = await mkdtemp(join(tmpdir(), 'mcpproxy-demo-'));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    return await Promise.race([play(output, folder, closers), stopped]);
  } catch (error) {
    output.error(`the demo stopped: ${error instanceof Error ? error.message : String(error)}`);
    return EXIT.failed;
  } finally {
    // The last opened is closed first; the folder goes when nobody writes to it any more.
    for (const close of closers.toReversed()) await close().catch(() => undefined);
  }
}

async function play(output: Output, folder: string, closers: (() => Promise<unknown>)[]): Promise<number> {
  const say = createTranscript(output);
  const servers = demoServers(folder);
  await writeFile(join(folder, 'meeting.txt'), NOTE);
  await say.title(
    'Five tools in front of three real MCP servers',
    'A script plays the model. Everything else is real, and every answer below is the one that came.',
  );

  await say.step('The proxy starts');
  const fetched = servers.filter((server) => server.fetchedBy !== undefined);
  if (fetched.length > 0) {
    await say.line('These servers are not installed here, so they are fetched and run now:');
    for (const server of fetched) await say.line(`  ${server.fetchedBy}`);
  }
  const started = performance.now();
  const { createProxy } = await import('../app.ts');
  const proxy = await createProxy(await configOf(servers, folder));
  closers.push(() => proxy.close());
  const url = await proxy.listen();
  await proxy.local.settled(START_MS);
  const { tools, unavailable } = await proxy.local.listTools();
  if (noteUnavailable(output, unavailable)) throw new Error('not every server could be started.');
  for (const { name } of servers) {
    const count = tools.filter((tool) => tool.upstream === name).length;
    await say.line(`${name.padEnd(12)}${String(count).padStart(2)} tools`);
  }
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  await say.line(`listening on ${url}; all tools are there after ${seconds} s`);

  const client = await connectDemoClient(url);
  closers.push(() => client.close());
  const session = new DemoSession(say, client);
  const shown = await client.listTools();
  await say.step(
    `A client connects (MCP ${client.version}) and sees ${shown.length} tools instead of ${tools.length}`,
  );
  await say.line(shown.map((tool) => tool.name).join('  '));

  await say.step('The model is to note down what the meeting decided: it searches for both things at once');
  const queries = ['read a text file', 'save something new in the knowledge graph'];
  const found = await session.search({ queries, limit: 3 });
  const reader = firstOf(found, 'read_text_file', 'read_file');
  const writer = firstOf(found, 'create_entities');

  await say.step(
    'It reads, then writes: separate tools, so a client can allow the one and ask before the other',
  );
  const note = await session.call('call_read_tool', reader, { path: 'meeting.txt' }, 2);
  const entity = {
    name: 'harbour meeting',
    entityType: 'meeting',
    observations: [note.split('\n')[0] ?? ''],
  };
  await session.call('call_write_tool', writer, { entities: [entity] }, 1);

  await say.step('Later it is asked about the meeting');
  const asked = await session.search({
    query: 'what did the knowledge graph remember',
    limit: 3,
    schemas: false,
  });
  const recaller = firstOf(asked, 'read_graph', 'search_nodes');
  await session.call(
    'call_read_tool',
    recaller,
    recaller.endsWith('search_nodes') ? { query: 'harbour' } : {},
    2,
  );

  await say.step('What does not fit is refused before any server hears of it');
  await session.refused('call_read_tool', reader, { file: 'meeting.txt' }, 3);
  await session.refused('call_read_tool', writer, { entities: [] }, 1);

  const names = tools.map((tool) => tool.name);
  const receipt = await receiptOf(client, names, shown, session.searchCharacters);
  await say.step('The receipt: tokens of tool definitions the model was given (estimate: characters / 4)');
  await printReceipt(say, receipt, tools.length, shown.length);
  if (output.isJson) {
    await output.print(
      JSON.stringify({ tools: tools.length, metaTools: shown.length, estimatedTokens: receipt }),
    );
  }
  return EXIT.done;
}

async function printReceipt(say: Transcript, receipt: Receipt, tools: number, shown: number): Promise<void> {
  const saved = receipt.allTools - receipt.ourTools - receipt.searches;
  const rows: readonly (readonly [string, number])[] = [
    [`all ${tools} tools, as a client would load them`, receipt.allTools],
    [`the proxy's ${shown} tools`, receipt.ourTools],
    ['the search answers above', receipt.searches],
    ['saved', saved],
  ];
  for (const [label, tokens] of rows)
    await say.line(`${label.padEnd(44)}${tokens.toLocaleString('en').padStart(7)}`);
  await say.line(
    `That is ${Math.round((100 * saved) / receipt.allTools)} % with ${tools} tools; the proxy's own five do not grow with more.`,
  );
}

/** Defaults, whatever the person's own configuration says, on a free port, with more patience for a first fetch. */
async function configOf(servers: readonly DemoServer[], folder: string): Promise<Config> {
  const flags = [
    { name: 'listen', text: '127.0.0.1:0' },
    { name: 'connectTimeoutMs', text: String(START_MS) },
    { name: 'drainMs', text: '1000' },
  ] as const;
  const loaded = await loadConfig({ flags, env: {}, cwd: folder, home: folder, platform: process.platform });
  if (loaded.kind === 'invalid') throw new Error('the default configuration is invalid');
  return { ...loaded.config, upstreams: servers.map((server) => server.record) };
}
