import { unwatchFile, watchFile } from 'node:fs';
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Loaded } from '../config/load.ts';
import { approvalsPath } from '../config/upstream-store.ts';
import { formatProblem } from '../config/problem.ts';
import type { Settings } from '../config/settings.ts';

/** How often the file is looked at. Polling survives editors that write a new file and rename it over the old. */
const INTERVAL_MS = 1_000;

export interface ConfigWatchParts {
  readonly path: string;
  readonly settings: Settings;
  /** Reads the configuration as at start: file, environment and flags. */
  readonly load: () => Promise<Loaded>;
  /** Takes the new upstreams; gives what to say of it. */
  readonly apply: (loaded: Extract<Loaded, { kind: 'settled' }>) => Promise<string>;
  /** Takes what was approved; gives what to say of it. */
  readonly applyApprovals: () => Promise<string>;
  readonly note: (message: string) => void;
}

export interface ConfigWatch {
  /** Takes the file as it is now, whether it changed or not, and says what came of it. */
  look(): void;
  close(): void;
}

/**
 * Follows the configuration file while serving. A file that is broken or gone keeps the running configuration, and
 * is spoken of once; one that can be used again is taken at once. Settings other than upstreams hold from the start,
 * and a change of theirs is answered with that.
 */
export function watchConfig(parts: ConfigWatchParts): ConfigWatch {
  const { path, note } = parts;
  let said = '';
  const sayOnce = (message: string): void => {
    if (message !== said && message !== '') note(message);
    said = message;
  };
  let last: Promise<void> = Promise.resolve();

  async function look(now: Pick<Stats, 'mtimeMs'>): Promise<void> {
    if (now.mtimeMs === 0) return sayOnce(`${path} is gone; the running configuration stays.`);
    const loaded = await parts.load();
    if (loaded.kind === 'invalid') {
      const problems = loaded.problems.map((problem) => `\n  ${formatProblem(problem)}`).join('');
      return sayOnce(`the changed configuration cannot be used; the running one stays:${problems}`);
    }
    const changed = changedSettings(parts.settings, loaded.settings);
    const later = changed.length === 0 ? '' : ` Takes effect with the next start: ${changed.join(', ')}.`;
    sayOnce(`${await parts.apply(loaded)}${later}`);
  }

  const approvals = approvalsPath(path);
  watchFile(approvals, { interval: INTERVAL_MS, persistent: false }, (now, before) => {
    if (isSameFile(now, before)) return;
    last = last
      .then(async () => sayOnce(await parts.applyApprovals()))
      .catch((error: unknown) => sayOnce(`${approvals}: ${String(error)}`));
  });
  watchFile(path, { interval: INTERVAL_MS, persistent: false }, (now, before) => {
    if (isSameFile(now, before)) return;
    // One look after the other, so that the newest file is the last one taken.
    last = last.then(() => look(now)).catch((error: unknown) => sayOnce(`${path}: ${String(error)}`));
  });
  return {
    look() {
      said = '';
      last = last
        .then(async () => look(await stat(path).catch(() => ({ mtimeMs: 0 }))))
        .then(() => {
          if (said === '') note('the configuration was read again; nothing changed.');
        })
        .catch((error: unknown) => sayOnce(`${path}: ${String(error)}`));
    },
    close() {
      unwatchFile(path);
      unwatchFile(approvals);
    },
  };
}

function isSameFile(now: Stats, before: Stats): boolean {
  return now.mtimeMs === before.mtimeMs && now.ino === before.ino && now.size === before.size;
}

function changedSettings(before: Settings, after: Settings): string[] {
  return Object.keys(before)
    .filter((name) => name !== 'upstream')
    .filter((name) => text(before[name as keyof Settings]) !== text(after[name as keyof Settings]));
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? '';
}
