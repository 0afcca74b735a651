import type { ListedPackage, ListedRemote, ListedServer } from './listed-server.ts';
import { listedServer } from './listed-server.ts';
import {
  booleanIn,
  descriptionIn,
  idIn,
  isObject,
  momentIn,
  nameIn,
  objectIn,
  objectsIn,
  rawText,
  tagsIn,
  valueOf,
  webUrlIn,
} from './loose.ts';
import type { Loose } from './loose.ts';
import type { RequiredInput } from './server-entry.ts';
import { cleaned } from './text.ts';

/**
 * Reads a `server.json` as the generic registry API lists it: of the current schema, of every earlier one (uuid ids,
 * `version_detail`, `registry_name`, `transport_type`, snake_case), wrapped with its `_meta` or flat.
 *
 * `skip` means: known and not wanted (deleted, deprecated, an older version).
 */
export function readServerJson(item: unknown): ListedServer | undefined | 'skip' {
  if (!isObject(item)) return undefined;
  const server = isObject(item['server']) ? item['server'] : item;
  const meta = { ...objectIn(server['_meta']), ...objectIn(item['_meta']) };
  const official = objectIn(meta['io.modelcontextprotocol.registry/official']);
  const published = objectIn(meta['io.modelcontextprotocol.registry/publisher-provided']);
  const old = objectIn(valueOf(server, 'versionDetail'));
  const status = rawText(official, 'status') ?? rawText(server, 'status');
  if (status === 'deleted' || status === 'deprecated') return 'skip';
  if ((booleanIn(official, 'isLatest') ?? booleanIn(old, 'isLatest')) === false) return 'skip';

  const name = idIn(server, 'name');
  if (name === undefined) return undefined;
  const repository = objectIn(server['repository']);
  const notes: string[] = [];
  const packages = objectsIn(server['packages'])
    .slice(0, MAX_WAYS)
    .flatMap((each) => readPackage(each, notes));
  const remotes = objectsIn(server['remotes'])
    .slice(0, MAX_WAYS)
    .flatMap((each) => readRemote(each));
  const known = {
    // Later calls of the API are made with the name; of the old shape, with the uuid.
    id: (Object.keys(old).length > 0 ? idIn(server, 'id') : undefined) ?? name,
    name: nameIn(server, 'name') ?? name,
    title: nameIn(server, 'title'),
    description: descriptionIn(server, 'description'),
    sourceUrl: webUrlIn(repository, 'url') ?? webUrlIn(server, 'repository'),
    remotes,
    packages,
    tags: tagsIn(published['tags'], published['categories'], published['keywords'], server['tags']),
    updatedAt:
      momentIn(official, 'updatedAt') ?? momentIn(old, 'releaseDate') ?? momentIn(server, 'updatedAt'),
    createdAt: momentIn(official, 'publishedAt') ?? momentIn(server, 'createdAt', 'publishedAt'),
    notes,
  };
  return listedServer(known);
}

/** Where a publisher may name the program; anything else could be any program. */
const RUNTIMES: ReadonlySet<string> = new Set(['npx', 'uvx', 'docker', 'dnx']);

const TYPE_NAMES: Readonly<Record<string, string>> = {
  pip: 'pypi',
  docker: 'oci',
  docker_hub: 'oci',
  ghcr: 'oci',
};

/** One package, or none, with a note when it cannot be read. */
export function readPackage(item: Loose, notes: string[]): ListedPackage[] {
  const written = rawText(item, 'registryType', 'registryName')?.toLowerCase();
  const identifier = rawText(item, 'identifier', 'name');
  if (written === undefined || identifier === undefined) return [];
  const type = TYPE_NAMES[written] ?? cleaned(written, 30);
  const env = readInputs(item['environmentVariables'] ?? item['environment_variables'], isEnvName);
  const runtimeArgs = readArguments(valueOf(item, 'runtimeArguments'));
  const packageArgs = readArguments(valueOf(item, 'packageArguments'));
  if (runtimeArgs === undefined || packageArgs === undefined) {
    notes.push(
      `the package ${cleaned(identifier, 60)} has arguments no command line should have, and is left out`,
    );
    return [];
  }
  const hint = rawText(item, 'runtimeHint');
  const transport = objectIn(item['transport']);
  return [
    {
      type,
      identifier: cleaned(identifier, 300),
      version: rawText(item, 'version'),
      runtime: hint !== undefined && RUNTIMES.has(hint) ? hint : undefined,
      runtimeArgs: runtimeArgs.argv,
      packageArgs: packageArgs.argv,
      argInputs: [...runtimeArgs.inputs, ...packageArgs.inputs],
      env,
      transport: transportName(rawText(transport, 'type')) ?? 'stdio',
    },
  ];
}

function readRemote(item: Loose): ListedRemote[] {
  const url = rawText(item, 'url');
  if (url === undefined || url.length > 2_000) return [];
  const transport = transportName(rawText(item, 'type', 'transportType', 'transport')) ?? 'streamable-http';
  const variables = Object.entries(objectIn(item['variables']))
    .slice(0, MAX_INPUTS)
    .flatMap(([name, input]) =>
      isObject(input) && isPlaceholder(name) ? [readInput(name, input, true)] : [],
    );
  const headers = readInputs(item['headers'], isHeaderName);
  return [{ transport, url, variables, headers }];
}

export function transportName(written: string | undefined): string | undefined {
  switch (written?.toLowerCase().replaceAll('_', '-')) {
    case 'stdio':
      return 'stdio';
    case 'sse':
      return 'sse';
    case 'http':
    case 'streamable':
    case 'streamable-http':
    case 'streamablehttp':
      return 'streamable-http';
    case undefined:
    default:
      return undefined;
  }
}

const isEnvName = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/.test(name);
// RFC 9110 §5.1: a header's name is a token.
const isHeaderName = (name: string): boolean => /^[!#$%&'*+.^_`|~\w-]{1,128}$/.test(name);
const isPlaceholder = (name: string): boolean => /^[\w.-]{1,64}$/.test(name);

/** Most packages, and most remotes, of one server; most inputs and arguments of one of them. */
const MAX_WAYS = 20;
const MAX_INPUTS = 50;
const MAX_ARGUMENTS = 100;
const MAX_ARGUMENT_LENGTH = 500;

/** Environment variables or headers. One whose value is fixed is listed with it as its default: nothing is asked. */
function readInputs(value: unknown, isName: (name: string) => boolean): RequiredInput[] {
  return objectsIn(value)
    .slice(0, MAX_INPUTS)
    .flatMap((item) => {
      const name = rawText(item, 'name');
      return name !== undefined && isName(name) ? [readInput(name, item, false)] : [];
    });
}

function readInput(name: string, item: Loose, isVariable: boolean): RequiredInput {
  const variables = objectIn(item['variables']);
  const fixed = rawText(item, 'value');
  const value = fixed === undefined ? undefined : filled(fixed, variables);
  const isOpen = value !== undefined && /\{[\w.-]+\}/.test(value);
  const inner = Object.values(variables).filter(isObject);
  const description = descriptionIn(item, 'description');
  const choices = Array.isArray(item['choices'])
    ? item['choices'].filter((choice) => typeof choice === 'string').map((choice) => cleaned(choice, 200))
    : undefined;
  const given = value ?? rawText(item, 'default');
  const isRequired = booleanIn(item, 'isRequired') ?? booleanIn(item, 'required');
  return {
    name,
    ...(description === undefined ? {} : { description }),
    // A place in a URL has to be filled, whatever its publisher forgot to say.
    required: isRequired ?? isVariable,
    secret:
      (booleanIn(item, 'isSecret') ?? booleanIn(item, 'secret') ?? false) ||
      inner.some((each) => booleanIn(each, 'isSecret') === true),
    // A template with open places is what the value looks like, and no default.
    default: given === undefined || isOpen ? null : cleaned(given, 500),
    choices: choices === undefined || choices.length === 0 ? null : choices.slice(0, 50),
  };
}

/** `Bearer {tok}` with what its variables fix or default to; unknown places stay. */
export function filled(template: string, variables: Loose): string {
  return template.replaceAll(/\{([\w.-]+)\}/g, (place, name: string) => {
    const variable = objectIn(variables[name]);
    return rawText(variable, 'value', 'default') ?? place;
  });
}

interface ReadArguments {
  readonly argv: readonly string[];
  readonly inputs: readonly RequiredInput[];
}

/**
 * Arguments as one text each: `--flag=value`, positional values in order. A required one without a value becomes a
 * place, `{name}`, and an input; an optional one without a value is left to its program's own default.
 */
function readArguments(value: unknown): ReadArguments | undefined {
  const argv: string[] = [];
  const inputs: RequiredInput[] = [];
  for (const item of objectsIn(value)) {
    const isNamed = rawText(item, 'type') === 'named';
    const flag = isNamed ? rawText(item, 'name') : undefined;
    const written = rawText(item, 'value') ?? rawText(item, 'default');
    const text = written === undefined ? undefined : filled(written, objectIn(item['variables']));
    const hint = rawText(item, 'valueHint') ?? flag?.replace(/^-+/, '') ?? 'value';
    const place = isPlaceholder(hint) ? hint : 'value';
    const isRequired = booleanIn(item, 'isRequired') === true || (!isNamed && written === undefined);
    if (text === undefined && isNamed && booleanIn(item, 'isRequired') !== true) {
      // A switch without a value is the flag alone, when its publisher wrote it into the command.
      if (flag !== undefined && rawText(item, 'valueHint', 'format') === undefined && isSwitch(item))
        argv.push(flag);
      continue;
    }
    if (text === undefined && isRequired) inputs.push(readInput(place, item, true));
    const shown = text ?? `{${place}}`;
    argv.push(flag === undefined ? shown : `${flag}=${shown}`);
  }
  return argv.length <= MAX_ARGUMENTS &&
    argv.every((arg) => arg.length <= MAX_ARGUMENT_LENGTH && !/[\p{Cc}\p{Cf}]/u.test(arg))
    ? { argv, inputs }
    : undefined;
}

function isSwitch(item: Loose): boolean {
  return valueOf(item, 'default', 'choices', 'placeholder', 'description', 'isRequired') === undefined;
}
