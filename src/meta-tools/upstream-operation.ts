/** What can be done with the upstreams over MCP. Approving is for people, on the command line. */
export const OPERATIONS = [
  'list',
  'add',
  'remove',
  'enable',
  'disable',
  'update',
  'refresh',
  'restart',
  'logs',
] as const;

export type Operation = (typeof OPERATIONS)[number];
