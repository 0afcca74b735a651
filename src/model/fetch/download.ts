import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProxyError } from '../../base/errors.ts';
import { HttpFailure } from '../../net/http-client.ts';
import type { HttpReply } from '../../net/http-client.ts';
import type { ModelFile } from './known-models.ts';
import { hostOf, reasonOf } from './reach.ts';
import type { Reacher } from './reach.ts';

export interface Download extends ModelFile {
  readonly url: string;
  /** Largest size that is taken when it is not known beforehand. */
  readonly maxBytes: number;
}

export interface DownloadSinks {
  readonly signal: AbortSignal;
  /** Bytes that are there, and in all when that is known. */
  readonly onProgress: (done: number, total: number | undefined) => void;
  /** Something worth a line, such as that a connection was cut and it goes on. */
  readonly onNote: (text: string) => void;
}

/** How patiently; tests need less of it. */
export interface Patience {
  /** Longest without a byte before a connection counts as cut. */
  readonly stallMs: number;
  /** Attempts in a row that bring nothing. */
  readonly tries: number;
  /** First pause before another attempt; it doubles. */
  readonly backoffMs: number;
}

export const PATIENCE: Patience = { stallMs: 60_000, tries: 6, backoffMs: 1_000 };

/** Attempts at a host that cannot be reached at all: its name may be misspelt. */
const UNREACHED_TRIES = 3;

/** Longest pause, whatever a server asks for. */
const MAX_WAIT_MS = 60_000;

/** There is no such file; another layout may have another. */
export class NotThere extends Error {
  override readonly name = 'NotThere';
}

/**
 * Downloads one file to `path`, which exists only when it is whole and has the SHA-256 that is pinned. Until then
 * there is `path.part`; when the connection is cut, or this run ends, the next one goes on where it ended.
 * Gives the SHA-256. Throws `NotThere`, `model_unavailable`, `model_forbidden`, `model_mismatch`, or what writing
 * failed with.
 */
export async function download(
  file: Download,
  path: string,
  reacher: Reacher,
  sinks: DownloadSinks,
  patience: Patience = PATIENCE,
): Promise<string> {
  const part = `${path}.part`;
  const present = await presentDigest(file, path);
  if (present !== undefined) return present;
  let hasRestarted = false;
  for (let vain = 0; ;) {
    const began = await bytesOf(part);
    const outcome = await attempt(file, path, reacher, sinks, patience.stallMs);
    if (outcome.kind === 'whole') {
      if (file.sha256 === undefined || outcome.sha256 === file.sha256) {
        await rename(part, path);
        await rm(stateOf(path), { force: true });
        return outcome.sha256;
      }
      await discard(path);
      // A beginning that another run left may be what is wrong.
      if (!outcome.isResumed || hasRestarted)
        throw mismatch(file, `its SHA-256 is ${outcome.sha256}, not ${file.sha256}`);
      hasRestarted = true;
      sinks.onNote(`${file.file} is not what it should be; it is fetched again from its beginning.`);
      continue;
    }
    vain = (await bytesOf(part)) > began ? 1 : vain + 1;
    const isUnreached = outcome.cause instanceof HttpFailure && outcome.cause.phase === 'connect';
    if (vain >= (isUnreached ? Math.min(UNREACHED_TRIES, patience.tries) : patience.tries)) {
      const message = `The model's file ${file.file} could not be fetched from ${hostOf(file.url)}: ${outcome.why}.`;
      throw new ProxyError('model_unavailable', message, { cause: outcome.cause });
    }
    sinks.onNote(`${file.file}: ${outcome.why}; going on.`);
    const waitMs = outcome.waitMs ?? patience.backoffMs * 2 ** (vain - 1);
    await sleep(Math.min(MAX_WAIT_MS, waitMs), undefined, { signal: sinks.signal }).catch(() => undefined);
    sinks.signal.throwIfAborted();
  }
}

/** Removes what is there of a file that is not whole. */
async function discard(path: string): Promise<void> {
  await rm(`${path}.part`, { force: true });
  await rm(stateOf(path), { force: true });
}

function stateOf(path: string): string {
  return `${path}.part.json`;
}

function mismatch({ file, url }: Download, why: string): ProxyError {
  return new ProxyError(
    'model_mismatch',
    `The model's file ${file} from ${hostOf(url)} is not the right one: ${why}.`,
  );
}

/** The digest of a file an earlier run finished; only a pinned one is known to be still the right one. */
async function presentDigest(file: Download, path: string): Promise<string | undefined> {
  if (file.sha256 === undefined || (await bytesOf(path)) === 0) return undefined;
  const hash = createHash('sha256');
  await addFile(hash, path);
  if (hash.digest('hex') === file.sha256) return file.sha256;
  await rm(path, { force: true });
  return undefined;
}

type Attempted =
  | { readonly kind: 'whole'; readonly sha256: string; readonly isResumed: boolean }
  | {
      readonly kind: 'again';
      readonly why: string;
      readonly waitMs?: number | undefined;
      readonly cause?: unknown;
    };

async function attempt(
  file: Download,
  path: string,
  reacher: Reacher,
  sinks: DownloadSinks,
  stallMs: number,
): Promise<Attempted> {
  const part = `${path}.part`;
  const stalled = new AbortController();
  const onAbort = (): void => stalled.abort(sinks.signal.reason);
  sinks.signal.throwIfAborted();
  sinks.signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => stalled.abort(new Error(`no byte for ${stallMs / 1_000} s`)), stallMs);
  let reply: HttpReply | undefined;
  try {
    const start = await resumable(file, path);
    reply = await reacher.get(file.url, start === undefined ? {} : start.headers, stalled.signal);
    const answer = judge(file, reply, start?.bytes ?? 0);
    if (answer.kind === 'again') return answer;
    if (answer.kind === 'restart') {
      await discard(path);
      return { kind: 'again', why: answer.why, waitMs: 0 };
    }
    const hash = createHash('sha256');
    if (answer.from > 0) await addFile(hash, part);
    else await writeFile(part, '');
    await writeFile(
      stateOf(path),
      JSON.stringify({ url: file.url, etag: strongTag(reply), total: answer.total }),
    );
    const done = await writeBody(reply, part, answer.from, hash, file, answer.total, sinks, () =>
      timer.refresh(),
    );
    if (answer.total !== undefined && done < answer.total)
      return { kind: 'again', why: `the connection was cut after ${done} of ${answer.total} bytes` };
    return { kind: 'whole', sha256: hash.digest('hex'), isResumed: answer.from > 0 };
  } catch (error) {
    if (sinks.signal.aborted) throw sinks.signal.reason;
    if (error instanceof TooLong) {
      await discard(path);
      throw mismatch(file, error.message);
    }
    if (error instanceof ProxyError && error.code === 'model_mismatch') await discard(path);
    if (error instanceof ProxyError || error instanceof NotThere || isOfDisk(error)) throw error;
    return {
      kind: 'again',
      why: reasonOf(stalled.signal.aborted ? stalled.signal.reason : error),
      cause: error,
    };
  } finally {
    clearTimeout(timer);
    sinks.signal.removeEventListener('abort', onAbort);
    reply?.cancel();
  }
}

class TooLong extends Error {}

/** Errors of the file system have the name of a system call. */
function isOfDisk(error: unknown): boolean {
  return (
    error instanceof Error &&
    'syscall' in error &&
    /^(write|open|fsync|ftruncate|rename|truncate)$/.test(String(error.syscall))
  );
}

/** How to go on with what an earlier attempt left, when it is known to be the beginning of the same file. */
async function resumable(
  file: Download,
  path: string,
): Promise<{ readonly bytes: number; readonly headers: Readonly<Record<string, string>> } | undefined> {
  const bytes = await bytesOf(`${path}.part`);
  if (bytes === 0) return undefined;
  const state = await readState(path);
  // What is pinned is compared at the end; of anything else only the server can say that it is still the same.
  const isSame = state?.url === file.url && (state.etag !== undefined || file.sha256 !== undefined);
  if (!isSame || (file.bytes !== undefined && bytes > file.bytes)) {
    await discard(path);
    return undefined;
  }
  // A part that is whole already, but for its check, is asked for its last byte again.
  const from = file.bytes === bytes ? bytes - 1 : bytes;
  if (from !== bytes) await truncate(`${path}.part`, from);
  return {
    bytes: from,
    headers: { range: `bytes=${from}-`, ...(state.etag === undefined ? {} : { 'if-range': state.etag }) },
  };
}

interface State {
  readonly url: string;
  readonly etag: string | undefined;
}

async function readState(path: string): Promise<State | undefined> {
  try {
    const state = JSON.parse(await readFile(stateOf(path), 'utf8')) as unknown;
    if (typeof state !== 'object' || state === null || !('url' in state) || typeof state.url !== 'string')
      return undefined;
    const etag = 'etag' in state && typeof state.etag === 'string' ? state.etag : undefined;
    return { url: state.url, etag };
  } catch {
    return undefined;
  }
}

/** A tag that is the same only for the same bytes. */
function strongTag(reply: HttpReply): string | undefined {
  const etag = reply.header('etag');
  return etag !== undefined && /^"[\x21\x23-\x7e]{1,200}"$/.test(etag) ? etag : undefined;
}

type Judged =
  /** Without a total the body's own end has to say that it is whole. */
  | { readonly kind: 'body'; readonly from: number; readonly total: number | undefined }
  | { readonly kind: 'restart'; readonly why: string }
  | Extract<Attempted, { kind: 'again' }>;

/** What an answer's head says: throws when it cannot be the file. */
function judge(file: Download, reply: HttpReply, from: number): Judged {
  const { status } = reply;
  if (status === 404 || status === 410)
    throw new NotThere(`${hostOf(file.url)} has no ${file.file} (${status})`);
  if (status === 416 && from > 0)
    return { kind: 'restart', why: 'the server does not have what was left to fetch' };
  if (status === 408 || status === 429 || status >= 500) {
    return {
      kind: 'again',
      why: `${hostOf(file.url)} answered ${status}`,
      waitMs: retryAfter(reply.header('retry-after')),
    };
  }
  if (status !== 200 && status !== 206) {
    const message = `The model's file ${file.file} could not be fetched: ${hostOf(file.url)} answered ${status}.`;
    throw new ProxyError('model_unavailable', message, { retryable: false });
  }
  const encoding = reply.header('content-encoding');
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    throw mismatch(file, 'it came packed');
  if (/^\s*text\/html\b/i.test(reply.header('content-type') ?? '')) throw mismatch(file, 'it is a web page');
  const length = wholeNumber(reply.header('content-length'));
  if (status === 206) {
    const range = /^\s*bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})\s*$/.exec(reply.header('content-range') ?? '');
    const [first, last, total] = (range?.slice(1) ?? []).map(Number);
    if (first !== from || total === undefined || last !== total - 1) {
      return { kind: 'restart', why: 'the server gave another part than was asked for' };
    }
    return { kind: 'body', from, total: checked(file, total) };
  }
  const total = length ?? file.bytes;
  return { kind: 'body', from: 0, total: total === undefined ? undefined : checked(file, total) };
}

function checked(file: Download, total: number): number {
  if (file.bytes !== undefined && total !== file.bytes)
    throw mismatch(file, `it has ${total} bytes, not ${file.bytes}`);
  if (total > file.maxBytes) throw mismatch(file, `it has ${total} bytes; ${file.maxBytes} is the limit`);
  return total;
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,15}\s*$/.test(text) ? Number(text) : undefined;
}

function retryAfter(text: string | undefined): number | undefined {
  const seconds = wholeNumber(text);
  return seconds === undefined ? undefined : seconds * 1_000;
}

/** Writes a body behind what is there; gives how many bytes there are then, flushed to the disk. */
async function writeBody(
  reply: HttpReply,
  part: string,
  from: number,
  hash: Hash,
  file: Download,
  total: number | undefined,
  { onProgress }: DownloadSinks,
  onAlive: () => void,
): Promise<number> {
  const handle = await open(part, 'r+');
  let done = from;
  try {
    await handle.truncate(from);
    onProgress(done, total);
    for await (const chunk of reply.body) {
      onAlive();
      const most = total ?? file.maxBytes;
      if (done + chunk.length > most) throw new TooLong(`it goes on after ${most} bytes`);
      for (let written = 0; written < chunk.length;) {
        const { bytesWritten } = await handle.write(chunk, written, chunk.length - written, done + written);
        written += bytesWritten;
      }
      hash.update(chunk);
      done += chunk.length;
      onProgress(done, total);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return done;
}

async function addFile(hash: Hash, path: string): Promise<void> {
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
}

/** 0 when there is no such file. */
async function bytesOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}
