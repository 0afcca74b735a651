/** Environment variables; undefined where there is none. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface ProxySettings {
  /** Empty: none. */
  readonly httpProxy: string;
  readonly httpsProxy: string;
  readonly noProxy: string;
}

/**
 * The proxies the environment names, the lower-case variable before the other as curl has it; undefined when there is
 * none. `proxy.example:3128` means http. A value that is no URL is an error that names the variable, never its value
 * (which may hold a password).
 */
export function proxySettings(env: Environment): ProxySettings | undefined {
  const httpProxy = urlOf(env, 'HTTP_PROXY');
  const httpsProxy = urlOf(env, 'HTTPS_PROXY');
  if (httpProxy === '' && httpsProxy === '') return undefined;
  return { httpProxy, httpsProxy, noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '' };
}

function urlOf(env: Environment, name: string): string {
  const lower = name.toLowerCase();
  const variable = env[lower] === undefined ? name : lower;
  const value = (env[variable] ?? '').trim();
  if (value === '') return '';
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  if (!URL.canParse(url))
    throw new Error(`the environment variable ${variable} names no proxy: it is not a URL`);
  return url;
}
