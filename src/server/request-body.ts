import type { IncomingMessage } from 'node:http';

/** What comes of a body: its text, or that it is larger than allowed, or that it never ended. */
export type IncomingBody =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'cut' };

/** The body of a web-standard request as UTF-8; undefined when it is longer than `maxBytes`. */
export async function readBody(request: Request, maxBytes: number): Promise<string | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return undefined;
  if (request.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return textOf(chunks, bytes);
    bytes += value.length;
    if (bytes > maxBytes) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(value);
  }
}

/** The body of a request on a connection; `done` is called once. What is too large is left where it is. */
export function readIncoming(
  request: IncomingMessage,
  maxBytes: number,
  done: (body: IncomingBody) => void,
): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return done({ kind: 'too_large' });
  const chunks: Buffer[] = [];
  let bytes = 0;
  let isDone = false;
  const finish = (body: IncomingBody): void => {
    if (isDone) return;
    isDone = true;
    done(body);
  };
  request.on('data', (chunk: Buffer) => {
    if (isDone) return;
    bytes += chunk.length;
    if (bytes > maxBytes) return finish({ kind: 'too_large' });
    chunks.push(chunk);
  });
  request.on('end', () => finish({ kind: 'text', text: textOf(chunks, bytes) }));
  // After its end it is closed too; before, the client has gone.
  request.on('close', () => finish({ kind: 'cut' }));
  request.on('error', () => finish({ kind: 'cut' }));
}

/** UTF-8 without its byte order mark, as `Request.text()` reads it. */
function textOf(chunks: readonly Uint8Array[], bytes: number): string {
  const [first] = chunks;
  const whole =
    chunks.length === 1 && first !== undefined
      ? Buffer.from(first.buffer, first.byteOffset, first.byteLength)
      : Buffer.concat(chunks, bytes);
  const text = whole.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
