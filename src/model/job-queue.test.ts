import { describe, expect, it } from 'vitest';
import type { TextRole } from '../search/embedder.ts';
import { JobQueue, type Request } from './job-queue.ts';

/** The order in which the texts of these jobs have their turn; `at` lets more come in after so many texts. */
function order(queue: JobQueue, at: Readonly<Record<number, () => void>> = {}): string[] {
  const seen: string[] = [];
  for (let job = queue.next(); job !== undefined; job = queue.next()) {
    seen.push(job.texts[job.done++]!);
    if (job.done === job.texts.length) queue.remove(job.number);
    at[seen.length]?.();
  }
  return seen;
}

const request = (number: number, role: TextRole, texts: readonly string[], part?: number): Request => {
  return { number, role, texts, part, dimensions: 512 };
};

describe('the queue of texts', () => {
  it('is in the order they came', () => {
    const queue = new JobQueue();
    queue.add(request(1, 'document', ['a', 'b']));
    queue.add(request(2, 'document', ['c']));
    expect(order(queue)).toEqual(['a', 'b', 'c']);
  });

  it('lets a question wait for one text of a document at most', () => {
    const queue = new JobQueue();
    queue.add(request(1, 'document', ['a', 'b', 'c']));
    const later = {
      1: () => queue.add(request(2, 'question', ['?', '!'])),
      2: () => queue.add(request(3, 'question', ['??'])),
    };
    expect(order(queue, later)).toEqual(['a', '?', '!', '??', 'b', 'c']);
  });

  it('lets the first part of a document go before the second of any, and a question before both', () => {
    const queue = new JobQueue();
    queue.add(request(1, 'document', ['a', 'b'], 1));
    const later = {
      1: () => queue.add(request(2, 'document', ['c', 'd'], 0)),
      2: () => queue.add(request(3, 'question', ['?'])),
      4: () => queue.add(request(4, 'document', ['e'])),
    };
    expect(order(queue, later)).toEqual(['a', 'c', '?', 'd', 'e', 'b']);
  });

  it('drops what nobody wants any more, also half done', () => {
    const queue = new JobQueue();
    queue.add(request(1, 'document', ['a', 'b', 'c']));
    queue.add(request(2, 'document', ['d']));
    expect(order(queue, { 2: () => queue.remove(1) })).toEqual(['a', 'b', 'd']);
    queue.remove(7);
    expect(queue.next()).toBeUndefined();
  });

  it('has room for all vectors of a job', () => {
    const queue = new JobQueue();
    queue.add(request(1, 'question', ['a', 'b']));
    expect(queue.next()?.vectors).toHaveLength(1_024);
  });
});
