// @ts-check
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A TCP proxy that is as bad as networks are. Faults apply to what passes from the moment they are set; those about
 * connections to connections made from then on.
 *
 * @typedef {object} Faults
 * @property {number} [latencyMs] each way, added to every chunk
 * @property {number} [jitterMs] up to so much more, at random
 * @property {number} [bytesPerSecond] each way
 * @property {number} [sliceBytes] answers arrive in pieces of this size, one after the other
 * @property {number} [resetAfterBytes] the connection is reset once so many bytes of answers have passed; 0 resets
 *   it when the first byte of a request comes, before anything of it is passed on
 * @property {number} [closeAfterBytes] the same with a polite end in the middle
 * @property {'up' | 'both'} [silent] `up`: requests are taken and passed nowhere (half-open); `both`: requests are
 *   passed on, and the answers are not
 *
 * @typedef {object} FaultProxy
 * @property {number} port
 * @property {(faults: Faults) => void} set replaces all faults; `{}` is a good network
 * @property {() => number} openConnections
 * @property {() => number} madeConnections since it started
 * @property {() => number} requestBytes taken from clients since it started, passed on or not
 * @property {() => void} cut resets every open connection
 * @property {() => Promise<void>} stop refuses connections from now on, and resets the open ones
 * @property {() => Promise<void>} start takes connections again, on the same port
 */

/**
 * @param {number} targetPort on the loopback interface
 * @param {Faults} [first]
 * @returns {Promise<FaultProxy>}
 */
export async function startFaultProxy(targetPort, first = {}) {
  let faults = first;
  let made = 0;
  let requestBytes = 0;
  let port = 0;
  /** @type {Set<{ client: import('node:net').Socket, server: import('node:net').Socket }>} */
  const open = new Set();
  /** @type {import('node:net').Server | undefined} */
  let listener;

  /** @param {import('node:net').Socket} client */
  const serve = (client) => {
    made++;
    const server = connect({ port: targetPort, host: '127.0.0.1' });
    const pair = { client, server };
    open.add(pair);
    let answered = 0;
    const end = () => {
      open.delete(pair);
      client.destroy();
      server.destroy();
    };
    const reset = () => {
      open.delete(pair);
      client.resetAndDestroy();
      server.destroy();
    };
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        if (client.closed && server.closed) open.delete(pair);
      });
    }
    // Nobody is left to answer.
    client.on('close', end);
    carry(client, server, (chunk) => {
      requestBytes += chunk.length;
      if (faults.resetAfterBytes === 0) {
        reset();
        return undefined;
      }
      return faults.silent === 'up' ? undefined : chunk;
    });
    carry(server, client, (chunk) => {
      if (faults.silent !== undefined) return undefined;
      const most = faults.resetAfterBytes ?? faults.closeAfterBytes;
      if (most !== undefined && answered + chunk.length >= most) {
        const rest = chunk.subarray(0, Math.max(0, most - answered));
        // What was let through has to arrive before the connection is gone.
        client.write(rest, () => (faults.resetAfterBytes === undefined ? client.end() : reset()));
        return undefined;
      }
      answered += chunk.length;
      return chunk;
    });
  };

  /**
   * @param {import('node:net').Socket} from
   * @param {import('node:net').Socket} to
   * @param {(chunk: Buffer) => Buffer | undefined} pass
   */
  const carry = (from, to, pass) => {
    /** Chunks keep their order however long each waits. */
    let last = Promise.resolve();
    from.on('data', (/** @type {Buffer} */ data) => {
      const chunk = pass(data);
      if (chunk === undefined) return;
      from.pause();
      last = last
        .then(() => deliver(chunk, to))
        .finally(() => {
          if (!from.destroyed) from.resume();
        });
    });
    from.on('end', () => {
      if (faults.silent === undefined) void last.then(() => to.end());
    });
  };

  /**
   * @param {Buffer} chunk
   * @param {import('node:net').Socket} to
   */
  const deliver = async (chunk, to) => {
    const { latencyMs = 0, jitterMs = 0, bytesPerSecond, sliceBytes } = faults;
    const waitMs = latencyMs + Math.random() * jitterMs;
    if (waitMs > 0) await sleep(waitMs);
    const size = sliceBytes ?? (bytesPerSecond === undefined ? chunk.length : Math.ceil(bytesPerSecond / 20));
    for (let at = 0; at < chunk.length && !to.destroyed; at += size) {
      const part = chunk.subarray(at, at + size);
      if (bytesPerSecond !== undefined) await sleep((part.length / bytesPerSecond) * 1_000);
      else if (at > 0) await sleep(1);
      to.write(part);
    }
  };

  const cut = () => {
    for (const { client, server } of open) {
      client.resetAndDestroy();
      server.destroy();
    }
    open.clear();
  };

  const start = async () => {
    if (listener !== undefined) return;
    const server = createServer(serve);
    await new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve(undefined));
    });
    ({ port } = /** @type {import('node:net').AddressInfo} */ (server.address()));
    listener = server;
  };

  await start();
  return {
    port,
    set(next) {
      faults = next;
    },
    openConnections: () => open.size,
    madeConnections: () => made,
    requestBytes: () => requestBytes,
    cut,
    async stop() {
      const server = listener;
      if (server === undefined) return;
      listener = undefined;
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
    start,
  };
}
