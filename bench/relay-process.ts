import { spawn } from 'node:child_process';
import { Agent, createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The floor of any proxy in Node: one more process that hands bytes on and looks at none of them.
 * `node relay-process.js stdio COMMAND ARGUMENT…` or `node relay-process.js http URL`.
 */
const [transport = 'stdio', target = '', ...args] = process.argv.slice(2);

if (transport === 'stdio') {
  const child = spawn(target, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  process.stdin.pipe(child.stdin);
  child.stdout.pipe(process.stdout);
} else {
  const agent = new Agent({ keepAlive: true });
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { host: _host, ...headers } = request.headers;
    const onward = send(target, { method: request.method ?? 'POST', headers, agent }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  });
}
