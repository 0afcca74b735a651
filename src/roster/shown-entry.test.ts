import { expect, it } from 'vitest';
import { shellWord } from '../base/shell-word.ts';
import type { UpstreamRecord, UpstreamTransport } from './record.ts';
import { shownDifference, shownEntry, shownTarget } from './shown-entry.ts';

const SECRETS = [
  'sk-planted-1',
  'sk-planted-2',
  'sk-planted-3',
  'sk-planted-4',
  'sk-planted-5',
  'sk-planted-6',
];

const entry = {
  url: `https://ann:${SECRETS[0]}@a.test/mcp?token=${SECRETS[1]}&k=\${env:K}`,
  headers: {
    Authorization: `Bearer ${SECRETS[2]}`,
    'X-Ref': 'Bearer ${env:T}',
    'X-Mixed': `\${env:T}${SECRETS[2]}`,
  },
  command: 'run',
  args: [
    '--api-key',
    SECRETS[3],
    `--token=${SECRETS[4]}`,
    `DB_PASSWORD=${SECRETS[5]}`,
    '--dir',
    '/notes',
    '--key',
    '${env:K}',
  ],
  env: { KEY: SECRETS[5] },
};

const record = (transport: UpstreamTransport): UpstreamRecord => ({
  name: 'a',
  origin: 'config',
  trusted: true,
  enabled: true,
  auth: 'own',
  transport,
});

it('what an upstream is reached by is shown without one secret, and with every reference', () => {
  const changed = {
    ...entry,
    env: { KEY: 'x' },
    headers: { ...entry.headers, Authorization: 'y' },
    args: [],
  };
  const shown = [
    JSON.stringify(shownEntry(entry)),
    ...shownDifference(entry, changed),
    ...shownDifference(changed, entry),
    ...shownDifference({}, entry),
    shownTarget(record({ kind: 'http', url: entry.url, headers: entry.headers })),
    shownTarget(
      record({
        kind: 'stdio',
        command: entry.command,
        args: entry.args as string[],
        env: entry.env as Record<string, string>,
      }),
    ),
  ].join('\n');
  for (const secret of SECRETS) expect(shown).not.toContain(secret);
  for (const plain of [
    'Bearer ${env:T}',
    'k=${env:K}',
    '/notes',
    'https://(hidden)@a.test/mcp?token=(hidden)',
  ])
    expect(shown).toContain(plain);
  expect(shownDifference({ a: 1, env: { B: 's' } }, { a: 2, env: {} })).toEqual([
    '- a: 1',
    '+ a: 2',
    '- env.B: "(hidden)"',
  ]);
});

it('a command line is quoted so that a shell takes it as it is read', () => {
  for (const [word, quoted] of [
    ['npx', 'npx'],
    ['@acme/tide@1.2.3', '@acme/tide@1.2.3'],
    ['a b', "'a b'"],
    ["it's", `'it'\\''s'`],
    ['$(id)', "'$(id)'"],
    ['', "''"],
    ['a\nb', `$'a\\x0ab'`],
    ['a\u202Eb', `$'a\\xe2\\x80\\xaeb'`],
  ] as const)
    expect(shellWord(word)).toBe(quoted);
});
