/** Where a value came from, so that whoever gave it finds it again. */
export type Origin =
  | { readonly kind: 'flag'; readonly flag: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string; readonly line?: number; readonly column?: number }
  | { readonly kind: 'default' };

/**
 * One mistake in the configuration, or (as a warning) one thing its author will want to know. The message says what
 * is wrong and what to do; it never holds a value of `env` or `headers`, nor a URL, which may carry a key.
 */
export interface Problem {
  readonly origin: Origin;
  readonly message: string;
}

/** `--listen: …`, `MCPPROXY_LISTEN: …`, `config.json:4:13: …`. */
export function formatProblem(problem: Problem): string {
  const { origin } = problem;
  switch (origin.kind) {
    case 'flag':
      return `${origin.flag}: ${problem.message}`;
    case 'variable':
      return `${origin.name}: ${problem.message}`;
    case 'file':
      return `${origin.path}${origin.line === undefined ? '' : `:${origin.line}:${origin.column ?? 1}`}: ${problem.message}`;
    case 'default':
      return problem.message;
  }
}

/** A value as typed, for a message: in quotes, without control characters, not endless. */
export function quoted(text: string): string {
  const plain = text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, '?');
  return `"${plain.length > 40 ? `${plain.slice(0, 39)}…` : plain}"`;
}
