import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { Encoder } from './encoder.ts';
import type { EncoderSource, FromThread, SentError, ThreadData, ToThread } from './encoder-messages.ts';
import { JobQueue } from './job-queue.ts';
import { openVectorCache, type VectorCache } from './vector-cache.ts';

/**
 * The thread that owns an encoder. Nothing here waits: it embeds one text, looks at what has come in, and takes the
 * text that matters most; vectors of documents come from the cache on disk where it has them.
 */

/** How long it has to be quiet before new vectors are written to disk, in milliseconds; a job's are many small ones. */
const QUIET_MS = 300;

const port = parentPort;
if (port === null) throw new Error('encoder-worker is started as a thread');
const { source, cacheFolder } = workerData as ThreadData;

const encoder = await open(source);
if (encoder !== undefined) {
  const cache =
    cacheFolder === undefined ? undefined : openVectorCache(cacheFolder, encoder.id, encoder.dimensions);
  serve(encoder, cache);
  send({ kind: 'open', id: encoder.id, dimensions: encoder.dimensions });
}

async function open(source: EncoderSource): Promise<Encoder | undefined> {
  try {
    switch (source.kind) {
      case 'packed': {
        const { openPackedEncoder } = await import('./packed/packed-encoder.ts');
        return openPackedEncoder(source.file);
      }
      case 'model2vec': {
        const { modelFolder, openModel2Vec } = await import('./model2vec/open-model.ts');
        return await openModel2Vec(modelFolder(source.folder, source.name));
      }
    }
  } catch (error) {
    send({ kind: 'unopened', error: sentError(error) });
    return undefined;
  }
}

function serve(encoder: Encoder, cache: VectorCache | undefined): void {
  const queue = new JobQueue(encoder.dimensions);
  let isClosed = false;
  let quiet: NodeJS.Timeout | undefined;

  port!.on('message', (message: ToThread) => {
    clearTimeout(quiet);
    receive(message);
    work();
    if (!isClosed) quiet = setTimeout(() => cache?.flush(), QUIET_MS);
  });

  /** Until nothing is left to do. What comes in meanwhile is taken from the port, not from the event loop. */
  function work(): void {
    for (let job = queue.next(); job !== undefined && !isClosed; job = queue.next()) {
      const text = job.texts[job.done] ?? '';
      try {
        const vector =
          cache !== undefined && job.role === 'document' ? kept(cache, text) : encoder.encode(text, job.role);
        job.vectors.set(vector, job.done * encoder.dimensions);
      } catch (error) {
        queue.remove(job.number);
        send({ kind: 'failed', job: job.number, error: sentError(error) });
        continue;
      }
      job.done++;
      if (job.done >= job.texts.length) {
        queue.remove(job.number);
        const vectors = job.vectors as Float32Array<ArrayBuffer>;
        send({ kind: 'done', job: job.number, vectors }, [vectors.buffer]);
      }
      for (let more = receiveMessageOnPort(port!); more !== undefined; more = receiveMessageOnPort(port!)) {
        receive(more.message as ToThread);
      }
    }
  }

  function kept(cache: VectorCache, text: string): Float32Array {
    const found = cache.get(text);
    if (found !== undefined) return found;
    return cache.add(text, encoder.encode(text, 'document'));
  }

  function receive(message: ToThread): void {
    switch (message.kind) {
      case 'embed':
        if (message.texts.length === 0) {
          send({ kind: 'done', job: message.job, vectors: new Float32Array() });
        } else queue.add(message.job, message.role, message.texts);
        break;
      case 'cancel':
        queue.remove(message.job);
        break;
      case 'close':
        isClosed = true;
        clearTimeout(quiet);
        cache?.flush();
        cache?.close();
        encoder.close();
        port!.close();
        break;
    }
  }
}

function send(message: FromThread, transfer: readonly ArrayBuffer[] = []): void {
  port!.postMessage(message, transfer);
}

function sentError(error: unknown): SentError {
  return { code: error instanceof ProxyError ? error.code : undefined, message: messageOf(error) };
}
