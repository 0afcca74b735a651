import { pypiName } from '../package-name.ts';

/** The public pages people read about a package: fixed data of the product, never asked by it. */
const PAGES = {
  npm: 'https://www.npmjs.com/package/',
  pypi: 'https://pypi.org/project/',
} as const;

export function pageOfPackage(type: 'npm' | 'pypi', name: string): string {
  return type === 'npm' ? `${PAGES.npm}${name}` : `${PAGES.pypi}${pypiName(name)}/`;
}

/** Where the Python index answers when pip is not configured: beside its public pages. */
export const PYTHON_INDEX = new URL(PAGES.pypi).origin;
