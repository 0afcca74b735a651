import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startFaultProxy, type Faults } from '../support/fault-proxy.mjs';
import { forwardRecord, startProxy, type MetaResult } from '../support/proxy.ts';
import { whenDone } from '../support/cleanup.ts';
import { startStub, stubTool, textResult, type StubReply } from '../support/stub-upstream.ts';
import { until } from '../support/wait.ts';

/**
 * What a gateway has to hold, check by check, and what shows it: a file under the project's root and words in it.
 * A test's name is said as it stands there; a bench or a script by what it measures.
 */
const CHECKS: Readonly<Record<string, readonly (readonly [file: string, words: string])[]>> = {
  '1 a credential reaches its upstream and nothing else': [
    ['test/e2e/two-callers.test.ts', 'is the Authorization header and nothing else'],
    ['test/e2e/credentials-at-rest.test.ts', 'the gateway'],
    ['test/e2e/privacy.test.ts', 'is not written to stderr or stdout by the program'],
    [
      'test/e2e/operator-checks.test.ts',
      'of 1,000 mixed calls reaches the forwarded upstream and nothing else',
    ],
  ],
  '2 callers are kept apart': [
    ['test/isolation.property.test.ts', 'whoever comes when (10,000 runs)'],
    ['test/isolation.property.test.ts', 'as if they were alone'],
    ['test/e2e/gateway-faults.test.ts', 'goes the very way of one that nobody has'],
    ['test/e2e/gateway-faults.test.ts', 'many callers with one and the same request id'],
    ['scripts/soak.mjs', "nobody gets another's"],
  ],
  '3 no write is carried out twice': [
    ['test/e2e/gateway-faults.test.ts', 'a write is carried out once at the most'],
    ['test/e2e/gateway-faults.test.ts', 'a write is carried out once, and nobody says that it was not'],
    ['src/meta-tools/call-upstream.test.ts', 'is never tried again when it is a write'],
  ],
  '4 only reads are called as reads': [
    ['test/e2e/refusals.test.ts', 'are refused through the reading tools'],
    ['test/e2e/listings-in-time.test.ts', 'as they are at the call'],
  ],
  '5 redirects are followed nowhere': [
    ['test/e2e/upstreams-net.test.ts', 'is followed nowhere, at the handshake, a listing or a call'],
    ['src/net/guarded-fetch.test.ts', 'are not reached by a redirect'],
  ],
  '6 401 and 403 are passed on, and what was listed is dropped': [
    ['test/e2e/two-callers.test.ts', 'and its tools are gone at once'],
    ['src/callers/listings.test.ts', 'are dropped at once when the credential is refused'],
  ],
  '7 a listing outlives its upstream’s trouble': [
    ['test/e2e/gateway-faults.test.ts', 'searches go on'],
    ['src/callers/listings.test.ts', 'outlive network trouble for half an hour, and no longer'],
  ],
  '8 one dead upstream hides only its own tools': [
    ['test/e2e/upstream-trouble.test.ts', 'is usable at once, and answers name the others'],
  ],
  '9 sizes are bounded': [
    ['test/e2e/upstream-trouble.test.ts', 'with an error that names the limit, on HTTP and stdio'],
    ['src/net/http-client.test.ts', 'that unpack to more than allowed'],
    ['test/e2e/gateway-bombs.test.ts', 'a gigabyte'],
    ['test/e2e/gateway-bombs.test.ts', 'as a line of a child is given up at the limit'],
    ['src/upstream/upstream.test.ts', 'maxListBytes, maxListTools'],
    ['src/upstream/upstream.test.ts', 'maxToolBytes'],
  ],
  '10 schemas cannot hold anybody up': [
    ['src/meta-tools/schema-bombs.test.ts', 'does not hold the thread'],
    ['test/e2e/upstreams-pains.test.ts', 'schema bombs'],
  ],
  '11 listings are whole or an error': [
    ['test/e2e/upstream-trouble.test.ts', 'are an error, not a part of the list'],
    ['test/e2e/upstream-trouble.test.ts', 'with an empty text as cursor are followed too'],
    ['src/upstream/upstream.test.ts', 'let ten thousand tools in pages of fifty through'],
  ],
  '12 hosts, origins and headers': [
    ['test/e2e/http-manners.test.ts', 'refuses foreign hosts and origins with 403'],
    ['test/e2e/http-manners.test.ts', 'refuses headers that do not match the body with -32020'],
    ['test/e2e/hostile-clients.test.ts', 'headers that came twice, and no upstream hears of it'],
    ['test/e2e/hostile-clients.test.ts', 'bodies whose length is not plain'],
  ],
  '13 a client that leaves is heard upstream': [
    ['test/e2e/http-manners.test.ts', 'ends the call at the upstream'],
    ['test/e2e/hostile-clients.test.ts', 'who leaves the queue is never sent'],
  ],
  '15 stdout belongs to the protocol': [
    ['test/e2e/stdio-manners.test.ts', 'writes nothing but protocol on stdout'],
    ['test/e2e/upstreams-children.test.ts', 'no message is lost'],
  ],
  '20 SIGTERM loses no call under way': [
    ['test/e2e/upstream-trouble.test.ts', 'are waited for after SIGTERM over HTTP'],
    ['test/e2e/front-door.test.ts', 'loses no request of many clients, and ends well'],
    ['test/e2e/front-door.test.ts', 'ends at once when it is asked a second time'],
    ['test/e2e/front-door.test.ts', 'loses no request of many clients, and ends well'],
    ['test/e2e/front-door.test.ts', 'ends at once when it is asked a second time'],
    ['src/server/loop-turns.test.ts', 'made when it is told to stop are all answered'],
    ['scripts/soak.mjs', 'SIGTERM while calls are under way'],
  ],
  '21 deep and odd JSON': [
    ['src/upstream/upstream.test.ts', 'drops a definition nested without end'],
    ['test/e2e/hostile-clients.test.ts', 'is refused when it is nested without end'],
    ['test/e2e/hostile-clients.test.ts', 'changes nothing when its names are those of every object'],
    ['test/e2e/call-faults.test.ts', 'a result that is nested without end ends nothing'],
  ],
  '22 memory of very many callers': [
    ['bench/gateway.ts', 'what very many callers cost in memory'],
    ['src/callers/listings.test.ts', 'are pushed out by memory too'],
    ['src/callers/views.test.ts', 'nothing piles up where tools change all the time'],
    ['src/callers/listings.test.ts', 'of junk credentials leave nothing behind, however many'],
  ],
  '23 herds are one listing, and sixteen at a time': [
    ['test/e2e/gateway-faults.test.ts', 'first requests of one caller at once are one listing'],
    ['src/callers/listings.test.ts', 'are taken sixteen at a time'],
    ['src/callers/listings.test.ts', 'come due apart from each other'],
  ],
  '24 what a call costs': [['bench/gateway.ts', 'what a call costs more than the same call straight']],
  '25 nothing leaks under chaos': [
    ['scripts/soak.mjs', 'descriptors, sockets and children are what they were'],
  ],
  '26 one who floods is not felt by the others': [
    ['bench/gateway.ts', 'what one caller feels of others who ask for too much'],
    [
      'test/e2e/hostile-clients.test.ts',
      'gets 429 with Retry-After past the limit, and the others their answers',
    ],
    [
      'test/e2e/hostile-clients.test.ts',
      'are cut off while they send headers or a body, and nobody else notices',
    ],
    ['src/meta-tools/call-lanes.test.ts', 'of several callers take turns, whoever asked for more'],
    ['src/meta-tools/call-lanes.test.ts', 'of whoever has most in a full queue make room'],
    ['src/server/loop-turns.test.ts', 'do not wait while open ones are served again and again'],
  ],
  '28 logs and metrics hold names, codes and numbers': [
    ['test/e2e/operator-checks.test.ts', '100,000 names leave fewer than 2,000'],
    ['test/e2e/log-lines.test.ts', 'one JSON line for each MCP request'],
    ['src/observe/json-observer.test.ts', 'cannot be forged by an upstream'],
    ['test/e2e/privacy.test.ts', 'is in no log line, metric, span or audit line, whatever is switched on'],
    ['test/e2e/privacy.test.ts', 'is in no event and no answer, also when things go wrong'],
    ['test/e2e/promtool.test.ts', 'is what promtool takes without a word'],
  ],
  '30 what we are made of': [
    [
      'scripts/supply-chain.test.ts',
      'may name no host, no other place than the registry, and nothing without a hash',
    ],
    ['scripts/supply-chain.test.ts', 'may hold no package that runs something while it is installed'],
    ['scripts/supply-chain.test.ts', 'may hold no version with a known hole'],
    ['scripts/supply-chain.test.ts', 'is counted'],
    ['scripts/supply-chain.test.ts', 'holds the program, and nothing else of this repository'],
  ],
};

/** The faults that concern HTTP, listings and calls, the same way; those of children and the configuration are elsewhere. */
const FAULTS_MET: typeof CHECKS = {
  'F01 a slow call': [
    ['test/e2e/upstream-trouble.test.ts', 'gets its calls through while a call to a hung one waits'],
  ],
  'F02 a slow first listing': [
    ['test/e2e/listings-in-time.test.ts', 'that does not come in time is given up'],
  ],
  'F03 a slow later listing': [['test/e2e/gateway-faults.test.ts', 'searches go on with what was listed']],
  'F04 nobody there': [['src/meta-tools/call-upstream.test.ts', 'a read of which nothing was sent']],
  'F05 one of several dead': [
    ['test/e2e/upstream-trouble.test.ts', 'is usable at once, and answers name the others'],
  ],
  'F06 all dead': [
    ['test/e2e/upstream-trouble.test.ts', 'that is the only one, and dead, gives answers that say so'],
  ],
  'F07, F08 401 and 403': [['test/e2e/two-callers.test.ts', 'and its tools are gone at once']],
  'F09, F10 429 and 5xx': [['test/e2e/call-faults.test.ts', '503 and when to come again']],
  'F11 accepted, then silence': [['test/e2e/gateway-faults.test.ts', 'a request that never arrives']],
  'F12 a reset': [['test/e2e/gateway-faults.test.ts', 'a reset in the middle of the answer']],
  'F13, F14 answers that are none': [['test/e2e/odd-answers.test.ts', 'answers that are none']],
  'F16 a name twice': [['test/e2e/upstream-trouble.test.ts', 'with a name twice keep the first']],
  'F18 ten thousand tools': [
    ['src/upstream/upstream.test.ts', 'let ten thousand tools in pages of fifty through'],
  ],
  'F19 cursors without end': [
    ['src/upstream/upstream.test.ts', 'when a cursor comes back or there is no end'],
  ],
  'F20 a cursor refused in the middle': [['src/upstream/upstream.test.ts', 'begins the listing anew, once']],
  'F21 a bad tool in the list': [['test/e2e/upstream-trouble.test.ts', 'keep every tool that has a name']],
  'F22 a list that becomes empty': [['test/e2e/gateway-faults.test.ts', 'has none from the next listing on']],
  'F23 list_changed': [
    ['test/e2e/upstream-trouble.test.ts', 'brings new tools, and many of them cause few listings'],
  ],
  'F24 a tool that is another by now': [['test/e2e/listings-in-time.test.ts', 'as they are at the call']],
  'F34 SIGTERM': [['test/e2e/front-door.test.ts', 'loses no request of many clients, and ends well']],
  'F36 memory': [['src/callers/listings.test.ts', 'are pushed out by memory too']],
};

describe('the table of checks', () => {
  it('names what is there', () => {
    for (const [check, proofs] of Object.entries({ ...CHECKS, ...FAULTS_MET })) {
      for (const [file, words] of proofs) {
        const text = readFileSync(join(import.meta.dirname, '..', '..', file), 'utf8');
        expect(
          text.replaceAll(/\s+(\* )?/g, ' ').includes(words),
          `${check}: ${file} has no '${words}'`,
        ).toBe(true);
      }
    }
  });
});

const ALICE = { authorization: 'Bearer alice' };
const FAULTS: Readonly<Record<string, Faults>> = {
  'a reset before anything is passed on': { resetAfterBytes: 0 },
  'a reset in the middle of the answer': { resetAfterBytes: 60 },
  'an end in the middle of the answer': { closeAfterBytes: 60 },
  'an answer that never comes': { silent: 'both' },
  'a request that never arrives': { silent: 'up' },
};

/** Of each fault, in so many rounds of so many at once. */
const WRITES = 500;
const AT_ONCE = 50;

/** A gateway behind a network that can be made bad, with everything listed while it was good. */
async function behindNetwork(timeoutMs = 400): Promise<{
  written: Map<string, number>;
  set: (faults: Faults, how?: { readonly cut: boolean }) => void;
  answerWith: (reply: StubReply | undefined) => void;
  search: () => Promise<MetaResult>;
  write: (nonce: string) => Promise<MetaResult>;
}> {
  const written = new Map<string, number>();
  let answer: StubReply | undefined;
  const stub = await startStub({
    tools: [
      stubTool('post_invoice', {
        properties: { nonce: { type: 'string' } },
        answer: ({ argumentsText = '{}' }) => {
          const { nonce } = JSON.parse(argumentsText) as { nonce: string };
          written.set(nonce, (written.get(nonce) ?? 0) + 1);
          return answer ?? textResult(`posted ${nonce}`);
        },
      }),
    ],
  });
  const network = await startFaultProxy(stub.port);
  whenDone(() => network.stop());
  const running = await startProxy({
    upstreams: [forwardRecord({ url: `http://127.0.0.1:${network.port}/mcp` })],
    limits: {
      callTimeoutMs: timeoutMs,
      maxCallMs: timeoutMs,
      listTimeoutMs: timeoutMs,
      connectTimeoutMs: timeoutMs,
      listingTtlMs: 1_000,
    },
  });
  const search = (): Promise<MetaResult> => running.call('search_tools', { query: 'post an invoice' }, ALICE);
  await until('the tool is listed', async () => (await search()).structuredContent?.['total'] === 1);
  return {
    written,
    set: (faults, { cut } = { cut: true }) => {
      network.set(faults);
      if (cut) network.cut();
    },
    answerWith: (reply) => void (answer = reply),
    search,
    write: (nonce) => running.call('call_write_tool', { name: 'post_invoice', arguments: { nonce } }, ALICE),
  };
}

describe('behind a bad network', () => {
  for (const [label, faults] of Object.entries(FAULTS)) {
    it(`${label}: a write is carried out once at the most, and the answer says when nobody knows`, async () => {
      const { written, set, write } = await behindNetwork();
      const counts = { unknown: 0, not_sent: 0 };
      for (let n = 0; n < WRITES; n += AT_ONCE) {
        // On connections that are open from the time before, and on new ones.
        set(faults, { cut: n % (2 * AT_ONCE) === 0 });
        const nonces = Array.from({ length: AT_ONCE }, (_, k) => `n${n + k}`);
        const answers = await Promise.all(nonces.map(write));
        answers.forEach((answer, k) => {
          const times = written.get(nonces[k] ?? '') ?? 0;
          expect(times).toBeLessThanOrEqual(1);
          expect(answer.isError).toBe(true);
          const { outcome } = (answer.structuredContent as { error: { outcome: 'unknown' } }).error;
          // "Not sent" is only ever said of what did not arrive, and "failed" of nothing here.
          expect(['unknown', 'not_sent']).toContain(outcome);
          if (times > 0) expect(outcome).toBe('unknown');
          counts[outcome]++;
        });
      }
      expect(counts.unknown + counts.not_sent).toBe(WRITES);
      set({});
      const after = await until('a write goes through again', async () => {
        const answer = await write('last');
        return answer.isError === true ? undefined : answer;
      });
      expect(after.content[0]?.text).toBe('posted last');
    });

    it(`${label}: searches go on with what was listed`, async () => {
      const { set, search } = await behindNetwork();
      set(faults);
      for (const end = performance.now() + 2_500; performance.now() < end;) {
        const found = await search();
        expect(found.isError ?? false).toBe(false);
        expect(found.structuredContent?.['total']).toBe(1);
        expect(found.structuredContent?.['unavailable']).toBeUndefined();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
  }

  it('an upstream that answers 502: a write is carried out once, and nobody says that it was not', async () => {
    const { written, answerWith, write } = await behindNetwork();
    answerWith({ kind: 'http', status: 502, body: 'bad gateway' });
    for (let n = 0; n < WRITES; n += AT_ONCE) {
      const nonces = Array.from({ length: AT_ONCE }, (_, k) => `n${n + k}`);
      const answers = await Promise.all(nonces.map(write));
      for (const { isError, structuredContent } of answers) {
        expect(isError).toBe(true);
        expect((structuredContent as { error: { outcome: string } }).error.outcome).toBe('unknown');
      }
    }
    expect([...written.values()]).toEqual(Array.from({ length: WRITES }, () => 1));
  });

  for (const [label, faults] of Object.entries({
    'slow and uneven': { latencyMs: 20, jitterMs: 30 },
    'in small pieces': { sliceBytes: 7 },
    narrow: { bytesPerSecond: 20_000 },
  } satisfies Record<string, Faults>)) {
    it(`${label}: everything works`, async () => {
      const { set, write, written } = await behindNetwork(10_000);
      set(faults);
      const answers = await Promise.all(Array.from({ length: 5 }, (_, n) => write(`n${n}`)));
      expect(answers.map(({ content }) => content[0]?.text)).toEqual(
        [0, 1, 2, 3, 4].map((n) => `posted n${n}`),
      );
      expect([...written.values()]).toEqual([1, 1, 1, 1, 1]);
    });
  }
});

describe('a herd', () => {
  it('first requests of one caller at once are one listing', async () => {
    const stub = await startStub({ tools: [stubTool('read_page', { readOnly: true })] });
    const running = await startProxy({
      upstreams: [forwardRecord(stub)],
      limits: { maxCallerRequests: 1_000 },
    });
    const found = await Promise.all(
      Array.from({ length: 300 }, () => running.call('search_tools', { query: 'page' }, ALICE)),
    );
    expect(new Set(found.map(({ structuredContent }) => structuredContent?.['total']))).toEqual(new Set([1]));
    expect(stub.requestsOf('tools/list')).toHaveLength(1);
    expect(stub.violations).toEqual([]);
  });
});

describe('many callers with one and the same request id', () => {
  it('each get what is theirs', async () => {
    const [callers, rounds, each] = [50, 4, 10];
    const stub = await startStub({
      tools: [
        stubTool('whoami', {
          readOnly: true,
          properties: { n: { type: 'integer' } },
          answer: async ({ authorization, argumentsText }) => {
            await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
            return textResult(`${authorization} ${argumentsText}`);
          },
        }),
      ],
    });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    for (let round = 0; round < rounds; round++) {
      const asked = Array.from({ length: callers * each }, (_, k) => ({
        authorization: `Bearer caller-${k % callers}`,
        n: round * 1_000 + k,
      }));
      const answers = await Promise.all(
        asked.map(async ({ authorization, n }) =>
          running
            .raw('legacy', { authorization })
            .call('call_read_tool', `{"name":"whoami","arguments":{"n":${n}}}`, { id: 1 }),
        ),
      );
      answers.forEach(({ result = '' }, k) => {
        const { authorization = '', n } = asked[k] ?? {};
        const { content } = JSON.parse(result) as MetaResult;
        expect(content[0]?.text).toBe(`${authorization} {"n":${n}}`);
      });
    }
  });
});

describe('a name that only another caller has', () => {
  it('goes the very way of one that nobody has: the same words, events and requests', async () => {
    const page = stubTool('read_page', { readOnly: true });
    const vault = stubTool('open_vault', { readOnly: true });
    const stub = await startStub({
      tools: (authorization) => (authorization === 'Bearer bob' ? [page, vault] : [page]),
    });
    const running = await startProxy({ upstreams: [forwardRecord(stub)] });
    const bob = { authorization: 'Bearer bob' };
    const known = await running.call('call_read_tool', { name: 'open_vault', arguments: {} }, bob);
    expect(known.isError ?? false).toBe(false);
    await running.call('search_tools', { query: 'page' }, ALICE);
    const way = async (name: string): Promise<unknown> => {
      const [requests, events] = [stub.requests.length, running.events.length];
      const answers = [
        await running.call('call_read_tool', { name, arguments: {} }, ALICE),
        await running.call('call_write_tool', { name, arguments: {} }, ALICE),
        await running.call('describe_tool', { names: [name] }, ALICE),
        await running.call('search_tools', { query: name }, ALICE),
      ];
      return {
        answers: JSON.stringify(answers).replaceAll(name, 'NAME'),
        requests: stub.requests.length - requests,
        events: running.events.slice(events).map(({ kind }) => kind),
      };
    };
    // Of the same length, and as far from what Alice has.
    const [theirs, nobodys] = [await way('open_vault'), await way('open_attic')];
    expect(theirs).toEqual(nobodys);
    expect(theirs).toMatchObject({ requests: 0 });
  });
});

describe('a caller whose tools are all taken away', () => {
  it('has none from the next listing on: what was listed before is not kept for comfort', async () => {
    let tools = Array.from({ length: 500 }, (_, n) => stubTool(`read_page_${n}`, { readOnly: true }));
    const stub = await startStub({ tools: () => tools, ttlMs: 1_000 });
    const running = await startProxy({ upstreams: [forwardRecord(stub)], limits: { listingTtlMs: 1_000 } });
    const total = async (): Promise<unknown> =>
      (await running.call('search_tools', { query: 'page' }, ALICE)).structuredContent?.['total'];
    expect(await total()).toBe(500);
    tools = [];
    await until('nothing is left', async () => (await total()) === 0);
    const answer = await running.call('call_read_tool', { name: 'read_page_1', arguments: {} }, ALICE);
    expect(answer.isError).toBe(true);
    expect(stub.callsOf('read_page_1')).toEqual([]);
  });
});
