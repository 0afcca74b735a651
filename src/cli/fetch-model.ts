import { relative } from 'node:path';
import type { FetchedModel, FetchProgress } from '../model/fetch/fetch-model.ts';
import { loadedOf } from './context.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { printable } from './meta-answer.ts';
import { untilStopped } from './stop-signal.ts';
import type { Output } from './output.ts';

/** Gets an embedding model into the model folder. */
export async function fetchModelCommand(context: Context): Promise<number> {
  const { output, line } = context;
  const { modelDir } = loadedOf(context).settings;
  if (modelDir === undefined) {
    output.error('fetch-model needs --model-dir DIR, the folder models are kept in.');
    return EXIT.usage;
  }
  const { fetchModel, readAsked } = await import('../model/fetch/fetch-model.ts');
  const { DEFAULT_MODEL } = await import('../model/fetch/known-models.ts');
  const [operand] = line.operands;
  const asked = readAsked(operand, line.flags.get('url'), process.cwd(), DEFAULT_MODEL);
  if ('mistake' in asked) {
    output.error(asked.mistake);
    return EXIT.usage;
  }
  const stop = new AbortController();
  const stopped = untilStopped().then((code) => {
    stop.abort(new Error('stopped'));
    return code;
  });
  const from = asked.origin.kind === 'web' ? new URL(asked.origin.base).host : asked.origin.folder;
  output.note(`fetching ${asked.name} from ${printable(from)}`);
  try {
    const fetched = await fetchModel({
      ...asked,
      modelDir,
      env: process.env,
      signal: stop.signal,
      onProgress: progressLines(output),
      onNote: (text) => output.note(printable(text)),
    });
    await show(fetched, modelDir, asked.origin.kind === 'folder', output);
    return EXIT.done;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    output.note('stopped; the next fetch-model goes on where this one ended.');
    return await stopped;
  }
}

async function show(
  fetched: FetchedModel,
  modelDir: string,
  isFolder: boolean,
  output: Output,
): Promise<void> {
  const { name, folder, dimensions, bytes, files, wasThere } = fetched;
  if (output.isJson) {
    await output.print(JSON.stringify(fetched, undefined, 2));
    return;
  }
  for (const { file, sha256, isPinned } of isFolder ? [] : files) {
    if (!isPinned) output.note(`${file} has no pinned digest; it came with SHA-256 ${sha256}`);
  }
  const was = wasThere ? 'was there already' : 'is there';
  await output.print(`${name} ${was}: ${dimensions} numbers a vector, ${size(bytes)} in ${folder}`);
  const shown = relative(process.cwd(), modelDir) || '.';
  output.note(`use it: mcpproxy --model-dir ${shown.startsWith('..') ? modelDir : shown} --embedder ${name}`);
}

/** Off a terminal a line each quarter of a large file is enough. */
const LARGE_BYTES = 20_000_000;

/** How often the line on a terminal is written anew, in milliseconds. */
const REFRESH_MS = 200;

function progressLines(output: Output): (progress: FetchProgress) => void {
  let shownAt = 0;
  let file = '';
  let quarter = 0;
  let began = { at: 0, done: 0 };
  return (progress) => {
    const now = performance.now();
    if (progress.kind === 'compact') {
      if (now - shownAt < REFRESH_MS && progress.share < 1) return;
      shownAt = now;
      output.status(`making it compact: ${Math.floor(100 * progress.share)} %`);
      return;
    }
    const { done, total } = progress;
    if (progress.file !== file) {
      file = progress.file;
      quarter = Math.floor((4 * done) / (total || 1));
      began = { at: now, done };
      shownAt = 0;
    }
    const isWhole = done === total;
    if (output.hasStatus) {
      if (now - shownAt < REFRESH_MS && !isWhole) return;
      shownAt = now;
      const speed = (done - began.done) / Math.max(0.001, (now - began.at) / 1_000);
      const rest = total === undefined || speed === 0 ? '' : `, ${Math.ceil((total - done) / speed)} s left`;
      output.status(
        `${file}: ${size(done)} of ${size(total ?? done)}, ${size(speed)}/s${isWhole ? '' : rest}`,
      );
      return;
    }
    const nowAt = Math.floor((4 * done) / (total || 1));
    if ((total ?? 0) < LARGE_BYTES || nowAt <= quarter) return;
    quarter = nowAt;
    output.note(`${file}: ${25 * quarter} % of ${size(total ?? 0)}`);
  };
}

function size(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} KB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;
}
