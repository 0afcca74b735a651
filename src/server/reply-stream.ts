/** Comment lines keep proxies and clients from giving up on a silent stream. */
const KEEP_ALIVE_MS = 15_000;

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

export function jsonResponse(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(text, { status, headers: { ...JSON_HEADERS, ...headers } });
}

/** A request's answer that may be preceded by notifications. */
export interface ReplyStream {
  /** Sends a notification before the reply; nothing happens once the reply is there. */
  readonly notify: (text: string) => void;
  /**
   * The response: plain JSON when the reply comes first, an SSE stream from the first notification on.
   * `respond` makes the response of the reply alone; `textOf` its JSON-RPC text within a stream.
   */
  readonly response: <Reply>(
    work: Promise<Reply>,
    respond: (reply: Reply) => Response,
    textOf: (reply: Reply) => string,
  ) => Promise<Response>;
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
    async response(work, respond, textOf) {
      const winner = await Promise.race([first, work.then((reply) => ({ reply }))]);
      if (winner !== 'stream') return respond(winner.reply);
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
          write = (text) => controller.enqueue(encoder.encode(`event: message\ndata: ${text}\n\n`));
          keepAlive = setInterval(() => controller.enqueue(encoder.encode(':\n\n')), KEEP_ALIVE_MS);
          keepAlive.unref();
          for (const text of waiting.splice(0)) write(text);
          work.then(
            (reply) => {
              if (isLeft) return;
              write?.(oneLine(textOf(reply)));
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

/** An upstream may write its JSON over several lines; within an event a line break would end the data. */
function oneLine(text: string): string {
  return /[\r\n]/.test(text) ? text.replaceAll(/\r\n|\r|\n/g, '\ndata: ') : text;
}
