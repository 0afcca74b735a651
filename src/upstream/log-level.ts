import type { JsonObject } from '../catalog/tool.ts';
import type { RequestContext } from './upstream.ts';

/** From the least to the most severe (RFC 5424, as MCP server/utilities/logging uses it). */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** Whether an upstream set to `level` stays silent about what somebody who wants `wanted` should hear. */
export function isQuieter(level: string | undefined, wanted: string): boolean {
  return level === undefined || LEVELS.indexOf(level) > LEVELS.indexOf(wanted);
}

/**
 * Hands a log message on when the client asked for such messages and this one is severe enough. Older upstreams
 * have one level for everybody, so the client's own is seen to here.
 */
export function passLog(params: JsonObject, context: RequestContext): void {
  const { logLevel, onLog } = context;
  if (onLog === undefined || logLevel === undefined) return;
  const { level } = params;
  if (typeof level === 'string' && LEVELS.includes(level) && isQuieter(logLevel, level)) return;
  onLog(params);
}
