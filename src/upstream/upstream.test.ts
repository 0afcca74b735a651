import { describe, expect, it } from 'vitest';
import { ProxyError, UpstreamRejection } from '../base/errors.ts';
import { decodeHeaderValue, encodeHeaderValue } from '../base/header-value.ts';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import { withMeta } from './envelope.ts';
import { listTools } from './list-tools.ts';
import { readMessage, requestText } from './message.ts';
import { digestOf, readTool } from './read-tool.ts';
import { resolveReferences } from './references.ts';
import type { Peer, RequestContext, Upstream } from './upstream.ts';

const MODERN: Peer = { era: 'modern', protocolVersion: '2026-07-28' };
const CONTEXT: RequestContext = { scope: 'own', timeoutMs: 1_000, maxMs: 1_000 };

/** An upstream of fixed pages, each the text of a `tools/list` result. */
function paged(pages: readonly string[]): { upstream: Upstream; asked: string[] } {
  const asked: string[] = [];
  const upstream: Upstream = {
    name: 'paged',
    peer: () => Promise.resolve({ ...MODERN, instructions: 'read me' }),
    request: (_method, params) => {
      asked.push(params['cursor'] ?? 'first');
      const raw = pages[Math.min(asked.length, pages.length) - 1] ?? '{}';
      const message = readMessage(`{"jsonrpc":"2.0","id":1,"result":${raw}}`);
      return message.kind === 'result'
        ? Promise.resolve(message.result)
        : Promise.reject(new Error('fixture'));
    },
    close: () => Promise.resolve(),
  };
  return { upstream, asked };
}

describe('listing', () => {
  it('follows every page, an empty cursor too, and keeps odd tools', async () => {
    const { upstream, asked } = paged([
      '{"tools":[{"name":"a"},{"name":"b","inputSchema":{"anyOf":[]}}],"nextCursor":""}',
      '{"tools":[{"name":"c","inputSchema":"nonsense","annotations":7},null,{"title":"nameless"},{"name":"a"}],"ttlMs":5000}',
    ]);
    const listing = await listTools(upstream, CONTEXT, DEFAULT_LIMITS);
    expect(asked).toEqual(['first', '""']);
    expect(listing.tools.map((tool) => tool.name)).toEqual(['a', 'b', 'c']);
    expect(listing.dropped.map((tool) => `${tool.name} ${tool.reason} (${tool.cause})`)).toEqual([
      '#4 not an object (invalid)',
      '#5 has no name (invalid)',
      'a listed twice; the first counts (duplicate)',
    ]);
    expect(listing).toMatchObject({ instructions: 'read me', ttlMs: 5_000 });
  });

  it('drops a definition nested without end, alone and named', async () => {
    const deep = `${'{"items":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    const { upstream } = paged([`{"tools":[{"name":"deep","inputSchema":${deep}},{"name":"calm"}]}`]);
    const listing = await listTools(upstream, CONTEXT, DEFAULT_LIMITS);
    expect(listing.tools.map((tool) => tool.name)).toEqual(['calm']);
    expect(listing.dropped).toEqual([
      { name: 'deep', reason: 'its definition is nested deeper than 500 levels', cause: 'invalid' },
    ]);
  });

  it('is an error, never a part, when a cursor comes back or there is no end', async () => {
    const again = paged(['{"tools":[],"nextCursor":"x"}']);
    await expect(listTools(again.upstream, CONTEXT, DEFAULT_LIMITS)).rejects.toMatchObject({
      code: 'listing_cursor_repeated',
    });
    const pages = Array.from({ length: 20 }, (_, n) => `{"tools":[],"nextCursor":"${n}"}`);
    const endless = listTools(paged(pages).upstream, CONTEXT, { ...DEFAULT_LIMITS, maxListPages: 10 });
    await expect(endless).rejects.toMatchObject({ code: 'listing_too_long' });
    await expect(listTools(paged(['{}']).upstream, CONTEXT, DEFAULT_LIMITS)).rejects.toMatchObject({
      code: 'upstream_invalid',
    });
  });
});

describe('a cursor that is refused in the middle', () => {
  const refusing = (times: number): { upstream: Upstream; asked: string[] } => {
    let left = times;
    const { upstream, asked } = paged([
      '{"tools":[{"name":"a"}],"nextCursor":"x"}',
      '{"tools":[{"name":"b"}]}',
    ]);
    return {
      asked,
      upstream: {
        ...upstream,
        request: async (method, params, context) => {
          if (params['cursor'] === undefined || left-- <= 0) {
            const page = await upstream.request(method, params, context);
            return page;
          }
          // The next answer is the first page again.
          asked.splice(0);
          throw new UpstreamRejection('paged', -32602, 'invalid cursor', '{}');
        },
      },
    };
  };

  it('begins the listing anew, once', async () => {
    const listing = await listTools(refusing(1).upstream, CONTEXT, DEFAULT_LIMITS);
    expect(listing.tools.map((tool) => tool.name)).toEqual(['a', 'b']);
    expect(listing.dropped).toEqual([]);
    await expect(listTools(refusing(2).upstream, CONTEXT, DEFAULT_LIMITS)).rejects.toMatchObject({
      code: 'upstream_rejected',
      rpcCode: -32602,
    });
  });
});

describe('limits of a listing', () => {
  const listed = (names: readonly string[], more: object = {}): string =>
    JSON.stringify({ tools: names.map((name) => ({ name, description: 'x'.repeat(1_000) })), ...more });

  it('of all its pages together end it by name: maxListBytes, maxListTools', async () => {
    const pages = Array.from({ length: 10 }, (_, n) => listed([`a${n}`, `b${n}`], { nextCursor: `${n}` }));
    const { upstream, asked } = paged(pages);
    await expect(
      listTools(upstream, CONTEXT, { ...DEFAULT_LIMITS, maxListBytes: 10_000 }),
    ).rejects.toMatchObject({
      code: 'listing_too_long',
      message: "Upstream 'paged' lists more than 10000 bytes of tools (limit maxListBytes).",
    });
    // Some 2,100 bytes a page: the fifth is too much, and no more are asked for.
    expect(asked).toHaveLength(5);
    await expect(
      listTools(paged(pages).upstream, CONTEXT, { ...DEFAULT_LIMITS, maxListTools: 5 }),
    ).rejects.toMatchObject({
      code: 'listing_too_long',
      message: "Upstream 'paged' lists more than 5 tools (limit maxListTools).",
    });
  });

  it('of one definition drop that one by name, counted in bytes: maxToolBytes', async () => {
    const definition = (description: string): object => ({ name: `d${description.length}`, description });
    const size = Buffer.byteLength(JSON.stringify(definition('ą'.repeat(200))));
    const raw = JSON.stringify({ tools: [definition('ą'.repeat(200)), definition('ą'.repeat(201))] });
    const listing = await listTools(paged([raw]).upstream, CONTEXT, {
      ...DEFAULT_LIMITS,
      maxToolBytes: size,
    });
    expect(listing.tools.map(({ name }) => name)).toEqual(['d200']);
    expect(listing.dropped.map(({ name, reason }) => `${name}: ${reason}`)).toEqual([
      `d201: its definition is larger than ${size} bytes (limit maxToolBytes)`,
    ]);
  });

  it('let ten thousand tools in pages of fifty through, every one', async () => {
    const pages = Array.from({ length: 200 }, (_, page) =>
      JSON.stringify({
        tools: Array.from({ length: 50 }, (__, n) => ({ name: `tool_${page * 50 + n}` })),
        ...(page < 199 ? { nextCursor: `${page}` } : {}),
      }),
    );
    const { upstream, asked } = paged(pages);
    const { tools } = await listTools(upstream, CONTEXT, DEFAULT_LIMITS);
    expect(asked).toHaveLength(200);
    expect(tools).toHaveLength(10_000);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(10_000);
  });
});

describe('a listing that takes too long', () => {
  it('says so, also when the time runs out within one of its requests', async () => {
    const upstream: Upstream = {
      ...paged([]).upstream,
      request: (_method, _params, context) =>
        new Promise((_resolve, reject) => {
          context.signal?.addEventListener('abort', () => reject(new ProxyError('cancelled', 'cancelled')));
        }),
    };
    const limits = { ...DEFAULT_LIMITS, connectTimeoutMs: 20, listTimeoutMs: 20 };
    await expect(listTools(upstream, CONTEXT, limits)).rejects.toMatchObject({ code: 'upstream_timeout' });
  });
});

describe('tool digests', () => {
  it('do not depend on the order of keys, and do on every word', () => {
    const a = {
      name: 't',
      inputSchema: { type: 'object', properties: { x: { type: 'string', description: 'd' } } },
    };
    const b = {
      inputSchema: { properties: { x: { description: 'd', type: 'string' } }, type: 'object' },
      name: 't',
    };
    const c = {
      ...a,
      inputSchema: { type: 'object', properties: { x: { type: 'string', description: 'D' } } },
    };
    expect(digestOf(a)).toBe(digestOf(b));
    expect(digestOf(a)).not.toBe(digestOf(c));
    expect(digestOf(JSON.parse('{"__proto__":1}'))).not.toBe(digestOf({}));
  });

  it('change when an annotation does', () => {
    const digest = (readOnlyHint: boolean): string => {
      const read = readTool({ name: 't', annotations: { readOnlyHint } }, 0);
      return read.kind === 'tool' ? read.tool.digest : '';
    };
    expect(digest(true)).not.toBe(digest(false));
  });
});

describe('messages', () => {
  it('give a result as its own text', () => {
    const message = readMessage(
      '{"jsonrpc":"2.0","id":"p1","result":{ "isError":true, "n":12345678901234567890 }}',
    );
    expect(message).toEqual({
      kind: 'result',
      id: 'p1',
      result: {
        raw: '{ "isError":true, "n":12345678901234567890 }',
        head: { isError: true, hasPlainStructuredContent: false },
      },
    });
  });

  it('call what is no JSON-RPC message invalid', () => {
    for (const text of [
      '',
      'Server started',
      '[]',
      '{}',
      '{"jsonrpc":"1.0","id":1,"result":{}}',
      '{"jsonrpc":"2.0","id":1,"result":7}',
    ]) {
      expect(readMessage(text).kind).toBe('invalid');
    }
  });

  it('are written with parameters as they came', () => {
    expect(requestText('p1', 'tools/call', { name: '"a"', arguments: '{"x":1e400}' })).toBe(
      '{"jsonrpc":"2.0","id":"p1","method":"tools/call","params":{"name":"a","arguments":{"x":1e400}}}',
    );
  });
});

describe('the envelope', () => {
  const ids = { clientInfo: '{"name":"us"}', progressToken: 'p1' };
  const meta =
    '{"traceparent":"00-1","progressToken":"theirs","io.modelcontextprotocol/clientInfo":{"name":"them"},"n":12345678901234567890}';

  it('carries the client’s own members on, but nothing of its own leg', () => {
    const text = withMeta({}, MODERN, { ...CONTEXT, meta, onProgress: () => undefined }, ids)['_meta'] ?? '';
    expect(text).toContain('"n":12345678901234567890');
    expect(JSON.parse(text)).toMatchObject({
      traceparent: '00-1',
      progressToken: 'p1',
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'us' },
      'io.modelcontextprotocol/clientCapabilities': {},
    });
  });

  it('is left out for an older peer with nothing to say', () => {
    expect(withMeta({ a: '1' }, { era: 'legacy', protocolVersion: '2025-06-18' }, CONTEXT, ids)).toEqual({
      a: '1',
    });
  });
});

describe('header values', () => {
  it('come back as they were', () => {
    for (const value of ['get_user', 'a b', ' a', 'ąžuolas', '=?base64?eA==?=', 'line\nbreak', '工具']) {
      expect(encodeHeaderValue(value)).toMatch(/^[\x20-\x7e]+$/);
      expect(decodeHeaderValue(encodeHeaderValue(value))).toBe(value);
    }
    expect(decodeHeaderValue('=?base64?!?=')).toBeUndefined();
  });
});

describe('references', () => {
  const where = { upstream: 'github', part: 'header authorization' };

  it('are replaced by the variable they name; other braces stay', () => {
    expect(resolveReferences('Bearer ${env:TOKEN} ${TOKEN}', { TOKEN: 's$&' }, where)).toBe(
      'Bearer s$& ${TOKEN}',
    );
  });

  it('name what is missing and where it is needed', () => {
    const resolve = (): string => resolveReferences('${env:NOPE}', {}, where);
    expect(resolve).toThrow(ProxyError);
    expect(resolve).toThrow(
      "Upstream 'github' needs the environment variable NOPE (for header authorization), which is not set.",
    );
  });
});
