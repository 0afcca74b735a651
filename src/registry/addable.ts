import { ProxyError } from '../base/errors.ts';
import type { RequiredInput, ServerEntry } from './server-entry.ts';

/** What somebody gave for a server's inputs, by name. */
export interface GivenInputs {
  /** For whichever kind of input has the name. */
  readonly inputs?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An input that still has to be given. */
export interface MissingInput extends RequiredInput {
  readonly place: 'env' | 'headers' | 'url' | 'args';
  /** A reference to an environment variable that could stand for its value. */
  readonly reference: string;
}

/** A server of a registry as a member of `mcpServers`, or what is missing for that. */
export interface AddableServer {
  /** A short name for it, made of its own. */
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
  readonly missing: readonly MissingInput[];
}

/**
 * Turns what a registry lists into an entry of the configuration: every input goes where it belongs (a header stays a
 * header), defaults are filled in. An endpoint goes before a program, unless `local` asks for the program. Throws
 * `server_not_addable` when there is neither, or when its data would read this machine's environment.
 */
export function addableServer(
  server: ServerEntry,
  given: GivenInputs = {},
  { local = false }: { readonly local?: boolean } = {},
): AddableServer {
  const { required_inputs: needs, launch } = server;
  const template = server.url ?? (needs.url.length > 0 ? server.connectUrl : null);
  const isRemote = template !== null && !(local && launch !== null);
  refuseReferences(server, isRemote);
  const missing: MissingInput[] = [];
  const fill = (place: MissingInput['place'], inputs: readonly RequiredInput[]): Record<string, string> => {
    const values = new Map<string, string>();
    for (const input of inputs) {
      const own = place === 'env' ? given.env : place === 'headers' ? given.headers : undefined;
      const value =
        valueIn(own, input.name) ?? valueIn(given.inputs, input.name) ?? input.default ?? undefined;
      if (value === undefined && !input.required) continue;
      const isChoice = input.choices === null || value === undefined || input.choices.includes(value);
      if (value !== undefined && (isChoice || value.includes('${env:'))) values.set(input.name, value);
      else missing.push({ ...input, place, reference: referenceFor(server, place, input.name) });
    }
    return Object.fromEntries(values);
  };
  const name = shortName(server);
  if (isRemote) {
    const places = fill('url', needs.url);
    const headers = { ...fill('headers', needs.headers), ...extra(given.headers, needs.headers) };
    const entry = {
      url: filledIn(template, places),
      ...(server.transport === 'sse' ? { type: 'sse' } : {}),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
    };
    return { name, entry, missing };
  }
  const [command, ...args] = launch ?? [];
  if (command === undefined) {
    const why = server.notes?.length ? `: ${server.notes.join('; ')}` : '';
    throw new ProxyError(
      'server_not_addable',
      `'${server.id}' of registry '${server.registry_id}' cannot be added: it lists neither an endpoint to connect to nor a package that can be run${why}.`,
    );
  }
  const places = fill('args', needs.args ?? []);
  const env = { ...fill('env', needs.env), ...extra(given.env, needs.env) };
  const entry = {
    command,
    args: args.map((arg) => filledIn(arg, places)),
    ...(Object.keys(env).length === 0 ? {} : { env }),
  };
  return { name, entry, missing };
}

/**
 * What strangers published may not name variables of this machine: written into the configuration, `${env:NAME}`
 * would be filled in and sent to them.
 */
function refuseReferences(server: ServerEntry, isRemote: boolean): void {
  const { required_inputs: needs } = server;
  const inputs = isRemote ? [...needs.url, ...needs.headers] : [...(needs.args ?? []), ...needs.env];
  const texts = [
    ...(isRemote ? [server.url ?? server.connectUrl ?? ''] : (server.launch ?? [])),
    ...inputs.flatMap((input) => [input.name, input.default ?? '']),
  ];
  if (!texts.some((text) => text.includes('${'))) return;
  throw new ProxyError(
    'server_not_addable',
    `'${server.id}' of registry '${server.registry_id}' cannot be added: what it lists holds a \${…}, which would put variables of this machine into it.`,
  );
}

/** `com.acme/tide` → `tide`; `WeatherInfo` stays. */
function shortName({ name, id }: ServerEntry): string {
  const plain = name
    .slice(name.lastIndexOf('/') + 1)
    .replaceAll(/[^\p{L}\p{N} ._-]+/gu, '')
    .trim()
    .slice(0, 60);
  return plain === '' ? id.replaceAll(/[^\w-]+/g, '-').slice(0, 60) : plain;
}

/** A variable's own name; for the others one that says whose it is. */
function referenceFor(server: ServerEntry, place: MissingInput['place'], name: string): string {
  const own = /^[A-Za-z_]\w*$/.test(name) && place === 'env';
  const whole = own ? name : `${shortName(server)}_${name}`.toUpperCase();
  return `\${env:${whole.replaceAll(/\W+/g, '_').replace(/^(?=\d)/, '_')}}`;
}

function filledIn(template: string, places: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{([\w.-]+)\}/g, (place, name: string) => valueIn(places, name) ?? place);
}

/** What was given beyond what the registry names: a person knows better. */
function extra(
  given: Readonly<Record<string, string>> | undefined,
  known: readonly RequiredInput[],
): Record<string, string> {
  const all = Object.entries(given ?? {});
  return Object.fromEntries(
    all.filter(([name]) => !known.some((input) => input.name.toLowerCase() === name.toLowerCase())),
  );
}

/** Header names are the same in any case; so are the names of inputs, as people type them. */
function valueIn(values: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  const found = Object.entries(values ?? {}).find(([each]) => each.toLowerCase() === name.toLowerCase());
  return found?.[1];
}
