import { ProxyError, UpstreamAuthError, UpstreamRejection } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import type { View } from '../callers/view.ts';
import type { RawParams, RawResult, RequestContext, Upstream } from '../upstream/upstream.ts';
import type { ToolArguments } from './arguments.ts';
import type { CallContext } from './call-context.ts';
import { CallLanes } from './call-lanes.ts';
import { paramHeaders } from './param-headers.ts';

/** How a call that was sent turned out. */
export type Sent =
  | { readonly kind: 'result'; readonly result: RawResult }
  /** The upstream says the arguments are wrong (JSON-RPC -32602). */
  | { readonly kind: 'rejected_arguments'; readonly message: string }
  /** The caller's own credential was refused. */
  | { readonly kind: 'unauthorized'; readonly error: UpstreamAuthError }
  /** A JSON-RPC error that is addressed to the client. */
  | { readonly kind: 'client_error'; readonly raw: string }
  | { readonly kind: 'failed'; readonly error: ProxyError };

const INVALID_PARAMS = -32602;
/** URL elicitation required (MCP 2025-11-25): the client opens the URLs in it and calls again. */
const URL_ELICITATION_REQUIRED = -32042;

/**
 * Sends one call to the tool's upstream with the caller's credential. A read is sent again, once, when the first
 * try provably sent nothing; a write never is.
 */
export async function callUpstream(
  view: View,
  tool: CatalogTool,
  args: ToolArguments,
  context: CallContext,
  limits: Limits,
): Promise<Sent> {
  const { entry, scope } = view.route(tool);
  const { upstream, record } = entry;
  if (upstream === undefined) throw new Error('a tool of a view has an upstream');
  const { caller } = context;
  const isForward = record.auth === 'forward';
  const params: RawParams = {
    name: JSON.stringify(tool.tool.name),
    arguments: args.raw,
    ...(context.inputResponses === undefined ? {} : { inputResponses: context.inputResponses }),
    ...(context.requestState === undefined ? {} : { requestState: context.requestState }),
  };
  const request: RequestContext = {
    scope,
    ...(isForward && caller.credential !== undefined ? { credential: caller.credential } : {}),
    paramHeaders: paramHeaders(tool.tool.inputSchema, args),
    signal: context.signal,
    timeoutMs: limits.callTimeoutMs,
    maxMs: limits.maxCallMs,
    ...(context.onProgress === undefined ? {} : { onProgress: context.onProgress }),
    ...(context.onLog === undefined ? {} : { onLog: context.onLog }),
    ...(context.logLevel === undefined ? {} : { logLevel: context.logLevel }),
    ...(context.clientCapabilities === undefined ? {} : { clientCapabilities: context.clientCapabilities }),
    ...(context.meta === undefined ? {} : { meta: context.meta }),
  };
  const lanes = lanesOf(upstream, limits);
  try {
    const turn = lanes.enter(caller.credential?.reveal() ?? '', context.signal);
    if (turn !== undefined) await turn;
  } catch (thrown) {
    if (!(thrown instanceof ProxyError)) throw thrown;
    return { kind: 'failed', error: thrown };
  }
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return { kind: 'result', result: await upstream.request('tools/call', params, request) };
      } catch (thrown) {
        if (!(thrown instanceof ProxyError)) throw thrown;
        const mayRepeat = tool.access === 'read' && thrown.outcome === 'not_sent' && thrown.retryable;
        if (mayRepeat && attempt === 1 && !context.signal.aborted) continue;
        return sentOf(thrown, isForward);
      }
    }
  } finally {
    lanes.leave();
  }
}

/** As long as its upstream stays what it is. */
const known = new WeakMap<Upstream, CallLanes>();

/** The calls under way at an upstream and those waiting for their turn; undefined when none was made yet. */
export function callsAt(
  upstream: Upstream,
): { readonly running: number; readonly queued: number } | undefined {
  return known.get(upstream);
}

function lanesOf(upstream: Upstream, limits: Limits): CallLanes {
  let lanes = known.get(upstream);
  if (lanes === undefined) {
    lanes = new CallLanes(upstream.name, limits);
    known.set(upstream, lanes);
  }
  return lanes;
}

function sentOf(error: ProxyError, isForward: boolean): Sent {
  if (error instanceof UpstreamAuthError && isForward) return { kind: 'unauthorized', error };
  if (error instanceof UpstreamRejection) {
    if (error.rpcCode === INVALID_PARAMS) return { kind: 'rejected_arguments', message: error.rpcMessage };
    if (error.rpcCode === URL_ELICITATION_REQUIRED) return { kind: 'client_error', raw: error.raw };
  }
  return { kind: 'failed', error };
}
