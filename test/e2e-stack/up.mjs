// @ts-check
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort, pythonWithGateway, startGateway, TOKENS, UP_FILE } from './stack.mjs';

/**
 * `npm run e2e:up [-- GATEWAY_PORT PROXY_PORT]`: a gateway with two MCP servers, and the proxy in front of it, until
 * Ctrl+C. `npm run test:e2e` finds it.
 */
const PROXY = fileURLToPath(new URL('../../dist/bin.js', import.meta.url));
const [port = await freePort(), proxyPort = await freePort()] = process.argv.slice(2).map(Number);

const gateway = await startGateway(await pythonWithGateway(), { port, proxyPort });
const all = `${gateway.origin}/mcp/all`;
const search = `${gateway.origin}/mcp/search`;
const args = [PROXY, '--upstream', all, '--listen', `127.0.0.1:${proxyPort}`];
const proxy = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
writeFileSync(UP_FILE, JSON.stringify({ pid: process.pid, all, search }));
console.log(`every tool:   ${all}
through us:   ${search}
the proxy:    http://127.0.0.1:${proxyPort}/mcp
as one of:    ${Object.values(TOKENS)
  .map(({ authorization, tools }) => `"Authorization: ${authorization}" (${tools} tools)`)
  .join(', ')}
Ctrl+C ends it.`);

let isEnding = false;
const end = async () => {
  if (isEnding) return;
  isEnding = true;
  rmSync(UP_FILE, { force: true });
  proxy.kill('SIGTERM');
  await gateway.stop();
};
process.once('SIGINT', () => void end());
process.once('SIGTERM', () => void end());
proxy.once('exit', () => void end());
