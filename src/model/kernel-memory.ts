/** What is used of WebAssembly; its types belong to the browser's library, which this project does not load. */
interface WebAssemblyParts {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}

/** What every kernel of kernels/ exports. */
export interface KernelMemory {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
}

/**
 * An instance of a kernel, with memory of its own, to be taken for what its source exports; undefined where there is no
 * WebAssembly, or none with SIMD.
 */
export function openKernel(base64: string): KernelMemory | undefined {
  const { WebAssembly: wasm } = globalThis as { WebAssembly?: WebAssemblyParts };
  if (wasm === undefined) return undefined;
  try {
    return new wasm.Instance(new wasm.Module(Buffer.from(base64, 'base64'))).exports as KernelMemory;
  } catch {
    return undefined;
  }
}

/** Gives out addresses in a kernel's memory that are multiples of 64, and writes at the end what was put there. */
export class Layout {
  /** Address 0 is left free: kernels take it for "nothing". */
  #size = 64;
  readonly #contents: (readonly [address: number, content: Int8Array | Float32Array])[] = [];

  /** Room for so many bytes, which are zeros. */
  take(bytes: number): number {
    const address = this.#size;
    this.#size += Math.ceil(bytes / 64) * 64;
    return address;
  }

  put(content: Int8Array | Float32Array): number {
    const address = this.take(content.byteLength);
    this.#contents.push([address, content]);
    return address;
  }

  /** Makes the memory as large as all that was taken, and writes what was put; once, when the layout is complete. */
  settle({ memory }: KernelMemory): void {
    const missing = Math.ceil(this.#size / 65_536) - memory.buffer.byteLength / 65_536;
    if (missing > 0) memory.grow(missing);
    const bytes = new Uint8Array(memory.buffer);
    for (const [address, { buffer, byteOffset, byteLength }] of this.#contents) {
      bytes.set(new Uint8Array(buffer, byteOffset, byteLength), address);
    }
    this.#contents.length = 0;
  }
}
