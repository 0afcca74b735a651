/**
 * Every limit of the program, in one table. Each is a setting of the same name, and each overrun is an error that
 * names the limit and the setting. Numbers come from docs/decisions/0003-limits.md unless said otherwise.
 */
export const LIMITS = {
  maxBodyBytes: { default: 1_048_576, unit: 'bytes', sentence: 'Largest request body a client may send.' },
  maxJsonDepth: { default: 128, unit: 'levels', sentence: 'Deepest nesting of a message a client may send.' },
  maxHeaderBytes: {
    default: 16_384,
    unit: 'bytes',
    sentence: 'Largest headers of a request, all together.',
  },
  maxHeaders: { default: 64, unit: 'headers', sentence: 'Most headers of a request.' },
  maxConnections: {
    default: 4_096,
    unit: 'connections',
    sentence: 'Most connections of clients open at the same time; more are closed at once.',
  },
  headersTimeoutMs: {
    default: 10_000,
    unit: 'ms',
    sentence: 'Longest a client may take to send the headers of a request.',
  },
  requestTimeoutMs: {
    default: 30_000,
    unit: 'ms',
    sentence: 'Longest a client may take to send a whole request.',
  },
  keepAliveMs: {
    default: 65_000,
    unit: 'ms',
    sentence: "How long a client's connection stays open without a request.",
  },
  maxRequests: {
    default: 2_000,
    unit: 'requests',
    sentence: 'Most requests over HTTP served at the same time; more are answered 503 at once.',
  },
  maxCallerRequests: {
    default: 64,
    unit: 'requests',
    sentence: 'Most requests over HTTP of one caller served at the same time; more are answered 429 at once.',
  },
  maxUpstreamCalls: {
    default: 128,
    unit: 'calls',
    sentence: 'Most calls under way at one upstream; more wait, callers in turns.',
  },
  maxQueuedCalls: {
    default: 256,
    unit: 'calls',
    sentence: 'Most calls waiting for their turn at one upstream; more fail at once.',
  },
  callQueueMs: {
    default: 5_000,
    unit: 'ms',
    sentence: 'Longest a call waits for its turn at its upstream.',
  },
  maxMessageBytes: {
    default: 16_777_216,
    unit: 'bytes',
    sentence: 'Largest single message an upstream may send, decoded.',
  },
  maxListPages: { default: 1_000, unit: 'pages', sentence: "Most pages of one upstream's tools/list." },
  maxListTools: { default: 50_000, unit: 'tools', sentence: 'Most tools of one upstream.' },
  maxListBytes: {
    default: 67_108_864,
    unit: 'bytes',
    sentence: 'Largest tools/list of one upstream, all pages together, decoded.',
  },
  maxToolBytes: {
    default: 1_048_576,
    unit: 'bytes',
    sentence: 'Largest definition of one tool; a larger one is left out, with that reason.',
  },
  listTimeoutMs: {
    default: 30_000,
    unit: 'ms',
    sentence: 'Longest a whole tools/list of one upstream may take.',
  },
  dialTimeoutMs: {
    default: 5_000,
    unit: 'ms',
    sentence: 'Longest a network connection to an upstream may take to be made.',
  },
  connectTimeoutMs: {
    default: 30_000,
    unit: 'ms',
    sentence: 'Longest an upstream at an address may take to shake hands.',
  },
  startTimeoutMs: {
    default: 120_000,
    unit: 'ms',
    sentence:
      'Longest an upstream that is a command may take to start and shake hands; npx and its like fetch it first.',
  },
  callTimeoutMs: {
    default: 120_000,
    unit: 'ms',
    sentence: 'Longest a call may go without a sign of life from its upstream (its answer, or progress).',
  },
  maxCallMs: {
    default: 1_800_000,
    unit: 'ms',
    sentence: 'Longest a call may take in all, also while its upstream reports progress.',
  },
  listingTtlMs: {
    default: 600_000,
    unit: 'ms',
    sentence: 'How long a listing serves before it is taken again behind.',
  },
  listingStaleMs: {
    default: 1_800_000,
    unit: 'ms',
    sentence: 'How long an old listing may serve while its upstream is in trouble.',
  },
  maxListings: {
    default: 5_000,
    unit: 'listings',
    sentence: 'Most listings (one per upstream and credential) kept.',
  },
  maxListingBytes: {
    default: 268_435_456,
    unit: 'bytes',
    sentence:
      'Most memory listings and what is made of them may take, estimated; the longest unused go first.',
  },
  maxListingsAtOnce: {
    default: 16,
    unit: 'listings',
    sentence: "Most callers' listings of one upstream taken at the same time.",
  },
  listingQueueMs: {
    default: 5_000,
    unit: 'ms',
    sentence: "How long a caller's first listing waits for its turn.",
  },
  startWaitMs: {
    default: 1_000,
    unit: 'ms',
    sentence: 'How long a request waits for upstreams that are still starting while others are ready.',
  },
  emptyWaitMs: {
    default: 5_000,
    unit: 'ms',
    sentence: 'How long a request waits for upstreams that are still starting while none is ready.',
  },
  instructionsWaitMs: {
    default: 5_000,
    unit: 'ms',
    sentence: "How long a forwarded caller's first handshake waits for their upstream's instructions.",
  },
  maxSchemaBytes: {
    default: 262_144,
    unit: 'bytes',
    sentence: 'Largest input schema arguments are checked against; a larger one means forwarding unchecked.',
  },
  validationMs: {
    default: 100,
    unit: 'ms',
    sentence:
      'Longest arguments are checked against a schema that may be slow; then the call is passed on unchecked.',
  },
  questionVectorMs: {
    default: 250,
    unit: 'ms',
    sentence: 'Longest a search waits for the vector of its question; then words rank alone.',
  },
  registryAttemptMs: {
    default: 30_000,
    unit: 'ms',
    sentence: 'Longest one request to a registry of servers may take.',
  },
  registrySearchMs: {
    default: 60_000,
    unit: 'ms',
    sentence: 'Longest a whole search of one registry may take; pages read by then are shown.',
  },
  maxRegistryBytes: {
    default: 16_777_216,
    unit: 'bytes',
    sentence: 'Largest single document of a registry, decoded.',
  },
  drainMs: { default: 30_000, unit: 'ms', sentence: 'Longest shutdown waits for running requests.' },
} as const satisfies Record<string, { default: number; unit: string; sentence: string }>;

export type LimitName = keyof typeof LIMITS;

/** The settled limits of one run. */
export type Limits = { readonly [Name in LimitName]: number };

export const DEFAULT_LIMITS: Limits = Object.fromEntries(
  Object.entries(LIMITS).map(([name, limit]) => [name, limit.default]),
) as { [Name in LimitName]: number };
