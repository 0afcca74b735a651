import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Config } from '../config/config.ts';

/** A real MCP server of the demo, and how it is started here. */
export interface DemoServer {
  readonly name: string;
  readonly record: Config['upstreams'][number];
  /** The command that would fetch it, when it is not installed beside us. */
  readonly fetchedBy?: string;
}

/** The demo's servers, confined to `folder`. Installed ones are run from where they lie, others through npx. */
export function demoServers(folder: string): DemoServer[] {
  return [
    server('everything', folder, ['stdio'], {}),
    server('filesystem', folder, [folder], {}),
    server('memory', folder, [], { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') }),
  ];
}

const require = createRequire(import.meta.url);

function server(
  name: string,
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): DemoServer {
  const pack = `@modelcontextprotocol/server-${name}`;
  const base = { name, origin: 'config', trusted: true, enabled: true, auth: 'own' } as const;
  const program = installedProgram(pack);
  if (program !== undefined) {
    const transport = {
      kind: 'stdio',
      command: process.execPath,
      args: [program, ...args],
      env,
      cwd,
    } as const;
    return { name, record: { ...base, transport } };
  }
  const fetchArgs = ['-y', `${pack}@${testedVersion(pack)}`];
  const transport = { kind: 'stdio', command: 'npx', args: [...fetchArgs, ...args], env, cwd } as const;
  return { name, record: { ...base, transport }, fetchedBy: ['npx', ...fetchArgs].join(' ') };
}

function installedProgram(pack: string): string | undefined {
  try {
    const manifest = require.resolve(`${pack}/package.json`);
    const { bin } = require(manifest) as { bin: Readonly<Record<string, string>> };
    const program = Object.values(bin)[0];
    return program === undefined ? undefined : join(dirname(manifest), program);
  } catch {
    return undefined;
  }
}

/** The version the demo is tested with: exactly that one is fetched, not whatever is newest that day. */
function testedVersion(pack: string): string {
  const manifest = require('../../package.json') as { devDependencies?: Readonly<Record<string, string>> };
  return manifest.devDependencies?.[pack] ?? 'latest';
}
