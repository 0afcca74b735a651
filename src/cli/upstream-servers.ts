import type { Proxy } from '../app.ts';
import { shellWord } from '../base/shell-word.ts';
import { quoted } from '../config/problem.ts';
import type { MissingInput } from '../registry/addable.ts';
import { askLine, isConfirmed } from './ask.ts';
import type { Asking } from './ask.ts';
import { configOf } from './context.ts';
import type { Context } from './context.ts';
import { EXIT } from './exit-code.ts';
import { printable } from './meta-answer.ts';
import { openStore } from './open-store.ts';
import { untilStopped } from './stop-signal.ts';
import { firstSentence, tableText } from './table.ts';

type Desk = Awaited<ReturnType<Proxy['local']['desk']>>;
type Request = Parameters<Desk['asPerson']>[0];
type Report = Awaited<ReturnType<Desk['asPerson']>>;
type Review = Awaited<ReturnType<Desk['review']>>;

const OPERATIONS = [
  'list',
  'add',
  'remove',
  'enable',
  'disable',
  'update',
  'refresh',
  'restart',
  'logs',
  'approve',
] as const;

/** Adds, changes and shows the upstreams of the configuration file; asks only the one upstream it is about. */
export async function upstreamServers(context: Context): Promise<number> {
  const read = requestOf(context);
  if ('wrong' in read) {
    context.output.error(read.wrong);
    return EXIT.usage;
  }
  const stop = new AbortController();
  const stopped = untilStopped().then((code) => {
    stop.abort(new Error('stopped'));
    return code;
  });
  const { createProxy } = await import('../app.ts');
  const store = await openStore(context);
  // Nothing is searched here.
  const config = { ...configOf(context), embedder: { kind: 'none' } } as const;
  const proxy = await createProxy(config, { store });
  const asking: Asking = { input: process.stdin, output: process.stderr, signal: stop.signal };
  try {
    const done = proxy.local.desk().then((desk) => {
      if (read.operation === 'approve') return approve(desk, read.name, context, asking);
      return carryOut(desk, read.request, context, asking, store.program);
    });
    return await Promise.race([done, stopped]);
  } finally {
    await proxy.close();
  }
}

type Read =
  | { readonly operation: 'approve'; readonly name: string }
  | { readonly operation: 'other'; readonly request: Request }
  | { readonly wrong: string };

function requestOf({ line }: Context): Read {
  const { operands, flags, lists, rest = [] } = line;
  const [typed = '', second, third] = operands;
  const operation = OPERATIONS.find((each) => each === typed);
  if (operation === undefined) {
    return {
      wrong: `upstream_servers knows no ${quoted(typed)}; give ${OPERATIONS.slice(0, -1).join(', ')} or ${OPERATIONS.at(-1) ?? ''}.`,
    };
  }
  const name = flags.get('name') ?? second;
  if (flags.has('name') && second !== undefined && operation !== 'update')
    return { wrong: `the name was given twice: ${quoted(second)} and --name.` };
  if (name === undefined && operation !== 'list' && operation !== 'add')
    return { wrong: `${operation} needs the name of a server: mcpproxy upstream_servers ${operation} NAME` };
  if (operation === 'approve') return { operation, name: name ?? '' };
  const json = operation === 'update' ? (flags.has('name') ? second : third) : third;
  if (json !== undefined && operation !== 'update')
    return { wrong: `${operation} takes one name; ${quoted(json)} is one too many.` };
  const patch = json === undefined ? undefined : objectIn(json);
  if (json !== undefined && patch === undefined)
    return { wrong: `the change is not a JSON object such as '{"description": "notes"}'.` };
  const headers = pairsOf(lists?.get('header') ?? [], ':', '--header', "'Name: value'");
  const env = pairsOf(lists?.get('env') ?? [], '=', '-e', 'NAME=value');
  const inputs = pairsOf(lists?.get('input') ?? [], '=', '--input', 'NAME=value');
  for (const pairs of [headers, env, inputs]) if ('wrong' in pairs) return pairs;
  const enabled = flags.get('enabled');
  const text = (key: 'url' | 'registry' | 'id' | 'description'): object =>
    flags.has(key) ? { [key]: flags.get(key) } : {};
  const request = {
    operation,
    ...(name === undefined ? {} : { name }),
    ...text('url'),
    ...text('registry'),
    ...text('id'),
    ...text('description'),
    ...(enabled === undefined ? {} : { enabled: enabled === 'true' }),
    ...(rest.length === 0 ? {} : { command: rest }),
    ...(patch === undefined ? {} : { patch }),
    ...('pairs' in headers && headers.pairs !== undefined ? { headers: headers.pairs } : {}),
    ...('pairs' in env && env.pairs !== undefined ? { env: env.pairs } : {}),
    ...('pairs' in inputs && inputs.pairs !== undefined ? { inputs: inputs.pairs } : {}),
    ...(flags.has('local') ? { local: true } : {}),
    ...(flags.has('unverified') ? { unverified: true } : {}),
  };
  return { operation: 'other', request };
}

function objectIn(text: string): Request['patch'] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Request['patch'])
      : undefined;
  } catch {
    return undefined;
  }
}

/** The text itself is in no message: it may hold a secret. */
function pairsOf(
  texts: readonly string[],
  separator: string,
  flag: string,
  shape: string,
): { readonly pairs: Readonly<Record<string, string>> | undefined } | { readonly wrong: string } {
  const pairs = new Map<string, string>();
  for (const text of texts) {
    const at = text.indexOf(separator);
    const name = text.slice(0, Math.max(0, at)).trim();
    if (name === '') return { wrong: `${flag} takes ${shape}.` };
    const value = text.slice(at + 1);
    pairs.set(name, separator === ':' ? value.trim() : value);
  }
  return { pairs: pairs.size === 0 ? undefined : Object.fromEntries(pairs) };
}

/** Runs a request; what has to be confirmed or given is asked for where somebody can be asked. */
async function carryOut(
  desk: Desk,
  first: Request,
  context: Context,
  asking: Asking,
  program: string,
): Promise<number> {
  const { output, line, canAsk } = context;
  let request = first;
  if (request.operation === 'remove' && !line.flags.has('yes')) {
    const claim = `${quoted(request.name ?? '')} would be removed from the configuration`;
    if (!(await isAllowed(`${claim}.`, 'Remove it?', context, asking))) return EXIT.failed;
  }
  for (;;) {
    const isDone = output.progress(`asking ${request.name ?? 'the server'} for its tools…`);
    const report = await desk.asPerson(request, asking.signal).finally(isDone);
    if (report.status === 'needs_confirmation') {
      output.note(`This would start: ${(report.starts ?? []).map(shellWord).join(' ')}`);
      if (!line.flags.has('yes') && !(await isAllowed(report.reason, 'Add it?', context, asking)))
        return EXIT.failed;
      request = { ...request, confirmed: report.digest };
    } else if (report.status === 'needs_input') {
      const given = canAsk ? await askFor(report.inputs, asking) : undefined;
      if (given === undefined) {
        output.error(missingText(report.inputs, report.command));
        return EXIT.failed;
      }
      request = { ...request, inputs: { ...request.inputs, ...given } };
    } else return show(report, context, program);
  }
}

async function isAllowed(
  claim: string,
  question: string,
  { canAsk, output }: Context,
  asking: Asking,
): Promise<boolean> {
  if (!canAsk) {
    output.error(`${claim} There is nobody to ask; add --yes to do it.`);
    return false;
  }
  if (await isConfirmed(`${claim} ${question}`, asking)) return true;
  output.error('nothing was done.');
  return false;
}

/** Asks for each input; undefined when the person leaves. An empty answer to a secret keeps a reference to a variable. */
async function askFor(
  inputs: readonly MissingInput[],
  asking: Asking,
): Promise<Record<string, string> | undefined> {
  const given = new Map<string, string>();
  for (const input of inputs) {
    const about = input.description === undefined ? '' : ` (${printable(input.description)})`;
    const choices = input.choices === null ? '' : ` [${input.choices.map(printable).join(', ')}]`;
    const kind = KINDS[input.place];
    const or = input.secret ? `; hidden, or Enter to take it from the environment as ${input.reference}` : '';
    const question = `${kind} ${printable(input.name)}${about}${choices}${or}: `;
    for (;;) {
      const answer = await askLine(question, asking, { isHidden: input.secret });
      if (answer === undefined) return undefined;
      const value = answer === '' && input.secret ? input.reference : answer.trim();
      if (value === '' || !(input.choices?.includes(value) ?? true)) continue;
      given.set(input.name, value);
      break;
    }
  }
  return Object.fromEntries(given);
}

const KINDS: Readonly<Record<MissingInput['place'], string>> = {
  env: 'Variable',
  headers: 'Header',
  url: 'Part of the address',
  args: 'Argument',
};

/** Every missing input, with what to type: for a secret the reference, never a place to type it in the open. */
function missingText(inputs: readonly MissingInput[], command: string): string {
  const lines = inputs.map((input) => {
    const { name, place, secret, description, reference, choices } = input;
    const value = secret ? reference : choices === null ? 'VALUE' : choices.join('|');
    const about = description === undefined ? '' : `, ${printable(description)}`;
    return `  ${KINDS[place].toLowerCase()} ${printable(name)}${secret ? ' (secret)' : ''}${about}: --input ${shellWord(`${name}=${value}`)}`;
  });
  return `the server needs ${inputs.length === 1 ? 'this' : 'these'}, and there is nobody to ask (server_inputs_missing):\n${lines.join('\n')}\nAdd them to: ${command}`;
}

/** Shows what is approved, asks, and approves it. */
async function approve(desk: Desk, name: string, context: Context, asking: Asking): Promise<number> {
  const { output, line } = context;
  const isDone = output.progress(`asking ${name} for its tools…`);
  const review = await desk.review(name, asking.signal).finally(isDone);
  if (output.isJson) await output.print(JSON.stringify(review, undefined, 2));
  else await output.print(reviewText(review));
  if (!line.flags.has('yes')) {
    const claim = 'Approved, its tools are called as it describes them, until their definitions change.';
    if (!(await isAllowed(claim, `Approve ${quoted(review.name)}?`, context, asking))) return EXIT.failed;
  }
  await desk.approve(review, new Date());
  output.note(`approved: ${review.name}, ${review.tools.length} tools as they are now.`);
  return EXIT.done;
}

function reviewText({ name, reachedBy, approvedAt, tools, differences }: Review): string {
  const since = approvedAt === undefined ? 'not approved yet' : `approved ${approvedAt}`;
  const lines = [`${name}: ${reachedBy} (${since})`, ''];
  for (const tool of tools) {
    lines.push(
      `${tool.access === 'read' ? 'reads ' : 'writes'}  ${tool.name}  ${firstSentence(tool.description)}`,
    );
  }
  for (const { name: tool, kind, differences: parts } of differences) {
    lines.push('', kind === 'new' ? `${tool} is new:` : `${tool} has changed:`);
    for (const { part, before, after } of parts) {
      lines.push(`  ${part}`);
      const [old, now] = [(before ?? '').split('\n'), (after ?? '').split('\n')];
      lines.push(...old.filter((each) => !now.includes(each) && each !== '').map((each) => `  - ${each}`));
      lines.push(...now.filter((each) => !old.includes(each) && each !== '').map((each) => `  + ${each}`));
    }
  }
  return lines.map(printable).join('\n');
}

async function show(report: Report, context: Context, program: string): Promise<number> {
  const { output } = context;
  if (output.isJson) {
    await output.print(JSON.stringify(report.status === 'listed' ? report.servers : report, undefined, 2));
    return EXIT.done;
  }
  switch (report.status) {
    case 'listed': {
      if (report.servers.length === 0) await output.print('No servers yet. Find some with search-servers.');
      else {
        const rows = report.servers.map((each) => [each.name, stateWord(each), each.reached_by]);
        await output.print(await tableText(output, ['NAME', 'STATE', 'REACHED BY'], rows));
      }
      return EXIT.done;
    }
    case 'logs': {
      const lines = report.lines.map(({ at, text }) => `${at}  ${printable(text)}`);
      await output.print(lines.length === 0 ? `Nothing happened at ${report.name} yet.` : lines.join('\n'));
      return EXIT.done;
    }
    case 'removed':
    case 'disabled':
    case 'unchanged':
      await output.print(`${report.name}: ${report.status}`);
      return EXIT.done;
    case 'added':
    case 'updated':
    case 'enabled':
    case 'refreshed':
    case 'restarted': {
      const { name, status, tools, names, state, reason, changes = [], unverified } = report;
      const what = state === 'disabled' ? 'disabled' : `${tools} ${tools === 1 ? 'tool' : 'tools'}`;
      const more = tools > names.length ? ', …' : '';
      const listed = names.length === 0 ? '' : `: ${names.join(', ')}${more}`;
      for (const change of changes) await output.print(printable(change));
      await output.print(printable(`${name}: ${status}, ${what}${listed}`));
      if (unverified === true)
        output.note(
          `its tools count as writes until you run: ${program} upstream_servers approve ${shellWord(name)}`,
        );
      if (reason !== undefined) output.note(`mcpproxy: note: ${printable(reason)}`);
      return EXIT.done;
    }
    case 'denied':
      output.error(report.reason);
      return EXIT.failed;
    case 'needs_confirmation':
    case 'needs_input':
      throw new Error('what has to be asked was asked before');
  }
}

function stateWord({
  enabled,
  added_by,
  verified,
  auth,
}: Extract<Report, { status: 'listed' }>['servers'][number]): string {
  const words = [
    enabled ? 'on' : 'off',
    ...(added_by === undefined ? [] : [verified === true ? 'approved' : 'unverified']),
    ...(auth === undefined ? [] : ['forwarded']),
  ];
  return words.join(', ');
}
