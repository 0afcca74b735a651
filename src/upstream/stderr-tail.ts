/** Enough for a few lines. */
const KEPT_BYTES = 4_096;
const MAX_LINES = 5;
const MAX_LINE_LENGTH = 200;

/** Shorter values (`1`, `on`) are in every text and give nothing away. */
const MIN_SECRET_LENGTH = 4;

/**
 * The last lines a child wrote to stderr, for the sentence that says why it ended. A child may print what it was
 * given, so `secrets` are masked.
 */
export class StderrTail {
  readonly #secrets: readonly string[];
  #bytes: Buffer = Buffer.alloc(0);
  #isCut = false;

  constructor(secrets: readonly string[]) {
    // The longest first: one may be a part of another.
    this.#secrets = secrets
      .filter((value) => value.length >= MIN_SECRET_LENGTH)
      .toSorted((a, b) => b.length - a.length);
  }

  push(chunk: Buffer): void {
    const all = Buffer.concat([this.#bytes, chunk]);
    this.#isCut ||= all.length > KEPT_BYTES;
    this.#bytes = Buffer.from(all.subarray(-KEPT_BYTES));
  }

  /** Oldest first. */
  lines(): readonly string[] {
    const lines = this.#bytes.toString('utf8').split(/[\r\n]+/);
    // The first may have lost its beginning, and with it the beginning of a secret that would then not be known.
    if (this.#isCut) lines.shift();
    return lines
      .map((line) => this.#masked(line).trim().slice(0, MAX_LINE_LENGTH))
      .filter((line) => line !== '')
      .slice(-MAX_LINES);
  }

  #masked(line: string): string {
    return this.#secrets.reduce((text, value) => text.replaceAll(value, '[secret]'), line);
  }
}
