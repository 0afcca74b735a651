import { setMaxListeners } from 'node:events';
import { BusyError, UpstreamRejection } from '../base/errors.ts';
import type { ProxyError } from '../base/errors.ts';
import type { Limits } from '../base/limits.ts';
import type { Observer } from '../base/observer.ts';
import { elementsOf, rawAt } from '../base/json-text.ts';
import type { TraceContext, Tracer } from '../base/tracer.ts';
import type { Caller } from '../callers/caller.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import type { View } from '../callers/view.ts';
import type { Views } from '../callers/views.ts';
import { batchAnswer, errorAnswer } from './answer.ts';
import type { Answer, Labelled } from './answer.ts';
import { readArguments } from './arguments.ts';
import type { ToolArguments } from './arguments.ts';
import type { CallContext } from './call-context.ts';
import { callUpstream } from './call-upstream.ts';
import type { Sent } from './call-upstream.ts';
import { plain } from './definitions.ts';
import type { MetaToolName } from './definitions.ts';
import { failureDetails, failureText } from './failure-text.ts';
import { decide, rejectedArguments } from './refusal.ts';
import { traceContextOf, traceIdOf, withoutBaggage, withTrace } from './tracing.ts';
import type { ArgumentValidator } from './validator.ts';

/** What some servers answer a call of a tool they do not have. */
const METHOD_NOT_FOUND = -32601;

export interface CallToolsParts {
  readonly tracer?: Tracer;
  /** The mark that events of one caller share. */
  readonly markOf?: (caller: Caller) => string | undefined;
  readonly views: Views;
  readonly validate: ArgumentValidator;
  readonly limits: Limits;
  readonly observer: Observer;
}

/** `call_read_tool` and `call_write_tool`: one tool, its own result untouched. `input` is the call's JSON text. */
export async function callTool(
  metaTool: 'call_read_tool' | 'call_write_tool',
  input: string,
  context: CallContext,
  parts: CallToolsParts,
): Promise<Answer> {
  const view = await parts.views.view(context.caller, context.signal);
  return callOne(metaTool, view, input, context, parts);
}

/** `call_read_tools`: several reads side by side, each labelled, in the order given. */
export async function callReadTools(
  input: string,
  context: CallContext,
  parts: CallToolsParts,
): Promise<Answer> {
  const view = await parts.views.view(context.caller, context.signal);
  const calls = callsOf(rawAt(input, ['calls']) ?? '[]');
  // An upstream cannot ask one call of a batch for input, so it is not told that the client could give any.
  const {
    clientCapabilities: _capabilities,
    inputResponses: _responses,
    requestState: _state,
    ...shared
  } = context;
  // Each call listens for the client's going; Node warns of more than ten.
  setMaxListeners(calls.length + 10, context.signal);
  const answers = await Promise.all(
    calls.map(async (call) => {
      return { name: nameOf(call), answer: await callOne('call_read_tools', view, call, shared, parts) };
    }),
  );
  const results: Labelled[] = [];
  for (const { name, answer } of answers) {
    if (answer.kind === 'unauthorized') return answer;
    if (answer.kind === 'error') {
      const { raw } = errorAnswer(
        `The tool asks for something only a single call can pass on: ${answer.raw}`,
      );
      results.push({ name, isError: true, raw });
    } else if (answer.resultType !== undefined && answer.resultType !== 'complete') {
      const { raw } = errorAnswer(
        `[upstream_unsupported] The tool answered '${plain(answer.resultType, 40)}': it asks for something only a single call can pass on. Next: call it alone, with call_read_tool.`,
      );
      results.push({ name, isError: true, raw });
    } else results.push({ name, isError: answer.isError, raw: answer.raw });
  }
  return batchAnswer(results);
}

/** The calls' texts; one call that is not in a list is a list of one. */
function callsOf(text: string): string[] {
  return text.startsWith('{') ? [text] : elementsOf(text, 0).map(({ start, end }) => text.slice(start, end));
}

async function callOne(
  metaTool: MetaToolName,
  view: View,
  input: string,
  context: CallContext,
  parts: CallToolsParts,
): Promise<Answer> {
  const began = performance.now();
  const caller = parts.markOf?.(context.caller);
  const trace = traceContextOf(context.meta);
  const traceId = traceIdOf(trace);
  const decision = await decide(
    view,
    { name: nameOf(input), arguments: readArguments(input), readsOnly: metaTool !== 'call_write_tool' },
    parts.validate,
  );
  const { tool } = decision;
  let upstreamMs: number | undefined;
  const observe = (outcome: 'ok' | 'tool_error' | 'refused' | 'failed', error?: ProxyError): void =>
    parts.observer({
      kind: 'call',
      metaTool,
      ...(context.protocolVersion === undefined ? {} : { protocolVersion: context.protocolVersion }),
      ...(tool === undefined ? {} : { tool: tool.exposedName, upstream: tool.upstream, access: tool.access }),
      ...(caller === undefined ? {} : { caller }),
      ...(traceId === undefined ? {} : { traceId }),
      outcome,
      ...(error === undefined ? {} : { code: error.code }),
      ...(decision.check === undefined ? {} : { check: decision.check }),
      ...(upstreamMs === undefined ? {} : { upstreamMs }),
      ms: performance.now() - began,
    });
  if (decision.kind === 'refused') {
    observe('refused');
    return errorAnswer(decision.text);
  }
  if (decision.unchecked !== undefined) {
    parts.observer({ kind: 'unvalidated', tool: decision.tool.exposedName, reason: decision.unchecked });
  }
  const asked = performance.now();
  const sent = await send(view, decision.tool, decision.arguments, context, trace, parts);
  upstreamMs = performance.now() - asked;
  const doubt = (): void => parts.views.doubt(view.route(decision.tool).entry, context.caller);
  switch (sent.kind) {
    case 'result': {
      const { raw, head } = sent.result;
      observe(head.isError ? 'tool_error' : 'ok');
      return { kind: 'result', raw, ...head };
    }
    case 'rejected_arguments':
      observe('refused');
      doubt();
      return errorAnswer(rejectedArguments(decision.tool, sent.message));
    case 'unauthorized': {
      observe('failed', sent.error);
      parts.views.drop(view.route(decision.tool).entry, context.caller);
      const { status, challenge, message } = sent.error;
      return { kind: 'unauthorized', status, challenge, sentence: message };
    }
    case 'client_error':
      observe('failed');
      return { kind: 'error', raw: sent.raw };
    case 'failed':
      observe('failed', sent.error);
      if (sent.error instanceof UpstreamRejection && sent.error.rpcCode === METHOD_NOT_FOUND) doubt();
      return failedAnswer(decision.tool, sent.error);
  }
}

/** Sends the call, as part of the client's trace where spans are made, and tells how its upstream answered. */
async function send(
  view: View,
  tool: CatalogTool,
  args: ToolArguments,
  context: CallContext,
  trace: TraceContext | undefined,
  { tracer, observer, limits }: CallToolsParts,
): Promise<Sent> {
  const began = performance.now();
  const { exposedName, upstream } = tool;
  const span = tracer?.('client', { method: 'tools/call', tool: exposedName, upstream }, trace);
  const meta = span === undefined ? withoutBaggage(context.meta) : withTrace(context.meta, span.context);
  const sent = await callUpstream(
    view,
    tool,
    args,
    meta === context.meta ? context : { ...context, ...(meta === undefined ? {} : { meta }) },
    limits,
  );
  const code = sent.kind === 'failed' || sent.kind === 'unauthorized' ? sent.error.code : undefined;
  const isToolError = sent.kind === 'result' && sent.result.head.isError;
  span?.end(code ?? (isToolError ? 'tool_error' : sent.kind === 'result' ? undefined : 'upstream_rejected'));
  if (sent.kind === 'failed' && sent.error instanceof BusyError) {
    observer({ kind: 'shed', scope: 'upstream', upstream, limit: 'maxUpstreamCalls' });
    return sent;
  }
  observer({
    kind: 'exchange',
    upstream,
    method: 'tools/call',
    transport: view.route(tool).entry.record.transport.kind === 'stdio' ? 'stdio' : 'http',
    ...(code === undefined ? {} : { code }),
    ms: performance.now() - began,
  });
  return sent;
}

function failedAnswer(tool: CatalogTool, error: ProxyError): Answer {
  const text = failureText(error, tool.access === 'write');
  // The upstream's own error object, whole, for whoever reads structured content.
  const rpc = error instanceof UpstreamRejection ? { rpcError: JSON.parse(error.raw) as unknown } : {};
  return errorAnswer(text, { ...failureDetails(error), ...rpc });
}

/** The name a call asks for; the input has been checked to have one. */
function nameOf(call: string): string {
  const name: unknown = JSON.parse(rawAt(call, ['name']) ?? '""');
  return typeof name === 'string' ? name : '';
}
