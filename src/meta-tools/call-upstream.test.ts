import { describe, expect, it } from 'vitest';
import { ProxyError } from '../base/errors.ts';
import type { ProxyErrorDetails } from '../base/errors.ts';
import { DEFAULT_LIMITS } from '../base/limits.ts';
import type { CatalogTool } from '../catalog/catalog.ts';
import type { View } from '../callers/view.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { callUpstream } from './call-upstream.ts';

/** Calls a tool of an upstream that fails as often as there are failures, and counts how often it was asked. */
async function called(
  access: 'read' | 'write',
  failures: readonly ProxyErrorDetails[],
): Promise<{ readonly kind: string; readonly tries: number }> {
  let tries = 0;
  const upstream: Upstream = {
    name: 'far',
    peer: () => Promise.reject(new Error('nobody asks')),
    request: () => {
      const details = failures[tries++];
      if (details !== undefined)
        return Promise.reject(new ProxyError('upstream_unreachable', 'It cannot be reached.', details));
      return Promise.resolve({
        raw: '{"content":[]}',
        head: { isError: false, hasPlainStructuredContent: false },
      });
    },
    close: () => Promise.resolve(),
  };
  // Only what a call looks at.
  const view = { route: () => ({ entry: { record: { auth: 'own' }, upstream }, scope: 'own' }) };
  const tool = { access, exposedName: 'look', tool: { name: 'look', inputSchema: {} } };
  const { kind } = await callUpstream(
    view as unknown as View,
    tool as unknown as CatalogTool,
    { raw: '{}', value: {} },
    { caller: {}, signal: new AbortController().signal },
    DEFAULT_LIMITS,
  );
  return { kind, tries };
}

describe('a call that failed', () => {
  it('is tried once more when it is a read of which nothing was sent', async () => {
    expect(await called('read', [{ outcome: 'not_sent' }])).toEqual({ kind: 'result', tries: 2 });
    expect(await called('read', [{ outcome: 'not_sent' }, { outcome: 'not_sent' }])).toEqual({
      kind: 'failed',
      tries: 2,
    });
  });

  it('is not tried again when it may have arrived, or will not do better', async () => {
    for (const outcome of ['unknown', 'failed'] as const)
      expect(await called('read', [{ outcome }])).toEqual({ kind: 'failed', tries: 1 });
    expect(await called('read', [{ outcome: 'not_sent', retryable: false }])).toEqual({
      kind: 'failed',
      tries: 1,
    });
  });

  it('is never tried again when it is a write', async () => {
    for (const outcome of ['not_sent', 'unknown', 'failed'] as const)
      expect(await called('write', [{ outcome }])).toEqual({ kind: 'failed', tries: 1 });
  });
});
