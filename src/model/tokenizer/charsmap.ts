/**
 * A precompiled charsmap of sentencepiece: what each character, or sequence of them, is written as before a text is
 * cut into pieces (NFKC and more). It is a Darts double-array trie over UTF-8 with a pool of replacements.
 *
 * The two libraries that read it disagree, and models are trained with one or the other: sentencepiece takes the
 * longest match at every position; Hugging Face's `tokenizers` looks up whole graphemes and takes the *shortest*
 * match, which then stands for all of the grapheme.
 */
export class Charsmap {
  readonly #units: Uint32Array;
  readonly #pool: Uint8Array;
  /** Whether no rule begins with this byte. */
  readonly #isPlain = new Uint8Array(256);

  /** Bytes of the little-endian u32 length of the trie, the trie, and the pool. Throws when they cannot be that. */
  constructor(bytes: Uint8Array) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const trieBytes = bytes.length < 4 ? 0 : view.getUint32(0, true);
    if (trieBytes === 0 || trieBytes % 4 !== 0 || trieBytes > bytes.length - 4) {
      throw new RangeError('the charsmap is cut off or of another format');
    }
    this.#units = new Uint32Array(trieBytes / 4);
    for (let i = 0; i < this.#units.length; i++) this.#units[i] = view.getUint32(4 + 4 * i, true);
    // One more byte, so that the last replacement ends too.
    this.#pool = new Uint8Array(bytes.length - 4 - trieBytes + 1);
    this.#pool.set(bytes.subarray(4 + trieBytes));
    const root = offsetOf(this.#units[0]!);
    for (let byte = 0; byte < 256; byte++) {
      this.#isPlain[byte] = ((this.#units[root ^ byte] ?? 0) & LABEL) >>> 0 === byte ? 0 : 1;
    }
    // The unit at label 0 is a node's own value, and unused units are 0.
    this.#isPlain[0] = 1;
  }

  /**
   * As sentencepiece normalises: replaced by the longest match, spaces at both ends dropped, spaces after a space
   * too, a space put in front, and every space written as U+2581. The bytes are UTF-8; none when nothing is left.
   */
  normalizeLongest(text: string): Uint8Array {
    const input = Buffer.from(text);
    const out = new ByteWriter(input.length + 16);
    let isAfterSpace = true;
    for (let at = 0; at < input.length;) {
      const byte = input[at]!;
      let matched = 0;
      let value = 0;
      if (this.#isPlain[byte] === 0) {
        const found = this.#walk(input, at, input.length, true);
        matched = found.length;
        value = found.value;
      }
      const source = matched > 0 ? this.#pool : input;
      const from = matched > 0 ? value : at;
      const length = matched > 0 ? matched : characterBytes(byte);
      const to = matched > 0 ? this.#pool.indexOf(0, value) : Math.min(input.length, at + length);
      at += length;
      let i = from;
      if (isAfterSpace) while (i < to && source[i] === SPACE) i++;
      if (i === to) continue;
      if (out.length === 0) out.pushSpace();
      for (; i < to; i++) {
        if (source[i] === SPACE) out.pushSpace();
        else out.push(source[i]!);
      }
      isAfterSpace = source[to - 1] === SPACE;
    }
    return out.withoutTrailingSpaces();
  }

  /**
   * As Hugging Face's `Precompiled` normaliser does: a grapheme of fewer than six bytes is replaced as a whole by
   * the shortest match at its start; of any other each code point is looked up alone. What has no match stays.
   */
  normalizeGraphemes(text: string): string {
    // Of ASCII only "\r\n" is a grapheme of more than one character.
    if (/^[\t\n -~]*$/.test(text)) return this.#eachCodePoint(text);
    let out = '';
    for (const { segment } of graphemes.segment(text)) {
      const whole = segment.length < 6 ? this.#shortest(segment, 6) : undefined;
      out += whole ?? this.#eachCodePoint(segment);
    }
    return out;
  }

  #eachCodePoint(text: string): string {
    let out = '';
    for (const character of text) out += this.#shortest(character, 6) ?? character;
    return out;
  }

  /** The replacement by the shortest match at the start of `text`, when that has fewer bytes than `below`. */
  #shortest(text: string, below: number): string | undefined {
    const input = Buffer.from(text);
    if (input.length >= below || this.#isPlain[input[0] ?? 0] === 1) return undefined;
    const end = input.indexOf(0);
    const { length, value } = this.#walk(input, 0, end === -1 ? input.length : end, false);
    if (length === 0) return undefined;
    return Buffer.from(this.#pool.subarray(value, this.#pool.indexOf(0, value))).toString();
  }

  /** The longest or shortest rule that matches at `start`; length 0 when none does. */
  #walk(
    input: Uint8Array,
    start: number,
    end: number,
    isLongest: boolean,
  ): { readonly length: number; readonly value: number } {
    const units = this.#units;
    let length = 0;
    let value = 0;
    let position = offsetOf(units[0]!);
    for (let at = start; at < end; at++) {
      position ^= input[at]!;
      const unit = units[position] ?? 0;
      if ((unit & LABEL) >>> 0 !== input[at]) break;
      position ^= offsetOf(unit);
      if ((unit & HAS_LEAF) !== 0) {
        const found = (units[position] ?? 0) & VALUE;
        // A value beyond the pool is a damaged rule, and taken for none.
        if (found < this.#pool.length) {
          length = at + 1 - start;
          value = found;
          if (!isLongest) break;
        }
      }
    }
    return { length, value };
  }
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

const SPACE = 0x20;
/** U+2581, by which a space is written in pieces. */
const SPACE_SIGN = [0xe2, 0x96, 0x81] as const;

/** Parts of a Darts unit. */
const LABEL = 0x800000ff;
const HAS_LEAF = 0x100;
const VALUE = 0x7fffffff;

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}

function characterBytes(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

class ByteWriter {
  #bytes: Uint8Array;
  length = 0;

  constructor(room: number) {
    this.#bytes = new Uint8Array(room);
  }

  push(byte: number): void {
    if (this.length === this.#bytes.length) {
      const wider = new Uint8Array(2 * this.length);
      wider.set(this.#bytes);
      this.#bytes = wider;
    }
    this.#bytes[this.length++] = byte;
  }

  pushSpace(): void {
    for (const byte of SPACE_SIGN) this.push(byte);
  }

  withoutTrailingSpaces(): Uint8Array {
    let end = this.length;
    while (end >= 3 && SPACE_SIGN.every((byte, i) => this.#bytes[end - 3 + i] === byte)) end -= 3;
    return this.#bytes.subarray(0, end);
  }
}
