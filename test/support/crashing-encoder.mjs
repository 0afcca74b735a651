// An encoder's thread that ends when it is told to by a text: "exit", "throw", or "fail" for an error of one job.
import { parentPort, workerData } from 'node:worker_threads';

const { source } = workerData;
/** Numbers of each part of a vector, where there are parts. */
const PARTS = [2, 3];
let starts = 0;
parentPort.on('message', ({ kind, job, texts, part }) => {
  if (kind === 'close') parentPort.close();
  if (kind !== 'embed') return;
  if (texts.includes('exit')) process.exit(3);
  if (texts.includes('throw')) throw new Error('out of luck');
  if (texts.includes('never')) return;
  if (texts.includes('fail')) {
    parentPort.postMessage({
      kind: 'failed',
      job,
      error: { code: 'model_invalid', message: 'one row is gone' },
    });
    return;
  }
  if (part !== undefined) {
    const vectors = new Float32Array(texts.length * PARTS[part]).fill(part);
    parentPort.postMessage({ kind: 'done', job, vectors });
    return;
  }
  const vectors = Float32Array.from(texts.flatMap((text) => [text.length, ++starts]));
  parentPort.postMessage({ kind: 'done', job, vectors });
});
if (source.file === 'unopened') {
  parentPort.postMessage({ kind: 'unopened', error: { code: 'model_missing', message: 'no file' } });
  parentPort.close();
} else if (source.file === 'silent') {
  parentPort.close();
} else {
  const parts = source.file === 'parts' ? { parts: PARTS, dimensions: 5 } : { dimensions: 2 };
  parentPort.postMessage({ kind: 'open', id: source.file, ...parts });
}
