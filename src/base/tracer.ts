/** Where a span belongs, in the words of W3C Trace Context (https://www.w3.org/TR/trace-context/). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** What a span may say about itself: names and codes, never what was asked or answered. */
export interface SpanFacts {
  readonly method: string;
  /** One of our own tools, or the exposed name of an upstream's. */
  readonly tool: string;
  readonly upstream?: string;
}

/** Work under way that is part of a trace. */
export interface Span {
  readonly context: TraceContext;
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** `errorType` is a code of ours or `tool_error`; absent means it went well. Further calls do nothing. */
  end(errorType?: string): void;
}

/** Begins spans; absent where nobody collects traces. */
export type Tracer = (side: 'server' | 'client', facts: SpanFacts, parent: TraceContext | undefined) => Span;
