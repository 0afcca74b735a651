// An encoder's thread that ends when it is told to by a text: "exit", "throw", or "fail" for an error of one job.
import { parentPort, workerData } from 'node:worker_threads';

const { source } = workerData;
let starts = 0;
parentPort.on('message', ({ kind, job, texts }) => {
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
  const vectors = Float32Array.from(texts.flatMap((text) => [text.length, ++starts]));
  parentPort.postMessage({ kind: 'done', job, vectors });
});
if (source.file === 'unopened') {
  parentPort.postMessage({ kind: 'unopened', error: { code: 'model_missing', message: 'no file' } });
  parentPort.close();
} else if (source.file === 'silent') {
  parentPort.close();
} else {
  parentPort.postMessage({ kind: 'open', id: source.file, dimensions: 2 });
}
