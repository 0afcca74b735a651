/**
 * Every limit of the program, in one table. Each is a setting of the same name, and each overrun is an error that
 * names the limit and the setting. Numbers come from docs/decisions/0003-limits.md unless said otherwise.
 */
export const LIMITS = {
  maxBodyBytes: { default: 1_048_576, unit: 'bytes', sentence: 'Largest request body a client may send.' },
  maxJsonDepth: { default: 128, unit: 'levels', sentence: 'Deepest nesting of a message a client may send.' },
  maxMessageBytes: {
    default: 16_777_216,
    unit: 'bytes',
    sentence: 'Largest single message an upstream may send, decoded.',
  },
  maxListPages: { default: 1_000, unit: 'pages', sentence: "Most pages of one upstream's tools/list." },
  maxListTools: { default: 50_000, unit: 'tools', sentence: 'Most tools of one upstream.' },
  listTimeoutMs: {
    default: 30_000,
    unit: 'ms',
    sentence: 'Longest a whole tools/list of one upstream may take.',
  },
  connectTimeoutMs: {
    default: 30_000,
    unit: 'ms',
    sentence: 'Longest an upstream may take to start and shake hands.',
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
