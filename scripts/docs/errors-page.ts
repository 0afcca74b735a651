import { ERROR_CODES } from '../../src/base/errors.ts';
import { EXIT_CODES } from '../../src/cli/exit-code.ts';
import { block, code, json, page, table, WRITTEN } from './markdown.ts';
import { textOf } from './try.ts';
import type { Try } from './try.ts';

interface Example {
  readonly title: string;
  readonly metaTool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** One of each refusal, in front of the sample catalog. */
const REFUSALS: readonly Example[] = [
  {
    title: 'A tool that may change something, through a tool that only reads',
    metaTool: 'call_read_tool',
    args: { name: 'library__renew_loan', arguments: { loan_id: 'L-2040' } },
  },
  {
    title: 'Arguments that do not fit',
    metaTool: 'call_read_tool',
    args: { name: 'library__find_books', arguments: { branch: 'town', limit: 0 } },
  },
  {
    title: 'A name that is plainly a slip of the pen',
    metaTool: 'call_read_tool',
    args: { name: 'library__find_book', arguments: { query: 'salt' } },
  },
  {
    title: 'A name nobody has',
    metaTool: 'call_write_tool',
    args: { name: 'library__burn_everything', arguments: {} },
  },
  {
    title: 'One of our own tools',
    metaTool: 'call_read_tool',
    args: { name: 'search_tools', arguments: { query: 'boats' } },
  },
  {
    title: 'A search that asks twice',
    metaTool: 'search_tools',
    args: { query: 'boats', queries: ['books'] },
  },
];

const FAILURES: readonly (readonly [title: string, tool: string])[] = [
  ['Its server answers with an error', 'reject'],
  ['Its server goes away in the middle', 'vanish'],
];

/** `docs/errors.md`. */
export async function errorsPage(attempt: Try): Promise<string> {
  const refusals: string[] = [];
  for (const { title, metaTool, args } of REFUSALS) {
    const answer = await attempt.meta(metaTool, args);
    if (answer.isError !== true) throw new Error(`not refused: ${title}`);
    refusals.push(
      `### ${title}`,
      block('text', `${metaTool} ${JSON.stringify(args)}`),
      block('text', textOf(answer)),
    );
  }
  const failures: string[] = [];
  for (const [title, tool] of FAILURES) {
    const answer = await attempt.inTrouble('call_write_tool', { name: tool, arguments: {} });
    if (answer.isError !== true) throw new Error(`did not fail: ${title}`);
    failures.push(`### ${title}`, block('text', textOf(answer)), json(answer.structuredContent));
  }
  const missing = await attempt.inTrouble('search_tools', { query: 'reject', limit: 1, schemas: false });
  return page(
    '# Errors',
    WRITTEN,
    'Who reads an error decides its shape. The model gets an ordinary answer with the next step. The client gets an HTTP status or an error of the protocol. You get a code, a sentence and the cause, on stderr.',
    '## Exit codes',
    table(
      ['Code', 'Meaning'],
      Object.values(EXIT_CODES).map(({ code: number, meaning }) => [String(number), meaning]),
    ),
    '## Codes',
    'Codes are stable; sentences may be reworded. *Retryable* means that the same request may succeed a little later without anybody changing anything.',
    table(
      ['Code', 'Meaning', 'Retryable'],
      Object.entries(ERROR_CODES).map(([name, { meaning, retryable }]) => [
        code(name),
        meaning,
        retryable ? 'yes' : 'no',
      ]),
    ),
    '## Refusals: what was not sent',
    'A call that cannot succeed, or was not allowed in this way, never reaches its server. The answer is a result with `isError: true` whose text names what to do next.',
    ...refusals,
    '## Failures: what was sent and went wrong',
    'The text starts with the code; the structured content says the same to programs. `outcome` is `not_sent` (the server never heard of it), `failed` (it answered with an error) or `unknown` (nobody knows whether it was carried out, as after 500, 502 or 504). A write is never sent twice; a read is sent again once if nothing had been sent.',
    ...failures,
    '## Servers that are away',
    'A server that cannot be reached hides only its own tools. Every search says which are missing, and why:',
    json(missing.structuredContent),
    '## What the client gets',
    table(
      ['What happened', 'Over HTTP', 'Over stdio'],
      [
        [
          "A forwarded server refused the caller's credential",
          'its status (401 or 403) and its `WWW-Authenticate`, unchanged, so that the client can sign in',
          'a JSON-RPC error',
        ],
        ['A tool that is not one of the five', 'JSON-RPC error -32602', 'JSON-RPC error -32602'],
        ['An unknown method', 'JSON-RPC error -32601 (status 404 for 2026-07-28)', 'JSON-RPC error -32601'],
        ['What is not JSON', 'status 400, JSON-RPC error -32700', 'JSON-RPC error -32700'],
      ],
    ),
  );
}
