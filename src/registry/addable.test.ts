import { describe, expect, it } from 'vitest';
import { addableServer } from './addable.ts';
import { entryOf } from './entry.ts';
import { Registries } from './registries.ts';
import type { ServerEntry } from './server-entry.ts';
import { readServerJson } from './server-json.ts';

function entry(server: object): ServerEntry {
  const [registry] = new Registries([]).all;
  const read = readServerJson({ server: { name: 'com.acme/tide', ...server } });
  if (registry === undefined || read === undefined || read === 'skip') throw new Error('not read');
  return entryOf(read, registry);
}

const remote = {
  type: 'streamable-http',
  url: 'https://{region}.tide.test/mcp',
  variables: { region: { choices: ['eu', 'us'] } },
  headers: [
    { name: 'Authorization', isRequired: true, isSecret: true },
    { name: 'X-Mode', default: 'fast' },
    { name: 'X-Trace' },
  ],
};
const npm = {
  registryType: 'npm',
  identifier: '@acme/tide',
  version: '2.1.0',
  packageArguments: [{ type: 'named', name: '--harbour', isRequired: true }],
  environmentVariables: [{ name: 'TIDE_KEY', isRequired: true, isSecret: true }],
};

describe('what a registry lists, as an entry', () => {
  it('names what is missing, with where it goes and what could stand for it', () => {
    const { name, missing } = addableServer(entry({ remotes: [remote] }));
    expect(name).toBe('tide');
    expect(
      missing.map(({ place, name: input, reference, secret }) => [place, input, reference, secret]),
    ).toEqual([
      ['url', 'region', '${env:TIDE_REGION}', false],
      ['headers', 'Authorization', '${env:TIDE_AUTHORIZATION}', true],
    ]);
  });

  it('puts a header among the headers, fills the address, and keeps defaults', () => {
    const given = { inputs: { region: 'eu' }, headers: { authorization: 'Bearer t', 'X-More': 'm' } };
    expect(addableServer(entry({ remotes: [remote] }), given)).toMatchObject({
      entry: {
        url: 'https://eu.tide.test/mcp',
        headers: { Authorization: 'Bearer t', 'X-Mode': 'fast', 'X-More': 'm' },
      },
      missing: [],
    });
    expect(
      addableServer(entry({ remotes: [remote] }), { inputs: { region: 'mars', authorization: 'x' } }).missing,
    ).toMatchObject([{ name: 'region' }]);
  });

  it('takes an endpoint before a program, and the program when it is asked for', () => {
    const both = entry({ remotes: [{ type: 'sse', url: 'https://tide.test/sse' }], packages: [npm] });
    expect(addableServer(both).entry).toEqual({ url: 'https://tide.test/sse', type: 'sse' });
    const given = { inputs: { harbour: 'Nida', TIDE_KEY: '${env:TIDE_KEY}' } };
    expect(addableServer(both, given, { local: true })).toMatchObject({
      entry: {
        command: 'npx',
        args: ['-y', '@acme/tide@2.1.0', '--harbour=Nida'],
        env: { TIDE_KEY: '${env:TIDE_KEY}' },
      },
      missing: [],
    });
  });

  it('is none where nothing can be run or reached, or where it would read this machine’s environment', () => {
    const refused = (server: object): unknown =>
      expect(() => addableServer(entry(server))).toThrow(
        expect.objectContaining({ code: 'server_not_addable' }),
      );
    refused({});
    refused({ packages: [{ registryType: 'mcpb', identifier: 'https://a.test/x.mcpb' }] });
    refused({ remotes: [{ type: 'sse', url: 'https://tide.test/mcp?k=${env:GITHUB_TOKEN}' }] });
    refused({
      remotes: [
        { type: 'sse', url: 'https://tide.test/mcp', headers: [{ name: 'X', default: '${env:HOME}' }] },
      ],
    });
    refused({ packages: [{ ...npm, environmentVariables: [{ name: 'A', value: '${env:HOME}' }] }] });
    refused({ packages: [{ ...npm, packageArguments: [{ type: 'positional', value: '${env:HOME}' }] }] });
  });
});
