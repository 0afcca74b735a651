import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import type { HttpApp } from './http-app.ts';
import { jsonReply } from './http-reply.ts';
import { listen } from './listen.ts';
import type { Listening } from './listen.ts';
import { LoopTurns } from './loop-turns.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('what is begun', () => {
  it('is begun at once while nobody connects', () => {
    const turns = new LoopTurns();
    const done: string[] = [];
    turns.begin(() => done.push('a'));
    turns.begin(() => done.push('b'));
    expect(done).toEqual(['a', 'b']);
    expect(turns.waiting).toBe(0);
  });

  it('is begun one a turn, in the order it came, while there are new connections', async () => {
    const turns = new LoopTurns();
    const done: string[] = [];
    turns.newcomer();
    for (const name of ['a', 'b', 'c', 'd']) turns.begin(() => done.push(name));
    expect(done).toEqual([]);
    await nextTurn();
    expect(done).toEqual(['a']);
    turns.newcomer();
    await nextTurn();
    expect(done).toEqual(['a', 'b']);
    expect(turns.waiting).toBe(2);
  });

  it('is begun without more waiting once a turn brought no connection', async () => {
    const turns = new LoopTurns();
    const done: number[] = [];
    turns.newcomer();
    for (let n = 0; n < 10; n++) turns.begin(() => done.push(n));
    await nextTurn();
    await nextTurn();
    expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    turns.begin(() => done.push(10));
    expect(done).toHaveLength(11);
  });
});

describe('new connections', () => {
  const open: Listening[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((listening) => listening.close(0)));
  });

  const REQUEST = 'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}';

  /** Answers each request after `busyMs` of nothing but work. */
  async function startBusy(
    busyMs: number,
  ): Promise<{ port: number; listening: Listening; isDraining: () => boolean }> {
    let isDraining = false;
    const app: HttpApp = {
      answer: () => undefined,
      tooLarge: () => jsonReply(413, ''),
      post: () => {
        for (const end = performance.now() + busyMs; performance.now() < end;);
        return Promise.resolve(jsonReply(200, '{}'));
      },
      fetch: () => Promise.reject(new Error('not asked here')),
      drain: () => void (isDraining = true),
      close: () => Promise.resolve(),
    };
    const listening = await listen({ host: '127.0.0.1', port: 0 }, app, {
      limits: DEFAULT_LIMITS,
      observer: () => undefined,
    });
    open.push(listening);
    return { port: Number(new URL(listening.origin).port), listening, isDraining: () => isDraining };
  }

  /** Asks on a connection of its own, and gives the first line of the answer. */
  function askAnew(port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(REQUEST));
      socket.once('error', reject);
      socket.once('data', (chunk) => {
        socket.destroy();
        resolve(chunk.toString().split('\r\n')[0] ?? '');
      });
    });
  }

  it('do not wait while open ones are served again and again', async () => {
    const [busy, fresh] = [30, 60];
    const { port } = await startBusy(1);
    const count = { again: 0 };
    let left = fresh;
    const sockets = Array.from({ length: busy }, () => {
      const socket = connect(port, '127.0.0.1', () => socket.write(REQUEST));
      socket.on('error', () => undefined);
      socket.on('data', () => {
        count.again++;
        if (left > 0) socket.write(REQUEST);
      });
      return socket;
    });
    while (count.again < busy * 2) await nextTurn();
    count.again = 0;
    await Promise.all(
      Array.from({ length: fresh }, async () => {
        await askAnew(port);
        left--;
      }),
    );
    for (const socket of sockets) socket.destroy();
    // Served as they come, the open ones would get all thirty of theirs for each new one.
    expect(count.again).toBeLessThan(fresh * 5);
  });

  it('made when it is told to stop are all answered, those in the kernel too', async () => {
    const { port, isDraining, listening } = await startBusy(1);
    await askAnew(port);
    const asked = Array.from({ length: 200 }, () => askAnew(port));
    // All are connected as far as the kernel is concerned; one of them is taken in a turn.
    const closed = listening.close(10_000);
    expect(isDraining()).toBe(true);
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 200 }, () => 'HTTP/1.1 200 OK'));
    await closed;
    await expect(askAnew(port)).rejects.toThrow('ECONNREFUSED');
  });

  it('are answered while it is being stopped, and in the end told to go elsewhere', async () => {
    const { port, listening } = await startBusy(1);
    const closed = listening.close(10_000);
    const answers: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(REQUEST));
      socket.once('error', reject);
      socket.on('data', (chunk) => {
        answers.push(chunk.toString());
        if (!/^connection: close/im.test(answers.at(-1) ?? '')) socket.write(REQUEST);
      });
      socket.once('close', () => resolve());
    });
    expect(answers.length).toBeGreaterThan(1);
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answers.filter((answer) => /^connection: close/im.test(answer))).toEqual([answers.at(-1)]);
    await expect(askAnew(port)).rejects.toThrow('ECONNREFUSED');
    await closed;
  });
});
