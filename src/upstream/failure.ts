import { messageOf, ProxyError } from '../base/errors.ts';
import { BodyTooLarge, HttpFailure } from '../net/http-client.ts';
import type { Deadline } from '../base/deadline.ts';

/** What is known about the moment something went wrong. */
export interface FailureContext {
  readonly upstream: string;
  readonly deadline: Deadline;
  readonly timeoutMs: number;
  /** What was being done, as `tools/call` or `connecting`. */
  readonly doing: string;
  readonly maxMessageBytes: number;
}

/**
 * Thrown inside the HTTP transports when an older peer no longer knows our session: it refused before handling
 * anything (docs/decisions/0006-lost-sessions.md).
 */
export class SessionLost extends Error {}

/** An HTTP status instead of a handshake; some of them mean that the peer speaks another transport. */
export class HandshakeRefused extends ProxyError {
  override readonly name = 'HandshakeRefused';
  readonly status: number;

  constructor(upstream: string, status: number) {
    super('upstream_error', `Upstream '${upstream}' answered connecting with HTTP ${status}.`, {
      upstream,
      outcome: 'not_sent',
      retryable: status === 429 || status >= 500,
    });
    this.status = status;
  }
}

/** Gives any thrown thing of an exchange its name: a `ProxyError` with code and outcome. */
export function failureOf(thrown: unknown, context: FailureContext): ProxyError {
  if (thrown instanceof ProxyError) return thrown;
  const { upstream, deadline, doing } = context;
  if (deadline.expired()) {
    return new ProxyError(
      'upstream_timeout',
      `Upstream '${upstream}' gave no answer to ${doing} within ${context.timeoutMs} ms.`,
      { upstream, outcome: 'unknown', cause: thrown },
    );
  }
  if (deadline.aborted) {
    const { reason } = deadline;
    if (reason instanceof ProxyError) {
      return new ProxyError(
        reason.code,
        `${doing} at upstream '${upstream}' was given up: ${reason.message}`,
        {
          upstream,
          outcome: 'unknown',
        },
      );
    }
    return new ProxyError('cancelled', `${doing} at upstream '${upstream}' was cancelled.`, {
      upstream,
      outcome: 'unknown',
    });
  }
  if (thrown instanceof BodyTooLarge) {
    return new ProxyError(
      'upstream_too_large',
      `Upstream '${upstream}' answered ${doing} with more than ${context.maxMessageBytes} bytes (limit maxMessageBytes).`,
      { upstream, outcome: 'failed' },
    );
  }
  if (thrown instanceof HttpFailure && thrown.phase === 'connect') {
    return new ProxyError(
      'upstream_unreachable',
      `Upstream '${upstream}' cannot be reached: ${thrown.message}.`,
      {
        upstream,
        outcome: 'not_sent',
        cause: thrown,
      },
    );
  }
  if (thrown instanceof HttpFailure) {
    return new ProxyError(
      'upstream_closed',
      `The connection to upstream '${upstream}' broke during ${doing}: ${thrown.message}.`,
      { upstream, outcome: 'unknown', cause: thrown },
    );
  }
  return new ProxyError(
    'upstream_invalid',
    `Upstream '${upstream}' could not be used: ${messageOf(thrown)}`,
    {
      upstream,
      outcome: 'failed',
      cause: thrown,
    },
  );
}
