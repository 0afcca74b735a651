import { describe, expect, it } from 'vitest';
import { traceContextOf, traceIdOf, withoutBaggage, withTrace } from './tracing.ts';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('the trace in _meta', () => {
  it('is read as MCP writes it', () => {
    expect(traceContextOf(`{"traceparent":"${PARENT}","tracestate":"a=1"}`)).toEqual({
      traceparent: PARENT,
      tracestate: 'a=1',
    });
    expect(traceIdOf({ traceparent: PARENT })).toBe('0af7651916cd43dd8448eb211c80319c');
    expect(traceContextOf('{"other":1}')).toBeUndefined();
    expect(traceContextOf('{"traceparent":7}')).toBeUndefined();
    expect(traceIdOf({ traceparent: 'x' })).toBeUndefined();
  });

  it('is replaced by our own span, and nothing else is touched', () => {
    const meta = `{ "traceparent":"old", "n":12345678901234567890, "tracestate":"b=2", "x/y": {"traceparent":"kept"}}`;
    expect(withTrace(meta, { traceparent: PARENT })).toBe(
      `{"n":12345678901234567890,"x/y":{"traceparent":"kept"},"traceparent":"${PARENT}"}`,
    );
    expect(withTrace(undefined, { traceparent: PARENT, tracestate: 'a=1' })).toBe(
      `{"traceparent":"${PARENT}","tracestate":"a=1"}`,
    );
  });

  it('goes on without baggage', () => {
    expect(withoutBaggage('{"baggage":"user=ann","n":1.0}')).toBe('{"n":1.0}');
    expect(withoutBaggage('{"n":"a baggage"}')).toBe('{"n":"a baggage"}');
    expect(withoutBaggage(undefined)).toBeUndefined();
  });
});
