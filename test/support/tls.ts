import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * A certificate for `localhost`, `127.0.0.1` and `upstream.test` that nobody trusts, and its key, which protects
 * nothing. Made with `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500`.
 */
export const CERTIFICATE_FILE = fileURLToPath(new URL('tls/certificate.pem', import.meta.url));

export const TLS = {
  cert: readFileSync(CERTIFICATE_FILE),
  key: readFileSync(fileURLToPath(new URL('tls/key.pem', import.meta.url))),
};
