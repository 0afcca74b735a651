import type { ErrorCodeName, Outcome, ProxyError } from '../base/errors.ts';
import type { JsonObject } from '../catalog/tool.ts';
import { plain } from './definitions.ts';

/** A failed call in words a model can act on: the code, what happened, and what to do next. */
export function failureText(error: ProxyError, isWrite: boolean): string {
  return `[${error.code}] ${plain(error.message, 600)} Next: ${nextStep(error, isWrite)}`;
}

/** The same for programs. */
export function failureDetails(error: ProxyError): JsonObject {
  return {
    error: {
      code: error.code satisfies ErrorCodeName,
      ...(error.upstream === undefined ? {} : { upstream: error.upstream }),
      retryable: error.retryable,
      outcome: outcomeOf(error),
      ...(error.retryAfterS === undefined ? {} : { retryAfterS: error.retryAfterS }),
    },
  };
}

function outcomeOf(error: ProxyError): Outcome {
  return error.outcome ?? 'unknown';
}

function nextStep(error: ProxyError, isWrite: boolean): string {
  const when = error.retryAfterS === undefined ? undefined : `in ${error.retryAfterS} s`;
  switch (outcomeOf(error)) {
    case 'not_sent':
      return error.retryable
        ? `nothing was sent; try again ${when ?? 'in a moment'}.`
        : 'nothing was sent; tell the user.';
    case 'unknown':
      return isWrite
        ? 'it may have been carried out; check before you try again.'
        : 'it only reads, so it is safe to try again.';
    case 'failed':
      return error.retryable
        ? `try again ${when ?? 'later'}.`
        : 'do not repeat it unchanged; tell the user or try another way.';
  }
}
