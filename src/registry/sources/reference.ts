import { listedServer } from '../listed-server.ts';
import type { ListedServer } from '../listed-server.ts';
import type { RegistrySource } from '../source.ts';

const REPOSITORY = 'https://github.com/modelcontextprotocol/servers';

/** The reference servers of the protocol, with versions that were looked at. Needs no network. */
const SERVERS: readonly ListedServer[] = [
  npm('filesystem', 'Read and write files in the folders you name.', '2026.8.31', [
    {
      name: 'folder',
      description: 'A folder it may use.',
      required: true,
      secret: false,
      default: null,
      choices: null,
    },
  ]),
  npm('memory', 'A knowledge graph that remembers across conversations.', '2026.8.31'),
  npm('everything', 'Every feature of the protocol, for testing clients.', '2026.8.31'),
  npm(
    'sequential-thinking',
    'Think a problem through in numbered steps.',
    '2026.8.31',
    [],
    'sequentialthinking',
  ),
  pypi('fetch', 'Fetch a web page as text a model can read.', '2026.10.24'),
  pypi('git', 'Read, search and change Git repositories.', '2026.10.19'),
  pypi('time', 'The time in any time zone, and conversions.', '2026.10.19'),
];

export const reference: RegistrySource = {
  hasTags: true,
  isAddable: true,
  async *pages() {
    yield { servers: SERVERS, unreadable: 0 };
  },
};

function npm(
  name: string,
  description: string,
  version: string,
  inputs: ListedServer['packages'][number]['argInputs'] = [],
  id = name,
): ListedServer {
  return server(id, description, {
    type: 'npm',
    identifier: `@modelcontextprotocol/server-${name}`,
    version,
    packageArgs: inputs.map((input) => `{${input.name}}`),
    argInputs: inputs,
  });
}

function pypi(name: string, description: string, version: string): ListedServer {
  return server(name, description, {
    type: 'pypi',
    identifier: `mcp-server-${name}`,
    version,
    packageArgs: [],
    argInputs: [],
  });
}

function server(
  id: string,
  description: string,
  pack: Pick<
    ListedServer['packages'][number],
    'type' | 'identifier' | 'version' | 'packageArgs' | 'argInputs'
  >,
): ListedServer {
  return listedServer({
    id,
    name: id,
    description,
    sourceUrl: REPOSITORY,
    packages: [{ ...pack, runtime: undefined, runtimeArgs: [], env: [], transport: 'stdio' }],
    tags: ['reference', 'official'],
  });
}
