/**
 * Errors of the house. A *failure* (we sent something and it went wrong) and every operator-facing mistake is a
 * `ProxyError` with a stable code; a *refusal* (we did not send) is a value and never appears here; a bug is any
 * other thrown thing and is left to crash with its stack.
 */

/** What became of the thing we tried: never left us; answered with an error; left us and nobody knows. */
export type Outcome = 'not_sent' | 'failed' | 'unknown';

interface ErrorCode {
  /** One sentence for the operator's reference page. */
  readonly meaning: string;
  /** Whether the same request may succeed a little later without anybody changing anything. */
  readonly retryable: boolean;
}

/** Every code there is: the single source of the error reference. Codes are stable; meanings may be reworded. */
export const ERROR_CODES = {
  config_invalid: {
    meaning: 'The configuration has mistakes; each is listed with where it came from.',
    retryable: false,
  },
  config_write_failed: {
    meaning: 'The configuration (or what is kept beside it) could not be written; it is as it was.',
    retryable: false,
  },
  config_busy: {
    meaning: 'Another process is writing the configuration; nothing was changed.',
    retryable: true,
  },
  usage: { meaning: 'The command line was not understood.', retryable: false },
  audit_log_failed: { meaning: 'The audit log could not be opened; nothing was served.', retryable: false },
  listen_failed: { meaning: 'The address to listen on could not be opened.', retryable: false },
  upstream_unresolved: {
    meaning:
      'The upstream needs an environment variable (or a command) that is not there, so it was not started.',
    retryable: false,
  },
  upstream_unreachable: {
    meaning: 'No connection to the upstream could be made; nothing was sent.',
    retryable: true,
  },
  upstream_exited: { meaning: "The upstream's process ended.", retryable: true },
  upstream_closed: {
    meaning: 'The connection to the upstream closed before its answer was complete.',
    retryable: true,
  },
  upstream_timeout: { meaning: 'The upstream did not answer within the time limit.', retryable: true },
  upstream_error: { meaning: 'The upstream answered with an HTTP error status.', retryable: true },
  upstream_rate_limited: {
    meaning: 'The upstream answered HTTP 429: it was asked too often. The answer says when to try again.',
    retryable: true,
  },
  upstream_auth: { meaning: 'The upstream refused the credential (HTTP 401 or 403).', retryable: false },
  upstream_redirect: {
    meaning: 'The upstream answered with a redirect; redirects are never followed.',
    retryable: false,
  },
  upstream_invalid: {
    meaning: 'The upstream answered something that is not a valid MCP message.',
    retryable: false,
  },
  upstream_too_large: { meaning: "The upstream's message is larger than the limit.", retryable: false },
  upstream_rejected: {
    meaning: 'The upstream answered the request with a JSON-RPC error.',
    retryable: false,
  },
  upstream_unsupported: {
    meaning:
      'The upstream asked for something that cannot travel to this client (input during a call, a task).',
    retryable: false,
  },
  listing_cursor_repeated: {
    meaning: "The upstream's tools/list gave a cursor it had given before.",
    retryable: false,
  },
  listing_too_long: {
    meaning: "The upstream's tools/list is larger, or has more pages or tools, than the limit.",
    retryable: false,
  },
  busy: {
    meaning:
      'A limit on how much may run at the same time was reached; nothing was sent. The message names the limit.',
    retryable: true,
  },
  registry_not_found: {
    meaning: 'No registry has this id or name; the message names the nearest.',
    retryable: false,
  },
  server_not_found: {
    meaning: 'The registry lists no server with this id.',
    retryable: false,
  },
  server_not_addable: {
    meaning: 'The server cannot be added: its registry gives neither an endpoint nor a command that runs it.',
    retryable: false,
  },
  server_inputs_missing: {
    meaning: 'The server needs something only a person can give (a key, an address); each is named.',
    retryable: false,
  },
  upstream_not_found: {
    meaning: 'No upstream has this name, or it stands in no file that could be changed.',
    retryable: false,
  },
  upstream_exists: { meaning: 'There is an upstream of this name already.', retryable: false },
  registry_has_no_servers: {
    meaning: 'The registry is known but has no listing a program can read; its page is named.',
    retryable: false,
  },
  registry_disabled: {
    meaning: 'The registry, or all searching of registries, is switched off in the configuration.',
    retryable: false,
  },
  registry_key_missing: {
    meaning: 'The registry needs a key, and the environment variable for it is not set or was refused.',
    retryable: false,
  },
  registry_forbidden: {
    meaning:
      'The registry is on plain http or a private address, which the configuration does not allow for it; nothing was sent.',
    retryable: false,
  },
  registry_unavailable: {
    meaning: 'The registry could not be reached, answered with an error status, or took too long.',
    retryable: true,
  },
  registry_invalid: {
    meaning:
      'The registry answered something that is not its listing: not JSON, too large, another shape, a redirect elsewhere.',
    retryable: false,
  },
  model_missing: {
    meaning: 'There is no embedding model where one was looked for.',
    retryable: false,
  },
  model_invalid: {
    meaning:
      'The files of an embedding model are damaged, cut short, or of a kind this program does not read.',
    retryable: false,
  },
  model_unavailable: {
    meaning:
      'An embedding model could not be downloaded: not reached, an error status, or cut off; what came is kept for the next try.',
    retryable: true,
  },
  model_forbidden: {
    meaning:
      'The address of a model, or one it redirects to, is on plain http or a private network; nothing was asked of it.',
    retryable: false,
  },
  model_mismatch: {
    meaning: 'A downloaded file is not the one that was expected (size or SHA-256); it was thrown away.',
    retryable: false,
  },
  model_busy: { meaning: 'Another run is fetching into the same folder.', retryable: true },
  model_unwritable: {
    meaning: "The model's folder cannot be written, or its disk is full.",
    retryable: false,
  },
  model_stopped: {
    meaning:
      'The thread of the embedding model ended, or has been closed; with the next search it is started again, and meanwhile words rank alone.',
    retryable: true,
  },
  cancelled: { meaning: 'The caller cancelled the request.', retryable: false },
  shutting_down: {
    meaning:
      'The proxy is shutting down and gave the request up; another of it, or the next start, may serve it.',
    retryable: true,
  },
} as const satisfies Record<string, ErrorCode>;

export type ErrorCodeName = keyof typeof ERROR_CODES;

export interface ProxyErrorDetails {
  /** Name of the upstream the error is about. */
  readonly upstream?: string;
  readonly outcome?: Outcome;
  /** Overrides the code's own verdict, such as for a status that will not change. */
  readonly retryable?: boolean;
  /** In how many seconds to try again, where somebody said so. */
  readonly retryAfterS?: number;
  readonly cause?: unknown;
}

/** An error somebody can act on. The message says what failed, on what, and where possible what to do. */
export class ProxyError extends Error {
  override readonly name: string = 'ProxyError';
  readonly code: ErrorCodeName;
  readonly upstream: string | undefined;
  readonly outcome: Outcome | undefined;
  readonly retryable: boolean;
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCodeName, message: string, details: ProxyErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.upstream = details.upstream;
    this.outcome = details.outcome;
    this.retryable = details.retryable ?? ERROR_CODES[code].retryable;
    this.retryAfterS = details.retryAfterS;
  }
}

/** The upstream answered 401 or 403: the client gets the same status and challenge, so that it can sign in again. */
export class UpstreamAuthError extends ProxyError {
  override readonly name = 'UpstreamAuthError';
  readonly status: 401 | 403;
  /** The `WWW-Authenticate` header, unchanged; absent when the upstream sent none. */
  readonly challenge: string | undefined;

  constructor(upstream: string, status: 401 | 403, challenge: string | undefined) {
    super('upstream_auth', `Upstream '${upstream}' answered ${status}: it did not accept the credential.`, {
      upstream,
      outcome: 'failed',
    });
    this.status = status;
    this.challenge = challenge;
  }
}

/** Too much runs at the same time: nothing was sent, and the client may try again after `retryAfterS` seconds. */
export class BusyError extends ProxyError {
  override readonly name = 'BusyError';
  override readonly retryAfterS: number;

  constructor(message: string, retryAfterS: number, upstream?: string) {
    super('busy', message, { outcome: 'not_sent', ...(upstream === undefined ? {} : { upstream }) });
    this.retryAfterS = retryAfterS;
  }
}

/** The upstream answered with a JSON-RPC error object. */
export class UpstreamRejection extends ProxyError {
  override readonly name = 'UpstreamRejection';
  readonly rpcCode: number;
  /** The upstream's own words. */
  readonly rpcMessage: string;
  /** The error object as the upstream sent it, as JSON text, so that big integers and unknown fields survive. */
  readonly raw: string;

  constructor(upstream: string, rpcCode: number, rpcMessage: string, raw: string) {
    super('upstream_rejected', `Upstream '${upstream}' answered with error ${rpcCode}: ${rpcMessage}`, {
      upstream,
      outcome: 'failed',
    });
    this.rpcCode = rpcCode;
    this.rpcMessage = rpcMessage;
    this.raw = raw;
  }
}

/** The message of any thrown thing, for a sentence; never empty. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return String(thrown);
}

/**
 * Makes an error fit to be kept. Until its stack is read, V8 holds on to the objects its frames ran on, such as the
 * transport with the caller's credential; reading it leaves the text alone.
 */
export function keepable<E extends Error>(error: E): E {
  for (let one: unknown = error; one instanceof Error; one = one.cause) String(one.stack);
  return error;
}
