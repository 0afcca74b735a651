import type { Protocol } from './protocol.ts';

/** A registry that ships with the program. */
export interface KnownRegistry {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The page people read. */
  readonly url: string;
  /** Where its listing is read; left out when it has none a program can read. */
  readonly serversUrl?: string;
  readonly protocol?: Protocol;
  readonly tags?: readonly string[];
  /** Ids it has had elsewhere or earlier. */
  readonly aliases?: readonly string[];
  readonly requiresKey?: true;
  /** The environment variable its key is read from. */
  readonly apiKeyEnv?: string;
}

/**
 * Every registry the program knows, compiled in: finding one needs no network. Those without `serversUrl` are shown
 * with their page and cannot be searched.
 */
export const KNOWN_REGISTRIES: readonly KnownRegistry[] = [
  {
    id: 'official',
    name: 'Official MCP Registry',
    description: 'The registry of the Model Context Protocol project, to which publishers submit.',
    url: 'https://registry.modelcontextprotocol.io/',
    serversUrl: 'https://registry.modelcontextprotocol.io/v0.1/servers',
    protocol: 'modelcontextprotocol/registry',
    tags: ['verified', 'official'],
    aliases: [
      'modelcontextprotocol-official',
      'modelcontextprotocol-registry',
      'model context protocol registry',
    ],
  },
  {
    id: 'reference',
    name: 'Reference Servers',
    description: 'The seven reference servers of the protocol, built in: needs no network.',
    url: 'https://github.com/modelcontextprotocol/servers',
    serversUrl: 'builtin://reference',
    protocol: 'builtin/reference',
    tags: ['verified', 'official', 'reference'],
  },
  {
    id: 'docker-mcp-catalog',
    name: 'Docker MCP Catalog',
    description: 'MCP servers as container images, built by Docker.',
    url: 'https://hub.docker.com/catalogs/mcp',
    serversUrl: 'https://hub.docker.com/v2/repositories/mcp/',
    protocol: 'custom/docker',
    tags: ['verified'],
    aliases: ['docker', 'docker-mcp'],
  },
  {
    id: 'mcpindex',
    name: 'mcpindex',
    description: 'An index of servers ranked by quality, with endpoints.',
    url: 'https://mcpindex.ai/',
    serversUrl: 'https://mcpindex.ai/api/v1/servers',
    protocol: 'custom/mcpindex',
  },
  {
    id: 'pulse',
    name: 'Pulse MCP',
    description: 'Servers, clients and use cases of MCP, kept by PulseMCP.',
    url: 'https://www.pulsemcp.com/',
    serversUrl: 'https://api.pulsemcp.com/v0.1/servers',
    protocol: 'custom/pulse',
    tags: ['verified'],
    aliases: ['pulse-mcp', 'pulsemcp'],
    apiKeyEnv: 'PULSEMCP_API_KEY',
    requiresKey: true,
  },
  {
    id: 'smithery',
    name: 'Smithery',
    description: 'Hosted MCP servers, searched by meaning.',
    url: 'https://smithery.ai/',
    serversUrl: 'https://registry.smithery.ai/servers',
    protocol: 'custom/smithery',
    tags: ['verified'],
    aliases: ['smithery-ai'],
    apiKeyEnv: 'SMITHERY_API_KEY',
    requiresKey: true,
  },
  {
    id: 'mcprun',
    name: 'MCP Run',
    description: 'Servlets of mcp.run; the listing names no endpoints.',
    url: 'https://www.mcp.run/',
    serversUrl: 'https://www.mcp.run/api/servlets',
    protocol: 'custom/mcprun',
    tags: ['verified'],
    aliases: ['mcp-run'],
  },
  {
    id: 'apify',
    name: 'Apify',
    description: 'The Apify store; its entries are Actors, which its own MCP server runs.',
    url: 'https://apify.com/store',
    serversUrl: 'https://api.apify.com/v2/store',
    protocol: 'custom/apify',
    tags: ['verified'],
  },
  {
    id: 'fleur',
    name: 'Fleur',
    description: 'The apps of Fleur, as command lines.',
    url: 'https://www.fleurmcp.com/',
    serversUrl: 'https://raw.githubusercontent.com/fleuristes/app-registry/refs/heads/main/apps.json',
    protocol: 'custom/fleur',
    tags: ['verified'],
  },
  {
    id: 'apitracker',
    name: 'apitracker',
    description: 'APIs and developer resources, MCP servers among them.',
    url: 'https://apitracker.io/',
    serversUrl: 'https://apitracker.io/api/mcp-servers',
    protocol: 'custom/apitracker',
    tags: ['verified'],
  },
  {
    id: 'ailist',
    name: 'AI List',
    description: 'A directory of projects around AI, kept by HiFriendbot.',
    url: 'https://www.hifriendbot.com/',
    serversUrl: 'https://www.hifriendbot.com/wp-json/ailist/v1/projects',
    protocol: 'custom/ailist',
  },
  {
    id: 'mcpstore',
    name: 'MCP Store',
    description: 'A store of MCP servers.',
    url: 'https://mcpstore.co/',
    serversUrl: 'https://mcpstore.co/api/servers',
    protocol: 'custom/mcpstore',
    aliases: ['mcp-store'],
  },
  {
    id: 'remote-mcp-servers',
    name: 'Remote MCP Servers',
    description: 'A list of remote servers with their endpoints, kept by its readers.',
    url: 'https://remote-mcp-servers.com/',
    serversUrl: 'https://remote-mcp-servers.com/api/servers',
    protocol: 'custom/remote',
    tags: ['community', 'remote'],
    aliases: ['remote'],
  },
  {
    id: 'azure-mcp-demo',
    name: 'Azure MCP Registry Demo',
    description: 'A demonstration of the registry API as it was in July 2025.',
    url: 'https://demo.registry.azure-mcp.net/',
    serversUrl: 'https://demo.registry.azure-mcp.net/v0/servers',
    protocol: 'mcp/v0',
    aliases: ['azure', 'azure-demo'],
  },
  {
    id: 'awesome-mcp-servers',
    name: 'Awesome MCP Servers',
    description: 'A list of servers on GitHub, by topic.',
    url: 'https://github.com/punkpeye/awesome-mcp-servers',
    tags: ['open-source'],
    aliases: ['awesome'],
  },
  {
    id: 'cline',
    name: "Cline's MCP Marketplace",
    description: 'The servers offered in the Cline editor extension.',
    url: 'https://cline.bot/mcp-marketplace',
    aliases: ['cline-bot'],
  },
  {
    id: 'composio',
    name: 'Composio',
    description: 'Hosted servers for popular applications.',
    url: 'https://mcp.composio.dev/',
    tags: ['verified'],
  },
  {
    id: 'cursor',
    name: 'Cursor Directory',
    description: 'Servers collected by users of the Cursor editor.',
    url: 'https://cursor.directory/',
    aliases: ['cursor-directory'],
  },
  {
    id: 'dextermcp',
    name: 'Dexter MCP',
    description: 'A collection of servers.',
    url: 'https://www.dextermcp.com/',
    aliases: ['dexter-mcp'],
  },
  {
    id: 'glama',
    name: 'Glama',
    description: 'A directory of open-source servers.',
    url: 'https://glama.ai/mcp/servers',
    tags: ['open-source'],
    aliases: ['glama-mcp-server', 'glama-mcp'],
  },
  {
    id: 'gumloop',
    name: 'Gumloop',
    description: 'Hosted servers for work applications.',
    url: 'https://www.gumloop.com/mcp',
  },
  {
    id: 'klavisai',
    name: 'Klavis AI',
    description: 'Hosted servers with sign-in.',
    url: 'https://www.klavis.ai/mcp-servers',
    aliases: ['klavis', 'klavis-ai'],
  },
  {
    id: 'make',
    name: 'Make',
    description: 'Scenarios of Make as tools.',
    url: 'https://www.make.com/en/integrations?community=1&verified=1',
  },
  {
    id: 'mcpbar',
    name: 'MCP Bar',
    description: 'A directory of servers.',
    url: 'https://www.mcp.bar/',
    aliases: ['mcp-bar'],
  },
  {
    id: 'mcpget',
    name: 'MCP Get',
    description: 'An installer for servers and its list.',
    url: 'https://mcp-get.com/',
    aliases: ['mcp-get'],
  },
  {
    id: 'mcpmarket',
    name: 'MCP Market',
    description: 'A directory of servers.',
    url: 'https://mcpmarket.com/',
    aliases: ['mcp-market'],
  },
  {
    id: 'mcprepository',
    name: 'MCP Repository',
    description: 'An index of servers on GitHub.',
    url: 'https://mcprepository.com/',
    aliases: ['mcp-repository'],
  },
  {
    id: 'mcpresolver',
    name: 'MCP Resolver',
    description: 'A directory of servers.',
    url: 'https://mcpresolver.com/',
    aliases: ['mcp-resolver'],
  },
  {
    id: 'mcpserversorg',
    name: 'mcpservers.org',
    description: 'A list of servers, by topic.',
    url: 'https://mcpservers.org/',
    aliases: ['mcpservers', 'mcpservers-org'],
  },
  {
    id: 'mcpso',
    name: 'MCP.so',
    description: 'A directory of servers submitted by their authors.',
    url: 'https://mcp.so/',
    aliases: ['mcp-so'],
  },
  {
    id: 'modelcontextprotocol-servers',
    name: 'Model Context Protocol Servers',
    description: 'The servers kept in the project’s repository.',
    url: 'https://github.com/modelcontextprotocol/servers',
    tags: ['official'],
  },
  {
    id: 'opentools',
    name: 'OpenTools',
    description: 'Hosted tools for models.',
    url: 'https://opentools.com/',
  },
  {
    id: 'pipedream',
    name: 'Pipedream',
    description: 'Servers for thousands of applications, hosted.',
    url: 'https://mcp.pipedream.com/',
  },
  {
    id: 'supermachine',
    name: 'Supermachine',
    description: 'Hosted servers.',
    url: 'https://supermachine.ai/',
  },
  {
    id: 'zapier',
    name: 'Zapier',
    description: 'Actions of Zapier as tools.',
    url: 'https://zapier.com/mcp',
  },
];

/** The ids no configuration may give to a registry of its own. */
export const KNOWN_IDS: ReadonlySet<string> = new Set(KNOWN_REGISTRIES.map(({ id }) => id));
