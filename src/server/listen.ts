import { createAdaptorServer } from '@hono/node-server';
import type { Server as HttpServer } from 'node:http';
import { ProxyError, messageOf } from '../base/errors.ts';

/** How long a client may take to send a request's headers, and the whole request (slow-loris). */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than clients' pools keep idle connections, so that the side that closes first is theirs. */
const KEEP_ALIVE_MS = 65_000;

export interface Listening {
  /** The origin really listened on, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** Takes no new connections and waits for running requests, `drainMs` at the longest. */
  close(drainMs: number): Promise<void>;
}

/** Listens for HTTP; rejects with `listen_failed` when the address cannot be had. */
export async function listen(
  address: { readonly host: string; readonly port: number },
  fetch: (request: Request) => Promise<Response>,
): Promise<Listening> {
  const server = createAdaptorServer({
    fetch,
    serverOptions: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
  }) as HttpServer;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(address, error)));
    server.listen(address.port, address.host, () => resolve());
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    origin: `http://${host}:${port}`,
    close: (drainMs) =>
      new Promise((resolve) => {
        const hardStop = setTimeout(() => server.closeAllConnections(), drainMs);
        server.close(() => {
          clearTimeout(hardStop);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

function listenError(
  { host, port }: { readonly host: string; readonly port: number },
  error: Error,
): ProxyError {
  const { code } = error as { code?: unknown };
  const why =
    code === 'EADDRINUSE'
      ? 'another program listens there; choose another port with --listen'
      : code === 'EACCES'
        ? 'this user may not; choose a port above 1023 with --listen'
        : messageOf(error);
  return new ProxyError('listen_failed', `Cannot listen on ${host}:${port}: ${why}.`, { cause: error });
}
