/**
 * Splits a byte stream into lines, the framing of MCP over stdio. Bytes are joined before they are decoded, so a
 * character split over two chunks arrives whole; `\r\n` and a byte order mark at the start are accepted.
 */
export interface LineSplitter {
  push(chunk: Buffer): void;
}

export interface LineSplitterOptions {
  /** Longest line in bytes; a longer one is dropped whole and reported, and the lines after it still arrive. */
  readonly maxBytes: number;
  readonly onLine: (line: string) => void;
  readonly onTooLong: (bytes: number) => void;
  /** Once a line has become this many times longer than allowed and has no end yet. */
  readonly onEndless?: (bytes: number) => void;
}

/** A line that is too long by so much is waited for no longer. */
const ENDLESS = 4;

const NEWLINE = 0x0a;

export function createLineSplitter(options: LineSplitterOptions): LineSplitter {
  const { maxBytes, onLine, onTooLong, onEndless } = options;
  let parts: Buffer[] = [];
  let held = 0;
  let isFirst = true;

  const finish = (): void => {
    const bytes = held;
    const line = bytes > maxBytes ? undefined : Buffer.concat(parts, bytes).toString('utf8');
    parts = [];
    held = 0;
    if (line === undefined) return onTooLong(bytes);
    const start = isFirst && line.charCodeAt(0) === 0xfeff ? 1 : 0;
    isFirst = false;
    const end = line.endsWith('\r') ? line.length - 1 : line.length;
    if (end > start) onLine(line.slice(start, end));
  };

  return {
    push(chunk) {
      let from = 0;
      for (;;) {
        const at = chunk.indexOf(NEWLINE, from);
        const part = chunk.subarray(from, at === -1 ? chunk.length : at);
        const before = held;
        held += part.length;
        // An overlong line is counted, not kept.
        if (held <= maxBytes) parts.push(part);
        else parts = [];
        if (at === -1) {
          if (held > maxBytes * ENDLESS && before <= maxBytes * ENDLESS) onEndless?.(held);
          return;
        }
        finish();
        from = at + 1;
      }
    },
  };
}
