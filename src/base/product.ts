import { createRequire } from 'node:module';

const manifest = createRequire(import.meta.url)('../../package.json') as { name: string; version: string };

/** Who we are, on both legs of the wire. */
export const PRODUCT = { name: manifest.name, version: manifest.version } as const;

/** `User-Agent` of everything we send. */
export const USER_AGENT = `${PRODUCT.name}/${PRODUCT.version}`;
