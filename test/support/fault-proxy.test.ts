import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { whenDone } from './cleanup.ts';
import { startFaultProxy, type FaultProxy } from './fault-proxy.mjs';
import { until, within } from './wait.ts';

const ANSWER = 'x'.repeat(10_000);

async function behind(): Promise<{ proxy: FaultProxy; ask: () => Promise<string>; asked: () => number }> {
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    asked++;
    response.end(ANSWER);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => void server.close());
  const proxy = await startFaultProxy((server.address() as AddressInfo).port);
  whenDone(() => proxy.stop());
  const ask = async (): Promise<string> => {
    const url = `http://127.0.0.1:${proxy.port}/`;
    const response = await fetch(url, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(2_000),
    });
    return response.text();
  };
  return { proxy, ask, asked: () => asked };
}

describe('the fault proxy', () => {
  it('passes on what comes, whole and in order, through every slow network', async () => {
    const { proxy, ask } = await behind();
    for (const faults of [
      {},
      { latencyMs: 5, jitterMs: 10 },
      { sliceBytes: 700 },
      { bytesPerSecond: 200_000 },
    ]) {
      proxy.set(faults);
      expect(await ask()).toBe(ANSWER);
    }
    await until('the connections are gone', () => proxy.openConnections() === 0);
    expect(proxy.madeConnections()).toBe(4);
  });

  it('resets before the request, and in the middle of the answer', async () => {
    const { proxy, ask, asked } = await behind();
    proxy.set({ resetAfterBytes: 0 });
    await expect(ask()).rejects.toThrow();
    expect(asked()).toBe(0);
    for (const faults of [{ resetAfterBytes: 500 }, { closeAfterBytes: 500 }]) {
      proxy.set(faults);
      await expect(ask()).rejects.toThrow();
    }
    expect(asked()).toBe(2);
  });

  it('falls silent before and after the request', async () => {
    const { proxy, ask, asked } = await behind();
    proxy.set({ silent: 'up' });
    await expect(ask()).rejects.toThrow(/timeout|aborted/i);
    expect(asked()).toBe(0);
    expect(proxy.requestBytes()).toBeGreaterThan(0);
    proxy.set({ silent: 'both' });
    await expect(ask()).rejects.toThrow(/timeout|aborted/i);
    expect(asked()).toBe(1);
  });

  it('refuses while it is stopped, and takes connections again on the same port', async () => {
    const { proxy, ask } = await behind();
    await proxy.stop();
    await expect(ask()).rejects.toThrow();
    await within('it starts again', proxy.start());
    expect(await ask()).toBe(ANSWER);
  });
});
