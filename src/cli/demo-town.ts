import { sampleRecords } from './builtin/sample-records.ts';
import { firstOf } from './demo-session.ts';
import { printReceipt, setScene } from './demo-stage.ts';
import type { Stage } from './demo-stage.ts';

/** The built-in sample catalog: nothing has to be installed or fetched, and there are enough tools to get lost in. */
export async function playTown(stage: Stage): Promise<void> {
  const { say } = stage;
  const upstreams = sampleRecords();
  await say.title(
    `Five tools in front of the ${upstreams.length} servers of an invented town`,
    'The servers speak real MCP; what they know is made up, and nothing they are told to do happens.',
  );

  await say.step('The proxy starts');
  const scene = await setScene(stage, upstreams);
  const { session } = scene;

  await say.step('“Is there a boat to Sandholm on Saturday, and what is on?” It searches for both at once');
  const found = await session.search({
    queries: ['list of ferry sailings on a day', 'which plays are on and are there tickets left'],
    limit: 3,
  });
  const sailings = firstOf(found, 'list_sailings');
  const plays = firstOf(found, 'whats_on');

  await say.step('It reads both');
  const saturday = '2031-05-03';
  await session.call('call_read_tool', sailings, { from: 'Kelmouth', to: 'Sandholm', day: saturday }, 1);
  await session.call('call_read_tool', plays, { from: saturday }, 1);

  await say.step('“Book us in, and my library book is due.” Writes go through a tool of their own');
  const asked = await session.search({
    queries: ['book places on a sailing', 'extend the loan of a library book'],
    limit: 3,
  });
  const booker = firstOf(asked, 'book_crossing');
  const renewer = firstOf(asked, 'renew_loan');
  const booking = { sailing_id: 'S-4711', passengers: 'A. Lund, B. Farrow', vehicle: 'bicycle' };
  await session.call('call_write_tool', booker, booking, 1);
  await session.call('call_write_tool', renewer, { loan_id: 'L-2040' }, 1);

  await say.step(
    'A visitor asks in German, and no tool is described in German: search goes by meaning as well',
  );
  const crossings = await session.searchInAnotherLanguage('Fährt am Samstag ein Schiff auf die Insel?');
  if (crossings !== undefined) firstOf(crossings, 'list_sailings', 'next_departure');

  await say.step('What does not fit is refused before any server hears of it');
  await session.refused('call_write_tool', booker, { ...booking, vehicle: 'tractor' }, 2);
  await session.refused('call_read_tool', renewer, { loan_id: 'L-2040' }, 1);

  await printReceipt(stage, scene);
}
