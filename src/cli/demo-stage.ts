import { join } from 'node:path';
import type { ListedTool } from '../app.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import type { Loaded } from '../config/load.ts';
import { openUpstreamStore } from '../config/upstream-store.ts';
import { connectDemoClient } from './demo-client.ts';
import type { Definition, DemoClient } from './demo-client.ts';
import { receiptOf } from './demo-receipt.ts';
import { DemoSession } from './demo-session.ts';
import { noteUnavailable } from './meta-answer.ts';
import type { Output } from './output.ts';
import type { Transcript } from './transcript.ts';

/** Fetching a server through npx takes its time; an installed one is there in a second or two. */
const START_MS = 120_000;

/** What a demo is given to play with. */
export interface Stage {
  readonly output: Output;
  readonly say: Transcript;
  /** A folder of its own, gone afterwards. */
  readonly folder: string;
  /** What has to be closed in the end, the last first. */
  readonly closers: (() => Promise<unknown>)[];
}

/** A proxy at work with a client connected. */
export interface Scene {
  readonly client: DemoClient;
  readonly session: DemoSession;
  readonly tools: readonly ListedTool[];
  /** The definitions the client was given instead. */
  readonly shown: readonly Definition[];
}

/** Starts the proxy in front of these upstreams and connects a client, saying what there is. */
export async function setScene(stage: Stage, upstreams: Config['upstreams']): Promise<Scene> {
  const { output, say, closers } = stage;
  const started = performance.now();
  const { createProxy } = await import('../app.ts');
  const load = (fileText?: string): Promise<Loaded> => plainConfig(stage.folder, fileText);
  const loaded = await load();
  if (loaded.kind === 'invalid') throw new Error('the default configuration is invalid');
  const store = openUpstreamStore({ path: join(stage.folder, 'config.json'), program: 'mcpproxy', load });
  const proxy = await createProxy({ ...loaded.config, upstreams }, { store });
  closers.push(() => proxy.close());
  const url = await proxy.listen();
  const isStarted = output.progress('waiting for the servers to start…');
  await proxy.local.settled(START_MS).finally(isStarted);
  const { tools, unavailable } = await proxy.local.listTools();
  if (noteUnavailable(output, unavailable)) throw new Error('not every server could be started.');
  for (const line of countsOf(upstreams, tools)) await say.line(line);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  await say.line(`listening on ${url}; all tools are there after ${seconds} s`);

  const client = await connectDemoClient(url);
  closers.push(() => client.close());
  const shown = await client.listTools();
  await say.step(
    `A client connects (MCP ${client.version}) and sees ${shown.length} tools instead of ${tools.length}`,
  );
  await say.line(shown.map((tool) => tool.name).join('  '));
  return { client, session: new DemoSession(say, client), tools, shown };
}

/** How many tools each upstream has: a line each, several in a line when there are many. */
function countsOf(upstreams: Config['upstreams'], tools: readonly ListedTool[]): string[] {
  const counts = upstreams.map(({ name }) => {
    const count = tools.filter((tool) => tool.upstream === name).length;
    return `${name.padEnd(13)}${String(count).padStart(2)} tools`;
  });
  if (counts.length <= 5) return counts;
  const lines: string[] = [];
  for (let at = 0; at < counts.length; at += 4) lines.push(counts.slice(at, at + 4).join('   '));
  return lines;
}

/** Weighs what the model was spared, and prints it. */
export async function printReceipt({ output, say }: Stage, scene: Scene): Promise<void> {
  const { client, session, tools, shown } = scene;
  const names = tools.map((tool) => tool.name);
  const receipt = await receiptOf(client, names, shown, session.searchCharacters);
  await say.step('The receipt: tokens of tool definitions the model was given (estimate: characters / 4)');
  const saved = receipt.allTools - receipt.ourTools - receipt.searches;
  const rows: readonly (readonly [string, number])[] = [
    [`all ${tools.length} tools, as a client would load them`, receipt.allTools],
    [`the proxy's ${shown.length} tools`, receipt.ourTools],
    ['the search answers above', receipt.searches],
    ['saved', saved],
  ];
  for (const [label, tokens] of rows)
    await say.line(`${label.padEnd(44)}${tokens.toLocaleString('en').padStart(7)}`);
  await say.line(
    `That is ${Math.round((100 * saved) / receipt.allTools)} % with ${tools.length} tools; the proxy's own do not grow with more.`,
  );
  if (output.isJson) {
    await output.print(
      JSON.stringify({ tools: tools.length, metaTools: shown.length, estimatedTokens: receipt }),
    );
  }
}

/** Defaults, whatever the person's own configuration says, on a free port, with more patience for a first fetch. */
async function plainConfig(folder: string, fileText = '{}'): Promise<Loaded> {
  const flags = [
    { name: 'listen', text: '127.0.0.1:0' },
    { name: 'startTimeoutMs', text: String(START_MS) },
    { name: 'drainMs', text: '1000' },
  ] as const;
  return loadConfig({ flags, env: {}, cwd: folder, home: folder, platform: process.platform, fileText });
}
