/** The answer to a request over HTTP, before anybody has written it out. */
export type HttpReply =
  | {
      readonly kind: 'text';
      readonly status: number;
      readonly text: string;
      /** Besides those of every answer; names in lower case. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Taken, and nothing to say to it (202). */
  | { readonly kind: 'empty' }
  /** The SDK's, which may be a stream. */
  | { readonly kind: 'response'; readonly response: Response };

export const JSON_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
} as const;

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

/** Comment lines keep proxies and clients from giving up on a silent stream. */
export const STREAM_KEEP_ALIVE_MS = 15_000;
export const STREAM_KEEP_ALIVE = ':\n\n';

export function jsonReply(
  status: number,
  text: string,
  headers?: Readonly<Record<string, string>>,
): HttpReply {
  return { kind: 'text', status, text, ...(headers === undefined ? {} : { headers }) };
}

/** One JSON-RPC message as an event of a stream. An upstream may write its JSON over several lines. */
export function eventOf(text: string): string {
  const data = /[\r\n]/.test(text) ? text.replaceAll(/\r\n|\r|\n/g, '\ndata: ') : text;
  return `event: message\ndata: ${data}\n\n`;
}

/** The JSON-RPC text within an answer that has become a stream. */
export function textWithin(reply: HttpReply): string {
  return reply.kind === 'text' ? reply.text : '{}';
}
