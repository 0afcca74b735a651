import { createServer } from 'node:http';
import { Server as NetServer } from 'node:net';
import { ProxyError, messageOf } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import type { Observer } from '../base/observer.ts';
import type { HttpApp } from './http-app.ts';
import { BACKLOG, HttpFront } from './http-front.ts';

/** How often connections are looked over for what takes too long, in milliseconds. */
const LOOK_OVER_MS = 2_000;

export interface Listening {
  /** The origin really listened on, such as `http://127.0.0.1:8080`. */
  readonly origin: string;
  /** How many requests are not answered yet, open streams apart. */
  running(): number;
  /** Soon takes no new connections, and waits for running requests, `drainMs` at the longest. */
  close(drainMs: number): Promise<void>;
}

/** Listens for HTTP; rejects with `listen_failed` when the address cannot be had. */
export async function listen(
  address: { readonly host: string; readonly port: number },
  app: HttpApp,
  { limits, observer }: { readonly limits: Limits; readonly observer: Observer },
): Promise<Listening> {
  const front = new HttpFront(app, limits, observer);
  const server = createServer(
    {
      // Node wants it so: the headers are part of the request.
      headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
      requestTimeout: limits.requestTimeoutMs,
      // Longer than clients' pools keep idle connections, so that the side that closes first is theirs.
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(LOOK_OVER_MS, limits.headersTimeoutMs),
      maxHeaderSize: limits.maxHeaderBytes,
      // What two hops may read differently is refused, whatever flag or NODE_OPTIONS this process was started with.
      insecureHTTPParser: false,
    },
    front.listener,
  );
  server.on('connection', front.connected);
  server.maxConnections = limits.maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenError(address, error)));
    server.listen({ port: address.port, host: address.host, backlog: BACKLOG }, () => resolve());
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return {
    origin: `http://${host}:${port}`,
    running: () => front.running,
    async close(drainMs) {
      if (front.running > 0) observer({ kind: 'draining', running: front.running });
      const closed = new Promise<void>((resolve) => server.once('close', resolve));
      // Not the HTTP server's own close: it cuts connections on which a request may be on its way.
      await front.drain(drainMs, () => void NetServer.prototype.close.call(server));
      await app.close();
      server.closeAllConnections();
      await closed;
      // Ends Node's looking over of connections.
      server.close(() => undefined);
    },
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
