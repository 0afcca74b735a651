import type { RequiredInput, ServerEntry } from './server-entry.ts';

/**
 * The member of `mcpServers` that adds a server, as JSON text; undefined when it cannot be written without a person
 * filling in an address or arguments. What is secret or has to be given becomes a reference to an environment
 * variable, never a value.
 */
export function configEntry(entry: ServerEntry): string | undefined {
  const { env, headers, url, args = [] } = entry.required_inputs;
  if ([...url, ...args].some((input) => needsValue(input))) return undefined;
  if (entry.url !== null) {
    return member(entry, { url: entry.url, ...referring('headers', headers) });
  }
  const [command, ...rest] = entry.launch ?? [];
  return command === undefined ? undefined : member(entry, { command, args: rest, ...referring('env', env) });
}

function member(entry: ServerEntry, server: object): string {
  const name = entry.name.replaceAll(/[^\p{L}\p{N} ._/@-]+/gu, '').trim();
  return `${JSON.stringify(name === '' ? entry.id : name)}: ${JSON.stringify(server)}`;
}

function needsValue({ required, default: given }: RequiredInput): boolean {
  return required && given === null;
}

function referring(key: 'env' | 'headers', inputs: readonly RequiredInput[]): object {
  const needed = inputs.filter((input) => needsValue(input));
  if (needed.length === 0) return {};
  return { [key]: Object.fromEntries(needed.map(({ name }) => [name, `\${env:${variableName(name)}}`])) };
}

function variableName(name: string): string {
  return name.replaceAll(/\W+/g, '_').replace(/^(?=\d)/, '_');
}

/** What to do with the one server that was found, where it can be said in one line. */
export function nextStep(entry: ServerEntry): { readonly next?: string } {
  const member = configEntry(entry);
  if (member === undefined) return {};
  return { next: `Found 1 server. To add it, put this into mcpServers of the configuration file: ${member}` };
}
