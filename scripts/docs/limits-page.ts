import { LIMITS } from '../../src/base/limits.ts';
import type { LimitName } from '../../src/base/limits.ts';
import { flagOf, settingOf, variableOf } from '../../src/config/settings.ts';
import {
  DEFAULT_MATCHES,
  MAX_DESCRIBED,
  MAX_MATCHES,
  MAX_QUERIES,
} from '../../src/meta-tools/definitions.ts';
import { block, code, page, table, WRITTEN } from './markdown.ts';
import type { Try } from './try.ts';

/** `docs/limits.md`. */
export async function limitsPage(attempt: Try): Promise<string> {
  const overrun = await attempt.program([
    '--builtin',
    'list-tools',
    '--max-list-tools',
    '10',
    '-q',
    '--json',
  ]);
  if (overrun.stdout === '') throw new Error(overrun.stderr);
  const { unavailable } = JSON.parse(overrun.stdout) as { unavailable: { name: string; reason: string }[] };
  const [first] = unavailable;
  if (first === undefined) throw new Error('the limit was not reached');
  const names = Object.keys(LIMITS) as LimitName[];
  return page(
    '# Limits',
    WRITTEN,
    block('sh', 'mcpproxy --config mcpproxy.json --max-message-bytes 33554432'),
    'Everything the proxy waits for, keeps or reads has a limit. Reaching one is an error that names the limit and its setting, never a silent cut. With `--max-list-tools 10`, for example, a server with more tools is reported in every answer:',
    block('text', `${first.name}: ${first.reason}`),
    table(
      ['Limit', 'Default', 'May be', 'What it bounds'],
      names.map((name) => [
        `${code(name)}, ${code(flagOf(name))}, ${code(variableOf(name))}`,
        amount(LIMITS[name].default, LIMITS[name].unit),
        rangeOf(name),
        LIMITS[name].sentence,
      ]),
    ),
    'Two pairs belong together: `callTimeoutMs` may not be larger than `maxCallMs`, nor `listingTtlMs` larger than `listingStaleMs`; the program says so when they are.',
    '## Fixed numbers',
    'These are part of what the tools promise, and no settings:',
    table(
      ['What', 'Number'],
      [
        ['queries in one `search_tools`', String(MAX_QUERIES)],
        ['matches of one query', `${MAX_MATCHES}, ${DEFAULT_MATCHES} when not said`],
        ['names in one `describe_tool`', String(MAX_DESCRIBED)],
      ],
    ),
    'How many calls one `call_read_tools` takes is the setting `maxBatchCalls`; see [configuration.md](configuration.md).',
  );
}

/** `16,777,216 bytes (16 MiB)`, `30,000 ms (30 s)`. */
function amount(number: number, unit: string): string {
  return `${number.toLocaleString('en')} ${unit}${inWords(number, unit)}`;
}

function inWords(number: number, unit: string): string {
  if (unit === 'bytes') {
    if (number % 1_048_576 === 0) return ` (${number / 1_048_576} MiB)`;
    if (number % 1_024 === 0) return ` (${number / 1_024} KiB)`;
  }
  if (unit === 'ms') {
    if (number >= 60_000 && number % 60_000 === 0) return ` (${number / 60_000} min)`;
    if (number >= 1_000) return ` (${number / 1_000} s)`;
  }
  return '';
}

function rangeOf(name: LimitName): string {
  const { value } = settingOf(name);
  if (value.kind !== 'integer') throw new Error('every limit is a whole number');
  return `${value.min} to ${value.max.toLocaleString('en')}`;
}
