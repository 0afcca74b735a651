import { expect, it } from 'vitest';
import { entryOf } from './entry.ts';
import { listedServer } from './listed-server.ts';
import { wellKnownNear } from './near-package.ts';
import { Registries } from './registries.ts';

it('a package one letter away from a well-known one is found out, the well-known one is not', () => {
  for (const [type, name, near] of [
    ['npm', '@modelcontextprotocol/server-filesytem', '@modelcontextprotocol/server-filesystem'],
    ['npm', '@modelcontextprotocl/server-memory', '@modelcontextprotocol/server-memory'],
    ['npm', 'mcp-remtoe', 'mcp-remote'],
    ['npm', 'firecrawl-mcps', 'firecrawl-mcp'],
    ['pypi', 'mcp_server_fetsh', 'mcp-server-fetch'],
    ['npm', '@modelcontextprotocol/server-filesystem', undefined],
    ['pypi', 'MCP_Server.Git', undefined],
    ['npm', 'tide-mcp', undefined],
  ] as const)
    expect([name, wellKnownNear(type, name)]).toEqual([name, near]);
});

it('is said of the server that lists it', () => {
  const [registry] = new Registries([]).all;
  if (registry === undefined) throw new Error('there is no registry');
  const common = {
    version: '1.0.0',
    runtime: undefined,
    runtimeArgs: [],
    packageArgs: [],
    argInputs: [],
    env: [],
  };
  const pack = { type: 'npm', identifier: 'mcp-remotee', transport: 'stdio', ...common };
  const { notes } = entryOf(listedServer({ id: 'a', name: 'a', packages: [pack] }), registry);
  expect(notes).toEqual([
    'look twice: its package mcp-remotee is one letter away from the well-known mcp-remote',
  ]);
});
