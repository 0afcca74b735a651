import { describe, expect, it } from 'vitest';
import { forwardRecord, httpRecord, startProxy, stdioRecord, type RunningProxy } from '../support/proxy.ts';
import { scriptStdio } from '../support/stdio-upstream.ts';
import { startStub, stubTool, textResult } from '../support/stub-upstream.ts';
import { sleep, until } from '../support/wait.ts';

const lamp = [
  stubTool('read_lamp', { readOnly: true, answer: () => textResult('burning') }),
  stubTool('light_lamp'),
];

interface Search {
  readonly total: number;
  readonly unavailable?: readonly { readonly name: string; readonly reason: string }[];
}

const search = async (running: RunningProxy, headers: Record<string, string> = {}): Promise<Search> =>
  (await running.call('search_tools', { query: 'lamp' }, headers)).structuredContent as unknown as Search;

describe('a listing', () => {
  it('that does not come in time is given up, with a reason that says so', async () => {
    const handshake = await startStub({ intercept: () => ({ kind: 'hang' }) });
    const listing = await startStub({
      tools: lamp,
      intercept: ({ method }) => (method === 'tools/list' ? { kind: 'hang' } : undefined),
    });
    const child = scriptStdio({ tools: [], neverAnswer: ['initialize', 'server/discover'] });
    const good = await startStub({ tools: lamp });
    const running = await startProxy({
      upstreams: [
        httpRecord('handshake', handshake),
        httpRecord('listing', listing),
        stdioRecord('child', child),
        httpRecord('good', good),
      ],
      // Long enough for the good one on a busy machine.
      limits: { connectTimeoutMs: 2_500, listTimeoutMs: 2_500 },
    });
    await running.settled();
    const { total, unavailable = [] } = await search(running);
    expect(total).toBe(2);
    expect(unavailable.map(({ name }) => name).toSorted()).toEqual(['child', 'handshake', 'listing']);
    for (const { name, reason } of unavailable) expect(reason, name).toMatch(/2500 ms|starting/);
  });

  it('serves on while its upstream is in trouble, but not for ever', async () => {
    const stub = await startStub({ tools: lamp });
    const good = await startStub({ tools: [stubTool('ring_bell')] });
    const running = await startProxy({
      upstreams: [httpRecord('lamp', stub), httpRecord('bell', good)],
      limits: { listingTtlMs: 200, listingStaleMs: 5_000 },
    });
    await running.settled();
    stub.script.intercept = () => ({ kind: 'http', status: 502 });
    const listings = stub.requestsOf('tools/list').length;
    await until('a refresh has failed', () => stub.requestsOf('tools/list').length > listings);
    expect((await search(running)).total).toBe(3);
    await until('its tools are gone', async () => (await search(running)).total === 1);
    expect((await search(running)).unavailable?.[0]).toMatchObject({ name: 'lamp' });
    stub.script.intercept = () => undefined;
    await until('they are back', async () => (await search(running)).total === 3);
  });

  it('of a caller whose credential is refused at the refresh is dropped at once', async () => {
    let isRevoked = false;
    const stub = await startStub({
      tools: lamp,
      admit: () => (isRevoked ? { kind: 'http', status: 403 } : true),
    });
    const running = await startProxy({ upstreams: [forwardRecord(stub)], limits: { listingTtlMs: 200 } });
    const keeper = { authorization: 'Bearer keeper' };
    expect((await search(running, keeper)).total).toBe(2);
    isRevoked = true;
    await sleep(250);
    await until('the refusal arrives', async () => {
      const reply = await running.raw('modern', keeper).call('search_tools', '{"query":"lamp"}');
      return reply.status === 403;
    });
    // And nothing is left to find under it.
    const again = await running.raw('modern', keeper).call('describe_tool', '{"names":["read_lamp"]}');
    expect(again.status).toBe(403);
  });

  it('of a caller is kept: many requests cost one, and a refresh is one too', async () => {
    const stub = await startStub({ tools: lamp });
    const running = await startProxy({ upstreams: [forwardRecord(stub)], limits: { listingTtlMs: 3_000 } });
    const keeper = { authorization: 'Bearer keeper' };
    await Promise.all(Array.from({ length: 20 }, () => search(running, keeper)));
    expect(stub.requestsOf('tools/list')).toHaveLength(1);
    await sleep(3_100);
    await Promise.all(Array.from({ length: 20 }, () => search(running, keeper)));
    await until('it is taken again', () => stub.requestsOf('tools/list').length === 2);
  });

  it('of an upstream that is switched off is neither taken nor missed', async () => {
    const stub = await startStub({ tools: lamp });
    const off = await startStub({ tools: lamp });
    const running = await startProxy({
      upstreams: [httpRecord('on', stub), httpRecord('off', off, { enabled: false })],
    });
    await running.settled();
    expect(await search(running)).toMatchObject({ total: 2 });
    expect((await search(running)).unavailable).toBeUndefined();
    expect(off.requests).toHaveLength(0);
  });

  it('takes the verdict on reading and writing from the tools as they are at the call', async () => {
    const stub = await startStub({ tools: lamp });
    const running = await startProxy({ upstreams: [httpRecord('lamp', stub)] });
    await running.settled();
    const read = (): ReturnType<RunningProxy['call']> =>
      running.call('call_read_tool', { name: 'read_lamp', arguments: {} });
    expect((await read()).isError ?? false).toBe(false);
    await until('the proxy listens for changes', () => stub.openStreams() > 0);
    stub.script.tools = [stubTool('read_lamp', { description: 'Now it pours oil.' })];
    stub.sendListChanged();
    await until('it counts as a write', async () =>
      (await read()).content[0]?.text?.includes('call_write_tool'),
    );
  });
});
