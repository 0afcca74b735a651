import { VECTOR_KERNEL } from './vector-kernel.ts';

/**
 * Vectors of documents in 8 bits a number with one scale each, and their similarity to a question. Eight bits cost
 * no recall (docs/search.md); the vectors lie in the memory of a WebAssembly kernel of 16 numbers a step. Where that
 * cannot be had, plain JavaScript computes the same sums from the same layout, to the last bit.
 *
 * Room is made by row number, not by row in use: a document without a vector costs its row once later rows are there.
 */
export class VectorMatrix {
  /** Numbers a vector has. */
  readonly dimensions: number;
  /** Changes with every vector that is kept or moved, so that what was counted can be kept as well. */
  version = 0;
  readonly #length: number;
  readonly #stride: number;
  readonly #kernel: Kernel;
  #isKept = new Uint8Array(64);

  /** `useKernel` false computes in plain JavaScript; for tests and for comparing speed. */
  constructor(dimensions: number, useKernel = true) {
    if (!(Number.isInteger(dimensions) && dimensions > 0 && dimensions <= MOST_DIMENSIONS)) {
      throw new RangeError(`Vectors have 1 to ${MOST_DIMENSIONS} numbers, not ${dimensions}`);
    }
    this.dimensions = dimensions;
    this.#length = Math.ceil(dimensions / 16) * 16;
    this.#stride = HEAD + this.#length;
    this.#kernel = (useKernel ? simdKernel() : undefined) ?? plainKernel();
  }

  /** Whether the WebAssembly kernel does the work. */
  get isFast(): boolean {
    return this.#kernel.isSimd;
  }

  get bytes(): number {
    return this.#kernel.buffer().byteLength + this.#isKept.byteLength;
  }

  has(row: number): boolean {
    return this.#isKept[row] === 1;
  }

  set(row: number, vector: Float32Array): void {
    this.#demandLength(vector);
    this.#makeRoom(row);
    const at = ROWS + row * this.#stride;
    const numbers = new Int8Array(this.#kernel.buffer(), at + HEAD, this.#length);
    const largest = largestOf(vector);
    for (let i = 0; i < vector.length; i++)
      numbers[i] = largest === 0 ? 0 : Math.round((vector[i]! / largest) * 127);
    new Float32Array(this.#kernel.buffer(), at, 1)[0] = largest / 127;
    this.#isKept[row] = 1;
    this.version++;
  }

  /**
   * For each of `rows`, which must all have a vector, the product with the question (the cosine, when both have
   * length 1) into `out`, in order.
   */
  similarities(question: Float32Array, rows: Int32Array, out: Float32Array): void {
    this.#demandLength(question);
    const buffer = this.#kernel.buffer();
    const largest = largestOf(question);
    if (largest === 0) {
      out.fill(0, 0, rows.length);
      return;
    }
    const asked = new Int16Array(buffer, 0, this.#length).fill(0);
    for (let i = 0; i < question.length; i++) asked[i] = Math.round((question[i]! / largest) * LARGEST_ASKED);
    const numbers = new Int32Array(buffer, NUMBERS, AT_ONCE);
    const found = new Float32Array(buffer, FOUND, AT_ONCE);
    for (let from = 0; from < rows.length; from += AT_ONCE) {
      const count = Math.min(AT_ONCE, rows.length - from);
      numbers.set(count === rows.length ? rows : rows.subarray(from, from + count));
      this.#kernel.similarities(
        ROWS,
        this.#stride,
        NUMBERS,
        count,
        0,
        this.#length,
        largest / LARGEST_ASKED,
        FOUND,
      );
      out.set(count === AT_ONCE ? found : found.subarray(0, count), from);
    }
  }

  /** The matrix with row `from` at `renumbered[from]`, and without those that are negative there. */
  renumbered(renumbered: Int32Array): VectorMatrix {
    const next = new VectorMatrix(this.dimensions, this.#kernel.isSimd);
    let last = -1;
    renumbered.forEach((to, from) => {
      if (to >= 0 && this.has(from)) last = Math.max(last, to);
    });
    if (last >= 0) next.#makeRoom(last);
    const target = new Uint8Array(next.#kernel.buffer());
    renumbered.forEach((to, from) => {
      if (to < 0 || !this.has(from)) return;
      const at = ROWS + from * this.#stride;
      target.set(new Uint8Array(this.#kernel.buffer(), at, this.#stride), ROWS + to * this.#stride);
      next.#isKept[to] = 1;
    });
    next.version = this.version + 1;
    return next;
  }

  #makeRoom(row: number): void {
    if (row >= this.#isKept.length) {
      const wider = new Uint8Array(Math.ceil((row + 1) * 1.25));
      wider.set(this.#isKept);
      this.#isKept = wider;
    }
    const needed = ROWS + (row + 1) * this.#stride;
    const before = this.#kernel.buffer().byteLength;
    // A quarter more: growing may copy everything.
    if (needed > before) this.#kernel.grow(Math.max(needed, ROWS + Math.ceil((before - ROWS) * 1.25)));
  }

  #demandLength(vector: Float32Array): void {
    if (vector.length !== this.dimensions)
      throw new RangeError(`A vector of ${this.dimensions} numbers was expected, not of ${vector.length}`);
  }
}

// The layout of the kernel's memory: the question, row numbers and results of one step, then the rows.
const MOST_DIMENSIONS = 2_048;
const AT_ONCE = 1_024;
const NUMBERS = 4_096;
const FOUND = 8_192;
const ROWS = 16_384;
/** Bytes before a row's numbers; the first four are its scale. */
const HEAD = 16;
/** 127 · 8,191 · 2,048 numbers stay within 32 bits. */
const LARGEST_ASKED = 8_191;
const PAGE = 65_536;

interface Kernel {
  readonly isSimd: boolean;
  /** The memory as it lies now; growing makes another. */
  buffer(): ArrayBuffer;
  grow(bytes: number): void;
  similarities(
    rows: number,
    stride: number,
    numbers: number,
    count: number,
    question: number,
    length: number,
    questionScale: number,
    out: number,
  ): void;
}

/** What is used of WebAssembly; its types belong to the browser's library, which this project does not load. */
interface WebAssemblyParts {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}

interface KernelExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly similarities: Kernel['similarities'];
}

let compiled: object | undefined;

/** Undefined where there is no WebAssembly, or none with SIMD. */
function simdKernel(): Kernel | undefined {
  const { WebAssembly: wasm } = globalThis as { WebAssembly?: WebAssemblyParts };
  if (wasm === undefined) return undefined;
  let exports: KernelExports;
  try {
    compiled ??= new wasm.Module(Uint8Array.from(atob(VECTOR_KERNEL), (letter) => letter.charCodeAt(0)));
    exports = new wasm.Instance(compiled).exports as KernelExports;
  } catch {
    return undefined;
  }
  const { memory, similarities } = exports;
  return {
    isSimd: true,
    buffer: () => memory.buffer,
    grow: (bytes) => void memory.grow(Math.ceil((bytes - memory.buffer.byteLength) / PAGE)),
    similarities,
  };
}

function plainKernel(): Kernel {
  let bytes = new ArrayBuffer(PAGE);
  return {
    isSimd: false,
    buffer: () => bytes,
    grow(size) {
      const wider = new Uint8Array(size + (PAGE - (size % PAGE)));
      wider.set(new Uint8Array(bytes));
      bytes = wider.buffer;
    },
    similarities(rows, stride, numbers, count, question, length, questionScale, out) {
      const floats = new Float32Array(bytes);
      const rowNumbers = new Int32Array(bytes, numbers, count);
      const asked = new Int16Array(bytes, question, length);
      const eights = new Int8Array(bytes);
      const scale = Math.fround(questionScale);
      for (let i = 0; i < count; i++) {
        const row = rows + rowNumbers[i]! * stride;
        let sum = 0;
        for (let k = 0; k < length; k++) sum += eights[row + HEAD + k]! * asked[k]!;
        floats[(out >> 2) + i] = Math.fround(Math.fround(sum) * floats[row >> 2]!) * scale;
      }
    },
  };
}

function largestOf(vector: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < vector.length; i++) {
    const size = Math.abs(vector[i]!);
    if (size > largest) largest = size;
  }
  return largest;
}
