import { listedServer } from '../listed-server.ts';
import type { ListedPackage, ListedServer } from '../listed-server.ts';
import { descriptionIn, idIn, isObject, listIn, nameIn, objectIn, rawText, webUrlIn } from '../loose.ts';
import { isPackageName } from '../package-name.ts';
import { pageOf } from '../source.ts';
import type { RegistrySource } from '../source.ts';

/** Fleur's apps: local servers as a program and its arguments. Nothing of it is an endpoint. */
export const fleur: RegistrySource = {
  hasTags: false,
  isAddable: true,
  async *pages(_query, reach) {
    yield pageOf(listIn(await reach.json(new URL(reach.serversUrl)), 'apps', 'data'), readApp);
  },
};

const TYPES: Readonly<Record<string, string>> = { npx: 'npm', uvx: 'pypi', docker: 'oci' };

function readApp(item: unknown): ListedServer | undefined | 'skip' {
  if (!isObject(item)) return undefined;
  const config = objectIn(item['config']);
  const id = idIn(config, 'mcpKey');
  // An app without a key is none of MCP's.
  if (id === undefined) return 'skip';
  const runtime = rawText(config, 'runtime');
  const args = Array.isArray(config['args'])
    ? config['args'].filter((arg): arg is string => typeof arg === 'string')
    : [];
  const pack = packageIn(runtime, args);
  return listedServer({
    id,
    name: nameIn(config, 'mcpKey') ?? id,
    title: nameIn(item, 'name'),
    description: descriptionIn(item, 'description', 'name'),
    sourceUrl: webUrlIn(item, 'sourceUrl'),
    packages: pack === undefined ? [] : [pack],
    notes:
      pack === undefined
        ? ['its command is not one of npx, uvx or docker with a package, so it is not shown']
        : [],
  });
}

/** `-y @acme/tide@1.0.0 --flag` taken apart: flags, the package, and what follows it. */
function packageIn(runtime: string | undefined, args: readonly string[]): ListedPackage | undefined {
  const type = runtime === undefined ? undefined : TYPES[runtime];
  if (type === undefined || args.some((arg) => /[\p{Cc}\p{Cf}]/u.test(arg))) return undefined;
  const at = type === 'oci' ? imageAt(args) : args.findIndex((arg) => !arg.startsWith('-'));
  const written = args[at];
  if (written === undefined) return undefined;
  const { identifier, version } =
    type === 'oci' ? { identifier: written, version: undefined } : split(type, written);
  if (!isPackageName(type, identifier)) return undefined;
  return {
    type,
    identifier,
    version,
    runtime,
    runtimeArgs: args.slice(0, at),
    packageArgs: args.slice(at + 1),
    argInputs: [],
    env: [],
    transport: 'stdio',
  };
}

/** Where the image stands after `run` and its flags, a few of which take a value of their own. */
function imageAt(args: readonly string[]): number {
  for (let n = args[0] === 'run' ? 1 : 0; n < args.length; n++) {
    const arg = args[n] ?? '';
    if (!arg.startsWith('-')) return n;
    if (/^(?:-e|--env|-v|--volume|--mount|--name|--network|-p)$/.test(arg)) n++;
  }
  return -1;
}

function split(type: string, written: string): { identifier: string; version: string | undefined } {
  const match =
    type === 'npm' ? /^(.+?)(?:@([^@/]+))?$/.exec(written) : /^(.+?)(?:(?:==|@)(.+))?$/.exec(written);
  return { identifier: match?.[1] ?? written, version: match?.[2] };
}
