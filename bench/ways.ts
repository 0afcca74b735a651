import { LineClient, poster, PROXY, scratchConfig, script, startServing } from './contender.ts';
import type { Contender } from './contender.ts';

/** Arguments as a model sends them. */
const ARGS = { id: 4711, fields: ['name', 'city', 'tags'], note: 'Zürich, 東京' };
const DIRECT = { name: 'lookup', arguments: ARGS };
const PROXIED = { name: 'call_read_tool', arguments: DIRECT };

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export interface Ways {
  readonly contenders: readonly Contender[];
  close(): Promise<void>;
}

export interface WaysOptions {
  /** Flags for the Node that runs the proxy, and its environment. */
  readonly nodeFlags?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Another build's program, to take turns with this one's. */
  readonly against?: string;
}

/** The ways to a child each of the same upstream, over stdin and stdout. */
export async function stdioWays(options: WaysOptions = {}): Promise<Ways> {
  const upstream = [process.execPath, script('upstream-process'), 'stdio'];
  const [command, ...args] = upstream;
  const config = scratchConfig({ bench: { command, args } });
  const relay = [process.execPath, script('relay-process'), 'stdio', ...upstream];
  const contenders = await Promise.all([
    lineContender('direct', new LineClient(upstream), DIRECT),
    lineContender('relay', new LineClient(relay), DIRECT),
    ...proxyCommands(['--stdio', '--config', config.path], options).map(([name, line]) =>
      lineContender(name, new LineClient(line, options.env), PROXIED),
    ),
  ]);
  return waysOf(contenders, async () => config.remove());
}

/** The ways to one upstream over HTTP; the clients speak the generation given. */
export async function httpWays(era: 'modern' | 'legacy', options: WaysOptions = {}): Promise<Ways> {
  const upstream = await startServing([process.execPath, script('upstream-process'), 'http']);
  const config = scratchConfig({ bench: { url: upstream.url } });
  const relay = await startServing([process.execPath, script('relay-process'), 'http', upstream.url]);
  const contenders = [
    httpContender('direct', upstream.url, undefined, DIRECT, 'modern'),
    httpContender('relay', relay.url, relay.pid, DIRECT, 'modern'),
  ];
  const servers = [relay, upstream];
  for (const [name, line] of proxyCommands(['--listen', '127.0.0.1:0', '--config', config.path], options)) {
    const proxy = await startServing(line, options.env);
    servers.unshift(proxy);
    contenders.push(httpContender(name, proxy.url, proxy.pid, PROXIED, era));
  }
  return waysOf(contenders, async () => {
    for (const server of servers) await server.close();
    config.remove();
  });
}

/** The ways to one upstream over HTTP for a caller whose credential is passed on, as in front of a gateway. */
export async function gatewayWays(options: WaysOptions = {}): Promise<Ways> {
  const credential = { authorization: 'Bearer bench' };
  const upstream = await startServing([process.execPath, script('upstream-process'), 'http', '100']);
  const relay = await startServing([process.execPath, script('relay-process'), 'http', upstream.url]);
  const contenders = [
    httpContender('direct', upstream.url, undefined, DIRECT, 'modern', credential),
    httpContender('relay', relay.url, relay.pid, DIRECT, 'modern', credential),
  ];
  const servers = [relay, upstream];
  const args = ['--listen', '127.0.0.1:0', '--upstream', upstream.url];
  for (const [name, line] of proxyCommands(args, options)) {
    const proxy = await startServing(line, options.env);
    servers.unshift(proxy);
    contenders.push(httpContender(name, proxy.url, proxy.pid, PROXIED, 'modern', credential));
  }
  return waysOf(contenders, async () => {
    for (const server of servers) await server.close();
  });
}

/** Every way must bring the same answer before any is timed. */
async function waysOf(contenders: readonly Contender[], after: () => Promise<void>): Promise<Ways> {
  const answers = await Promise.all(contenders.map((contender) => contender.call()));
  const texts = answers.map((answer) => /"text":"(?:[^"\\]|\\.)*"/.exec(answer)?.[0]);
  if (texts.some((text) => text === undefined || text !== texts[0])) {
    throw new Error(`the ways answer differently:\n${answers.join('\n')}`);
  }
  return {
    contenders,
    async close() {
      for (const contender of contenders) await contender.close();
      await after();
    },
  };
}

/** How to start this build, and the one to compare it with. */
function proxyCommands(
  args: readonly string[],
  { nodeFlags = [], against }: WaysOptions,
): (readonly [string, readonly string[]])[] {
  const builds: [string, string][] = [
    ['proxy', PROXY],
    ...(against === undefined ? [] : [['other proxy', against] as [string, string]]),
  ];
  return builds.map(([name, program]) => [name, [process.execPath, ...nodeFlags, program, ...args]]);
}

async function lineContender(name: string, client: LineClient, params: object): Promise<Contender> {
  await client.greet();
  return {
    name,
    ...(name === 'direct' ? {} : { pid: client.child.pid ?? 0 }),
    call: () => client.request('tools/call', params),
    close: () => client.close(),
  };
}

function httpContender(
  name: string,
  url: string,
  pid: number | undefined,
  params: { readonly name: string; readonly arguments: object },
  era: 'modern' | 'legacy',
  more: Readonly<Record<string, string>> = {},
): Contender {
  const { post, close } = poster(url);
  const headers: Record<string, string> =
    era === 'modern'
      ? { ...more, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': params.name }
      : { ...more, 'mcp-protocol-version': '2025-11-25' };
  const given = era === 'modern' ? { ...params, _meta: META } : params;
  let nextId = 1;
  return {
    name,
    ...(pid === undefined ? {} : { pid }),
    call: () =>
      post(JSON.stringify({ jsonrpc: '2.0', id: nextId++, method: 'tools/call', params: given }), headers),
    close: () => Promise.resolve(close()),
  };
}
