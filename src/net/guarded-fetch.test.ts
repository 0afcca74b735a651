import type { LookupFunction } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { whenDone } from '../../test/support/cleanup.ts';
import { startFixtureRegistry } from '../../test/support/fixture-registry.ts';
import { startForwardProxy } from '../../test/support/forward-proxy.ts';
import { ssrfUrls } from '../../test/support/ssrf-urls.ts';
import { mistakeInAddress } from './address.ts';
import { openGuardedFetch } from './guarded-fetch.ts';
import type { GuardedFetch, GuardedReply, GuardedRequest } from './guarded-fetch.ts';
import { guardedLookup } from './guarded-lookup.ts';

const strict = { allowInsecure: false, allowPrivate: false };
const plain = { allowInsecure: true, allowPrivate: false };
const own = { allowInsecure: true, allowPrivate: true };

function guard(lookup?: LookupFunction): GuardedFetch {
  const fetch = openGuardedFetch(lookup === undefined ? {} : { lookup });
  whenDone(() => fetch.close());
  return fetch;
}

const get = (fetch: GuardedFetch, url: string, more: Partial<GuardedRequest> = {}): Promise<GuardedReply> =>
  fetch.get({ url, rules: own, attemptMs: 2_000, tries: 1, maxBytes: 1_048_576, ...more });

/** A resolver that gives these addresses, one answer after the other; the last one stays. */
function resolver(...answers: readonly string[]): LookupFunction {
  let n = 0;
  return (_hostname, options, callback) => {
    const address = answers[Math.min(n++, answers.length - 1)] ?? '';
    const family = address.includes(':') ? 6 : 4;
    if (options.all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}

describe('addresses nobody may be led to', () => {
  it('are refused before any connection is made, forty ways of writing them', async () => {
    const guarded = await startFixtureRegistry({ '*': { json: 'secret' } });
    const port = new URL(guarded.origin).port;
    const urls = ssrfUrls(port);
    expect(urls.length).toBeGreaterThanOrEqual(40);
    const fetch = guard();
    for (const url of urls) {
      for (const rules of [strict, plain]) {
        await expect(get(fetch, url, { rules }), url).rejects.toMatchObject({ name: 'FetchRefusal' });
      }
    }
    expect(guarded.connections()).toBe(0);
  });

  it('are refused when a name leads to them, also one whose answer changes in between', async () => {
    const guarded = await startFixtureRegistry({ '*': { json: 'secret' } });
    const { port } = new URL(guarded.origin);
    const forbidden = [
      '127.0.0.1',
      '10.0.0.1',
      '169.254.169.254',
      '::1',
      '::ffff:127.0.0.1',
      '100.64.0.1',
      '0.0.0.0',
    ];
    for (const address of forbidden) {
      const asked = get(guard(resolver(address)), `http://registry.test:${port}/`, { rules: plain });
      await expect(asked, address).rejects.toMatchObject({ reason: 'forbidden' });
    }
    // Judged is each answer that would be connected to, and it is asked for at that moment only.
    const flips = guardedLookup(resolver('93.184.215.14', '127.0.0.1'), strict);
    const ask = (): Promise<string> =>
      new Promise((resolve) => {
        flips('registry.test', { all: true }, (error, addresses) =>
          resolve(error === null ? JSON.stringify(addresses) : error.message),
        );
      });
    expect(await ask()).toContain('93.184.215.14');
    expect(await ask()).toBe('registry.test: 127.0.0.1 is a private address');
    expect(guarded.connections()).toBe(0);
  });

  it('may be private where the operator says so, but never a cloud’s metadata', async () => {
    expect(mistakeInAddress('10.1.2.3', own)).toBeUndefined();
    expect(mistakeInAddress('::1', own)).toBeUndefined();
    expect(mistakeInAddress('fd12::1', own)).toBeUndefined();
    for (const address of [
      '169.254.169.254',
      'fe80::1',
      'fd00:ec2::254',
      '168.63.129.16',
      '::ffff:169.254.169.254',
      '0.0.0.0',
    ]) {
      expect(mistakeInAddress(address, own), address).toBeDefined();
    }
    expect(mistakeInAddress('93.184.215.14', strict)).toBeUndefined();
    expect(mistakeInAddress('2606:2800:21f:cb07:6820:80da:af6b:8b2c', strict)).toBeUndefined();
  });

  it('are not reached by a redirect, nor is any other host', async () => {
    const guarded = await startFixtureRegistry({ '*': { json: 'secret' } });
    const { port } = new URL(guarded.origin);
    const registry = await startFixtureRegistry();
    const fetch = guard();
    const locations = [...ssrfUrls(port), guarded.origin, '//elsewhere.test/', 'https://elsewhere.test/'];
    // A header holds no wide digits.
    for (const location of locations.filter((each) => /^[ -~]+$/.test(each))) {
      registry.routes.set('*', (_request, response) => response.writeHead(302, { location }).end());
      await expect(get(fetch, `${registry.origin}/list`), location).rejects.toMatchObject({
        reason: 'redirect',
      });
    }
    expect(guarded.connections()).toBe(0);
  });
});

describe('a proxy of the operator’s', () => {
  it('is used, and asked for no name that leads to a forbidden address', async () => {
    const registry = await startFixtureRegistry({ '*': { json: 'through' } });
    const proxy = await startForwardProxy(Number(new URL(registry.origin).port));
    const unknown: LookupFunction = (_hostname, _options, callback) =>
      callback(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), '', 0);
    const through = (lookup: LookupFunction, more: object = {}): GuardedFetch => {
      const fetch = openGuardedFetch({ lookup, env: { http_proxy: proxy.url, ...more } });
      whenDone(() => fetch.close());
      return fetch;
    };
    const url = 'http://registry.test/servers';
    expect((await get(through(unknown), url, { rules: plain })).text).toBe('"through"');
    expect((await get(through(resolver('93.184.215.14')), url, { rules: plain })).text).toBe('"through"');
    expect(proxy.asked).toEqual([`GET ${url}`, `GET ${url}`]);
    for (const [fetch, address] of [
      [through(resolver('10.0.0.1')), url],
      [through(resolver('127.0.0.1'), { no_proxy: 'registry.test' }), url],
      [through(unknown), 'http://127.0.0.1/'],
    ] as const) {
      await expect(get(fetch, address, { rules: plain })).rejects.toMatchObject({ reason: 'forbidden' });
    }
    expect(proxy.asked).toHaveLength(2);
  });
});

describe('a guarded request', () => {
  it('follows a redirect that stays on the host, three times at the most', async () => {
    const registry = await startFixtureRegistry({
      '/new': { json: 'here' },
      '/old': (_request, response) => response.writeHead(301, { location: '/new' }).end(),
      '/round': (_request, response) => response.writeHead(302, { location: '/round' }).end(),
    });
    expect((await get(guard(), `${registry.origin}/old`)).text).toBe('"here"');
    await expect(get(guard(), `${registry.origin}/round`)).rejects.toMatchObject({ reason: 'redirect' });
    expect(registry.requests.filter((path) => path === '/round')).toHaveLength(4);
  });

  it('needs https unless plain http is allowed, and takes no credentials in a URL', async () => {
    const registry = await startFixtureRegistry({ '*': { json: 1 } });
    const refused = get(guard(), registry.origin, { rules: { allowInsecure: false, allowPrivate: true } });
    await expect(refused).rejects.toThrow('is plain http');
    const withUser = registry.origin.replace('//', '//ann:secret@');
    await expect(get(guard(), withUser)).rejects.toThrow('holds credentials');
    expect(registry.connections()).toBe(0);
  });

  it('says who asks, with a version', async () => {
    const registry = await startFixtureRegistry({ '*': { json: 1 } });
    await get(guard(), registry.origin);
    expect(registry.headers[0]?.['user-agent']).toMatch(/^mcp-toolsearch-proxy\/\d+\.\d+\.\d+/);
  });

  it('tries three times what may succeed later, and honours Retry-After', async () => {
    let n = 0;
    const registry = await startFixtureRegistry({
      '*': (_request, response) => {
        n++;
        if (n === 1) response.writeHead(500).end();
        else if (n === 2) response.writeHead(429, { 'retry-after': '1' }).end();
        else response.writeHead(200, { 'content-type': 'application/json' }).end('7');
      },
    });
    const began = performance.now();
    expect((await get(guard(), registry.origin, { tries: 3 })).text).toBe('7');
    // Half a second at least after the 500, the second that was asked for after the 429.
    expect(performance.now() - began).toBeGreaterThan(1_450);
    expect(n).toBe(3);
  });

  it('does not try again what will not change, and not longer than it was told', async () => {
    const registry = await startFixtureRegistry({
      '/gone': { json: {}, status: 404 },
      '/later': { json: {}, status: 429, headers: { 'retry-after': '3600' } },
      '/down': { json: {}, status: 503 },
    });
    expect((await get(guard(), `${registry.origin}/gone`, { tries: 3 })).status).toBe(404);
    await expect(get(guard(), `${registry.origin}/later`, { tries: 3 })).rejects.toThrow(
      'asks to wait 3600 s',
    );
    await expect(get(guard(), `${registry.origin}/down`, { tries: 2 })).rejects.toThrow(
      'answered 503 after 2 tries',
    );
    expect(registry.requests).toEqual(['/gone', '/later', '/down', '/down']);
  });

  it('reads no more than allowed, counted unpacked', async () => {
    const twenty = Buffer.alloc(20 * 1_048_576, 32);
    const registry = await startFixtureRegistry({
      '/large': (_request, response) => response.end(twenty),
      '/bomb': (_request, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(twenty)),
      '/packed': (_request, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}')),
    });
    for (const path of ['/large', '/bomb']) {
      const asked = get(guard(), `${registry.origin}${path}`, { maxBytes: 16 * 1_048_576 });
      await expect(asked, path).rejects.toMatchObject({ reason: 'too_large' });
    }
    expect((await get(guard(), `${registry.origin}/packed`)).text).toBe('{"a":1}');
  });

  it('ends with its deadline, at whatever point the server stops', async () => {
    const registry = await startFixtureRegistry({
      '/silent': () => undefined,
      '/half': (_request, response) => void response.writeHead(200).write('{"a"'),
      '/drip': (_request, response) => {
        const timer = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(timer));
      },
    });
    for (const path of ['/silent', '/half', '/drip']) {
      const began = performance.now();
      await expect(get(guard(), `${registry.origin}${path}`, { attemptMs: 300 }), path).rejects.toThrow(
        'did not answer within 0.3 s',
      );
      expect(performance.now() - began).toBeLessThan(1_500);
    }
  });

  it('ends when its caller goes, with the caller’s reason', async () => {
    const registry = await startFixtureRegistry({ '*': () => undefined });
    const gone = new AbortController();
    const asked = get(guard(), registry.origin, { signal: gone.signal, tries: 3 });
    setTimeout(() => gone.abort(new Error('gone')), 50);
    await expect(asked).rejects.toThrow('gone');
  });
});
