import { describe, expect, it } from 'vitest';
import { KNOWN_REGISTRIES } from './known.ts';
import { isProtocol } from './protocol.ts';
import { Registries } from './registries.ts';

describe('the registries that ship', () => {
  const registries = new Registries([]);

  it('are these', () => {
    const searchable = registries.searchable.map(({ id }) => id);
    expect(searchable).toMatchInlineSnapshot(`
      [
        "official",
        "reference",
        "docker-mcp-catalog",
        "mcpindex",
        "pulse",
        "smithery",
        "mcprun",
        "apify",
        "fleur",
        "apitracker",
        "ailist",
        "mcpstore",
        "remote-mcp-servers",
        "azure-mcp-demo",
      ]
    `);
    const listed = registries.all.map(({ id }) => id).filter((id) => !searchable.includes(id));
    expect(listed).toMatchInlineSnapshot(`
      [
        "awesome-mcp-servers",
        "cline",
        "composio",
        "cursor",
        "dextermcp",
        "glama",
        "gumloop",
        "klavisai",
        "make",
        "mcpbar",
        "mcpget",
        "mcpmarket",
        "mcprepository",
        "mcpresolver",
        "mcpserversorg",
        "mcpso",
        "modelcontextprotocol-servers",
        "opentools",
        "pipedream",
        "supermachine",
        "zapier",
      ]
    `);
  });

  it('have ids, names and older ids that mean one registry each, whatever the letters’ case', () => {
    for (const row of KNOWN_REGISTRIES) {
      for (const name of [row.id, row.name, ...(row.aliases ?? [])]) {
        expect(registries.find(name.toUpperCase()).id, name).toBe(row.id);
        expect(name.trim(), name).not.toBe('');
      }
      for (const alias of row.aliases ?? [])
        expect(alias, 'aliases are compared in lower case').toBe(alias.toLowerCase());
    }
  });

  it('are on https, and speak a protocol there is', () => {
    for (const { id, url, serversUrl, protocol } of KNOWN_REGISTRIES) {
      expect(url, id).toMatch(/^https:\/\//);
      if (serversUrl === undefined) continue;
      expect(serversUrl, id).toMatch(/^(?:https|builtin):\/\//);
      expect(isProtocol(protocol ?? ''), id).toBe(true);
    }
  });

  it('give an older id of theirs to whoever configures a registry under it', () => {
    const own = { id: 'modelcontextprotocol-official', serversUrl: 'http://localhost:8080/v0/servers' };
    expect(registries.find('modelcontextprotocol-official').id).toBe('official');
    expect(new Registries([own]).find('modelcontextprotocol-official')).toMatchObject({ origin: 'config' });
  });
});
