import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { demoServers } from './demo-servers.ts';
import { firstOf } from './demo-session.ts';
import { printReceipt, setScene } from './demo-stage.ts';
import type { Stage } from './demo-stage.ts';

const NOTE =
  'Harbour meeting, Tuesday: Ona repairs the north light before the storm season.\nBudget: 4,200 euros.\n';

/** Three published servers, so that reads and writes have real effects: a file, a knowledge graph. */
export async function playMeeting(stage: Stage): Promise<void> {
  const { say, folder } = stage;
  const servers = demoServers(folder);
  await writeFile(join(folder, 'meeting.txt'), NOTE);
  await say.title(
    'Seven tools in front of three real MCP servers',
    'A script plays the model. Everything else is real, and every answer below is the one that came.',
  );

  await say.step('The proxy starts');
  const fetched = servers.filter((server) => server.fetchedBy !== undefined);
  if (fetched.length > 0) {
    await say.line('These servers are not installed here, so they are fetched and run now:');
    for (const server of fetched) await say.line(`  ${server.fetchedBy}`);
    await say.line('(mcpproxy demo --builtin needs nothing from outside.)');
  }
  const scene = await setScene(
    stage,
    servers.map((server) => server.record),
  );
  const { session } = scene;

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

  await say.step(
    'Its owner writes German, and no tool is described in German: search goes by meaning as well',
  );
  const folders = await session.searchInAnotherLanguage('Welche Dateien liegen in diesem Ordner?');
  if (folders !== undefined)
    firstOf(folders, 'list_directory', 'list_directory_with_sizes', 'directory_tree');

  await say.step('What does not fit is refused before any server hears of it');
  await session.refused('call_read_tool', reader, { file: 'meeting.txt' }, 3);
  await session.refused('call_read_tool', writer, { entities: [] }, 1);

  await printReceipt(stage, scene);
}
