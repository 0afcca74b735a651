import { homedir } from 'node:os';
import { ProxyError } from '../base/errors.ts';
import { defaultConfigPath } from '../config/default-path.ts';
import type { Loaded } from '../config/load.ts';
import { UPSTREAM_TOKEN } from '../config/upstream-token.ts';
import type { CommandLine } from './command-line.ts';
import { parseCommandLine } from './command-line.ts';
import { COMMANDS } from './command.ts';
import { EXIT } from './exit-code.ts';
import { createOutput } from './output.ts';
import type { Output } from './output.ts';

/**
 * Runs one command line and gives its exit code. What only some commands need is imported by them: an agent's
 * client waits for `serve --stdio` to answer, so that path loads nothing it does not use.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const line = await parseCommandLine(argv);
  const output = createOutput({
    isJson: line.flags.has('json') || line.flags.get('output') === 'json',
    isQuiet: line.flags.has('quiet'),
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
  });
  if (line.mistakes.length > 0) {
    for (const mistake of line.mistakes) output.error(mistake);
    output.note('mcpproxy -h lists every command and flag.');
    return EXIT.usage;
  }
  if (line.flags.has('version')) return showVersion(output);
  if (line.flags.has('help')) return showHelp(line, output);

  const command = COMMANDS[line.command ?? 'serve'];
  // parseCommandLine has refused every other word.
  if (command === undefined) throw new Error('an unknown command came through');
  const loaded = command.needsConfig ? await load(line, output) : undefined;
  if (loaded?.kind === 'invalid') return EXIT.config;
  const canAsk = process.stdin.isTTY && process.stderr.isTTY && !line.flags.has('no-input');
  try {
    const run = await command.load();
    return await run({ line, output, loaded, canAsk });
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    const wantsToken = error.code === 'upstream_auth' && loaded?.settings.upstream !== undefined;
    const hint = wantsToken ? ` Your token for it goes into the variable ${UPSTREAM_TOKEN}.` : '';
    output.error(`${error.message}${hint} (${error.code})`);
    return error.code === 'config_invalid' ? EXIT.config : EXIT.failed;
  }
}

/** Commands in front of no server of anybody's. */
const NEED_NO_UPSTREAM: ReadonlySet<string> = new Set(['search-servers', 'upstream_servers', 'fetch-model']);

async function load(line: CommandLine, output: Output): Promise<Loaded> {
  const { loadConfig } = await import('../config/load.ts');
  const { formatProblem } = await import('../config/problem.ts');
  const loaded = await loadConfig({
    flags: line.settings,
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    platform: process.platform,
    hasOneCaller: (line.command ?? 'serve') !== 'serve',
    knownRegistries: async () => (await import('../registry/known-facts.ts')).knownFacts(),
  });
  const isBuiltin = line.flags.has('builtin');
  // What warns of no upstream comes from no place; the sample catalog is one, and finding servers needs none.
  const needsNone = isBuiltin || NEED_NO_UPSTREAM.has(line.command ?? 'serve');
  const warnings = loaded.warnings.filter(({ origin }) => !needsNone || origin.kind !== 'default');
  for (const warning of warnings) output.note(`mcpproxy: note: ${formatProblem(warning)}`);
  if (loaded.kind === 'invalid') for (const problem of loaded.problems) output.error(formatProblem(problem));
  if (!isBuiltin || loaded.kind === 'invalid') return loaded;
  const { sampleRecords } = await import('./builtin/sample-records.ts');
  return { ...loaded, config: { ...loaded.config, upstreams: sampleRecords(), discovery: false } };
}

async function showVersion(output: Output): Promise<number> {
  const { PRODUCT } = await import('../base/product.ts');
  await output.print(output.isJson ? JSON.stringify(PRODUCT) : `${PRODUCT.name} ${PRODUCT.version}`);
  return EXIT.done;
}

async function showHelp(line: CommandLine, output: Output): Promise<number> {
  const { helpText } = await import('./help.ts');
  const path = defaultConfigPath({ env: process.env, home: homedir(), platform: process.platform });
  await output.print(helpText(line.command, Math.min(output.width, 110), path));
  return EXIT.done;
}
