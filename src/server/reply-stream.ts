import {
  eventOf,
  JSON_HEADERS,
  STREAM_HEADERS,
  STREAM_KEEP_ALIVE,
  STREAM_KEEP_ALIVE_MS,
  textWithin,
} from './http-reply.ts';
import type { HttpReply } from './http-reply.ts';

/** A reply as a web-standard response. */
export function responseOf(reply: HttpReply): Response {
  switch (reply.kind) {
    case 'text':
      return new Response(reply.text, {
        status: reply.status,
        headers: { ...JSON_HEADERS, ...reply.headers },
      });
    case 'empty':
      return new Response(null, { status: 202 });
    case 'response':
      return reply.response;
  }
}

/** A request's answer that may be preceded by notifications. */
export interface ReplyStream {
  /** Sends a notification before the reply; nothing happens once the reply is there. */
  readonly notify: (text: string) => void;
  /** The response: as the reply is when it comes first, an SSE stream from the first notification on. */
  readonly response: (work: Promise<HttpReply>) => Promise<Response>;
}

/** Opens a reply; `onGone` is called when the client leaves a stream before its end. */
export function openReply(onGone: () => void): ReplyStream {
  const waiting: string[] = [];
  let write: ((text: string) => void) | undefined;
  let announceFirst: () => void = () => undefined;
  const first = new Promise<'stream'>((resolve) => {
    announceFirst = () => resolve('stream');
  });

  return {
    notify(text) {
      if (write !== undefined) return write(text);
      waiting.push(text);
      announceFirst();
    },
    async response(work) {
      const winner = await Promise.race([first, work.then((reply) => ({ reply }))]);
      if (winner !== 'stream') return responseOf(winner.reply);
      const encoder = new TextEncoder();
      let keepAlive: NodeJS.Timeout | undefined;
      // A stream the client has left takes nothing more, not even its end.
      let isLeft = false;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          const end = (): void => {
            clearInterval(keepAlive);
            write = () => undefined;
            controller.close();
          };
          write = (text) => controller.enqueue(encoder.encode(eventOf(text)));
          keepAlive = setInterval(
            () => controller.enqueue(encoder.encode(STREAM_KEEP_ALIVE)),
            STREAM_KEEP_ALIVE_MS,
          );
          keepAlive.unref();
          for (const text of waiting.splice(0)) write(text);
          work.then(
            (reply) => {
              if (isLeft) return;
              write?.(textWithin(reply));
              end();
            },
            (error: unknown) => {
              clearInterval(keepAlive);
              if (!isLeft) controller.error(error);
            },
          );
        },
        cancel() {
          isLeft = true;
          clearInterval(keepAlive);
          write = () => undefined;
          onGone();
        },
      });
      return new Response(body, { status: 200, headers: STREAM_HEADERS });
    },
  };
}
