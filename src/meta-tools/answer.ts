import { elementsOf, membersOf } from '../base/json-text.ts';
import type { JsonObject } from '../catalog/tool.ts';

/**
 * What a meta-tool's call comes to, for the server to write out. `raw` is the JSON text of a `CallToolResult`.
 */
export type Answer =
  | {
      readonly kind: 'result';
      readonly raw: string;
      readonly isError: boolean;
      /** As the upstream said; absent means complete. */
      readonly resultType?: string;
      readonly hasPlainStructuredContent: boolean;
    }
  /** The caller's own credential was refused by their upstream: HTTP says so with this status and challenge. */
  | {
      readonly kind: 'unauthorized';
      readonly status: 401 | 403;
      readonly challenge: string | undefined;
      readonly sentence: string;
    }
  /** An error object of the upstream that only the client, not the model, can act on. */
  | { readonly kind: 'error'; readonly raw: string };

type ResultAnswer = Extract<Answer, { kind: 'result' }>;

/** An answer of our own: the value as structured content, and the same as one minified text block. */
export function structuredAnswer(value: JsonObject): ResultAnswer {
  const text = JSON.stringify(value);
  return ownResult(
    `{"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}}`,
    false,
  );
}

/** An `isError` answer the model can act on. `details` become structured content where the tool promises none. */
export function errorAnswer(text: string, details?: JsonObject): ResultAnswer {
  const structured = details === undefined ? '' : `,"structuredContent":${JSON.stringify(details)}`;
  return ownResult(
    `{"content":[{"type":"text","text":${JSON.stringify(text)}}]${structured},"isError":true}`,
    true,
  );
}

function ownResult(raw: string, isError: boolean): ResultAnswer {
  return { kind: 'result', raw, isError, hasPlainStructuredContent: false };
}

/** One call of a batch as it turned out. */
export interface Labelled {
  /** The tool's name as the caller gave it. */
  readonly name: string;
  readonly isError: boolean;
  /** JSON text of the whole `CallToolResult`. */
  readonly raw: string;
}

/**
 * The answer of a batch: for each call, in order, a label block and then the result's own blocks, as their texts
 * came; `structuredContent.results` holds each whole result. An error only when every call failed.
 */
export function batchAnswer(results: readonly Labelled[]): ResultAnswer {
  const blocks: string[] = [];
  for (const [n, { name, isError, raw }] of results.entries()) {
    const label = `#${n + 1} ${name}: ${isError ? 'failed' : 'ok'}`;
    blocks.push(JSON.stringify({ type: 'text', text: label }));
    const content = membersOf(raw, 0).get('content');
    if (content === undefined) continue;
    for (const { start, end } of elementsOf(raw, content.start)) blocks.push(raw.slice(start, end));
  }
  const isError = results.every((result) => result.isError);
  const whole = results.map((result) => result.raw).join(',');
  return ownResult(
    `{"content":[${blocks.join(',')}],"structuredContent":{"results":[${whole}]}${isError ? ',"isError":true' : ''}}`,
    isError,
  );
}
