import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/config.ts';
import { SAMPLE_SERVERS } from './sample-servers.ts';

/** The sample catalog as upstreams: each server a process of this package, spoken to as any other. */
export function sampleRecords(
  program: string = fileURLToPath(new URL('./sample-program.js', import.meta.url)),
): Config['upstreams'] {
  return SAMPLE_SERVERS.map(({ name, description }) => ({
    name,
    description,
    origin: 'config',
    trusted: true,
    enabled: true,
    auth: 'own',
    transport: { kind: 'stdio', command: process.execPath, args: [program, name], env: {} },
  }));
}
