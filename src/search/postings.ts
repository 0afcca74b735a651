/** First cell of a block: where the next block of the term begins, 0 for none. Second: postings in this block. */
const HEADER = 2;
/** A posting is a document number and its counts. */
const POSTING = 2;
const LARGEST_BLOCK = 256;
/** Share of unused room that is worth a copy to give back. */
const SPARE = 0.02;

/**
 * For every term the documents that have it, with its count per field: eight counts of four bits in one number.
 *
 * One array for all terms. A term's postings lie in a chain of blocks that double in size, so that adding
 * is constant time, a word used once costs four cells, and a common word's postings lie side by side.
 */
export class Postings {
  /** Read by the inner loops; see `HEADER` and `POSTING` for its layout. Cell 0 is unused, so 0 can mean none. */
  cells = new Int32Array(1024);
  #used = 1;
  #heads = new Int32Array(256);
  #tails = new Int32Array(256);
  /** Capacity of the last block, in postings. */
  #tailSizes = new Uint16Array(256);
  #counts = new Int32Array(256);

  get bytes(): number {
    const arrays = [this.cells, this.#heads, this.#tails, this.#tailSizes, this.#counts];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Where a term's first block begins; 0 when the term has no postings. */
  head(term: number): number {
    return this.#heads[term] ?? 0;
  }

  /** How many documents have the term, those without a view included. */
  count(term: number): number {
    return this.#counts[term] ?? 0;
  }

  add(term: number, document: number, counts: number): void {
    if (term >= this.#heads.length) this.#widen(term);
    this.#counts[term]!++;
    let tail = this.#tails[term]!;
    if (tail === 0) {
      tail = this.#block(1);
      this.#heads[term] = tail;
      this.#tails[term] = tail;
      this.#tailSizes[term] = 1;
    } else if (this.cells[tail + 1] === this.#tailSizes[term]) {
      const size = Math.min(LARGEST_BLOCK, this.#tailSizes[term]! * 2);
      const next = this.#block(size);
      this.cells[tail] = next;
      this.#tails[term] = tail = next;
      this.#tailSizes[term] = size;
    }
    const filled = this.cells[tail + 1]!;
    const at = tail + HEADER + filled * POSTING;
    this.cells[at] = document;
    this.cells[at + 1] = counts;
    this.cells[tail + 1] = filled + 1;
  }

  /** Gives back room that was made for more, after many documents came together. */
  trim(): void {
    if (this.cells.length - this.#used > this.#used * SPARE) this.cells = this.cells.slice(0, this.#used);
  }

  /** Every posting of a term, for work that is not hot. */
  each(term: number, visit: (document: number, counts: number) => void): void {
    for (let block = this.head(term); block !== 0; block = this.cells[block]!) {
      const end = block + HEADER + this.cells[block + 1]! * POSTING;
      for (let at = block + HEADER; at < end; at += POSTING) visit(this.cells[at]!, this.cells[at + 1]!);
    }
  }

  #block(size: number): number {
    const start = this.#used;
    this.#used += HEADER + size * POSTING;
    if (this.#used > this.cells.length)
      this.cells = wider(this.cells, Math.max(this.#used, Math.ceil(this.cells.length * 1.25)));
    return start;
  }

  #widen(term: number): void {
    const length = Math.max(term + 1, Math.ceil(this.#heads.length * 1.5));
    this.#heads = wider(this.#heads, length);
    this.#tails = wider(this.#tails, length);
    this.#counts = wider(this.#counts, length);
    const sizes = new Uint16Array(length);
    sizes.set(this.#tailSizes);
    this.#tailSizes = sizes;
  }
}

function wider(array: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(array);
  return copy;
}
