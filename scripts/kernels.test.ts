import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { KERNELS, kernelModule } from './kernels.mjs';

const root = resolve(import.meta.dirname, '..');

describe('kernels', () => {
  it('has every file of kernels/ in the list', () => {
    const sources = readdirSync(join(root, 'kernels'))
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `kernels/${file}`);
    expect(KERNELS.map(({ source }) => source).sort()).toEqual(sources.sort());
  });

  it.each(KERNELS)('$target is what $source compiles to', async (kernel) => {
    expect(readFileSync(join(root, kernel.target), 'utf8')).toBe(await kernelModule(kernel));
  });
});
