#!/usr/bin/env node
import { main } from './cli/main.ts';

const code = await main(process.argv.slice(2));
// All of stdout first: on a pipe it may still be on its way.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
// Then the end, even if something still holds the loop open: whatever had to be closed was closed by the command.
process.exit(code);
