import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from './context.ts';
import type { Stage } from './demo-stage.ts';
import { EXIT } from './exit-code.ts';
import { untilStopped } from './stop-signal.ts';
import { createTranscript } from './transcript.ts';

/**
 * The proxy at work: servers behind it, a real client in front of it, over real HTTP. Everything printed is what
 * happened; the one part played is the model's, by this script.
 */
export async function demo(context: Context): Promise<number> {
  const { output, line } = context;
  const stopped = untilStopped();
  const folder = await mkdtemp(join(tmpdir(), 'mcpproxy-demo-'));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stage: Stage = { output, say: createTranscript(output), folder, closers };
  const play = line.flags.has('builtin')
    ? (await import('./demo-town.ts')).playTown
    : (await import('./demo-meeting.ts')).playMeeting;
  try {
    return await Promise.race([play(stage).then(() => EXIT.done), stopped]);
  } catch (error) {
    output.error(`the demo stopped: ${error instanceof Error ? error.message : String(error)}`);
    return EXIT.failed;
  } finally {
    // The last opened is closed first; the folder goes when nobody writes to it any more.
    for (const close of closers.toReversed()) await close().catch(() => undefined);
  }
}
