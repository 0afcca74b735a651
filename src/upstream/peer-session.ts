import type { Client, Transport } from '@modelcontextprotocol/client';
import { isJsonObject } from '../base/json-value.ts';
import { PRODUCT } from '../base/product.ts';
import type { JsonObject } from '../catalog/tool.ts';
import { METHOD_NOT_FOUND, refusalOf } from './message.ts';
import type { Era, Peer } from './upstream.ts';

/** How a handshake is opened: ask which generation the peer speaks, or use what is already known of it. */
export type Handshake = 'auto' | Era;

/** The first revision without handshake and sessions. */
const MODERN_VERSION = '2026-07-28';

export interface HandshakeOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onToolsChanged?: () => void;
  /** Sees the notifications that arrive outside of any answer; true when it took one. */
  readonly onNotification?: (method: string, params: JsonObject) => boolean;
}

/**
 * Shakes hands over `transport` with the SDK's client, which stays connected to it. The client declares no
 * capabilities: what a server asks of it (sampling, elicitation, roots) gets "method not found" and why, at once.
 */
export async function shakeHands(
  transport: Transport,
  how: Handshake,
  options: HandshakeOptions,
): Promise<{ client: Client; peer: Peer }> {
  const { Client, ProtocolError } = await import('@modelcontextprotocol/client');
  const client = new Client(PRODUCT, {
    versionNegotiation: {
      mode: how === 'modern' ? { pin: MODERN_VERSION } : how,
      probe: { timeoutMs: options.timeoutMs },
    },
  });
  // The SDK reports what it cannot attribute here; each of our requests has its own deadline and error.
  client.onerror = () => undefined;
  client.fallbackRequestHandler = ({ method }) =>
    Promise.reject(new ProtocolError(METHOD_NOT_FOUND, refusalOf(method)));
  if (options.onToolsChanged !== undefined) {
    client.setNotificationHandler('notifications/tools/list_changed', options.onToolsChanged);
  }
  await untilAborted(
    client.connect(transport, { signal: options.signal, timeout: options.timeoutMs }),
    options.signal,
  ).catch(async (thrown: unknown) => {
    await transport.close();
    throw thrown;
  });
  if (options.onNotification !== undefined) listenFirst(transport, options.onNotification);
  const discovered = client.getDiscoverResult();
  const instructions = client.getInstructions();
  const peer: Peer = {
    era: discovered === undefined ? 'legacy' : 'modern',
    protocolVersion: client.getNegotiatedProtocolVersion() ?? MODERN_VERSION,
    ...(instructions === undefined || instructions === '' ? {} : { instructions }),
    ...(discovered === undefined && client.getServerCapabilities()?.logging !== undefined
      ? { takesLogLevel: true }
      : {}),
  };
  if (
    peer.era === 'modern' &&
    options.onToolsChanged !== undefined &&
    discovered?.capabilities.tools?.listChanged
  ) {
    // Without this stream changes are noticed when the listing has aged; not worth failing for.
    client.listen({ toolsListChanged: true }).catch(() => undefined);
  }
  return { client, peer };
}

/** The SDK knows nothing of requests on our own leg, so what belongs to one is taken before it looks. */
function listenFirst(
  transport: Transport,
  onNotification: NonNullable<HandshakeOptions['onNotification']>,
): void {
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if ('method' in message && !('id' in message)) {
      const params: unknown = message.params;
      if (onNotification(message.method, isJsonObject(params) ? params : {})) return;
    }
    deliver?.(message, extra);
  };
}

/** The SDK's probe knows a time limit only; nobody waits for it past the signal. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
