import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../loose.ts';
import { PYTHON_INDEX } from './pages.ts';

/** Where packages are looked up: what the user's own npm and pip use, so that a company's mirror is asked. */
export interface PackageAddresses {
  /** Of a scope's own registry too, when it has one. */
  npm(scope: string | undefined): Promise<string>;
  /** The index without its `/simple`; undefined when pip is told to use none. */
  pypi(): Promise<PythonIndex | undefined>;
}

export interface PythonIndex {
  readonly url: string;
  /** Sent when the configured address carries credentials. */
  readonly authorization: string | undefined;
}

export interface AddressInput {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly platform: NodeJS.Platform;
}

export function packageAddresses(input: AddressInput): PackageAddresses {
  let npm: Promise<(key: string) => unknown> | undefined;
  let pypi: Promise<PythonIndex | undefined> | undefined;
  return {
    async npm(scope) {
      // npm's own order, over project, user and global files and the environment; the library knows the default.
      npm ??= import('@pnpm/npm-conf').then(({ default: npmConf }) => {
        const { config } = npmConf();
        return (key) => config.get(key);
      });
      const get = await npm;
      const own = scope === undefined ? undefined : get(`${scope}:registry`);
      const address = typeof own === 'string' ? own : get('registry');
      if (typeof address !== 'string') throw new Error("npm's configuration names no registry");
      return address.endsWith('/') ? address : `${address}/`;
    },
    pypi: () => (pypi ??= pythonIndex(input)),
  };
}

/** pip's order: the environment, then its files, the most specific last. */
async function pythonIndex(input: AddressInput): Promise<PythonIndex | undefined> {
  const { env } = input;
  let index = env['PIP_INDEX_URL'];
  let isOff = isOn(env['PIP_NO_INDEX']);
  if (index === undefined) {
    const { parse } = await import('ini');
    for (const file of pipFiles(input)) {
      const sections = await readFile(file, 'utf8').then(parse, () => undefined);
      if (sections === undefined) continue;
      for (const section of ['global', 'install']) {
        const values = sections[section];
        if (!isObject(values)) continue;
        const url = values['index-url'] ?? values['index_url'];
        if (typeof url === 'string') index = url;
        const off = values['no-index'] ?? values['no_index'];
        if (typeof off === 'string' || typeof off === 'boolean') isOff = isOn(`${off}`);
      }
    }
  }
  if (isOff) return undefined;
  const address = index ?? PYTHON_INDEX;
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    url: url.href.replace(/\/(?:simple\/?)?$/, ''),
    authorization: username === '' ? undefined : `Basic ${Buffer.from(pair).toString('base64')}`,
  };
}

const isOn = (text: string | undefined): boolean => /^(?:1|true|yes|on)$/i.test(text ?? '');

/** pip's configuration files, the weakest first. */
function pipFiles({ env, home, platform }: AddressInput): readonly string[] {
  const named = env['PIP_CONFIG_FILE'];
  if (named === '/dev/null' || named === 'nul') return [];
  const name = platform === 'win32' ? 'pip.ini' : 'pip.conf';
  const files: (string | undefined)[] = [];
  if (platform === 'win32') {
    files.push(join(env['PROGRAMDATA'] ?? 'C:\\ProgramData', 'pip', name));
    files.push(join(home, 'pip', name), env['APPDATA'] && join(env['APPDATA'], 'pip', name));
  } else if (platform === 'darwin') {
    files.push(join('/Library/Application Support/pip', name), join(home, '.pip', name));
    files.push(join(home, '.config', 'pip', name), join(home, 'Library/Application Support/pip', name));
  } else {
    files.push(join('/etc/xdg/pip', name), join('/etc', name), join(home, '.pip', name));
    files.push(join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'pip', name));
  }
  const site = env['VIRTUAL_ENV'];
  if (site !== undefined) files.push(join(site, name));
  files.push(named);
  return files.filter((file): file is string => file !== undefined && file !== '');
}
