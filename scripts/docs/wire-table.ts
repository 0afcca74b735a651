/**
 * Every pairing of a client and an upstream, and what the two legs of the proxy keep in each of them: all of `KEPT`.
 * The end-to-end test `compatibility-wire.test.ts` tries each; the page is written from these tables.
 */
export interface Leg {
  readonly label: string;
  readonly transport: 'http' | 'stdio' | 'sse';
  readonly era: 'modern' | 'legacy';
}

export const CLIENTS: readonly Leg[] = [
  { label: 'HTTP, 2026-07-28', transport: 'http', era: 'modern' },
  { label: 'HTTP, 2025-11-25 or older', transport: 'http', era: 'legacy' },
  { label: 'stdio, 2026-07-28', transport: 'stdio', era: 'modern' },
  { label: 'stdio, 2025-11-25 or older', transport: 'stdio', era: 'legacy' },
];

export const UPSTREAMS: readonly Leg[] = [
  { label: 'HTTP, 2026-07-28', transport: 'http', era: 'modern' },
  { label: 'HTTP, 2025-11-25 or older', transport: 'http', era: 'legacy' },
  { label: 'HTTP+SSE, 2024-11-05', transport: 'sse', era: 'legacy' },
  { label: 'stdio, 2026-07-28', transport: 'stdio', era: 'modern' },
  { label: 'stdio, 2025-11-25 or older', transport: 'stdio', era: 'legacy' },
];

export const KEPT = {
  fields: 'unknown fields and blocks',
  integers: 'big integers',
  progress: 'progress',
  cancellation: 'cancellation',
} as const;

export type Kept = keyof typeof KEPT;

/** The pairing's name in the page and in the test. */
export function pairingOf(client: Leg, upstream: Leg): string {
  return `client over ${client.label}; upstream over ${upstream.label}`;
}

/** What does change on the way, on purpose, each with the test that holds it (a file of `test/e2e` and its words). */
export const CHANGES: readonly {
  readonly what: string;
  readonly why: string;
  readonly test: readonly [file: string, name: string];
}[] = [
  {
    what: 'A result without `resultType` gets `"resultType":"complete"` in front for a 2026-07-28 client.',
    why: 'That generation requires it, and older upstreams do not send it.',
    test: ['fidelity.test.ts', 'a result comes out as the text it was given as'],
  },
  {
    what: 'Line breaks between values become spaces or nothing.',
    why: 'Over stdio and SSE a line break would end the message.',
    test: [
      'fidelity.test.ts',
      'also when it spans several lines, without breaking the framing of stdio or SSE',
    ],
  },
  {
    what: 'In a batch each result is whole in `structuredContent.results`, and its blocks follow a label block.',
    why: 'One answer carries several results.',
    test: ['fidelity.test.ts', 'also one inside a batch, in structuredContent and as blocks'],
  },
  {
    what: 'Arguments sent as a JSON string are sent on as the object in it.',
    why: 'Some models write them so, and upstreams refuse it.',
    test: ['fidelity.test.ts', 'also when they come as a JSON string'],
  },
  {
    what: 'An `input_required` answer of a 2026-07-28 upstream becomes a named error for an older client.',
    why: 'Older clients have no way to answer it.',
    test: ['fidelity.test.ts', 'of 2026-07-28 give a legacy client a named error, not silence'],
  },
  {
    what: 'Sampling, elicitation and roots requests of older upstreams are answered with an error at once.',
    why: 'The proxy has no session in which a client could answer them.',
    test: ['fidelity.test.ts', 'of older stdio upstreams get an error at once'],
  },
  {
    what: 'Progress is asked of the upstream with every call, and sent on only to a client that gave a progress token.',
    why: 'It is the sign of life that lets a long call go on.',
    test: ['http-manners.test.ts', 'is not sent to clients that did not ask for it'],
  },
  {
    what: 'Log messages reach 2026-07-28 clients that gave a log level, at that level. Of older servers over stdio and on streams of their own they name no call, and are passed on while one call is under way.',
    why: 'Older clients can only ask for a level in a session, and there is none; what one caller’s call logs is not for another’s eyes.',
    test: ['upstreams-calls.test.ts', 'reach nobody while nobody can say whose they are'],
  },
];
