/** Where a command's words go: results to stdout, everything else to stderr. */
export interface Output {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  /** Whether stdout may carry colours: on a terminal, unless `NO_COLOR` is set. */
  readonly hasColour: boolean;
  /** How wide a table on stdout may be. */
  readonly width: number;
  /** A result, for stdout; resolves when it may be followed by more. */
  print(text: string): Promise<void>;
  /** Something worth knowing, for stderr; not with `--quiet`. */
  note(text: string): void;
  /** What went wrong, for stderr; always. */
  error(text: string): void;
  /**
   * Says that something takes its time, once it has: on a terminal a line that counts the seconds and goes away at
   * the end, elsewhere one plain line. Nothing with `--quiet`. Gives what ends it.
   */
  progress(text: string): () => void;
  /** Whether there is a line on a terminal that `status` writes over. */
  readonly hasStatus: boolean;
  /** Shows how far something is, in place of what was shown before; on a terminal only. */
  status(text: string): void;
}

/** After this long without a word a person wonders. */
const SILENCE_MS = 1_500;

/** Width of a table nobody's terminal limits. */
const DEFAULT_WIDTH = 100;

export function createOutput(options: {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}): Output {
  const { stdout, stderr, env, isQuiet } = options;
  const isDumb = env['TERM'] === 'dumb';
  let hasProgressLine = false;
  // What comes while the line is there takes its place.
  const clear = (): void => {
    if (hasProgressLine) stderr.write('\r\u001B[K');
    hasProgressLine = false;
  };
  // Whoever reads us may stop early (`| head`): that is no failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return {
    isJson: options.isJson,
    isQuiet,
    hasColour: stdout.isTTY && !env['NO_COLOR'] && !isDumb,
    width: Math.max(40, stdout.isTTY ? stdout.columns || DEFAULT_WIDTH : DEFAULT_WIDTH),
    // Also when writing failed: a reader that has gone needs nothing more.
    print: (text) => {
      clear();
      return new Promise((resolve) => stdout.write(`${text}\n`, () => resolve()));
    },
    note: (text) => {
      clear();
      if (!isQuiet) stderr.write(`${text}\n`);
    },
    error: (text) => {
      clear();
      stderr.write(`mcpproxy: ${text}\n`);
    },
    hasStatus: stderr.isTTY && !isDumb && !isQuiet,
    status: (text) => {
      if (!stderr.isTTY || isDumb || isQuiet) return;
      const width = Math.max(20, (stderr.columns || DEFAULT_WIDTH) - 1);
      stderr.write(`\r\u001B[K${text.slice(0, width)}`);
      hasProgressLine = true;
    },
    progress: (text) => {
      if (isQuiet) return () => undefined;
      const began = performance.now();
      const isLive = stderr.isTTY && !isDumb;
      const show = (): void => {
        if (!isLive) {
          stderr.write(`${text}\n`);
          return;
        }
        stderr.write(`\r\u001B[K${text} ${Math.round((performance.now() - began) / 1_000)} s`);
        hasProgressLine = true;
        timer = setTimeout(show, 1_000);
      };
      let timer = setTimeout(show, SILENCE_MS);
      return () => {
        clearTimeout(timer);
        clear();
      };
    },
  };
}
