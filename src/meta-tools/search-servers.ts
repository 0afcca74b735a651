import { ProxyError } from '../base/errors.ts';
import { additionOf } from '../registry/next-step.ts';
import type { ServerAnswer, ServerFinder, ServerQuery } from '../registry/server-finder.ts';
import { errorAnswer, structuredAnswer } from './answer.ts';
import type { Answer } from './answer.ts';
import type { CallContext } from './call-context.ts';

/**
 * The answer of `search_servers`. It knows no caller: what it finds is the same for everybody, and no credential
 * but the operator's own registry keys takes part.
 */
export async function searchServers(
  finder: ServerFinder,
  query: ServerQuery,
  { signal, onProgress }: CallContext,
  { manage }: { readonly manage: boolean },
): Promise<Answer> {
  try {
    const answer = await finder.search(query, {
      signal,
      ...(onProgress === undefined
        ? {}
        : { onProgress: (message: string, progress: number) => onProgress({ progress, message }) }),
    });
    // An answer of ours, made of JSON values only.
    return structuredAnswer({ ...answer, ...(manage ? nextFor(answer) : {}) });
  } catch (thrown) {
    if (!(thrown instanceof ProxyError)) throw thrown;
    return errorAnswer(`Not searched: ${thrown.message}`, { code: thrown.code, retryable: thrown.retryable });
  }
}

/** The next step in the words of a model that can take it itself. */
function nextFor({ next, servers: [only] }: ServerAnswer): { readonly next?: string } {
  const addition = next === undefined || only === undefined ? undefined : additionOf(only);
  if (addition === undefined) return {};
  const call = JSON.stringify({ operation: 'add', ...addition });
  return { next: `Found 1 server. Call upstream_servers with ${call} to add it.` };
}
