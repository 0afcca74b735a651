// `npm run kernels`: compiles each file of kernels/ to WebAssembly SIMD and writes it, as base64, into the module that
// uses it (kernels/parts/ is what they share). kernels.test.ts compiles them again and compares.
// @ts-check
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = resolve(import.meta.dirname, '..');

/**
 * Which file becomes which module; a new kernel is a line here.
 * @type {readonly { readonly source: string, readonly target: string, readonly constant: string }[]}
 */
export const KERNELS = [
  { source: 'kernels/english.ts', target: 'src/model/english/kernel-bytes.ts', constant: 'ENGLISH_KERNEL' },
  { source: 'kernels/packed.ts', target: 'src/model/packed/kernel-bytes.ts', constant: 'PACKED_KERNEL' },
  { source: 'kernels/vectors.ts', target: 'src/search/vector-kernel.ts', constant: 'VECTOR_KERNEL' },
];

/** No run-time library, no allocator, no checks: a kernel works in the memory its owner lays out. */
const OPTIONS = [
  '-O3',
  '--converge',
  '--runtime',
  'stub',
  '--noAssert',
  '--initialMemory',
  '1',
  '--enable',
  'simd',
];

/**
 * The text of the module for one kernel.
 * @param {(typeof KERNELS)[number]} kernel
 */
export async function kernelModule({ source, constant }) {
  const { default: asc } = await import('assemblyscript/asc');
  /** @type {Uint8Array | undefined} */
  let binary;
  let complaints = '';
  const { error } = await asc.main([source, '--outFile', 'kernel.wasm', ...OPTIONS], {
    // Nothing but the kernel and what kernels share.
    readFile: (name, base) =>
      name === source || /^kernels\/parts\/[a-z-]+\.ts$/.test(name)
        ? readFileSync(join(base === '.' ? root : base, name), 'utf8')
        : null,
    writeFile: (name, contents) => {
      if (name === 'kernel.wasm') binary = /** @type {Uint8Array} */ (contents);
    },
    listFiles: () => [],
    stderr: {
      write: (text) => {
        complaints += text;
        return true;
      },
    },
  });
  if (error || binary === undefined) throw new Error(`${source} does not compile\n${complaints}`);
  return [
    `/** Made of ${source} by \`npm run kernels\`; a test makes it again and compares. ${binary.length} bytes, WebAssembly SIMD. */`,
    `export const ${constant} =`,
    `  '${Buffer.from(binary).toString('base64')}';`,
    '',
  ].join('\n');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const kernel of KERNELS) writeFileSync(join(root, kernel.target), await kernelModule(kernel));
}
