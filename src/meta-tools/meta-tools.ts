import { ProxyError, UpstreamAuthError } from '../base/errors.ts';
import type { ErrorCodeName } from '../base/errors.ts';
import { membersOf } from '../base/json-text.ts';
import type { Limits } from '../base/limits.ts';
import type { Observer } from '../base/observer.ts';
import type { Span, Tracer } from '../base/tracer.ts';
import type { Caller } from '../callers/caller.ts';
import type { Views } from '../callers/views.ts';
import type { ServerFinder, ServerQuery } from '../registry/server-finder.ts';
import { errorAnswer, structuredAnswer } from './answer.ts';
import type { Answer } from './answer.ts';
import type { CallContext } from './call-context.ts';
import { callReadTools, callTool } from './call-tools.ts';
import { metaToolDefinitions } from './definitions.ts';
import type { MetaToolDefinition, MetaToolName } from './definitions.ts';
import { describeTools } from './describe-tool.ts';
import { createInputReader } from './input.ts';
import { instructionsText } from './instructions.ts';
import { searchServers } from './search-servers.ts';
import { searchTools } from './search-tools.ts';
import type { SearchInput } from './search-tools.ts';
import type { AgentRequest, UpstreamDesk } from './upstream-desk.ts';
import { traceContextOf, traceIdOf, withTrace } from './tracing.ts';
import { createArgumentValidator } from './validator.ts';

export interface MetaToolsOptions {
  readonly upstreams: readonly { readonly name: string; readonly description?: string }[];
  readonly maxBatchCalls: number;
  readonly searchSchemas: number;
  readonly maxInstructions: number;
  /** Whether `search_servers` is offered; then the parts hold what finds them. */
  readonly discovery?: boolean;
  /** Whether `upstream_servers` is offered; then the parts hold where they are managed. */
  readonly manage?: boolean;
  readonly limits: Limits;
}

/** The tools a model sees, and what they do. */
export interface MetaTools {
  /** For `tools/list`: fixed for the run, sorted by name. */
  readonly definitions: readonly MetaToolDefinition[];
  /** For the handshake: waits at most `waitMs` for upstreams that have not said theirs yet. */
  instructions(caller: Caller, waitMs: number): Promise<string>;
  /** Calls one; `input` is its arguments' JSON text. Undefined when there is no meta-tool of that name. */
  call(name: string, input: string, context: CallContext): Promise<Answer> | undefined;
}

export function createMetaTools(
  options: MetaToolsOptions,
  parts: {
    readonly views: Views;
    readonly observer: Observer;
    /** Begins spans; none are made when left out. */
    readonly tracer?: Tracer;
    /** The mark that events of one caller share; none have one when left out. */
    readonly markOf?: (caller: Caller) => string | undefined;
    readonly servers?: () => Promise<ServerFinder>;
    readonly desk?: () => Promise<UpstreamDesk>;
  },
): MetaTools {
  const definitions = metaToolDefinitions(options);
  const readInput = createInputReader(definitions);
  const callParts = {
    views: parts.views,
    observer: parts.observer,
    limits: options.limits,
    validate: createArgumentValidator(options.limits),
    ...(parts.tracer === undefined ? {} : { tracer: parts.tracer }),
    ...(parts.markOf === undefined ? {} : { markOf: parts.markOf }),
  };

  /** Runs a tool of our own (not a call passed on) and reports it. */
  async function own(name: MetaToolName, context: CallContext, work: () => Promise<Answer>): Promise<Answer> {
    const began = performance.now();
    const answer = await work();
    const isRefused = answer.kind === 'result' && answer.isError;
    report(name, context, isRefused ? 'refused' : 'ok', began);
    return answer;
  }

  /** Tells of a request that called no upstream's tool. */
  function report(
    metaTool: MetaToolName | 'none',
    context: CallContext,
    outcome: 'ok' | 'refused' | 'failed',
    began: number,
    code?: ErrorCodeName,
  ): void {
    const caller = parts.markOf?.(context.caller);
    const traceId = traceIdOf(traceContextOf(context.meta));
    parts.observer({
      kind: 'call',
      metaTool,
      ...(context.protocolVersion === undefined ? {} : { protocolVersion: context.protocolVersion }),
      ...(caller === undefined ? {} : { caller }),
      ...(traceId === undefined ? {} : { traceId }),
      outcome,
      ...(code === undefined ? {} : { code }),
      ms: performance.now() - began,
    });
  }

  async function search(input: SearchInput, context: CallContext): Promise<Answer> {
    if ((input.query === undefined) === (input.queries === undefined)) {
      return errorAnswer(
        'Not searched: give either "query" (one thing to find) or "queries" (several), not both or neither.',
      );
    }
    const view = await parts.views.view(context.caller, context.signal);
    const began = performance.now();
    const { answer, ...searched } = await searchTools(view, input, options.searchSchemas, context.signal);
    parts.observer({ kind: 'search', ...searched, ms: performance.now() - began });
    return structuredAnswer(answer);
  }

  async function dispatch(name: MetaToolName, input: string, context: CallContext): Promise<Answer> {
    const read = await readInput(name, input);
    if (read.kind === 'unusable') return own(name, context, () => Promise.resolve(errorAnswer(read.text)));
    switch (name) {
      case 'search_tools':
        return own(name, context, () => search(read.value as SearchInput, context));
      case 'describe_tool':
        return own(name, context, async () => {
          const view = await parts.views.view(context.caller, context.signal);
          return structuredAnswer(describeTools(view, (read.value as { names: readonly string[] }).names));
        });
      case 'call_read_tool':
      case 'call_write_tool':
        return callTool(name, input, context, callParts);
      case 'call_read_tools':
        return callReadTools(input, context, callParts);
      case 'search_servers':
        return own(name, context, async () => {
          const finder = await parts.servers?.();
          if (finder === undefined) throw new Error('search_servers is offered without what finds servers');
          const manage = options.manage === true;
          return searchServers(finder, read.value as ServerQuery, context, { manage });
        });
      case 'upstream_servers':
        return own(name, context, async () => {
          const [{ upstreamServers }, desk] = await Promise.all([
            import('./upstream-servers.ts'),
            parts.desk?.(),
          ]);
          if (desk === undefined) throw new Error('upstream_servers is offered without where it is done');
          return upstreamServers(desk, read.value as AgentRequest, [...membersOf(input, 0).keys()], context);
        });
    }
  }

  return {
    definitions,
    async instructions(caller, waitMs) {
      const instructions = await parts.views.instructions(caller, waitMs);
      return instructionsText(instructions, {
        maxCharacters: options.maxInstructions,
        maxBatchCalls: options.maxBatchCalls,
      });
    },
    call(name, input, context) {
      const definition = definitions.find((candidate) => candidate.name === name);
      const began = performance.now();
      if (definition === undefined) {
        report('none', context, 'refused', began);
        return undefined;
      }
      const span = parts.tracer?.(
        'server',
        { method: 'tools/call', tool: definition.name },
        traceContextOf(context.meta),
      );
      const traced =
        span === undefined ? context : { ...context, meta: withTrace(context.meta, span.context) };
      const answer = dispatch(definition.name, input, traced).catch((thrown: unknown) => {
        // No tool was come to: the caller's tools could not be had, or the client went.
        const code = thrown instanceof ProxyError ? thrown.code : undefined;
        report(definition.name, context, 'failed', began, context.signal.aborted ? 'cancelled' : code);
        if (!(thrown instanceof UpstreamAuthError)) throw thrown;
        const { status, challenge, message } = thrown;
        return { kind: 'unauthorized', status, challenge, sentence: message } as const;
      });
      return span === undefined ? answer : ended(answer, span);
    },
  };
}

/** The answer, with which its span ends. */
async function ended(answer: Promise<Answer>, span: Span): Promise<Answer> {
  try {
    const given = await answer;
    const error = given.kind === 'result' ? (given.isError ? 'tool_error' : undefined) : given.kind;
    span.end(error);
    return given;
  } catch (thrown) {
    span.end('internal_error');
    throw thrown;
  }
}
