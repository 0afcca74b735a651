import { access, constants, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Environment } from './references.ts';

/** Whether there is a program of that name to start: at that path, or in one of the folders of `PATH`. */
export async function isProgramThere(command: string, env: Environment): Promise<boolean> {
  // What a variable will say is not known here.
  if (command.includes('${env:')) return true;
  if (isAbsolute(command) || /[/\\]/.test(command)) return isRunnable(resolve(command));
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const endings =
    process.platform === 'win32' ? ['', ...(env['PATHEXT'] ?? '.EXE;.CMD;.BAT').split(';')] : [''];
  for (const folder of folders)
    for (const ending of endings) if (await isRunnable(join(folder, command + ending))) return true;
  return false;
}

async function isRunnable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
