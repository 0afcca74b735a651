import { isExactVersion, isPackageName } from './package-name.ts';
import type { ListedPackage } from './listed-server.ts';

/** How a package is installed and run, or why it cannot be. Built by us from checked parts, never copied. */
export interface Launch {
  /** `npm install X`, as people type it. */
  readonly installCmd: string | null;
  /** The program and its arguments. Null: it cannot be run directly, see `note`. */
  readonly argv: readonly string[] | null;
  readonly note?: string;
}

/** `version` is the one found in the package registry, for packages listed without one. */
export function launchOf(listed: ListedPackage, version?: string): Launch {
  const { type, identifier } = listed;
  if (type === 'mcpb' || type === 'cargo' || type === 'go') {
    return { installCmd: null, argv: null, note: `its ${type} package cannot be run directly: ${HOW[type]}` };
  }
  if (!isPackageName(type, identifier)) {
    const known = ['npm', 'pypi', 'oci', 'nuget'].includes(type);
    const note = known
      ? `its ${type} package has a name no ${type} package can have`
      : `its ${type} package is of a kind not known here`;
    return { installCmd: null, argv: null, note };
  }
  if (listed.transport !== 'stdio') {
    const installCmd = installOf(type, identifier);
    return {
      installCmd,
      argv: null,
      note: `its ${type} package starts an HTTP server of its own (${listed.transport}); start it yourself and add its address`,
    };
  }
  const exact = [listed.version, version].find((each) => each !== undefined && isExactVersion(each));
  const installCmd = installOf(type, identifier);
  if (exact === undefined && type !== 'oci') {
    return {
      installCmd,
      argv: null,
      note: `its ${type} package is listed without an exact version, so no command that runs it is given`,
    };
  }
  const before = listed.runtimeArgs;
  const after = listed.packageArgs;
  switch (type) {
    case 'npm':
      return { installCmd, argv: ['npx', ...withFirst('-y', before), `${identifier}@${exact}`, ...after] };
    case 'pypi':
      return { installCmd, argv: ['uvx', ...before, `${identifier}==${exact}`, ...after] };
    case 'nuget':
      return { installCmd, argv: ['dnx', ...before, `${identifier}@${exact}`, '--yes', ...after] };
    default: {
      const hasTag = /[:@][^/]*$/.test(identifier.replace(/^[^/]*:\d+\//, ''));
      // A tag has no `+`, which a version may have.
      const isTag = exact !== undefined && /^[\w.-]+$/.test(exact);
      const image = hasTag || !isTag ? identifier : `${identifier}:${exact}`;
      const env = listed.env.flatMap(({ name }) => ['-e', name]);
      const argv = [
        'docker',
        'run',
        '-i',
        '--rm',
        ...env,
        ...without(['run', '-i', '--rm'], before),
        image,
        ...after,
      ];
      return { installCmd: `docker run -i --rm ${image}`, argv };
    }
  }
}

const HOW = {
  mcpb: 'open the bundle in a client that installs bundles',
  cargo: 'install it with cargo, then add the program it installs',
  go: 'install it with go, then add the program it installs',
} as const;

/** `npm install X` or `pip install X`; nothing for kinds people do not install by a command of that form. */
export function installOf(type: string, identifier: string): string | null {
  switch (type) {
    case 'npm':
      return `npm install ${identifier}`;
    case 'pypi':
      return `pip install ${identifier}`;
    default:
      return null;
  }
}

function withFirst(flag: string, args: readonly string[]): readonly string[] {
  return args.includes(flag) || args.includes('--yes') ? args : [flag, ...args];
}

function without(ours: readonly string[], args: readonly string[]): readonly string[] {
  return args.filter((arg) => !ours.includes(arg));
}
