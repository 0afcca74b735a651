import { writeFileSync } from 'node:fs';

/**
 * Loaded into a process with `node --expose-gc --import heap-hook.js`: at SIGUSR2 it collects garbage and writes what
 * is left to the file named by HEAP_FILE.
 */
const file = process.env['HEAP_FILE'];

process.on('SIGUSR2', () => {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (file === undefined || gc === undefined) throw new Error('started without HEAP_FILE or --expose-gc');
  gc();
  gc();
  const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
  writeFileSync(file, JSON.stringify({ heapUsed, external, arrayBuffers, rss }));
});
