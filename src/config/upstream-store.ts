import { mkdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ProxyError } from '../base/errors.ts';
import type { ApprovalState } from '../roster/approval-state.ts';
import type { UpstreamRecord } from '../roster/record.ts';
import type { UpstreamChange, UpstreamEdit, UpstreamStore } from '../roster/store.ts';
import { approvalsText, readApprovalsText } from './approvals-text.ts';
import { editServers, findServer } from './edit-servers.ts';
import { withFileLock } from './file-lock.ts';
import type { Loaded } from './load.ts';
import { formatProblem } from './problem.ts';
import { removeLeftovers, targetFile, writeError, writeWhole } from './write-whole.ts';

export type { UpstreamStore };

export interface UpstreamStoreParts {
  /** The configuration file, which need not exist yet. */
  readonly path: string;
  /** How a person starts the program on that file. */
  readonly program: string;
  /** Reads a configuration as at start, with this text in place of the file's. */
  readonly load: (fileText: string) => Promise<Loaded>;
}

/** Where approvals of a configuration file lie: beside it, `config.json` → `config.state.json`. */
export function approvalsPath(path: string): string {
  return join(dirname(path), `${basename(path).replace(/\.jsonc?$/i, '')}.state.json`);
}

/** An editor that saves over and over is waited for this often. */
const MAX_ROUNDS = 20;

/**
 * The configuration file as the place where upstreams are kept. A change is made on the file as it is at that moment,
 * under a lock, checked as a start would check it, and written whole; comments, unknown keys and everything else stay.
 */
export function openUpstreamStore({ path, program, load }: UpstreamStoreParts): UpstreamStore {
  const state = approvalsPath(path);
  // One after the other in this process; the lock is for others.
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work, work);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function change(edit: UpstreamEdit): Promise<UpstreamChange> {
    const file = await opened(path);
    return withFileLock(file, async () => {
      await removeLeftovers(file);
      for (let round = 1; round <= MAX_ROUNDS; round++) {
        const before = await textOf(file);
        const edited = await editServers(before, edit, path);
        const records = await checked(edited.text, edit);
        // Somebody else may have saved meanwhile, with an editor that asks for no lock.
        if ((await textOf(file)) !== before) continue;
        if (edited.text !== before) await writeWhole(file, edited.text);
        const { text: _text, ...sides } = edited;
        return { records, ...sides };
      }
      throw new ProxyError('config_busy', `${path} changes all the time; nothing was changed.`, {
        retryable: true,
      });
    });
  }

  async function checked(text: string, edit: UpstreamEdit): Promise<readonly UpstreamRecord[]> {
    const loaded = await load(text);
    if (loaded.kind === 'settled') {
      // A mistake in an entry that is switched off stops nothing, but one nobody can switch on is not added.
      if (edit.kind === 'remove' || loaded.config.upstreams.some((each) => isNamed(each, edit.name)))
        return loaded.config.upstreams;
    }
    const problems = loaded.kind === 'invalid' ? loaded.problems : loaded.warnings;
    throw new ProxyError(
      'config_invalid',
      `Nothing was changed, because the configuration could not be used then: ${problems.map(formatProblem).join(' ')}`,
    );
  }

  return {
    path,
    program,
    change: (edit) => inTurn(() => change(edit)),
    async entry(name) {
      return findServer(await textOf(await targetFile(path)), name);
    },
    async readApprovals() {
      return readApprovalsText(await textOf(state), state);
    },
    changeApprovals: (edit) =>
      inTurn(async () => {
        const file = await opened(state);
        return withFileLock(file, async (): Promise<ApprovalState> => {
          await removeLeftovers(file);
          const before = readApprovalsText(await textOf(file), state);
          const after = edit(before);
          const text = approvalsText(after);
          if (text !== approvalsText(before)) await writeWhole(file, text);
          return after;
        });
      }),
  };
}

function isNamed(record: UpstreamRecord, name: string): boolean {
  return record.name.toLowerCase() === name.toLowerCase();
}

/** The file to write, its folder made where there is none. */
async function opened(path: string): Promise<string> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw writeError(path, cause);
  }
  return targetFile(path);
}

/** What is in a file; nothing when there is none. */
async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw writeError(path, cause);
  }
}
