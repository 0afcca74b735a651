import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf, ProxyError } from '../base/errors.ts';
import type { Metrics } from './metrics.ts';
import type { UpstreamHealth } from './sample.ts';

export interface MetricsListenerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly metrics: Metrics;
  /** Whether new requests should be sent here. Trouble of an upstream does not make it false. */
  readonly isReady: () => boolean;
  readonly upstreams: () => readonly UpstreamHealth[];
}

export interface MetricsListener {
  /** Such as `http://127.0.0.1:9090`. */
  readonly origin: string;
  readonly close: () => Promise<void>;
}

/** A scrape is a few kilobytes; whoever takes longer than this to ask or to read is let go. */
const TIMEOUT_MS = 10_000;

/**
 * Serves `/metrics`, `/healthz` and `/readyz` (with `?verbose=1` the upstreams too) on an address of its own: what is
 * for the operator is never on the address that callers use. Rejects with `listen_failed` when it cannot be had.
 */
export async function listenForMetrics(options: MetricsListenerOptions): Promise<MetricsListener> {
  const server = createServer(
    { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS },
    (request, response) => {
      const answer = (status: number, type: string, text: string): void => {
        response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
        response.end(request.method === 'HEAD' ? undefined : text);
      };
      const plain = 'text/plain; charset=utf-8';
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('allow', 'GET, HEAD');
        return answer(405, plain, 'Method not allowed\n');
      }
      const [path = '', query = ''] = (request.url ?? '').split('?');
      switch (path) {
        case '/healthz':
          return answer(200, plain, 'ok\n');
        case '/readyz': {
          const isReady = options.isReady();
          const lines = new URLSearchParams(query).has('verbose')
            ? options
                .upstreams()
                .map(
                  ({ name, state, reason }) =>
                    `${name}: ${state}${reason === undefined ? '' : ` (${reason})`}\n`,
                )
            : [];
          return answer(isReady ? 200 : 503, plain, `${isReady ? 'ready' : 'not ready'}\n${lines.join('')}`);
        }
        case '/metrics':
          void options.metrics.text().then(
            (text) => answer(200, options.metrics.contentType, text),
            () => answer(500, plain, 'The metrics could not be collected\n'),
          );
          return;
        default:
          return answer(404, plain, 'Not found: /metrics, /healthz and /readyz are here\n');
      }
    },
  );
  server.timeout = TIMEOUT_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const where = `${options.host}:${options.port}`;
      const why = `Cannot serve metrics on ${where}: ${messageOf(error)}. Give another address with --metrics-listen.`;
      reject(new ProxyError('listen_failed', why, { cause: error }));
    });
    server.listen(options.port, options.host, () => {
      resolve();
    });
  });
  const { address, port, family } = server.address() as AddressInfo;
  return {
    origin: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
