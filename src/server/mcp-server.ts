import { ProtocolError, Server } from '@modelcontextprotocol/server';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { PRODUCT } from '../base/product.ts';
import type { MetaToolDefinition } from '../meta-tools/definitions.ts';
import { RPC } from './protocol.ts';

/** How long clients may keep our list of tools (it never changes in a run) and our handshake (instructions may grow). */
const KEEP_TOOLS_MS = 3_600_000;
const KEEP_HANDSHAKE_MS = 300_000;

/**
 * An SDK server for one request or connection: handshakes, `tools/list`, and the right error for everything we do
 * not serve. Never shared between callers (a shared one leaks answers across them, GHSA-345p-7cg4-v4c7).
 * `tools/call` is answered before a message reaches it.
 */
export function createMcpServer(
  definitions: () => readonly MetaToolDefinition[] | Promise<readonly MetaToolDefinition[]>,
  instructions: string,
): Server {
  const server = new Server(PRODUCT, {
    capabilities: { tools: {} },
    instructions,
    cacheHints: {
      'tools/list': { ttlMs: KEEP_TOOLS_MS, cacheScope: 'private' },
      'server/discover': { ttlMs: KEEP_HANDSHAKE_MS, cacheScope: 'private' },
    },
  });
  server.setRequestHandler('tools/list', async () => ({ tools: (await definitions()) as never }));
  server.setRequestHandler('tools/call', () => {
    throw new ProtocolError(
      RPC.invalidParams,
      'Invalid params: the headers of this tools/call do not fit its body',
    );
  });
  return server;
}

/** Answers one request of an older client, without connection or session: the reply as a message. */
export async function exchange(server: Server, message: JSONRPCMessage): Promise<JSONRPCMessage> {
  try {
    return await new Promise<JSONRPCMessage>((resolve, reject) => {
      const transport: Transport = {
        start: () => Promise.resolve(),
        close: () => Promise.resolve(),
        send: (sent) => {
          if (!('method' in sent)) resolve(sent);
          return Promise.resolve();
        },
      };
      server.connect(transport).then(() => transport.onmessage?.(message), reject);
    });
  } finally {
    await server.close();
  }
}
