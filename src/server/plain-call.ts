import { decodeHeaderValue } from '../base/header-value.ts';
import { isJsonObject } from '../base/json-value.ts';
import { LEGACY_VERSIONS, META, MODERN_VERSIONS } from './protocol.ts';

/** The headers that say what a message is, trimmed; undefined where there is none. */
export interface MessageHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

/** Everything a JSON-RPC request may have, and a call has. */
const REQUEST_MEMBERS = 4;

const CLIENT_CAPABILITIES: ReadonlySet<string> = new Set([
  'sampling',
  'elicitation',
  'extensions',
  'experimental',
]);

/**
 * The generation of a `tools/call` that is exactly as nearly all of them are, or undefined for everything else, wrong
 * or merely rare, which the SDK's classification then looks at. It must never say other than that would (a property
 * test compares the two): it exists because the SDK's takes a tenth of a whole call.
 */
export function plainCall(body: unknown, headers: MessageHeaders): 'modern' | 'legacy' | undefined {
  if (!isJsonObject(body) || body['method'] !== 'tools/call' || body['jsonrpc'] !== '2.0') return undefined;
  const { id, params } = body;
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return undefined;
  if (Object.keys(body).length !== REQUEST_MEMBERS || !isJsonObject(params)) return undefined;
  const { name, _meta: meta } = params;
  if (typeof name !== 'string') return undefined;
  const { version } = headers;
  if (meta === undefined) return isLegacy(version) ? 'legacy' : undefined;
  if (!isJsonObject(meta)) return undefined;
  const { progressToken } = meta;
  if (
    progressToken !== undefined &&
    typeof progressToken !== 'string' &&
    !Number.isSafeInteger(progressToken)
  )
    return undefined;
  const claimed = meta[META.protocolVersion];
  if (claimed === undefined) return isLegacy(version) && !hasEnvelope(meta) ? 'legacy' : undefined;
  const isModern =
    claimed === version &&
    MODERN_VERSIONS.includes(claimed as string) &&
    headers.method === 'tools/call' &&
    headers.name !== undefined &&
    decodeHeaderValue(headers.name) === name &&
    isPlainEnvelope(meta);
  return isModern ? 'modern' : undefined;
}

function isLegacy(version: string | undefined): boolean {
  return version === undefined || LEGACY_VERSIONS.includes(version);
}

function hasEnvelope(meta: { readonly [key: string]: unknown }): boolean {
  for (const key in meta) if (key.startsWith(META.prefix)) return true;
  return false;
}

function isPlainEnvelope(meta: { readonly [key: string]: unknown }): boolean {
  for (const key in meta) {
    if (!key.startsWith(META.prefix) || key === META.protocolVersion) continue;
    const value = meta[key];
    if (!isJsonObject(value)) return false;
    if (key === META.clientInfo ? !isPlainInfo(value) : key !== META.clientCapabilities || !isPlain(value))
      return false;
  }
  return meta[META.clientCapabilities] !== undefined;
}

function isPlainInfo(info: { readonly [key: string]: unknown }): boolean {
  for (const key in info) {
    if (key !== 'name' && key !== 'version' && key !== 'title') return false;
    if (typeof info[key] !== 'string') return false;
  }
  return info['name'] !== undefined && info['version'] !== undefined;
}

/** Capabilities that are objects of objects, as those of most clients are. */
function isPlain(capabilities: { readonly [key: string]: unknown }): boolean {
  for (const key in capabilities) {
    const value = capabilities[key];
    if (!CLIENT_CAPABILITIES.has(key) || !isJsonObject(value)) return false;
    for (const part in value) if (!isJsonObject(value[part])) return false;
  }
  return true;
}
