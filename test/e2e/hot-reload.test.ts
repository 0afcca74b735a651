import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { httpRecord, startProxy, startStdioProgram, toolsAreThere } from '../support/proxy.ts';
import { startStub, stubTool, textResult } from '../support/stub-upstream.ts';
import { sleep, until } from '../support/wait.ts';

const answering = (name: string, delayMs = 0): ReturnType<typeof stubTool> =>
  stubTool(name, {
    readOnly: true,
    answer: async () => {
      await sleep(delayMs);
      return textResult(`${name} answered`);
    },
  });

describe('another set of upstreams while running', () => {
  it('is searched and called at once, and lets running calls finish', async () => {
    const [first, second] = await Promise.all([
      startStub({ tools: [answering('ring_bell', 700)] }),
      startStub({ tools: [answering('sound_horn')] }),
    ]);
    const running = await startProxy({ upstreams: [httpRecord('bells', first)] });
    await running.settled();
    const call = running.call('call_read_tool', { name: 'ring_bell' });
    await first.arrived('ring_bell');

    const change = await running.proxy.reload([httpRecord('horns', second)]);
    expect(change).toEqual({ added: ['horns'], changed: [], removed: ['bells'] });
    expect((await call).content[0]?.text).toBe('ring_bell answered');
    const found = await running.call('search_tools', { query: 'horn bell' });
    expect(found.structuredContent).toMatchObject({ tools: [{ name: 'sound_horn' }], total: 1 });
    expect((await running.call('call_read_tool', { name: 'ring_bell' })).isError).toBe(true);
    expect(first.callsOf('ring_bell')).toHaveLength(1);
  });

  it('leaves what did not change connected and listed', async () => {
    const stub = await startStub({ tools: [answering('ring_bell')] });
    const kept = httpRecord('bells', stub);
    const running = await startProxy({ upstreams: [kept] });
    await running.settled();
    const listings = stub.requestsOf('tools/list').length;
    await running.proxy.reload([kept, { ...kept, name: 'off', enabled: false }]);
    expect((await running.call('call_read_tool', { name: 'ring_bell' })).isError).toBeUndefined();
    expect(stub.requestsOf('tools/list')).toHaveLength(listings);
  });
});

describe('the configuration file of the program', () => {
  it('is followed; a broken one keeps what runs and is spoken of once', async () => {
    const [first, second] = await Promise.all([
      startStub({ tools: [answering('ring_bell')] }),
      startStub({ tools: [answering('sound_horn'), answering('wave_flag')] }),
    ]);
    const servers = (urls: Readonly<Record<string, string>>): string =>
      JSON.stringify({
        mcpServers: Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }])),
      });
    const running = await startStdioProgram('legacy', JSON.parse(servers({ bells: first.url })) as object);
    const file = join(running.home, 'proxy.json');
    await toolsAreThere(running, 1);
    // The watch takes its first look before it can see a change.
    await sleep(1_500);

    writeFileSync(file, '{ "mcpServers": { "bells": ');
    await until('the broken file is spoken of', () => running.stderr().includes('cannot be used'));
    await toolsAreThere(running, 1);

    // As editors do it: a new file, renamed over the old one.
    writeFileSync(`${file}.new`, servers({ bells: first.url, flags: second.url }));
    renameSync(`${file}.new`, file);
    await toolsAreThere(running, 3);
    expect(running.stderr()).toContain('added flags');
    expect(running.stderr().match(/cannot be used/g)).toHaveLength(1);

    writeFileSync(file, servers({ flags: second.url }));
    await toolsAreThere(running, 2);
    const reply = await running.client.call('call_read_tool', '{"name":"sound_horn"}');
    expect(reply).toContain('sound_horn answered');
  });
});
