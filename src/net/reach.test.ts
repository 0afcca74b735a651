import { expect, it } from 'vitest';
import { reachOfUrl } from './reach.ts';

it('tells public addresses from private ones, and https from what can be read on the way', async () => {
  for (const [url, kind] of [
    ['https://8.8.8.8/mcp', 'public'],
    ['http://8.8.8.8/mcp', 'plain'],
    ['https://127.0.0.1/mcp', 'private'],
    ['http://10.1.2.3/mcp', 'private'],
    ['https://[::1]/mcp', 'private'],
    ['https://[::ffff:7f00:1]/mcp', 'private'],
    ['https://169.254.169.254/latest', 'private'],
    ['https://2130706433/mcp', 'private'],
    ['https://localhost/mcp', 'private'],
    ['https://a.localhost/mcp', 'private'],
    // A name nobody can resolve leads nowhere, and is judged again when it is connected to.
    ['https://no-such-host.invalid/mcp', 'public'],
  ] as const)
    expect([url, (await reachOfUrl(url)).kind]).toEqual([url, kind]);
});
