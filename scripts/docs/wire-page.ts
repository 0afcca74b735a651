import { code, page, table, WRITTEN } from './markdown.ts';
import { CHANGES, CLIENTS, KEPT, pairingOf, UPSTREAMS } from './wire-table.ts';

/** `docs/compatibility-wire.md`. */
export function wirePage(): string {
  const rows = UPSTREAMS.flatMap((upstream) =>
    CLIENTS.map((client) => [
      client.label,
      upstream.label,
      ...Object.keys(KEPT).map(() => 'kept'),
      code(pairingOf(client, upstream)),
    ]),
  );
  return page(
    '# What is kept on the way',
    WRITTEN,
    'A call crosses two legs: from your client to the proxy, and from the proxy to the server. Each may be HTTP or stdio, and may speak the protocol of 2026-07-28 or an older one, in any combination; a server may also be one of the first HTTP generation, with a stream of its own (HTTP+SSE).',
    'Each row is a test of that name in `test/e2e/compatibility-wire.test.ts`. It sends arguments and gets a result with fields and content blocks that no version of the protocol knows, and with integers larger than 2^53, and compares the texts; it watches progress arrive with the client’s own token; and it takes a call back (by closing the request over HTTP, with `notifications/cancelled` over stdio) and waits until the server hears of it.',
    table(['Client', 'Server', ...Object.values(KEPT), 'Test'], rows),
    '## What changes, and why',
    table(
      ['What', 'Why', 'Test'],
      CHANGES.map(({ what, why, test: [file, name] }) => [what, why, `${code(`test/e2e/${file}`)}: ${name}`]),
    ),
    'What a result may hold is in no list of ours: its text is passed on as it came. `fidelity.test.ts` tries images, audio, links, keys that occur twice, lone surrogates, and generated texts.',
  );
}
