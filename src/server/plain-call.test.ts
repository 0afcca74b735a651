import { classifyInboundRequest } from '@modelcontextprotocol/server';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeHeaderValue } from '../base/header-value.ts';
import { plainCall } from './plain-call.ts';
import type { MessageHeaders } from './plain-call.ts';

const P = 'io.modelcontextprotocol/';
const MODERN = '2026-07-28';

const call = (more: object = {}, params: object = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'call_read_tool', arguments: {}, ...params },
  ...more,
});
const envelope = (more: object = {}): object => ({
  [`${P}protocolVersion`]: MODERN,
  [`${P}clientCapabilities`]: { elicitation: { form: {} }, extensions: { ui: { types: ['a'] } } },
  [`${P}clientInfo`]: { name: 'c', version: '1', title: 'C' },
  progressToken: 7,
  traceparent: '00-0-0-01',
  ...more,
});
const modernHeaders: MessageHeaders = { version: MODERN, method: 'tools/call', name: 'call_read_tool' };
const noHeaders: MessageHeaders = { version: undefined, method: undefined, name: undefined };

describe('a plain call', () => {
  it('is told by its own words in both generations', () => {
    expect(plainCall(call({}, { _meta: envelope() }), modernHeaders)).toBe('modern');
    expect(plainCall(call(), noHeaders)).toBe('legacy');
    expect(plainCall(call({ id: 'a' }), { ...noHeaders, version: '2025-06-18' })).toBe('legacy');
    expect(plainCall(call({}, { _meta: { progressToken: 'p' } }), noHeaders)).toBe('legacy');
  });

  it('is nothing that is rare or wrong', () => {
    const all: readonly [unknown, MessageHeaders][] = [
      [call({}, { _meta: envelope() }), { ...modernHeaders, name: 'call_write_tool' }],
      [call({}, { _meta: envelope() }), { ...modernHeaders, method: 'tools/list' }],
      [call({}, { _meta: envelope() }), { ...modernHeaders, version: '2025-11-25' }],
      [call({}, { _meta: envelope() }), { ...modernHeaders, name: undefined }],
      [call({}, { _meta: envelope({ [`${P}clientCapabilities`]: undefined }) }), modernHeaders],
      [call({}, { _meta: envelope({ [`${P}clientCapabilities`]: { roots: 1 } }) }), modernHeaders],
      [call({}, { _meta: envelope({ [`${P}logLevel`]: 'debug' }) }), modernHeaders],
      [call({}, { _meta: envelope({ progressToken: 1.5 }) }), modernHeaders],
      [call({}), { ...noHeaders, version: MODERN }],
      [call({ id: null }), noHeaders],
      [call({ extra: 1 }), noHeaders],
      [call({ jsonrpc: '1.0' }), noHeaders],
      [[call()], noHeaders],
      ['tools/call', noHeaders],
    ];
    for (const [body, headers] of all) expect(plainCall(body, headers)).toBeUndefined();
  });

  it('is never told otherwise than by the SDK', () => {
    const odd = fc.oneof(
      fc.constantFrom<unknown>(undefined, null, 1, 1.5, 'x', true, {}, [], { a: {} }, { a: 1 }),
      fc.jsonValue(),
    );
    const or = (usual: unknown): fc.Arbitrary<unknown> =>
      fc.oneof({ weight: 30, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: odd });
    const meta = fc.oneof(
      { weight: 1, arbitrary: fc.constant(undefined) },
      {
        weight: 5,
        arbitrary: fc.record(
          {
            [`${P}protocolVersion`]: or(MODERN),
            [`${P}clientCapabilities`]: fc.oneof(
              or({}),
              fc.record(
                {
                  sampling: or({}),
                  elicitation: or({ form: {} }),
                  roots: or({}),
                  extensions: or({ a: {} }),
                  experimental: or({}),
                },
                { requiredKeys: [] },
              ),
            ),
            [`${P}clientInfo`]: fc.oneof(
              or({ name: 'a', version: 'b' }),
              fc.record({ name: or('n'), version: or('v'), title: or('t') }, { requiredKeys: [] }),
            ),
            [`${P}logLevel`]: or('info'),
            progressToken: or(1),
          },
          { requiredKeys: [] },
        ),
      },
    );
    const body = fc.record(
      {
        jsonrpc: or('2.0'),
        id: or(1),
        method: or('tools/call'),
        params: fc.oneof(
          { weight: 8, arbitrary: fc.record({ name: or('t'), arguments: or({}), _meta: meta }) },
          { weight: 1, arbitrary: odd },
        ),
        more: fc.constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, 1),
      },
      { requiredKeys: ['jsonrpc', 'id', 'method', 'params'] },
    );
    const headers = fc.record({
      version: fc.constantFrom(MODERN, MODERN, undefined, '2025-11-25', '2030-01-01', ''),
      method: fc.constantFrom('tools/call', 'tools/call', undefined, 'tools/list'),
      name: fc.constantFrom('t', encodeHeaderValue('t'), '=?base64?dA==?=', undefined, 'u'),
    });
    let told = 0;
    fc.assert(
      fc.property(body, headers, (given, head) => {
        // What comes in was text: undefined members are not there.
        const value = JSON.parse(JSON.stringify(given)) as unknown;
        const era = plainCall(value, head);
        if (era === undefined) return;
        told++;
        const outcome = classifyInboundRequest({
          httpMethod: 'POST',
          body: value,
          ...(head.version === undefined ? {} : { protocolVersionHeader: head.version }),
          ...(head.method === undefined ? {} : { mcpMethodHeader: head.method }),
          ...(head.name === undefined ? {} : { mcpNameHeader: head.name }),
        });
        expect(outcome.kind).toBe(era);
      }),
      { numRuns: 10_000 },
    );
    expect(told).toBeGreaterThan(300);
  });
});
