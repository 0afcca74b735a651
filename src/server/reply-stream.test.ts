import { describe, expect, it } from 'vitest';
import { jsonReply } from './http-reply.ts';
import type { HttpReply } from './http-reply.ts';
import { openReply } from './reply-stream.ts';

const json = (text: string): HttpReply => jsonReply(200, text);

function later<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void } {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

describe('a reply', () => {
  it('is plain JSON when nothing comes before it', async () => {
    const response = await openReply(() => undefined).response(Promise.resolve(json('{"a":1}')));
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.text()).toBe('{"a":1}');
  });

  it('is a stream from the first notification on, in order, with the reply last', async () => {
    const reply = openReply(() => undefined);
    const work = later<HttpReply>();
    reply.notify('"one"');
    const response = await reply.response(work.promise);
    reply.notify('"two"');
    work.resolve(json('{\n"done": true}'));
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(await response.text()).toBe(
      'event: message\ndata: "one"\n\nevent: message\ndata: "two"\n\nevent: message\ndata: {\ndata: "done": true}\n\n',
    );
  });

  it('says when the client leaves a stream, and takes what comes after without a word', async () => {
    let isGone = false;
    const reply = openReply(() => {
      isGone = true;
    });
    const work = later<HttpReply>();
    reply.notify('"one"');
    const response = await reply.response(work.promise);
    await response.body?.cancel();
    expect(isGone).toBe(true);
    reply.notify('"two"');
    work.resolve(json('{}'));
    await work.promise;
    reply.notify('"three"');
  });

  it('breaks the stream when the work does', async () => {
    const reply = openReply(() => undefined);
    const work = later<HttpReply>();
    reply.notify('"one"');
    const response = await reply.response(work.promise);
    work.reject(new Error('a bug'));
    await expect(response.text()).rejects.toThrow('a bug');
  });
});
