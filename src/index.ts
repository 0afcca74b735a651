/**
 * The proxy as a library: build one from a settled configuration and mount its `fetch`, listen, or serve stdio.
 * Everything not exported here, in `./search` or in `./registry` is internal.
 */
export { createProxy } from './app.ts';
export type { ListedTool, LocalCaller, Proxy, ProxyOptions, UnavailableUpstream } from './app.ts';
export type { Config } from './config/config.ts';
export type { UpstreamRecord, UpstreamTransport } from './roster/record.ts';
export type { UpstreamStore } from './roster/store.ts';
export { DEFAULT_LIMITS } from './base/limits.ts';
export type { Limits } from './base/limits.ts';
export { ProxyError } from './base/errors.ts';
export type { HouseEvent, Observer } from './base/observer.ts';
