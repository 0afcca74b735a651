import { readFile } from 'node:fs/promises';
import { readTree } from './json-tree.ts';
import type { JsonNode } from './json-tree.ts';
import type { Origin, Problem } from './problem.ts';

/** A configuration file that was read: its values, and where in it each stands. */
export interface SourceFile {
  readonly path: string;
  readonly root: JsonNode;
  readonly originAt: (offset: number) => Origin;
  /** The very text of a value. */
  readonly textOf: (node: JsonNode) => string;
}

export type ReadSource =
  | { readonly kind: 'read'; readonly file: SourceFile }
  | { readonly kind: 'missing' }
  | { readonly kind: 'broken'; readonly problems: readonly Problem[] };

/** Larger than any configuration; what is larger was named by mistake. */
const MAX_FILE_BYTES = 4_194_304;
/** More syntax mistakes than this follow from one another. */
const MAX_MISTAKES = 5;

export async function readSource(path: string): Promise<ReadSource> {
  const broken = (message: string): ReadSource => ({
    kind: 'broken',
    problems: [{ origin: { kind: 'file', path }, message }],
  });
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    switch (code) {
      case 'ENOENT':
      case 'ENOTDIR':
        return { kind: 'missing' };
      case 'EISDIR':
        return broken('is a folder; name the file in it.');
      case 'EACCES':
      case 'EPERM':
        return broken('may not be read by this user; change its permissions or name another file.');
      default:
        return broken(`cannot be read (${code}).`);
    }
  }
  if (bytes.length > MAX_FILE_BYTES)
    return broken(`is larger than ${MAX_FILE_BYTES} bytes, which no configuration is.`);
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return broken('is written in UTF-16; save it as UTF-8.');
  }
  return parseSource(path, bytes.toString('utf8'));
}

/** The same of a text that is in no file yet, said to be at `path`. */
export async function parseSource(path: string, content: string): Promise<ReadSource> {
  // A byte order mark becomes a space, so that offsets stay true.
  const text = content.replace(/^\uFEFF/, ' ');
  const originAt = (offset: number): Origin => ({ kind: 'file', path, ...placeOf(text, offset) });
  const tree = await readTree(text);
  if ('root' in tree)
    return {
      kind: 'read',
      file: { path, root: tree.root, originAt, textOf: (node) => text.slice(node.start, node.end) },
    };
  return {
    kind: 'broken',
    problems: firstOfEachLine(
      tree.mistakes.map(({ at, message }) => ({ at, ...placeOf(text, at), message })),
    ).map(({ at, message }) => ({ origin: originAt(at), message })),
  };
}

/** The mistakes worth saying: what follows one on the same line mostly follows from it. */
function firstOfEachLine<Place extends { readonly line: number }>(mistakes: readonly Place[]): Place[] {
  return mistakes.filter(({ line }, index) => line !== mistakes[index - 1]?.line).slice(0, MAX_MISTAKES);
}

/** Both counted from 1, as editors do. */
function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lastBreak = before.lastIndexOf('\n');
  return { line: before.split('\n').length, column: offset - lastBreak };
}
