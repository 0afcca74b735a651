import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { Encoder, EncoderPart } from './encoder.ts';
import type { EncoderSource, FromThread, SentError, ThreadData, ToThread } from './encoder-messages.ts';
import { JobQueue, type Job } from './job-queue.ts';
import { openVectorCache, type VectorCache } from './vector-cache.ts';

/**
 * The thread that owns an encoder. Nothing here waits: it embeds one text, looks at what has come in, and takes the
 * text that matters most; vectors of documents come from the caches on disk, one a part, where they have them.
 */

/** How long it has to be quiet before new vectors are written to disk, in milliseconds; a job's are many small ones. */
const QUIET_MS = 300;
/** How much work a process that is killed may lose, in milliseconds: without a quiet moment it is written then. */
const BUSY_MS = 5_000;

const port = parentPort;
if (port === null) throw new Error('encoder-worker is started as a thread');
const { source, cacheFolder, restShare = 0 } = workerData as ThreadData;

const opened = await open(source);
if (opened !== undefined) {
  const { encoder, shortfall } = opened;
  serve(encoder);
  const parts = encoder.parts?.map(({ dimensions }) => dimensions);
  send({ kind: 'open', id: encoder.id, dimensions: encoder.dimensions, parts, shortfall });
}

interface Opened {
  readonly encoder: Encoder;
  /** What is missing of it, in a sentence. */
  readonly shortfall?: string;
}

async function open(source: EncoderSource): Promise<Opened | undefined> {
  try {
    switch (source.kind) {
      case 'packed':
        return await openPacked(source.file, source.second);
      case 'model2vec': {
        const { modelFolder, openModel2Vec } = await import('./model2vec/open-model.ts');
        return { encoder: await openModel2Vec(modelFolder(source.folder, source.name)) };
      }
    }
  } catch (error) {
    send({ kind: 'unopened', error: sentError(error) });
    return undefined;
  }
}

/** What the second encoder's file has against it costs only the second encoder. */
async function openPacked(file: string, second: string | undefined): Promise<Opened> {
  const { openPackedEncoder } = await import('./packed/packed-encoder.ts');
  if (second === undefined) return { encoder: openPackedEncoder(file) };
  let why: unknown;
  try {
    const { openTwoEncoders } = await import('./english/two-encoders.ts');
    return { encoder: openTwoEncoders(file, second) };
  } catch (error) {
    why = error;
  }
  return { encoder: openPackedEncoder(file), shortfall: messageOf(why) };
}

/** A part of documents' vectors, and those that are kept. */
interface KeptPart {
  readonly part: EncoderPart;
  readonly cache: VectorCache | undefined;
}

function serve(encoder: Encoder): void {
  const parts: readonly KeptPart[] = partsOf(encoder).map((part) => ({
    part,
    cache: cacheFolder === undefined ? undefined : openVectorCache(cacheFolder, part.id, part.dimensions),
  }));
  const queue = new JobQueue();
  let isClosed = false;
  let quiet: NodeJS.Timeout | undefined;
  let restUntil = 0;
  let rested: NodeJS.Timeout | undefined;
  /** Since when there are vectors that are on no disk yet. */
  let unwrittenSince: number | undefined;

  port!.on('message', (message: ToThread) => {
    clearTimeout(quiet);
    receive(message);
    work();
    if (!isClosed) quiet = setTimeout(flush, QUIET_MS);
  });

  /** Until nothing is left to do. What comes in meanwhile is taken from the port, not from the event loop. */
  function work(): void {
    for (let job = queue.next(); job !== undefined && !isClosed; job = queue.next()) {
      const text = job.texts[job.done] ?? '';
      const start = performance.now();
      const isLater = (job.part ?? 0) > 0;
      if (isLater && start < restUntil) {
        clearTimeout(rested);
        rested = setTimeout(work, restUntil - start);
        return;
      }
      try {
        job.vectors.set(vectorOf(job, text), job.done * job.dimensions);
      } catch (error) {
        queue.remove(job.number);
        send({ kind: 'failed', job: job.number, error: sentError(error) });
        continue;
      }
      if (isLater && restShare > 0) {
        const now = performance.now();
        restUntil = now + (now - start) * restShare;
      }
      job.done++;
      if (job.done >= job.texts.length) {
        queue.remove(job.number);
        const vectors = job.vectors as Float32Array<ArrayBuffer>;
        send({ kind: 'done', job: job.number, vectors }, [vectors.buffer]);
      }
      if (unwrittenSince !== undefined && performance.now() - unwrittenSince > BUSY_MS) flush();
      for (let more = receiveMessageOnPort(port!); more !== undefined; more = receiveMessageOnPort(port!)) {
        receive(more.message as ToThread);
      }
    }
  }

  function vectorOf({ role, part, dimensions }: Job, text: string): Float32Array {
    if (role === 'question') return encoder.encode(text, 'question');
    const [first, ...more] = part === undefined ? parts : [parts[part]!];
    if (more.length === 0) return documentVector(first!, text);
    const whole = new Float32Array(dimensions);
    let at = 0;
    for (const one of parts) {
      whole.set(documentVector(one, text), at);
      at += one.part.dimensions;
    }
    return whole;
  }

  function documentVector({ cache, part }: KeptPart, text: string): Float32Array {
    if (cache === undefined) return part.encode(text);
    const kept = cache.get(text);
    if (kept !== undefined) return kept;
    unwrittenSince ??= performance.now();
    return cache.add(text, part.encode(text));
  }

  function flush(): void {
    unwrittenSince = undefined;
    for (const { cache } of parts) cache?.flush();
  }

  function receive(message: ToThread): void {
    switch (message.kind) {
      case 'embed': {
        const { job: number, role, part, texts } = message;
        if (texts.length === 0) send({ kind: 'done', job: number, vectors: new Float32Array() });
        else {
          const dimensions = part === undefined ? encoder.dimensions : parts[part]!.part.dimensions;
          queue.add({ number, role, part, texts, dimensions });
        }
        break;
      }
      case 'cancel':
        queue.remove(message.job);
        break;
      case 'close':
        isClosed = true;
        clearTimeout(quiet);
        clearTimeout(rested);
        flush();
        for (const { cache } of parts) cache?.close();
        encoder.close();
        port!.close();
        break;
    }
  }
}

function partsOf(encoder: Encoder): readonly EncoderPart[] {
  const { id, dimensions, parts } = encoder;
  return parts ?? [{ id, dimensions, encode: (text) => encoder.encode(text, 'document') }];
}

function send(message: FromThread, transfer: readonly ArrayBuffer[] = []): void {
  port!.postMessage(message, transfer);
}

function sentError(error: unknown): SentError {
  return { code: error instanceof ProxyError ? error.code : undefined, message: messageOf(error) };
}
