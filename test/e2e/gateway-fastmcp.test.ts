import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, pythonWithGateway, startGateway, TOKENS, UP_FILE } from '../e2e-stack/stack.mjs';
import { CLIENTS, textOf, type CallResult, type TestClient } from '../support/clients.ts';
import { startProgram } from '../support/proxy.ts';
import { until } from '../support/wait.ts';

/**
 * In front of a real aggregating gateway, as drawn in the README: client → gateway /mcp/search → proxy → gateway
 * /mcp/all → servers. Which one: `E2E_SEARCH_URL` and `E2E_ALL_URL` (with `E2E_AUTHORIZATION`, the header's value, if
 * it wants one); else what `npm run e2e:up` started; else a stack of its own, made with FastMCP from PyPI. Without
 * Python or the package it is skipped, but not where `CI` is set.
 */
interface Stack {
  readonly search: string;
  readonly all: string;
  /** Ours: with the tools and the tokens of test/e2e-stack. */
  readonly isOurs: boolean;
  readonly authorization: string | undefined;
}

const { E2E_SEARCH_URL: search, E2E_ALL_URL: all, E2E_AUTHORIZATION: authorization } = process.env;
const stops: (() => Promise<void> | void)[] = [];

async function stackToTest(): Promise<Stack | { readonly missing: string }> {
  if (search !== undefined && all !== undefined) return { search, all, isOurs: false, authorization };
  const keeper = TOKENS.keeper.authorization;
  const up = stackThatIsUp();
  if (up !== undefined) return { ...up, isOurs: true, authorization: keeper };
  let python: string;
  try {
    python = await pythonWithGateway();
  } catch (thrown) {
    if (process.env['CI'] !== undefined) throw thrown;
    return { missing: String(thrown) };
  }
  const [port, proxyPort] = [await freePort(), await freePort()];
  const gateway = await startGateway(python, { port, proxyPort });
  stops.push(gateway.stop);
  const route = (name: string): string => `${gateway.origin}/mcp/${name}`;
  const program = await startProgram(['--upstream', route('all'), '--listen', `127.0.0.1:${proxyPort}`]);
  stops.push(() => void program.child.kill('SIGTERM'));
  await until('the proxy answers', () =>
    fetch(`http://127.0.0.1:${proxyPort}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    ),
  );
  return { search: route('search'), all: route('all'), isOurs: true, authorization: keeper };
}

function stackThatIsUp(): { readonly search: string; readonly all: string } | undefined {
  if (!existsSync(UP_FILE)) return undefined;
  const up = JSON.parse(readFileSync(UP_FILE, 'utf8')) as { pid: number; search: string; all: string };
  try {
    process.kill(up.pid, 0);
  } catch {
    return undefined;
  }
  return up;
}

const headersOf = (value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { authorization: value };

describe('in front of a gateway', () => {
  let stack: Stack;
  let missing: string | undefined;

  beforeAll(async () => {
    const found = await stackToTest();
    if ('missing' in found) ({ missing } = found);
    else stack = found;
  }, 400_000);
  afterAll(async () => {
    for (const stop of stops.toReversed()) await stop();
  });

  /** A test that runs against any deployment, and one that needs the tools and tokens of ours. */
  const anywhere = (name: string, test: () => Promise<void>): void => {
    it(name, async (context) => {
      if (missing !== undefined) context.skip(missing);
      await test();
    });
  };
  const onOurs = (name: string, test: () => Promise<void>): void => {
    it(name, async (context) => {
      if (missing !== undefined) context.skip(missing);
      if (!stack.isOurs) context.skip('not the stack of test/e2e-stack');
      await test();
    });
  };

  const open = (url: string, value = stack.authorization, label = '2.x auto'): Promise<TestClient> => {
    const client = CLIENTS.find((one) => one.label === label);
    if (client === undefined) throw new Error(`there is no client '${label}'`);
    return client.connect({ kind: 'http', url, headers: headersOf(value) });
  };
  const searched = async (
    client: TestClient,
    query: string,
  ): Promise<{ tools: { name: string; readOnly: boolean }[]; total: number }> =>
    (await client.callTool('search_tools', { query })).structuredContent as never;
  const call = (client: TestClient, tool: string, name: string, args: object = {}): Promise<CallResult> =>
    client.callTool(tool, { name, arguments: args });

  for (const { label } of CLIENTS) {
    anywhere(`five tools stand for all of them, and each is found by its name (${label})`, async () => {
      const [whole, ours] = [await open(stack.all), await open(stack.search, stack.authorization, label)];
      const listed = await whole.listTools();
      expect((await ours.listTools()).map(({ name }) => name).sort()).toEqual([
        'call_read_tool',
        'call_read_tools',
        'call_write_tool',
        'describe_tool',
        'search_tools',
      ]);
      for (const { name } of listed.slice(0, 20)) {
        const found = await searched(ours, name);
        expect(found.total).toBe(listed.length);
        expect(found.tools[0]?.name).toBe(name);
      }
    });
  }

  anywhere('definitions are described as the gateway lists them', async () => {
    const [whole, ours] = [await open(stack.all), await open(stack.search)];
    const listed = (await whole.listTools()).slice(0, 10);
    const described = await ours.callTool('describe_tool', { names: listed.map(({ name }) => name) });
    const tools = (described.structuredContent as { tools: Record<string, unknown>[] }).tools;
    expect(tools).toHaveLength(listed.length);
    listed.forEach((tool, n) => {
      expect(tools[n]).toMatchObject({
        name: tool.name,
        description: tool.description ?? '',
        inputSchema: tool.inputSchema,
        readOnly: tool.annotations?.['readOnlyHint'] === true,
      });
    });
  });

  anywhere('a request without a credential is answered as the gateway answers it', async () => {
    const ask = async (url: string): Promise<readonly unknown[]> => {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
      });
      await answer.text();
      return [answer.status, answer.headers.get('www-authenticate')];
    };
    const direct = await ask(stack.all);
    const through = await ask(stack.search);
    if (stack.isOurs) expect(direct[0]).toBe(401);
    expect(through).toEqual(direct);
  });

  onOurs('each token finds its own tools, and no other', async () => {
    for (const { authorization: value, tools } of Object.values(TOKENS)) {
      const [whole, ours] = [await open(stack.all, value), await open(stack.search, value)];
      const listed = (await whole.listTools()).map(({ name }) => name);
      expect(listed).toHaveLength(tools);
      for (const query of ['book places on a boat', 'cut down a tree', 'water level', 'harvest of pears']) {
        const found = await searched(ours, query);
        expect(found.total).toBe(tools);
        for (const { name } of found.tools) expect(listed).toContain(name);
      }
    }
    const passenger = await open(stack.search, TOKENS.passenger.authorization);
    const refused = await call(passenger, 'call_write_tool', 'orchard_fell_tree', { tree: 't1' });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).not.toMatch(/orchard_(?!fell_tree)/);
  });

  onOurs('an invalid token is refused with the gateway’s own challenge', async () => {
    await expect(open(stack.search, 'Bearer junk')).rejects.toThrow();
    const answer = await fetch(stack.search, {
      method: 'POST',
      headers: {
        authorization: 'Bearer junk',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'search_tools', arguments: { query: 'boats' } },
      }),
    });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/invalid_token/);
    await answer.text();
  });

  for (const { label } of CLIENTS) {
    onOurs(`tools are called, reads and writes apart (${label})`, async () => {
      const direct = await open(stack.all);
      const ours = await open(stack.search, stack.authorization, label);
      const args = { tree: 't2', weeks: 3 };
      const expected = await direct.callTool('orchard_forecast_harvest', args);
      const read = await call(ours, 'call_read_tool', 'orchard_forecast_harvest', args);
      expect(read.structuredContent).toEqual(expected.structuredContent);
      expect(read.content).toEqual(expected.content);
      expect(textOf(read)).toContain('ąžuolas 海');

      const write = { boat: `Neringa for ${label}`, count: 2 };
      const refused = await call(ours, 'call_read_tool', 'ferry_reserve_seats', write);
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toContain('call_write_tool');
      const done = await call(ours, 'call_write_tool', 'ferry_reserve_seats', write);
      const { reserved } = done.structuredContent as { reserved: number };
      // The refused one was not carried out; the same stack may have been tested before.
      expect(reserved % 2).toBe(0);
      const again = await call(ours, 'call_write_tool', 'ferry_reserve_seats', write);
      expect((again.structuredContent as { reserved: number }).reserved).toBe(reserved + 2);
    });
  }

  onOurs('a tool’s own error and arguments that do not fit come back in words', async () => {
    const ours = await open(stack.search);
    const failed = await call(ours, 'call_read_tool', 'ferry_broken_turnstile');
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toContain('the counter is stuck');
    const refused = await call(ours, 'call_read_tool', 'orchard_forecast_harvest', { weeks: 'three' });
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/tree.*required/s);
    expect(textOf(refused)).toMatch(/schema.*"weeks"/s);
  });

  onOurs('ten reads in one call, and the gateway’s instructions after ours', async () => {
    const ours = await open(stack.search);
    const calls = Array.from({ length: 10 }, (_, n) => ({
      name: `ferry_read_water_gauge_${n}`,
      arguments: { station: 'Nida' },
    }));
    const batch = await ours.callTool('call_read_tools', { calls });
    expect(textOf(batch).match(/#\d+ ferry_read_water_gauge_\d+: ok/g)).toHaveLength(10);
    expect(textOf(batch)).toContain('gauge 7 of Nida: 10.5 cm');
    expect(ours.instructions()).toContain('Piers are named after the nearest street.');
  });
});
