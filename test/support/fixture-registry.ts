import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { whenDone } from './cleanup.ts';

/** What a fixture registry answers a path with: a document, or a hand at the response itself. */
export type FixtureAnswer =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
  | ((request: IncomingMessage, response: ServerResponse, url: URL) => void);

export interface FixtureRegistry {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly origin: string;
  /** By path, without the query; may be changed at any time. What is not here is 404. */
  readonly routes: Map<string, FixtureAnswer>;
  /** Path and query of every request that arrived, in order. */
  readonly requests: string[];
  /** The headers of each. */
  readonly headers: IncomingMessage['headers'][];
  /** Connections that were made, also such as asked for nothing. */
  connections(): number;
}

/** A registry (or a package index) on 127.0.0.1, written on `node:http`; gone with the test. */
export async function startFixtureRegistry(
  routes: Readonly<Record<string, FixtureAnswer>> = {},
): Promise<FixtureRegistry> {
  const byPath = new Map(Object.entries(routes));
  const requests: string[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://fixture.test');
    requests.push(`${url.pathname}${url.search}`);
    headers.push(request.headers);
    const answer = byPath.get(url.pathname) ?? byPath.get('*');
    if (answer === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}');
    } else if (typeof answer === 'function') answer(request, response, url);
    else {
      response
        .writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers })
        .end(JSON.stringify(answer.json));
    }
  });
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    routes: byPath,
    requests,
    headers,
    connections: () => connections,
  };
}
