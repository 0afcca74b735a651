/** Where a command's words go: results to stdout, everything else to stderr. */
export interface Output {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  /** Whether stdout may carry colours. */
  readonly hasColour: boolean;
  /** How wide a table on stdout may be. */
  readonly width: number;
  /** A result, for stdout; resolves when it may be followed by more. */
  print(text: string): Promise<void>;
  /** Something worth knowing, for stderr; not with `--quiet`. */
  note(text: string): void;
  /** What went wrong, for stderr; always. */
  error(text: string): void;
}

/** Width of a table nobody's terminal limits. */
const DEFAULT_WIDTH = 100;

export function createOutput(options: {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}): Output {
  const { stdout, stderr, env } = options;
  // Whoever reads us may stop early (`| head`): that is no failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    isJson: options.isJson,
    isQuiet: options.isQuiet,
    hasColour: stdout.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    width: Math.max(40, stdout.isTTY ? stdout.columns || DEFAULT_WIDTH : DEFAULT_WIDTH),
    // Also when writing failed: a reader that has gone needs nothing more.
    print: (text) => new Promise((resolve) => stdout.write(`${text}\n`, () => resolve())),
    note: (text) => {
      if (!options.isQuiet) stderr.write(`${text}\n`);
    },
    error: (text) => {
      stderr.write(`mcpproxy: ${text}\n`);
    },
  };
}
