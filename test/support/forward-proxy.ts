import { createServer, request as httpRequest } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { whenDone } from './cleanup.ts';

export interface ForwardProxy {
  readonly url: string;
  /** What it was asked for: `GET http://…` or `CONNECT host:port`. */
  readonly asked: string[];
  readonly credentials: (string | undefined)[];
}

/**
 * An HTTP proxy as offices have one: plain URLs are asked of it as such, TLS is tunnelled. Whatever host is asked for,
 * it goes to `port` on this machine, so that a test can use names that no resolver knows.
 */
export async function startForwardProxy(
  port: number,
  refusal?: { readonly status: number },
): Promise<ForwardProxy> {
  const asked: string[] = [];
  const credentials: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    credentials.push(request.headers['proxy-authorization']);
    if (refusal !== undefined) {
      response.writeHead(refusal.status).end();
      return;
    }
    const { pathname } = new URL(request.url ?? '');
    const onward = httpRequest(
      { host: '127.0.0.1', port, path: pathname, method: request.method, headers: request.headers },
      (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(response);
      },
    );
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.on('connect', (request, socket: Socket) => {
    asked.push(`CONNECT ${request.url}`);
    credentials.push(request.headers['proxy-authorization']);
    socket.on('error', () => undefined);
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal.status} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    sockets.add(onward);
  });
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, credentials };
}
