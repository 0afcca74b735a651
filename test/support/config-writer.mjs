// Adds servers to a configuration file, one after the other, and says each that is in:
// node config-writer.mjs FILE PREFIX COUNT
import { dirname } from 'node:path';
import { loadConfig } from '../../dist/config/load.js';
import { openUpstreamStore } from '../../dist/config/upstream-store.js';

const [file, prefix, count] = process.argv.slice(2);
const place = { env: {}, cwd: dirname(file), home: dirname(file), platform: process.platform };
const flags = [{ name: 'config', text: file }];
const store = openUpstreamStore({
  path: file,
  program: 'mcpproxy',
  load: (fileText) => loadConfig({ flags, ...place, fileText }),
});
for (let n = 0; n < Number(count); n++) {
  const name = `${prefix}${n}`;
  // Long enough for a write to be caught in the middle.
  const description = 'x'.repeat(20_000);
  try {
    await store.change({ kind: 'add', name, entry: { url: 'https://a.test/mcp', description } });
    process.stdout.write(`${name}\n`);
  } catch (error) {
    process.stdout.write(`! ${error.code}: ${error.message}\n`);
  }
}
