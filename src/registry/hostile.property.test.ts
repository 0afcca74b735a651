import fc from 'fast-check';
import { it } from 'vitest';
import { ProxyError } from '../base/errors.ts';
import { addableServer } from './addable.ts';
import { entryOf } from './entry.ts';
import { Registries } from './registries.ts';
import { additionOf } from './next-step.ts';
import { readServerJson } from './server-json.ts';

const registry = new Registries([{ id: 'acme', serversUrl: 'https://acme.test/servers' }]).find('acme');

const nasty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    'javascript:alert(1)',
    'file:///etc/passwd',
    'http://127.0.0.1/mcp',
    'https://169.254.169.254/latest',
    'https://{host}/mcp',
    '{url}',
    '$(id)',
    '`id`',
    '; rm -rf ~',
    '--node-options=--import=x',
    '-rf',
    '../../etc/passwd',
    '\u202Eevil',
    '@acme/tide',
    'tide-mcp',
    '1.2.3',
    'latest',
    'https://tide.test/mcp',
    'wss://tide.test/mcp',
    'https://a:b@tide.test/mcp',
    'https://tide.test/mcp?k=${env:GITHUB_TOKEN}',
    '${env:HOME}',
  ),
);

/** Sometimes the right shape with nasty texts, sometimes another value where it belongs. */
const odd = fc.oneof(
  { weight: 6, arbitrary: nasty },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);
const input = fc.record(
  {
    name: odd,
    value: odd,
    default: odd,
    isRequired: fc.boolean(),
    isSecret: odd,
    variables: fc.dictionary(nasty, odd),
  },
  { requiredKeys: [] },
);
const item = fc.record(
  {
    name: fc.oneof(fc.constant('com.acme/tide'), odd),
    title: odd,
    description: odd,
    repository: fc.record({ url: odd }, { requiredKeys: [] }),
    packages: fc.array(
      fc.record(
        {
          registryType: fc.constantFrom('npm', 'pypi', 'oci', 'nuget', 'mcpb', 'cargo', 'x'),
          identifier: odd,
          version: odd,
          runtimeHint: odd,
          transport: fc.record({ type: odd, url: odd }),
          runtimeArguments: fc.array(input, { maxLength: 2 }),
          packageArguments: fc.array(input, { maxLength: 2 }),
          environmentVariables: fc.array(input, { maxLength: 2 }),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 3 },
    ),
    remotes: fc.array(
      fc.record(
        {
          type: odd,
          url: odd,
          headers: fc.array(input, { maxLength: 2 }),
          variables: fc.dictionary(nasty, input),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 3 },
    ),
    _meta: odd,
  },
  { requiredKeys: [] },
);

const PLAIN_INSTALL = /^(?:npm install [@\w./~-]+|pip install [\w.-]+|docker run -i --rm [\w./:@-]+)$/;
const INVISIBLE = /[\p{Cc}\p{Cf}]/u;

/** As `expect`, but thousands of times as cheap. */
function must(holds: boolean, what: unknown): void {
  if (!holds) throw new Error(`not plain: ${JSON.stringify(what)}`);
}

it(
  'thousands of hostile entries give no address, command or name that is not plain',
  { timeout: 60_000 },
  () => {
    fc.assert(
      fc.property(item, (server) => {
        const read = readServerJson({ server });
        if (read === undefined || read === 'skip') return;
        const entry = entryOf(read, registry);
        if (entry.url !== null) {
          const url = new URL(entry.url);
          must(
            /^https?:$/.test(url.protocol) && url.username === '' && url.hostname !== '127.0.0.1',
            entry.url,
          );
          must(!/[\s"'`<>\\]/.test(entry.url), entry.url);
        }
        must(entry.installCmd === null || PLAIN_INSTALL.test(entry.installCmd), entry.installCmd);
        must(
          entry.launch === null || ['npx', 'uvx', 'docker', 'dnx'].includes(entry.launch[0] ?? ''),
          entry.launch,
        );
        for (const argument of entry.launch ?? []) must(!INVISIBLE.test(argument), argument);
        for (const text of [entry.name, entry.title ?? '', entry.description ?? '', ...(entry.notes ?? [])])
          must(!INVISIBLE.test(text) && text.length <= 500, text);
        const addition = additionOf(entry);
        if (addition !== undefined && 'name' in addition)
          must(/^[\p{L}\p{N} ._/@-]+$/u.test(addition.name) || addition.name === entry.id, addition.name);
        // What would be written into the configuration names no variable of this machine.
        const added = addedOf(entry);
        must(added === undefined || !JSON.stringify(added.entry).includes('${'), added?.entry);
        JSON.stringify(entry);
      }),
      { numRuns: 2_000 },
    );
  },
);

function addedOf(entry: Parameters<typeof addableServer>[0]): ReturnType<typeof addableServer> | undefined {
  try {
    return addableServer(entry);
  } catch (thrown) {
    must(thrown instanceof ProxyError && thrown.code === 'server_not_addable', thrown);
    return undefined;
  }
}
