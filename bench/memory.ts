import {
  LineClient,
  machine,
  memoryOf,
  poster,
  PROXY,
  scratchConfig,
  script,
  startServing,
} from './contender.ts';
import { printTable } from './numbers.ts';

/**
 * Memory of the proxy's process beside a bare Node: after the handshake, with its upstream's tools listed, and after
 * many calls. `npm run bench -- memory [CALLS]`. PSS counts what processes share (Node's own code) by parts, so it
 * depends on how many of them run; RSS does not.
 */
const SIZES = [1, 1_000, 10_000];
/** For what is still on its way to settle: listing, indexing, collecting. */
const SETTLE_MS = 1_500;

const CALL = { name: 'call_read_tool', arguments: { name: 'lookup', arguments: { id: 1 } } };
const SEARCH = { name: 'search_tools', arguments: { query: 'look up a record' } };

type Asker = (method: string, params: object) => Promise<string>;

export async function run(args: readonly string[]): Promise<void> {
  const calls = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 5_000);
  console.log(`${machine()}; RSS / PSS in MB\n`);
  const rows: string[][] = [];
  const bare = new LineClient([process.execPath, script('bare-process')]);
  await bare.request('initialize', {});
  rows.push(['bare node', '', await settled(bare.child.pid), '', '']);
  await bare.close();
  for (const tools of SIZES) {
    const [command, ...upstream] = [process.execPath, script('upstream-process'), 'stdio', String(tools)];
    const config = scratchConfig({ bench: { command, args: upstream } });
    const client = new LineClient([process.execPath, PROXY, '--stdio', '--config', config.path]);
    await client.greet();
    const ask: Asker = (method, params) => client.request(method, params);
    rows.push(['proxy, stdio', String(tools), ...(await stages(ask, client.child.pid, calls))]);
    await client.close();

    const proxy = await startServing([
      process.execPath,
      PROXY,
      '--listen',
      '127.0.0.1:0',
      '--config',
      config.path,
    ]);
    const { post, close } = poster(proxy.url);
    let id = 1;
    const askHttp: Asker = (method, params) =>
      post(JSON.stringify({ jsonrpc: '2.0', id: id++, method, params }), {
        'mcp-protocol-version': '2025-11-25',
      });
    rows.push(['proxy, HTTP', String(tools), ...(await stages(askHttp, proxy.pid, calls))]);
    close();
    await proxy.close();
    config.remove();
  }
  printTable(['process', 'tools', 'ready', 'after a search', `after ${calls} calls`], rows);
}

async function stages(ask: Asker, pid: number | undefined, calls: number): Promise<string[]> {
  await ask('tools/list', {});
  const ready = await settled(pid);
  const found = await ask('tools/call', { ...SEARCH });
  if (!found.includes('lookup')) throw new Error(`the search failed: ${found.slice(0, 300)}`);
  const searched = await settled(pid);
  for (let call = 0; call < calls; call++) await ask('tools/call', CALL);
  return [ready, searched, await settled(pid)];
}

async function settled(pid: number | undefined): Promise<string> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const { rss, pss } = memoryOf(pid ?? 0);
  return `${rss.toFixed(0)} / ${pss.toFixed(0)}`;
}
